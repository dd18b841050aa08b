"""The three phases as updates of a learner (section subsec:dp_training): controller, planner, both.

An update whose loss or gradient is not finite changes nothing but the count of such updates.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax.sharding import Mesh
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from ...rollout import rollout
from ...tasks import AbstractFamily
from ..base import AbstractPolicy
from ..optimizer import ShapeOptimizer
from ..policy import PaperPolicy
from .estimators import BACKPROPAGATION, AbstractEstimator, AbstractProblem, Estimate, length
from .heads import heads_of, unit_of_head, with_heads
from .losses import PAPER_WEIGHTS, LossWeights, Terms, controller_loss, planner_loss, rollout_terms
from .parallel import compiled, over_tasks
from .record import Record
from .sensing import EXACT, Sensing
from .teacher import PROBE_TEACHER, ProbeTeacher
from .unroll import Runs, Unroll

Scalar = Float[Array, ""]
CONTROLLER, PLANNER, JOINT = "controller", "planner", "joint"  # the phases
BIAS_UNIT = 0.3  # chosen here
LAST_SHARE = 0.05  # of the rate with which phase III began; chosen here


class Part(Enum):
    """What phase III trains."""

    ALL = "all"
    GAINS = "gains"  # what the policy adds to both networks; some fifty numbers, whatever the dimension
    HEADS = "heads"  # what both networks say to all coordinates alike (see `heads`); the gains stay as they began


@dataclass(frozen=True)
class Plan:
    """What the updates of all phases have in common; hashable, so that equal plans share compiled code."""

    family: AbstractFamily
    batch: int
    readings: int
    windows: int = 1
    weights: LossWeights = PAPER_WEIGHTS
    joint_weights: LossWeights = PAPER_WEIGHTS  # of phase III
    teacher: ProbeTeacher = PROBE_TEACHER
    sensing: Sensing = EXACT
    estimator: AbstractEstimator = BACKPROPAGATION
    controller_rate: float = 1e-3
    planner_rate: float = 1e-3
    joint_rate: float = 3e-4
    decay: int | None = None  # updates of phase III over which its rate falls to a twentieth; None: it stays
    trained: Part = Part.ALL
    constant_forces: bool = False
    remat: bool = True
    adjoint_clip: float | None = None
    mesh: Mesh | None = None  # devices over which the tasks are divided

    def __post_init__(self) -> None:
        if self.windows < 1 or self.readings % self.windows:
            raise ValueError(f"`windows` must divide `readings` = {self.readings}; got {self.windows}.")
        for name in ("controller_rate", "planner_rate", "joint_rate"):
            if not getattr(self, name) > 0:
                raise ValueError(f"`{name}` must be positive; got {getattr(self, name)}.")

    def unroll(self, taught: bool = False, detached: bool = False, untaught: bool = False) -> Unroll:
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
            mesh=self.mesh,
            untaught=untaught,
            adjoint_clip=self.adjoint_clip,
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
    """A batch of runs under the loss of phase III, in windows (eq. main_training_objective).

    Its parameters are what is trained of `policy`, each over its unit: see `unit_of`.
    """

    policy: PyTree  # the arrays of the whole policy
    static: PyTree = eqx.field(static=True)
    trained: Part = eqx.field(static=True)
    unroll: Unroll
    weights: LossWeights = eqx.field(static=True)
    windows: int = eqx.field(static=True)

    def start(self, params: PyTree, key: PRNGKeyArray) -> Runs:
        return self.unroll.start(self._policy(params), key)

    def advance(self, params: PyTree, carry: Runs) -> tuple[Runs, Scalar, tuple[Terms, Scalar]]:
        length = self.unroll.readings // self.windows
        runs, record = self.unroll.advance(self._policy(params), carry, length)
        terms, after = rollout_terms(record, carry.before, self.unroll.readings)
        return runs._replace(before=after), terms.weighted(self.weights), (terms, calls_of(record, self.unroll))

    def _policy(self, params: PyTree) -> PaperPolicy:
        part = jax.tree.map(lambda x, unit: x * unit, params, units_of(params))
        return eqx.combine(_with_part(self.policy, JOINT, part, self.trained), self.static)


class Phases:
    """The compiled updates of one plan and one kind of policy."""

    def __init__(self, plan: Plan, static: PyTree) -> None:
        self.plan, self.static = plan, static
        self._unroll = plan.unroll(untaught=plan.joint_weights.ce == plan.joint_weights.sg == 0)
        self._adams = {
            CONTROLLER: optax.adam(plan.controller_rate),
            PLANNER: optax.adam(plan.planner_rate),
            JOINT: optax.adam(falling(plan.joint_rate, plan.decay)),
        }
        self.init = compiled(plan.mesh, self._init)
        self.teach_controller = compiled(plan.mesh, self._teach_controller)
        self.teach_planner = compiled(plan.mesh, self._teach_planner)
        self.train_jointly = compiled(plan.mesh, self._train_jointly)
        self.evaluate = compiled(plan.mesh, self._evaluate, static_argnums=(2, 3))

    def problem(self, params: PyTree) -> RolloutProblem:
        """The problem of phase III for a policy with these arrays."""
        plan = self.plan
        return RolloutProblem(
            policy=params,
            static=self.static,
            trained=plan.trained,
            unroll=self._unroll,
            weights=plan.joint_weights,
            windows=plan.windows,
        )

    def _init(self, params: PyTree, key: PRNGKeyArray) -> Learner:
        states = {name: adam.init(self._part(params, name)) for name, adam in self._adams.items()}
        held = self.plan.estimator.init(self.problem(params), self._part(params, JOINT), key)
        return Learner(params, states[CONTROLLER], states[PLANNER], states[JOINT], held, jnp.zeros((), jnp.int32))

    def _teach_controller(self, learner: Learner, key: PRNGKeyArray) -> tuple[Learner, Outcome]:
        """Phase I: match the teacher's force under the teacher's plans (eq. dp_local_pretrain_loss)."""
        return self._supervise(learner, key, CONTROLLER, self.plan.unroll(taught=True, detached=True), controller_loss)

    def _teach_planner(self, learner: Learner, key: PRNGKeyArray) -> tuple[Learner, Outcome]:
        """Phase II: match the teacher's plans on the policy's own runs (eq. dp_planner_supervised_loss)."""
        return self._supervise(learner, key, PLANNER, self.plan.unroll(detached=True), planner_loss)

    def _train_jointly(self, learner: Learner, key: PRNGKeyArray) -> tuple[Learner, Outcome]:
        """Phase III: the rollout loss over all parameters (eq. main_training_objective)."""
        part = self._part(learner.params, JOINT)
        part = jax.tree.map(lambda leaf, unit: leaf / unit, part, units_of(part))
        held, estimate = self.plan.estimator.estimate(self.problem(learner.params), part, learner.estimator, key)
        terms, calls = estimate.aux
        learner, outcome = self._update(learner, JOINT, estimate, calls)
        return learner._replace(estimator=held), outcome._replace(terms=terms)

    def _evaluate(self, params: PyTree, key: PRNGKeyArray, tasks: int, readings: int) -> Scalar:
        """Mean over tasks of (best f - f at the start) / (|f at the start| + 1): 0 for no progress, lower is better.

        Where the loss is of levels, of asinh(best f) - asinh(f at the start).
        """
        levels = self.plan.joint_weights.level > 0

        def one(params: PyTree, key: PRNGKeyArray) -> Scalar:
            optimizer = ShapeOptimizer(eqx.combine(params, self.static), record_energy=False)
            task_key, start_key, run_key = jax.random.split(key, 3)
            task = self.plan.family.sample(task_key)
            optimizer = optimizer.informed(task)
            oracle = self.plan.sensing.oracle(task)
            trace = rollout(optimizer, oracle, task.start(start_key), task.box, readings * oracle.cost, run_key)
            first = trace.steps.value[0]
            best = trace.best.value
            fall = jnp.arcsinh(best) - jnp.arcsinh(first) if levels else (best - first) / (jnp.abs(first) + 1.0)
            return jnp.where(jnp.isfinite(fall), fall, 0.0)

        keys = jax.random.split(key, tasks)
        return jnp.mean(over_tasks(self.plan.mesh, jax.vmap(one, (None, 0)), params, (keys,)))

    def _supervise(
        self,
        learner: Learner,
        key: PRNGKeyArray,
        part: str,
        unroll: Unroll,
        loss_of: Callable[[Record, LossWeights], Scalar],
    ) -> tuple[Learner, Outcome]:
        def loss(trained: PyTree) -> tuple[Scalar, Scalar]:
            policy = eqx.combine(_with_part(learner.params, part, trained, self.plan.trained), self.static)
            _, record = unroll.advance(policy, unroll.start(policy, key))
            return loss_of(record, self.plan.weights), calls_of(record, unroll)

        (value, calls), gradient = jax.value_and_grad(loss, has_aux=True)(self._part(learner.params, part))
        units = units_of(gradient)
        gradient = jax.tree.map(lambda leaf, unit: leaf * unit, gradient, units)
        return self._update(learner, part, Estimate(value, gradient, None), calls)

    def _update(self, learner: Learner, part: str, estimate: Estimate, calls: Scalar) -> tuple[Learner, Outcome]:
        """One step of the part's Adam, in units, unless something is not finite."""
        trained, state = self._part(learner.params, part), getattr(learner, part)
        size = length(estimate.gradient)
        with jax.numpy_dtype_promotion("standard"):  # Optax raises floats to whole powers
            steps, new_state = self._adams[part].update(estimate.gradient, state, trained)
        new = jax.tree.map(lambda leaf, step, unit: leaf + step * unit, trained, steps, units_of(trained))
        sound = jnp.isfinite(size) & jnp.isfinite(estimate.value)
        kept, kept_state = jax.tree.map(lambda a, b: jnp.where(sound, a, b), (new, new_state), (trained, state))
        skipped = learner.skipped + (~sound).astype(jnp.int32)
        learner = learner._replace(
            params=_with_part(learner.params, part, kept, self.plan.trained), skipped=skipped, **{part: kept_state}
        )
        return learner, Outcome(estimate.value, size, calls, skipped)

    def _part(self, params: PaperPolicy, name: str) -> PyTree:
        return _part(params, name, self.plan.trained)


