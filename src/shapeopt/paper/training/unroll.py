"""A differentiable unroll of SHAPE on a batch of sampled tasks, watched by the teacher.

Time is outside and the batch inside, so that planning, and asking the teacher, is a real branch: it costs nothing at a
reading where no run has an event.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.sharding import Mesh
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from ...core import Cause, Mode
from ...oracles import AbstractOracle, OracleState
from ...tasks import AbstractFamily, AbstractTask
from ..base import AbstractPolicy, Plant
from ..dynamics import SemiImplicitStep
from ..events import StageAction
from ..memory import READ
from ..networks import norm
from ..optimizer import Channels, Observed, ShapeOptimizer, ShapeState, channels_of
from ..stage import PaperState
from .adjoint import bounded
from .parallel import over_tasks
from .record import Before, Lesson, Record
from .sensing import EXACT, Sensing
from .teacher import Label, ProbeTeacher, unit_vector

# The teacher's force (eq. dp_local_teacher_force); the paper names its parts and gives no number, these are chosen.
C_G = 1.0  # pull towards the anchor: with a typical force's reach of 0.1, a tenth of the way a step
C_P = 0.5  # share of the momentum that a step dissipates, of the order of the untrained controller's
C_ESCAPE = 1.0  # push towards the anchor while escaping, rms over coordinates, in the stage's units

# What reverse mode keeps of a step besides the state that it began with; the rest is computed again, which takes no
# longer than to write it and read it back. Without the reads, the whole memory would be kept at every reading.
KEPT = jax.checkpoint_policies.save_only_these_names(READ)


class Runs(NamedTuple):
    """A batch of runs under way."""

    tasks: AbstractTask
    states: ShapeState
    ledgers: OracleState
    before: Before
    key: PRNGKeyArray  # of the teacher


class Asked(NamedTuple):
    """Tasks of a batch, or of a device's share of it, and the keys with which the teacher is asked about each."""

    tasks: AbstractTask
    keys: PRNGKeyArray


class Planned(NamedTuple):
    """The stages under which a batch goes on, what the teacher would have planned, and what that teaches."""

    policy: PyTree
    action: StageAction
    label: Label
    lesson: Lesson


