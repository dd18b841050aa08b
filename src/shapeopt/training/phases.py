"""The three phases as updates of a learner (section subsec:dp_training): controller, planner, both.

An update whose loss or gradient is not finite changes nothing but the count of such updates.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from ..policy.base import AbstractPolicy
from ..policy.paper import PaperPolicy
from ..rollout import rollout
from ..shape import ShapeOptimizer
from ..tasks import AbstractFamily
from .estimators import BACKPROPAGATION, AbstractEstimator, AbstractProblem, Estimate, length
from .losses import PAPER_WEIGHTS, LossWeights, Terms, controller_loss, planner_loss, rollout_terms
from .record import Record
from .sensing import EXACT, Sensing
from .teacher import PROBE_TEACHER, ProbeTeacher
from .unroll import Runs, Unroll

Scalar = Float[Array, ""]


@dataclass(frozen=True)
class Plan:
    """What the updates of all phases have in common; hashable, so that equal plans share compiled code."""

    family: AbstractFamily
    batch: int
    readings: int
    windows: int = 1
    weights: LossWeights = PAPER_WEIGHTS
    teacher: ProbeTeacher = PROBE_TEACHER
    sensing: Sensing = EXACT
    estimator: AbstractEstimator = BACKPROPAGATION
    controller_rate: float = 1e-3
    planner_rate: float = 1e-3
    joint_rate: float = 3e-4
    constant_forces: bool = False
    remat: bool = False

    def __post_init__(self) -> None:
        if self.windows < 1 or self.readings % self.windows:
            raise ValueError(f"`windows` must divide `readings` = {self.readings}; got {self.windows}.")
        for name in ("controller_rate", "planner_rate", "joint_rate"):
            if not getattr(self, name) > 0:
                raise ValueError(f"`{name}` must be positive; got {getattr(self, name)}.")

    def unroll(self, taught: bool = False, detached: bool = False) -> Unroll:
        return Unroll(
            self.family,
            self.batch,
            self.readings,
            self.teacher,
            self.sensing,
            taught=taught,
            detached=detached,
            constant_forces=self.constant_forces,
            remat=self.remat,
        )


class Learner(NamedTuple):
    """What training carries from one update to the next: the policy's arrays, one Adam a phase, the estimator."""

    params: PyTree
    controller: PyTree
    planner: PyTree
    joint: PyTree
    estimator: PyTree
    skipped: Int[Array, ""]


class Outcome(NamedTuple):
    """What an update says of itself. `terms` are those of the rollout loss, in phase III."""

    loss: Scalar
    gradient_norm: Scalar
    calls: Float[Array, ""]  # of the oracle and of the teacher; a float, since a long run's sum is summed on the host
    skipped: Int[Array, ""]
    terms: Terms | None = None


class RolloutProblem(AbstractProblem):
    """A batch of runs under the loss of phase III, in windows (eq. main_training_objective)."""

    static: PyTree = eqx.field(static=True)
    unroll: Unroll
    weights: LossWeights = eqx.field(static=True)
    windows: int = eqx.field(static=True)

    def start(self, params: PyTree, key: PRNGKeyArray) -> Runs:
        return self.unroll.start(eqx.combine(params, self.static), key)

    def advance(self, params: PyTree, carry: Runs) -> tuple[Runs, Scalar, tuple[Terms, Scalar]]:
        length = self.unroll.readings // self.windows
        runs, record = self.unroll.advance(eqx.combine(params, self.static), carry, length)
        terms, after = rollout_terms(record, carry.before, self.unroll.readings)
        return runs._replace(before=after), terms.weighted(self.weights), (terms, calls_of(record, self.unroll))


