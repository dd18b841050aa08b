"""What each part of the untrained universal policy earns: the policy with one part off at a time, on the same tasks.

    .venv/bin/python benchmarks/universal_ablation.py [--tasks 128] [--out FILE]

A part is switched off from outside, in the constants and functions of the policy's modules; the policy itself has no
switches. A cell is a family, a dimension, a rotation and a noise of the gradient; half of the exact cells have
families of TRAINING, half of HELD_OUT. Area: mean over calls of the share of targets reached, targets from 1 to 1e-8 of
the first gap, on a logarithmic scale. Hit: best gap below 1e-2. Differences are without the part less with it, task by
task, with a bootstrap interval (BCa) over all tasks.
"""

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import jax
import jax.numpy as jnp
import numpy as np
import tyro
from jaxtyping import Array, Bool, Float, Int

from shapeopt.bench.statistics import mean_interval
from shapeopt.paper.training.sensing import Sensing
from shapeopt.policy import moves, pair_model, route, stock, universal
from shapeopt.policy.moves import ANYWHERE, DIFFERENCE, KINDS, Credit
from shapeopt.policy.secant import SecantPairs
from shapeopt.rollout import rollout
from shapeopt.shape import ShapeOptimizer
from shapeopt.tasks import HELD_OUT, make_family

HIT = 1e-2
DEEPEST = 8.0  # decades of the gap that count
NEVER = 2**30  # steps
UNEVEN_FEWER = 4
OUT = Path(__file__).parent / "records" / "universal_ablation.json"


@dataclass(frozen=True)
class Cell:
    """Where the policy is run."""

    family: str
    dimension: int
    rotated: bool = False
    sigma: float = 0.0
    uneven: bool = False  # whether steps differ so much in length that a batch would wait: tasks are fewer, in turn

    @property
    def group(self) -> str:
        if self.sigma:
            return "noisy"
        return "held out" if self.family in HELD_OUT else "training"


CELLS = (
    Cell("rastrigin", 2),
    Cell("rastrigin", 10, rotated=True),
    Cell("ackley", 20, rotated=True),
    Cell("lennard_jones", 18, uneven=True),
    Cell("funnels", 5, rotated=True),
    Cell("planted_spins", 20),
    Cell("griewank", 10, rotated=True),
    Cell("schwefel", 10),
    Cell("styblinski_tang", 20),
    Cell("lunacek", 5, rotated=True),
    Cell("gallagher", 4, rotated=True),
    Cell("schaffer_f7", 10, rotated=True),
    Cell("ackley", 20, sigma=0.2),
    Cell("levy", 20, sigma=1.0),
)


@dataclass(frozen=True)
class Part:
    """A part, what stands in for it, and how it is switched off: constants (module, name, value), kinds of moves that
    are not drawn, or a switch of `patched` alone."""

    name: str
    instead: str
    constants: tuple[tuple[Any, str, float], ...] = ()
    undrawn: tuple[int, ...] = ()
    noisy: bool = False  # whether it is one for noisy cells, and those alone


CREDIT, METRIC = "credit", "secant metric"
FEW = tuple(i for i, kind in enumerate(KINDS) if kind.few)
PARTS = (
    Part(CREDIT, "kinds of moves are drawn uniformly"),
    Part("basin differences", "no moves along them", undrawn=(DIFFERENCE,)),
    Part("few coordinates", "moves are of all coordinates", undrawn=FEW),
    Part("anywhere", "moves are from the best basin alone", undrawn=(ANYWHERE,)),
    Part("widening radii", "radii stay as they are", ((moves, "WIDER", 0.0), (moves, "NARROWER", 0.0))),
    Part("sweep", "f is never taken for a sum", ((route, "COUPLED", 0.0), (route, "TESTED_RUN", np.inf))),
    Part("turned axes", "sums in other frames are not looked for", ((route, "TURN_SHARE", 0.0),)),
    Part("model of bodies", "sums over pairs are not looked for", ((pair_model, "TRUSTED", 0.0),)),
    Part("sampling", "hopping goes on", ((route, "SAMPLE_ROOM", np.inf),)),
    Part("hopeless event", "basins are refined to their bottoms", ((universal, "HOPE_AGE", NEVER),)),
    Part("learned hope", "always the same multiple of the promise", ((stock, "MOST_HOPE", stock.HOPE),)),
    Part("revisit event", "known basins are refined again", ((universal, "SAME_BASIN", -1.0),)),
    Part(METRIC, "scaled steepest descent"),
    Part("noise check, settle", "noisy basins are refined", ((route, "MISMATCH", np.inf),), noisy=True),
    Part("sampling in noise", "settling goes on", ((route, "SAMPLED_NOISE", np.inf),), noisy=True),
)


@contextmanager
def patched(parts: tuple[Part, ...], off: Bool[Array, " parts"]) -> Iterator[None]:
    """The policy's modules with a switch for each part, which is traced: all variants share one compiled code."""
    add, draw = SecantPairs.add, Credit.draw
    switch = dict(zip([part.name for part in parts], off, strict=True))
    undrawn = jnp.zeros(len(KINDS), bool)
    for part in parts:
        undrawn |= switch[part.name] & np.isin(np.arange(len(KINDS)), part.undrawn)

    def drawn(self: Credit, normals: Float[Array, " kinds"], bias: Float[Array, " kinds"]) -> Int[Array, ""]:
        allowed = jnp.where(undrawn, -jnp.inf, bias)
        alike = jnp.argmax(normals + allowed).astype(jnp.int32)  # what was earned is forgotten
        return jnp.where(switch.get(CREDIT, False), alike, draw(self, normals, allowed))

    def added(self: SecantPairs, s: Float[Array, " d"], y: Float[Array, " d"], active: Bool[Array, ""]) -> SecantPairs:
        return add(self, s, y, active & ~jnp.asarray(switch.get(METRIC, False)))

    with ExitStack() as stack:
        stack.enter_context(patch.object(Credit, "draw", drawn))
        stack.enter_context(patch.object(SecantPairs, "add", added))
        for part in parts:
            for owner, name, value in part.constants:
                now = jnp.where(switch[part.name], value, getattr(owner, name))
                stack.enter_context(patch.object(owner, name, now))
        yield


