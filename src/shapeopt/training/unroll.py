"""A differentiable unroll of SHAPE on a batch of sampled tasks, watched by the teacher.

Time is outside and the batch inside, so that the teacher, which is asked only at events, is a real branch: it costs
nothing at a reading where no run has an event.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.sharding import Mesh
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from ..core import Cause, Mode, Reading
from ..dynamics import SemiImplicitStep, StepResult
from ..oracles import AbstractOracle, OracleState
from ..policy.base import AbstractPolicy, Plant
from ..policy.paper_networks import norm
from ..policy.paper_stage import PaperState
from ..shape import Channels, ShapeOptimizer, ShapeState
from ..tasks import AbstractFamily, AbstractTask
from .parallel import over_tasks
from .record import Before, Lesson, Record
from .sensing import EXACT, Sensing
from .teacher import Label, ProbeTeacher, unit_vector

# The teacher's force (eq. dp_local_teacher_force); the paper names its parts and gives no number, these are ours.
C_G = 1.0  # pull towards the anchor: with a typical force's reach of 0.1, a tenth of the way a step
C_P = 0.5  # share of the momentum that a step dissipates, of the order of the untrained controller's
C_ESCAPE = 1.0  # push towards the anchor while escaping, rms over coordinates, in the stage's units


class Runs(NamedTuple):
    """A batch of runs under way."""

    tasks: AbstractTask
    states: ShapeState
    ledgers: OracleState
    before: Before
    key: PRNGKeyArray  # of the teacher


class Numbered(NamedTuple):
    """Tasks of a batch, or of a device's share of it, and each one's number in the batch."""

    tasks: AbstractTask
    number: Int[Array, " batch"]


class Unroll(eqx.Module):
    """A batch of runs of `readings` readings on tasks that `family` draws, each from a start of its own.

    `taught`: the teacher's plan replaces the planner's, as phase I has it. `detached`: nothing is differentiated
    through time, as in phases I and II. `constant_forces`: the readings' gradients count as constants, so that no
    second derivative of f is taken. `remat`: a step's inner values are computed again instead of kept. `untaught`: the
    teacher is not asked, and its labels are zero.

    Departs from the paper: it does not say whether second derivatives are taken.
    """

    family: AbstractFamily
    batch: int = eqx.field(static=True)
    readings: int = eqx.field(static=True)
    teacher: ProbeTeacher = ProbeTeacher()
    sensing: Sensing = eqx.field(static=True, default=EXACT)
    taught: bool = eqx.field(static=True, default=False)
    detached: bool = eqx.field(static=True, default=False)
    constant_forces: bool = eqx.field(static=True, default=False)
    remat: bool = eqx.field(static=True, default=False)
    mesh: Mesh | None = eqx.field(static=True, default=None)  # devices over which the runs are divided
    untaught: bool = eqx.field(static=True, default=False)

    def __check_init__(self):
        for name, least in (("batch", 1), ("readings", 2)):
            if getattr(self, name) < least:
                raise ValueError(f"`{name}` must be at least {least}; got {getattr(self, name)}.")

    def start(self, policy: AbstractPolicy, key: PRNGKeyArray) -> Runs:
        """Tasks, starts and noise follow from the key alone."""
        task_key, run_key, teacher_key = jax.random.split(key, 3)
        keys = jax.random.split(task_key, self.batch), jax.random.split(run_key, self.batch)
        tasks, states, ledgers = over_tasks(self.mesh, jax.vmap(self._start, (None, 0, 0)), policy, keys)
        before = Before.nothing(self.batch, states.q.dtype)
        return Runs(tasks, states, ledgers, before, teacher_key)

    def advance(self, policy: AbstractPolicy, runs: Runs, readings: int | None = None) -> tuple[Runs, Record]:
        """The next `readings` readings (None: all that a run has) of every run; `before` is left to the loss."""
        length = self.readings if readings is None else readings

        def go_on(shared: Any, runs: Numbered, states: ShapeState, ledgers: OracleState) -> Any:
            policy, key = shared
            one = lambda held, _: self._read(policy, key, runs, *held)  # noqa: E731
            return jax.lax.scan(jax.checkpoint(one) if self.remat else one, (states, ledgers), length=length)

        numbered = Numbered(runs.tasks, jnp.arange(self.batch, dtype=jnp.int32))
        split = numbered, runs.states, runs.ledgers
        (states, ledgers), record = over_tasks(self.mesh, go_on, (policy, runs.key), split, axes=(0, 1))
        return runs._replace(states=states, ledgers=ledgers), record

    def _start(
        self, policy: AbstractPolicy, task_key: PRNGKeyArray, run_key: PRNGKeyArray
    ) -> tuple[AbstractTask, ShapeState, OracleState]:
        task = self.family.sample(task_key)
        start_key, policy_key, noise_key = jax.random.split(run_key, 3)
        oracle = self.sensing.oracle(task)
        state = make_optimizer(policy).init(task.start(start_key), task.box, self.readings * oracle.cost, policy_key)
        return task, state, oracle.init(noise_key)

    def _read(
        self, policy: AbstractPolicy, key: PRNGKeyArray, runs: Numbered, states: ShapeState, ledgers: OracleState
    ) -> Any:
        """One reading of every run, and the teacher's word where a stage was planned at it."""
        if self.detached:
            states = jax.lax.stop_gradient(states)
        optimizer = make_optimizer(policy)
        tell = lambda task, state, ledger: self._tell(optimizer, self.sensing.oracle(task), state, ledger)  # noqa: E731
        told, charged, plants = jax.vmap(tell)(runs.tasks, states, ledgers)
        event = told.info.cause != Cause.NONE
        keys = jax.vmap(lambda n, i: jax.random.fold_in(jax.random.fold_in(key, n), i))(charged.readings, runs.number)

        def ask() -> tuple[Label, Lesson, StepResult]:
            return jax.vmap(lambda *run: self._ask(optimizer, *run))(runs.tasks, told, plants, keys)

        silence = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), jax.eval_shape(ask))
        asked = jnp.any(event)
        label, lesson, result = silence if self.untaught else jax.lax.cond(asked, ask, lambda: silence)
        go_on = _obeying(told, label, result, event & plants.finite) if self.taught else told
        action = told.action
        record = Record(
            value=plants.f,
            q=plants.q,
            goal=states.action.anchor,
            event=event,
            anchor=action.anchor,
            logits=action.mode_logits,
            label=label,
            lesson=lesson,
            channels=jax.vmap(_in_stage_units)(told.info.channels, told.policy),
        )
        return (go_on, charged), record

    def _tell(
        self, optimizer: ShapeOptimizer, oracle: AbstractOracle, state: ShapeState, ledger: OracleState
    ) -> tuple[ShapeState, OracleState, Plant]:
        ledger, reading = oracle.read(ledger, optimizer.ask(state))
        if self.constant_forces:
            reading = reading._replace(gradient=jax.lax.stop_gradient(reading.gradient))
        return optimizer.tell(state, reading), ledger, plant_at(state, reading)

    def _ask(
        self, optimizer: ShapeOptimizer, task: AbstractTask, told: ShapeState, plant: Plant, key: PRNGKeyArray
    ) -> tuple[Label, Lesson, StepResult]:
        """The teacher's label at an event, the step that it asks for, and what the controller learns from that."""
        unit = force_unit(told.policy)
        stalled = (told.info.cause != Cause.CLOCK) & (told.info.cause != Cause.NONE)
        value = lambda q: task(told.box.outward(q))  # noqa: E731
        label = self.teacher(plant, unit, stalled, value, novelty_of(told.policy), key)
        return label, *_lesson(optimizer, told, plant, label, unit)


