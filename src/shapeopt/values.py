"""SHAPE where a reading is one value: sampled values go to the policy as they are; a force is put together from d + 1.

The plant waits where it is while its probes are read, one call each, and every value counts as a reading of the run.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from .core import AbstractOptimizer, Box, Cause, Reading
from .shape import Info, ShapeOptimizer, ShapeState

Vector = Float[Array, " d"]

LARGEST_PROBE = 0.01  # of a coordinate's scale, of which a box is ten wide


class ValueState(eqx.Module):
    """The optimizer's state, and the reading that is being put together."""

    shape: ShapeState
    value: Float[Array, ""]  # at the plant
    force: Vector  # as far as it is known
    read: Int[Array, ""]  # values of this reading so far
    told: Bool[Array, ""]  # whether the last value completed a reading


class ValueOptimizer(AbstractOptimizer):
    """SHAPE with a policy that says when it wants a force (`UniversalPolicy(values=True)`), on values alone.

        g_i = (f(x + r_i e_i) - f(x)) / r_i,    r_i = sqrt(eps) max(|x_i|, scale_i),

    with -r_i where a bound is nearer. A value that is not finite at the plant is told at once; at a probe, the force is
    zero along it.

    Departs from the paper: one-sided differences along coordinates, at d + 1 calls a force, in place of eq.
    app:zo_oracle's two-sided ones; and forces are read only where the policy uses them.
    """

    shape: ShapeOptimizer

    def init(self, x0: Vector, box: Box, budget: int, key: PRNGKeyArray) -> ValueState:
        shape = self.shape.init(x0, box, budget, key)
        zero = jnp.zeros((), x0.dtype)
        return ValueState(shape, zero, jnp.zeros_like(x0), jnp.zeros((), jnp.int32), jnp.zeros((), bool))

    def ask(self, state: ValueState) -> Vector:
        x = self.shape.ask(state.shape)
        probed = (jnp.arange(x.size, dtype=jnp.int32) == state.read - 1).astype(x.dtype)
        return x + probed * _reach(x, state.shape.box)

    def tell(self, state: ValueState, reading: Reading) -> ValueState:
        shape, at_plant = state.shape, state.read == 0
        x, f = self.shape.ask(shape), reading.value.astype(state.value.dtype)
        value = jnp.where(at_plant, f, state.value)
        reach = _reach(x, shape.box)
        slope = (f - value) / jnp.where(reach != 0, reach, 1.0)
        probed = (jnp.arange(x.size, dtype=jnp.int32) == state.read - 1) & jnp.isfinite(slope) & (reach != 0)
        force = jnp.where(at_plant, 0.0, jnp.where(probed, slope, state.force))
        wanted = self.shape.policy.wants_force(shape.policy, shape.action) & jnp.isfinite(value)
        told = ~wanted | (state.read == x.size)
        whole = Reading(value, force, state.read + 1)
        shape = jax.lax.cond(told, lambda: self.shape.tell(shape, whole), lambda: shape)
        return ValueState(shape, value, force, jnp.where(told, 0, state.read + 1), told)

    def info(self, state: ValueState) -> Info:
        """What the optimizer says of the step that a reading led to; a value that completed none led to no step."""
        info, told = state.shape.info, state.told
        ledger = info.ledger
        if ledger is not None:
            flows = jax.tree.map(lambda term: jnp.where(told, term, 0.0), ledger)  # where nothing moved, none did
            ledger = flows._replace(task_after=ledger.task_after, shaped_after=ledger.shaped_after)
        return info._replace(
            mode=jnp.where(told, info.mode, state.shape.action.mode),
            cause=jnp.where(told, info.cause, int(Cause.NONE)),
            ledger=ledger,
            cut=None if info.cut is None else info.cut & told,
        )


def _reach(x: Vector, box: Box) -> Vector:
    """How far a coordinate's probe goes, as it is in floating point; 0 where the bounds leave no room."""
    epsilon = jnp.finfo(x.dtype).eps
    radius = jnp.minimum(jnp.sqrt(epsilon) * jnp.maximum(jnp.abs(x), box.scale), LARGEST_PROBE * box.scale)
    probe = jnp.where(x + radius <= box.upper, x + radius, jnp.maximum(x - radius, box.lower))
    return probe - x