class Phases:
    """The compiled updates of one plan and one kind of policy."""

    def __init__(self, plan: Plan, static: PyTree) -> None:
        self.plan, self.static = plan, static
        self.problem = RolloutProblem(static=static, unroll=plan.unroll(), weights=plan.weights, windows=plan.windows)
        self._adams = {
            "controller": optax.adam(plan.controller_rate),
            "planner": optax.adam(plan.planner_rate),
            "joint": optax.adam(plan.joint_rate),
        }
        self.init = jax.jit(self._init)
        self.teach_controller = jax.jit(self._teach_controller)
        self.teach_planner = jax.jit(self._teach_planner)
        self.train_jointly = jax.jit(self._train_jointly)
        self.evaluate = jax.jit(self._evaluate, static_argnums=(2, 3))

    def _init(self, params: PyTree, key: PRNGKeyArray) -> Learner:
        states = {name: adam.init(_part(params, name)) for name, adam in self._adams.items()}
        held = self.plan.estimator.init(self.problem, params, key)
        return Learner(params, states["controller"], states["planner"], states["joint"], held, jnp.zeros((), jnp.int32))

    def _teach_controller(self, learner: Learner, key: PRNGKeyArray) -> tuple[Learner, Outcome]:
        """Phase I: match the teacher's force under the teacher's plans (eq. dp_local_pretrain_loss)."""
        return self._supervise(
            learner, key, "controller", self.plan.unroll(taught=True, detached=True), controller_loss
        )

    def _teach_planner(self, learner: Learner, key: PRNGKeyArray) -> tuple[Learner, Outcome]:
        """Phase II: match the teacher's plans on the policy's own runs (eq. dp_planner_supervised_loss)."""
        return self._supervise(learner, key, "planner", self.plan.unroll(detached=True), planner_loss)

    def _train_jointly(self, learner: Learner, key: PRNGKeyArray) -> tuple[Learner, Outcome]:
        """Phase III: the rollout loss over all parameters (eq. main_training_objective)."""
        held, estimate = self.plan.estimator.estimate(self.problem, learner.params, learner.estimator, key)
        terms, calls = estimate.aux
        learner, outcome = self._update(learner, "joint", estimate, calls)
        return learner._replace(estimator=held), outcome._replace(terms=terms)

    def _evaluate(self, params: PyTree, key: PRNGKeyArray, tasks: int, readings: int) -> Scalar:
        """Mean over tasks of (best f - f at the start) / (|f at the start| + 1): 0 for no progress, lower is better."""
        optimizer = ShapeOptimizer(eqx.combine(params, self.static), record_energy=False)

        def one(key: PRNGKeyArray) -> Scalar:
            task_key, start_key, run_key = jax.random.split(key, 3)
            task = self.plan.family.sample(task_key)
            oracle = self.plan.sensing.oracle(task)
            trace = rollout(optimizer, oracle, task.start(start_key), task.box, readings * oracle.cost, run_key)
            first = trace.steps.value[0]
            fall = (trace.best.value - first) / (jnp.abs(first) + 1.0)
            return jnp.where(jnp.isfinite(fall), fall, 0.0)

        return jnp.mean(jax.vmap(one)(jax.random.split(key, tasks)))

    def _supervise(
        self,
        learner: Learner,
        key: PRNGKeyArray,
        part: str,
        unroll: Unroll,
        loss_of: Callable[[Record, LossWeights], Scalar],
    ) -> tuple[Learner, Outcome]:
        def loss(trained: PyTree) -> tuple[Scalar, Scalar]:
            policy = eqx.combine(_with_part(learner.params, part, trained), self.static)
            _, record = unroll.advance(policy, unroll.start(policy, key))
            return loss_of(record, self.plan.weights), calls_of(record, unroll)

        (value, calls), gradient = jax.value_and_grad(loss, has_aux=True)(_part(learner.params, part))
        return self._update(learner, part, Estimate(value, gradient, None), calls)

    def _update(self, learner: Learner, part: str, estimate: Estimate, calls: Scalar) -> tuple[Learner, Outcome]:
        """One step of the part's Adam, unless something is not finite."""
        trained, state = _part(learner.params, part), getattr(learner, part)
        size = length(estimate.gradient)
        with jax.numpy_dtype_promotion("standard"):  # Optax raises floats to whole powers
            steps, new_state = self._adams[part].update(estimate.gradient, state, trained)
        new = optax.apply_updates(trained, steps)
        sound = jnp.isfinite(size) & jnp.isfinite(estimate.value)
        kept, kept_state = jax.tree.map(lambda a, b: jnp.where(sound, a, b), (new, new_state), (trained, state))
        skipped = learner.skipped + (~sound).astype(jnp.int32)
        learner = learner._replace(params=_with_part(learner.params, part, kept), skipped=skipped, **{part: kept_state})
        return learner, Outcome(estimate.value, size, calls, skipped)


def make_phases(plan: Plan, static: PyTree) -> Phases:
    """The updates of a plan; the same object, with its compiled code, for an equal plan."""
    try:
        hash((plan, static))
    except TypeError:  # a family that holds arrays
        return Phases(plan, static)
    return _shared_phases(plan, static)


_shared_phases = functools.lru_cache(maxsize=16)(Phases)


def split_policy(policy: AbstractPolicy) -> tuple[PyTree, Any]:
    """What is trained of a policy, and the hashable rest."""
    return eqx.partition(policy, eqx.is_inexact_array)


def calls_of(record: Record, unroll: Unroll) -> Scalar:
    """What a window spent: its readings, and the teacher's probes at its events."""
    cost = unroll.sensing.cost
    probes = jnp.sum(jnp.where(record.event, record.label.calls, 0))
    return (cost * record.value.size + probes).astype(record.value.dtype)


def _part(params: PaperPolicy, name: str) -> PyTree:
    return params if name == "joint" else getattr(params, name)


def _with_part(params: PaperPolicy, name: str, part: PyTree) -> PyTree:
    if name == "joint":
        return part
    return eqx.tree_at(lambda p: getattr(p, name), params, part, is_leaf=lambda leaf: leaf is None)