def make_optimizer(policy: AbstractPolicy) -> ShapeOptimizer:
    """The optimizer as it is trained: it notes its channels and keeps no energy ledger."""
    return ShapeOptimizer(policy, SemiImplicitStep(policy.h), record_energy=False, record_channels=True)


def plant_at(state: ShapeState, reading: Reading) -> Plant:
    """The reading in internal coordinates, made harmless where it is not finite."""
    box, dtype = state.box, state.q.dtype
    f, g = reading.value.astype(dtype), reading.gradient.astype(dtype) * box.scale
    finite = jnp.isfinite(f) & jnp.all(jnp.isfinite(g))
    f, g = jnp.where(finite, f, jnp.inf), jnp.where(finite, g, 0.0)
    return Plant(state.q, state.p, f, g, finite, box.q_lower, box.q_upper, jnp.minimum(state.spent / state.budget, 1.0))


def force_unit(memory: PyTree) -> Float[Array, ""]:
    """The stage's unit of force, where the policy has one."""
    if isinstance(memory, PaperState):
        return memory.stage.scales.force
    return jnp.ones((), memory.archive.values.dtype)


def novelty_of(memory: PyTree) -> Any:
    """q -> novelty, from the spatial memory, or from the archive where there is none."""
    spatial = getattr(memory, "memory", None)
    if spatial is not None:
        return spatial.novelty
    archive = memory.archive
    radius = jnp.ones((), archive.values.dtype)  # a novel place is a unit away; ours
    return lambda q: archive.novelty(q, radius)