@dataclass(frozen=True)
class Config:
    """What is run, and where the record goes."""

    tasks: int = 128
    budget: int = 500
    seed: int = 0
    out: Path = OUT


@dataclass(frozen=True)
class Row:
    """A part in a group of cells: means with and without it, and the paired differences with their intervals."""

    part: str
    instead: str
    group: str
    cells: int
    tasks: int
    area: float
    area_without: float
    area_difference: float
    area_interval: tuple[float, float]
    hits: float
    hits_without: float
    hits_difference: float
    hits_interval: tuple[float, float]


def measure(cell: Cell, parts: tuple[Part, ...], config: Config) -> Float[np.ndarray, "variants 2 tasks"]:
    """Area and hit of one run on each task: of the whole policy, then of the policy without each of `parts`."""
    family = make_family(cell.family, cell.dimension, rotated=cell.rotated)
    keys = jax.random.split(jax.random.key(config.seed), config.tasks // (UNEVEN_FEWER if cell.uneven else 1))
    over = jax.lax.map if cell.uneven else lambda run, keys: jax.vmap(run)(keys)

    def run(key: Array) -> tuple[Array, Array]:
        key_task, key_start, key_run = jax.random.split(key, 3)
        task = family.sample(key_task)
        optimizer = ShapeOptimizer(universal.UniversalPolicy(), record_energy=False)
        oracle = Sensing(sigma=cell.sigma).oracle(task)
        trace = rollout(optimizer, oracle, task.start(key_start), task.box, config.budget, key_run)
        return -_mean_gap(trace, task.minimum), (trace.best.value - task.minimum < HIT).astype(float)

    def variant(off: Bool[Array, " parts"]) -> Float[Array, "2 tasks"]:
        with patched(parts, off):
            return jnp.stack(over(run, keys))

    switches = np.concatenate([np.zeros((1, len(parts)), bool), np.eye(len(parts), dtype=bool)])
    return np.asarray(jax.jit(lambda switches: jax.lax.map(variant, switches))(switches))


def row(part: Part, group: str, pairs: list[tuple[np.ndarray, np.ndarray]], seed: int) -> Row:
    """`pairs` are the figures of the whole policy and of the one without the part, cell by cell."""
    (area, hits), (area_off, hits_off) = (np.concatenate(side, axis=1) for side in zip(*pairs, strict=True))
    return Row(
        part=part.name,
        instead=part.instead,
        group=group,
        cells=len(pairs),
        tasks=area.size,
        area=float(area.mean()),
        area_without=float(area_off.mean()),
        area_difference=float((area_off - area).mean()),
        area_interval=mean_interval(area_off - area, seed=seed),
        hits=float(hits.mean()),
        hits_without=float(hits_off.mean()),
        hits_difference=float((hits_off - hits).mean()),
        hits_interval=mean_interval(hits_off - hits, seed=seed),
    )


def main(config: Config) -> None:
    found: list[tuple[Part, Cell, np.ndarray, np.ndarray]] = []
    for cell in CELLS:
        began, parts = time.perf_counter(), tuple(part for part in PARTS if part.noisy == bool(cell.sigma))
        whole, *without = measure(cell, parts, config)
        found += [(part, cell, whole, off) for part, off in zip(parts, without, strict=True)]
        print(f"{cell}: area {whole[0].mean():.3f}, {time.perf_counter() - began:.0f} s", flush=True)
    rows = []
    for part in PARTS:
        for group in dict.fromkeys(cell.group for cell in CELLS):
            if pairs := [(whole, off) for one, cell, whole, off in found if one == part and cell.group == group]:
                rows.append(row(part, group, pairs, config.seed))
    for one in rows:
        low, high = one.area_interval
        print(f"{one.part:20} {one.group:10} area {one.area_difference:+.4f} [{low:+.4f}, {high:+.4f}]", end="")
        print(f"  hits {one.hits_difference:+.3f}")
    by_cell = [
        {"part": part.name} | asdict(cell) | {"area": float(whole[0].mean()), "area_without": float(off[0].mean())}
        for part, cell, whole, off in found
    ]
    config.out.parent.mkdir(parents=True, exist_ok=True)
    record = {"config": asdict(config) | {"out": config.out.name}, "rows": [asdict(one) for one in rows]}
    config.out.write_text(json.dumps(record | {"cells": by_cell}, indent=1) + "\n")


def _mean_gap(trace, minimum):
    """Mean over readings of the log of the best gap relative to the first one, in units of DEEPEST decades."""
    best, first = trace.steps.best, trace.steps.best[0]
    ratio = (best - minimum) / jnp.maximum(first - minimum, jnp.finfo(best.dtype).tiny)
    return jnp.mean(jnp.log10(jnp.clip(ratio, 10.0**-DEEPEST, 1.0)) / DEEPEST)


if __name__ == "__main__":
    with jax.enable_x64(True):
        main(tyro.cli(Config, description=__doc__))