def make_phases(plan: Plan, static: PyTree) -> Phases:
    """The updates of a plan; the same object, with its compiled code, for an equal plan."""
    try:
        hash((plan, static))
    except TypeError:  # a family that holds arrays
        return Phases(plan, static)
    return _shared_phases(plan, static)


_shared_phases = functools.lru_cache(maxsize=16)(Phases)


def falling(rate: float, updates: int | None) -> float | optax.Schedule:
    return rate if updates is None else optax.cosine_decay_schedule(rate, updates, LAST_SHARE)


def split_policy(policy: AbstractPolicy) -> tuple[PyTree, Any]:
    """What is trained of a policy, and the hashable rest."""
    return eqx.partition(policy, eqx.is_inexact_array)


def calls_of(record: Record, unroll: Unroll) -> Scalar:
    """What a window spent: its readings, and the teacher's probes at its events."""
    cost = unroll.sensing.cost
    probes = jnp.sum(jnp.where(record.event, record.label.calls, 0))
    return (cost * record.value.size + probes).astype(record.value.dtype)


def units_of(params: PyTree) -> PyTree:
    """The unit of every array, in which noise and learning rates are measured: inputs of a layer share one change."""
    return jax.tree_util.tree_map_with_path(lambda where, leaf: unit_of(jax.tree_util.keystr(where), leaf), params)