def teacher_force(plant: Plant, p: Float[Array, " d"], label: Label, unit: Float[Array, ""]) -> Float[Array, " d"]:
    """F of eq. dp_local_teacher_force in the stage's units, of a plant whose momentum over h c is p.

        F = -g / c - c_g (q - anchor) - c_p p + c_escape sqrt(d) (anchor - q) / |anchor - q| [escape]

    Departs from the paper: the form of the escape's force, which it leaves open; the units.
    """
    towards = label.anchor - plant.q
    push = jnp.where(label.mode == Mode.ESCAPE, C_ESCAPE * plant.q.size**0.5, 0.0)
    return -plant.g / unit + C_G * towards - C_P * p + push * unit_vector(towards)


def _lesson(
    optimizer: ShapeOptimizer, told: ShapeState, plant: Plant, label: Label, unit: Float[Array, ""]
) -> tuple[Lesson, StepResult]:
    """The step under the teacher's plan, and how far it is from the teacher's force."""
    action = replace(told.action, anchor=label.anchor, mode=label.mode)
    structure, potential, radius = optimizer.policy.control(told.policy, plant, action)
    q, p, g, lower, upper, p_max = plant.q, plant.p, plant.g, plant.lower, plant.upper, optimizer.policy.p_max
    result = optimizer.step(q, p, g, potential, structure, lower, upper, p_max, radius)
    kept = (1.0 - structure.zeta) * p  # what the policy's bound left of the momentum
    force = teacher_force(plant, kept / (optimizer.step.h * unit), label, unit)
    miss = (result.p_free - kept) / (optimizer.step.h * unit) - force
    v = result.e_p
    size = norm(structure.alpha_J * structure.skew(v)) + norm(structure.alpha_R * structure.dissipation(v))
    return Lesson(jnp.where(plant.finite, jnp.mean(miss**2), 0.0), size / unit), result


def _obeying(told: ShapeState, label: Label, result: StepResult, where: Bool[Array, " batch"]) -> ShapeState:
    """The states that follow the teacher's plan instead of the planner's."""
    chosen = lambda new, old: jnp.where(where.reshape(-1, *(1,) * (new.ndim - 1)), new, old)  # noqa: E731
    action = replace(
        told.action, anchor=chosen(label.anchor, told.action.anchor), mode=chosen(label.mode, told.action.mode)
    )
    return replace(told, q=chosen(result.q, told.q), p=chosen(result.p, told.p), action=action)


def _in_stage_units(channels: Any, memory: PyTree) -> Channels:
    unit = force_unit(memory)
    return Channels(*(part / unit for part in channels))
