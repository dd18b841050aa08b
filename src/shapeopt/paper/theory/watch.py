"""Real runs with every step's operators laid open: what the statements are checked on."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from ...core import Cause
from ...oracles import ExactOracle
from ...rollout import rollout
from ..base import AbstractPolicy, Drive, Plant
from ..dynamics import EnergyLedger, SemiImplicitStep, ShapedPotential, StepResult
from ..optimizer import ShapeOptimizer
from ..weights import cast_policy

Vector = Float[Array, " d"]
Matrix = Float[Array, "d d"]


class Snapshot(NamedTuple):
    """One step: where it began, and its operators as dense matrices, gains included."""

    q: Vector
    p: Vector
    f: Float[Array, ""]
    finite: Bool[Array, ""]
    M_inv: Matrix
    Omega: Matrix
    drag: Matrix  # alpha_R D
    K_d: Vector
    zeta: Float[Array, ""]
    u_shp: Vector
    potential: ShapedPotential


def snapshot(plant: Plant, drive: Drive, result: StepResult) -> Snapshot:
    """The observer."""
    structure, one = drive.structure, jnp.ones_like(plant.q)
    dense = lambda operator: jax.vmap(operator)(jnp.diag(one)).T  # noqa: E731
    return Snapshot(
        q=plant.q,
        p=plant.p,
        f=plant.f,
        finite=plant.finite,
        M_inv=dense(structure.metric.solve),
        Omega=structure.alpha_J * dense(structure.skew),
        drag=structure.alpha_R * dense(structure.dissipation),
        K_d=0.0 * one if structure.K_d is None else structure.K_d * one,
        zeta=structure.zeta,
        u_shp=0.0 * one if structure.u_shp is None else structure.u_shp,
        potential=drive.potential,
    )


@dataclass(frozen=True)
class Runs:
    """Many runs of one policy on tasks of one family; every array has the runs as its first axis, then the readings."""

    name: str
    h: float
    tasks: Any
    f: np.ndarray
    best: np.ndarray
    mode: np.ndarray
    cause: np.ndarray
    ledger: EnergyLedger
    steps: Snapshot

    @property
    def stages(self) -> list[tuple[int, int]]:
        """(run, reading) of every step with which a stage began."""
        runs, readings = np.nonzero((self.cause != Cause.NONE) & np.isfinite(self.f) & self.steps.finite)
        return list(zip(runs.tolist(), readings.tolist(), strict=True))

    def task(self, run: int) -> Any:
        return jax.tree.map(lambda leaf: leaf[run], self.tasks)

    def at(self, places: list[tuple[int, int]]) -> tuple[Any, Snapshot]:
        """Tasks and snapshots of some steps, stacked."""
        runs, readings = map(np.array, zip(*places, strict=True))
        pick = lambda leaf: leaf[runs, readings]  # noqa: E731
        return jax.tree.map(lambda leaf: leaf[runs], self.tasks), jax.tree.map(pick, self.steps)


def watch(name: str, policy: AbstractPolicy, family: Any, count: int, budget: int, seed: int) -> Runs:
    """`count` runs of `budget` calls, each on a task and a start of its own, with exact forces."""
    policy = cast_policy(policy, jnp.float64)
    optimizer = ShapeOptimizer(policy, SemiImplicitStep(policy.h), observer=snapshot)

    @jax.jit
    @jax.vmap
    def go(key: Any) -> Any:
        task_key, start_key, run_key = jax.random.split(key, 3)
        task = family.sample(task_key)
        trace = rollout(optimizer, ExactOracle(task), task.start(start_key), task.box, budget, run_key)
        return task, trace.steps

    tasks, steps = go(jax.random.split(jax.random.key(seed), count))
    steps, info = jax.tree.map(np.asarray, (steps._replace(info=None), steps.info))
    outcome = (steps.value, steps.best, info.mode, info.cause, info.ledger, info.seen)
    return Runs(name, policy.h, tasks, *outcome)