class Unroll(eqx.Module):
    """A batch of runs of `readings` readings on tasks that `family` draws, each from a start of its own.

    `taught`: the teacher's plan replaces the planner's, as phase I has it. `detached`: nothing is differentiated
    through time, as in phases I and II. `constant_forces`: the readings' gradients count as constants, so that no
    second derivative of f is taken. `remat`: reverse mode computes the inner values of a step again instead of keeping
    them. `untaught`: the teacher is not asked, and its labels are zero. `adjoint_clip`: the longest derivative of a
    run's own loss by its q that reverse mode carries from a reading to the one before (see `adjoint`; None: no bound).

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
    remat: bool = eqx.field(static=True, default=True)
    mesh: Mesh | None = eqx.field(static=True, default=None)  # devices over which the runs are divided
    untaught: bool = eqx.field(static=True, default=False)
    adjoint_clip: float | None = eqx.field(static=True, default=None)

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

        def go_on(policy: AbstractPolicy, runs: Asked, states: ShapeState, ledgers: OracleState) -> Any:
            boxes = states.box  # a constant of the loop, which reverse mode need not keep at every reading

            def one(held: tuple[ShapeState, OracleState], _: None) -> Any:
                return self._read(policy, runs, replace(self._bounded(held[0]), box=boxes), held[1])

            step = jax.checkpoint(one, policy=KEPT, prevent_cse=False) if self.remat else one
            return jax.lax.scan(step, (states, ledgers), length=length)

        split = Asked(runs.tasks, jax.random.split(runs.key, self.batch)), runs.states, runs.ledgers
        (states, ledgers), record = over_tasks(self.mesh, go_on, policy, split, axes=(0, 1))
        return runs._replace(states=states, ledgers=ledgers), record

    def _bounded(self, states: ShapeState) -> ShapeState:
        """The states; the loss is a mean over the batch, and so is the bound."""
        return states if self.adjoint_clip is None else bounded(states, self.adjoint_clip / self.batch)

    def _start(
        self, policy: AbstractPolicy, task_key: PRNGKeyArray, run_key: PRNGKeyArray
    ) -> tuple[AbstractTask, ShapeState, OracleState]:
        task = self.family.sample(task_key)
        start_key, policy_key, noise_key = jax.random.split(run_key, 3)
        oracle = self.sensing.oracle(task)
        optimizer = make_optimizer(policy).informed(task)
        state = optimizer.init(task.start(start_key), task.box, self.readings * oracle.cost, policy_key)
        return task, state, oracle.init(noise_key)

    def _read(self, policy: AbstractPolicy, runs: Asked, states: ShapeState, ledgers: OracleState) -> Any:
        """One reading of every run; stages are planned, and the teacher is asked, only where a run has an event."""
        if self.detached:
            states = jax.lax.stop_gradient(states)
        optimizer = make_optimizer(policy)
        observe = lambda task, state, ledger: self._observe(optimizer, self.sensing.oracle(task), state, ledger)  # noqa: E731
        charged, observed = jax.vmap(observe)(runs.tasks, states, ledgers)
        event = observed.cause != Cause.NONE

        def plan() -> Planned:
            return jax.vmap(lambda *run: self._plan(optimizer, *run))(runs, states, observed, charged.readings)

        silence = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), jax.eval_shape(plan))
        as_it_was = silence._replace(policy=observed.policy, action=states.action)
        planned = jax.lax.cond(jnp.any(event), plan, lambda: as_it_was)
        action = _obeying(planned, event & observed.plant.finite) if self.taught else planned.action
        moved = jax.vmap(optimizer.move)(states, observed, planned.policy, action)
        record = Record(
            value=observed.plant.f,
            q=observed.plant.q,
            goal=states.action.anchor,
            event=event,
            anchor=planned.action.anchor,
            logits=planned.action.mode_logits,
            label=planned.label,
            lesson=planned.lesson,
            channels=jax.vmap(_in_stage_units)(moved.info.seen, moved.policy),
        )
        return (moved, charged), record

    def _observe(
        self, optimizer: ShapeOptimizer, oracle: AbstractOracle, state: ShapeState, ledger: OracleState
    ) -> tuple[OracleState, Observed]:
        ledger, reading = oracle.read(ledger, optimizer.ask(state))
        if self.constant_forces:
            reading = reading._replace(gradient=jax.lax.stop_gradient(reading.gradient))
        return ledger, optimizer.observe(state, reading)

    def _plan(
        self, optimizer: ShapeOptimizer, run: Asked, state: ShapeState, observed: Observed, number: Int[Array, ""]
    ) -> Planned:
        """The planner's stage at an event, the teacher's label, and what the controller learns from that."""
        policy, action = optimizer.plan(state, observed)
        unit, plant = force_unit(policy), observed.plant
        label, lesson = Label.none(plant.q), Lesson.none(plant.q.dtype)
        if not self.untaught:
            stalled = (observed.cause != Cause.CLOCK) & (observed.cause != Cause.NONE)
            value = lambda q: run.tasks(state.box.outward(q))  # noqa: E731
            label = self.teacher(plant, unit, stalled, value, novelty_of(policy), run.keys, number)
        if self.taught:
            lesson = _lesson(optimizer, policy, plant, action, label)
        return Planned(policy, action, label, lesson)


def make_optimizer(policy: AbstractPolicy) -> ShapeOptimizer:
    """The optimizer as it is trained: it notes its channels and keeps no energy ledger."""
    return ShapeOptimizer(policy, SemiImplicitStep(policy.h), record_energy=False, observer=channels_of)


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
    radius = jnp.ones((), archive.values.dtype)  # a novel place is a unit away; chosen here
    return lambda q: archive.novelty(q, radius)


def teacher_force(plant: Plant, p: Float[Array, " d"], label: Label, unit: Float[Array, ""]) -> Float[Array, " d"]:
    """F of eq. dp_local_teacher_force in the stage's units, of a plant whose momentum over h c is p.

        F = -g / c - c_g (q - anchor) - c_p p + c_escape sqrt(d) (anchor - q) / |anchor - q| [escape]

    Departs from the paper: the form of the escape's force, which it leaves open; the units.
    """
    towards = label.anchor - plant.q
    push = jnp.where(label.mode == Mode.ESCAPE, C_ESCAPE * plant.q.size**0.5, 0.0)
    return -plant.g / unit + C_G * towards - C_P * p + push * unit_vector(towards)


def _lesson(optimizer: ShapeOptimizer, policy: PyTree, plant: Plant, action: StageAction, label: Label) -> Lesson:
    """How far the step under the teacher's plan is from the teacher's force."""
    unit, action = force_unit(policy), _taught(action, label)
    structure, potential, radius = optimizer.policy.control(policy, plant, action)
    q, p, g, lower, upper, p_max = plant.q, plant.p, plant.g, plant.lower, plant.upper, optimizer.policy.p_max
    result = optimizer.step(q, p, g, potential, structure, lower, upper, p_max, radius)
    kept = (1.0 - structure.zeta) * p  # what the policy's bound left of the momentum
    force = teacher_force(plant, kept / (optimizer.step.h * unit), label, unit)
    miss = (result.p_free - kept) / (optimizer.step.h * unit) - force
    v = result.e_p
    size = norm(structure.alpha_J * structure.skew(v)) + norm(structure.alpha_R * structure.dissipation(v))
    return Lesson(jnp.where(plant.finite, jnp.mean(miss**2), 0.0), size / unit)


def _taught(action: StageAction, label: Label) -> StageAction:
    """The teacher's plan in place of the planner's."""
    return replace(action, anchor=label.anchor, mode=label.mode)


def _obeying(planned: Planned, where: Bool[Array, " batch"]) -> StageAction:
    """The stages of a batch, under the teacher's plan where it is to be followed."""
    chosen = lambda new, old: jnp.where(where.reshape(-1, *(1,) * (new.ndim - 1)), new, old)  # noqa: E731
    return jax.tree.map(chosen, _taught(planned.action, planned.label), planned.action)


def _in_stage_units(channels: Any, memory: PyTree) -> Channels:
    unit = force_unit(memory)
    return Channels(*(part / unit for part in channels))
