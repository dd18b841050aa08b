"""The optimizer: plant, policy, events, memory and ledger joined (Algorithms alg:streaming_shape_compact,
alg:dual_policy_shape)."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from ..core import AbstractOptimizer, Box, Cause, Reading
from .base import AbstractPolicy, Drive, Plant
from .dynamics import (
    EnergyLedger,
    PassivityMonitor,
    PendingBalance,
    PortAccount,
    SemiImplicitStep,
    ShapedPotential,
    StepResult,
    close_balance,
    open_balance,
)
from .events import StageAction, cause_of
from .networks import norm

LARGE = 1 / 64  # of the root of the largest number: a reading beyond it is taken for infinite, since squares overflow


class Channels(NamedTuple):
    """How strong a step's learned channels were, in units of force: what training keeps small (eqs. dp_control_loss,
    dp_jr_reg_loss, dp_port_power_penalty). `power` is what the port fed in, y . u_port."""

    skew: Float[Array, ""]
    drag: Float[Array, ""]
    port: Float[Array, ""]
    power: Float[Array, ""]


Observer = Callable[[Plant, Drive, StepResult], PyTree]  # says something of a step, and changes nothing


class Made(NamedTuple):
    """A step, what shaped it, what the observer said of it, and whether its port input was cut."""

    result: StepResult
    potential: ShapedPotential
    seen: PyTree
    cut: Bool[Array, ""] | None


class Info(NamedTuple):
    """What a person wants to see of a reading: its stage, why that ended, the energy of the step that led here and
    whether its port input was cut, the anchor from here on, and what the observer said of the step that leads on."""

    mode: Int[Array, ""]
    cause: Int[Array, ""]
    stage: Int[Array, ""]
    ledger: EnergyLedger | None
    cut: Bool[Array, ""] | None = None
    anchor: Float[Array, " d"] | None = None
    seen: PyTree = None


class ShapeState(eqx.Module):
    """Everything that the next step needs."""

    q: Float[Array, " d"]
    p: Float[Array, " d"]
    action: StageAction
    age: Int[Array, ""]  # readings in this stage
    policy: PyTree
    box: Box
    spent: Float[Array, ""]
    budget: Float[Array, ""]
    pending: PendingBalance | None
    account: PortAccount | None
    info: Info


class Observed(NamedTuple):
    """A reading that was taken in, and why the stage ends at it, if it does."""

    plant: Plant
    policy: PyTree
    cause: Int[Array, ""]
    spent: Float[Array, ""]  # with this reading


class ShapeOptimizer(AbstractOptimizer):
    """SHAPE with a given policy; one reading a step.

    Diagnostics that are off (no energy, no monitor, no anchor, no observer) leave nothing in the compiled loop.

    Departs from the paper: a signal that ends a stage is raised before the stage's next step is spent, not after.
    """

    policy: AbstractPolicy
    step: SemiImplicitStep = SemiImplicitStep()
    record_energy: bool = eqx.field(static=True, default=True)
    record_anchor: bool = eqx.field(static=True, default=False)
    monitor: PassivityMonitor | None = None
    observer: Observer | None = eqx.field(static=True, default=None)
    descriptor: Float[Array, " k"] | None = None  # d_tau of the task at hand (eq. dp_assimilated_signal)

    def __check_init__(self):
        if self.step.h != self.policy.h:
            raise ValueError(f"`step` must have the policy's h = {self.policy.h}; got h = {self.step.h}.")

    def informed(self, task: Any) -> "ShapeOptimizer":
        """The optimizer of a run on `task`, whose descriptor it knows from then on."""
        return replace(self, descriptor=task.descriptor) if getattr(self.policy, "descriptor_size", 0) else self

    def init(self, x0: Float[Array, " d"], box: Box, budget: int, key: PRNGKeyArray) -> ShapeState:
        q = jnp.clip(box.inward(x0), box.q_lower, box.q_upper)
        policy, action = self.policy.init(q, budget, key, self.descriptor)
        zero, whole = jnp.zeros((), q.dtype), jnp.zeros((), jnp.int32)
        pending = PendingBalance.none(q.dtype) if self.record_energy else None
        account = None if self.monitor is None else PortAccount.blank(q.dtype)
        info = Info(
            mode=action.mode,
            cause=whole,
            stage=whole,
            ledger=None if pending is None else close_balance(pending, zero),
            cut=None if account is None else account.cut,
            anchor=action.anchor if self.record_anchor else None,
            seen=self._blank_view(q, policy, action, box),
        )
        total = jnp.asarray(budget, q.dtype)
        return ShapeState(q, jnp.zeros_like(q), action, whole, policy, box, zero, total, pending, account, info)

    def _blank_view(self, q: Float[Array, " d"], policy: PyTree, action: StageAction, box: Box) -> PyTree:
        """Zeros in the shape of what the observer says."""
        if self.observer is None:
            return None
        zero = jnp.zeros((), q.dtype)
        plant = Plant(q, jnp.zeros_like(q), zero, jnp.zeros_like(q), jnp.ones((), bool), box.q_lower, box.q_upper, zero)
        made = jax.eval_shape(lambda: self._step(plant, self.policy.control(policy, plant, action), None))
        return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), made.seen)

    def ask(self, state: ShapeState) -> Float[Array, " d"]:
        return state.box.outward(state.q)

    def info(self, state: ShapeState) -> Info:
        return state.info

    def tell(self, state: ShapeState, reading: Reading) -> ShapeState:
        observed = self.observe(state, reading)
        return self.move(state, observed, *self.plan(state, observed))

    def observe(self, state: ShapeState, reading: Reading) -> Observed:
        """Take in a reading, made harmless where it is not finite, or so large that its square would not be."""
        box, dtype = state.box, state.q.dtype
        spent = state.spent + reading.cost.astype(dtype)
        f, g = reading.value.astype(dtype), reading.gradient.astype(dtype) * box.scale
        large = LARGE * float(jnp.finfo(dtype).max) ** 0.5
        finite = (jnp.abs(f) < large) & jnp.all(jnp.abs(g) < large)
        f, g = jnp.where(finite, f, jnp.inf), jnp.where(finite, g, 0.0)
        share = jnp.minimum(spent / state.budget, 1.0)
        plant = Plant(state.q, state.p, f, g, finite, box.q_lower, box.q_upper, share)
        policy = self.policy.assess(state.policy, plant, state.action)
        signals = self.policy.notice(policy, plant, state.action)
        return Observed(plant, policy, cause_of(signals, state.age + 1, state.action.horizon), spent)

    def plan(self, state: ShapeState, observed: Observed) -> tuple[PyTree, StageAction]:
        """The policy's state and the stage that goes on from here: another one if the last has ended."""
        renewed = self.policy.begin(observed.policy, observed.plant, state.action, observed.cause)
        return _where(observed.cause != Cause.NONE, renewed, (observed.policy, state.action))

    def move(self, state: ShapeState, observed: Observed, policy: PyTree, action: StageAction) -> ShapeState:
        """The step of the stage."""
        plant, cause, age = observed.plant, observed.cause, state.age + 1
        made = self._step(plant, self.policy.control(policy, plant, action), state.account)
        followed = self.policy.follow(policy, plant, action, made.result)
        result = made.result

        ledger = pending = None
        if state.pending is not None:
            ledger = close_balance(state.pending, plant.f)
            pending = open_balance(plant.q, plant.f, result, made.potential, ledger.after)
        account = state.account
        ended = cause != Cause.NONE
        info = Info(
            mode=state.action.mode,
            cause=cause.astype(jnp.int32),
            stage=state.info.stage + ended.astype(jnp.int32),
            ledger=ledger,
            cut=None if account is None else account.cut,
            anchor=action.anchor if self.record_anchor else None,
            seen=made.seen,
        )
        account = None if account is None or made.cut is None else account.after(result.work, made.cut)
        age, spent = jnp.where(ended, 0, age), observed.spent
        sound = jnp.all(jnp.isfinite(result.q)) & jnp.all(jnp.isfinite(result.p))  # else an overflow: stay, at rest
        q, p = jnp.where(sound, result.q, plant.q), jnp.where(sound, result.p, 0.0)
        return ShapeState(q, p, action, age, followed, state.box, spent, state.budget, pending, account, info)

    def _step(self, plant: Plant, drive: Drive, account: PortAccount | None) -> Made:
        cut = None
        if self.monitor is not None and account is not None:
            structure, cut = self.monitor.guard(account, drive.structure, plant.p, self.step.h)
            drive = drive._replace(structure=structure)
        structure, potential, radius = drive
        result = self.step(
            plant.q, plant.p, plant.g, potential, structure, plant.lower, plant.upper, self.policy.p_max, radius
        )
        seen = None if self.observer is None else self.observer(plant, drive, result)
        return Made(result, potential, seen, cut)


def channels_of(plant: Plant, drive: Drive, result: StepResult) -> Channels:
    """The observer of training."""
    structure, v = drive.structure, result.e_p
    u_port = structure.port_input(v)
    skew, drag = structure.alpha_J * structure.skew(v), structure.alpha_R * structure.dissipation(v)
    return Channels(norm(skew), norm(drag), norm(u_port), jnp.dot(v, u_port))


def potential_of(plant: Plant, drive: Drive, result: StepResult) -> ShapedPotential:
    """The observer of `result.stages`."""
    return drive.potential


def _where(condition: Bool[Array, ""], new: PyTree, old: PyTree) -> PyTree:
    """`new` where the condition holds; what did not change is not touched."""
    return jax.tree.map(lambda a, b: b if a is b else jnp.where(condition, a, b), new, old)