def unit_of(name: str, leaf: Array) -> float:
    """1 for a gain, 1/sqrt(inputs) for a layer's weights, BIAS_UNIT for its biases; see `heads` for these."""
    if "layers" not in name:
        return unit_of_head(name, leaf)
    return leaf.shape[-1] ** -0.5 if leaf.ndim == 2 else BIAS_UNIT


def _part(params: PaperPolicy, name: str, trained: Part) -> PyTree:
    """What an update of that name trains."""
    if name != JOINT:
        return getattr(params, name)
    if trained is Part.HEADS:
        return heads_of(params)
    return _gains(params) if trained is Part.GAINS else params


def _with_part(params: PaperPolicy, name: str, part: PyTree, trained: Part) -> PyTree:
    if name != JOINT:
        return eqx.tree_at(lambda p: getattr(p, name), params, part, is_leaf=lambda leaf: leaf is None)
    if trained is Part.ALL:
        return part
    if trained is Part.HEADS:
        return with_heads(params, part)
    planner, *controller = part
    params = eqx.tree_at(lambda p: p.planner.gains, params, planner)
    return eqx.tree_at(lambda p: p.controller.gains, params, *controller) if controller else params


def _gains(params: PaperPolicy) -> PyTree:
    planner = (params.planner.gains,)
    return planner if params.controller is None else (*planner, params.controller.gains)
