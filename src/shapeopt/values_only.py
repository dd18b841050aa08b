"""Readings that are single values: a tactic that needs a force gets one made of d + 1 of them.

    g_i = (f(x + r_i e_i) - f(x)) / r_i,    r_i = sqrt(eps) max(|x_i|, scale_i),

with -r_i where a bound is nearer. The plant waits while its probes are read, one call each. A value that is not
finite at the plant is passed on at once; at a probe, the force is zero along it.

Departs from the paper: one-sided differences along coordinates, at d + 1 calls a force, in place of eq. app:zo_oracle's
two-sided ones; and forces are read only where a tactic uses them.
"""

from typing import Any, NamedTuple

from .core.box import Box
from .optimizer import Optimizer, State

LARGEST_PROBE = 0.01  # of a coordinate's scale, of which a box is ten wide


class ValueState(NamedTuple):
    """The optimizer's state, and the reading that is being put together."""

    inner: State
    value: Any  # at the plant
    force: Any  # as far as it is known, in the user's coordinates
    read: Any  # values of this reading so far
    complete: Any  # whether the last value completed a reading


class ValueReadings:
    """An optimizer whose readings are values alone."""

    def __init__(self, optimizer: Optimizer) -> None:
        self.optimizer = optimizer
        self._by_value = optimizer.opens_by_value

    def init(self, ops: Any, inner: State) -> ValueState:
        dtype = self.optimizer.spec.dtype
        return ValueState(inner, ops.real(0.0, dtype), ops.xp.zeros_like(inner.q), ops.whole(0), ops.flag(False))

    def ask(self, ops: Any, state: ValueState, box: Box) -> Any:
        x = box.outward(state.inner.q)
        if not ops.traced and state.read == 0:
            return x
        probed = ops.xp.arange(x.shape[0], dtype=ops.xp.int32) == state.read - 1
        return ops.where(probed, x + self._reach(ops, x, box), x)

    def tell(self, ops: Any, state: ValueState, f: Any, box: Box) -> ValueState:
        xp, inner = ops.xp, state.inner
        if not ops.traced and state.read == 0 and not self._wants_force(ops, inner):  # the same, in fewer operations
            zeros = xp.zeros(inner.q.shape, inner.q.dtype)
            inner = self.optimizer.tell(ops, inner, f, zeros, ops.real(1.0, self.optimizer.spec.dtype))
            return ValueState(inner, f, zeros, 0, True)
        x, at_plant = box.outward(inner.q), state.read == 0
        value = ops.pick(at_plant, f, state.value)
        reach = self._reach(ops, x, box)
        slope = (f - value) / ops.where(reach != 0, reach, 1.0)
        probed = (xp.arange(x.shape[0], dtype=ops.xp.int32) == state.read - 1) & (abs(slope) < xp.inf) & (reach != 0)
        force = ops.where(at_plant, 0.0, ops.where(probed, slope, state.force))
        wanted = self._wants_force(ops, inner) & (abs(value) < xp.inf)
        complete = ops.no(wanted) | (state.read == x.shape[0])
        cost = ops.real(state.read + 1, self.optimizer.spec.dtype)
        brought = force * box.rate(x)
        inner = ops.when(complete, lambda inner: self.optimizer.tell(ops, inner, value, brought, cost), inner)
        read = ops.pick(complete, ops.whole(0), state.read + 1)
        return ValueState(inner, value, force, read, ops.flag(complete))

    def _wants_force(self, ops: Any, inner: State) -> Any:
        tactics, memories = self.optimizer.tactics, inner.memories
        if not ops.traced:
            tactic = tactics[inner.active]
            return (tactic.uses_force or not self._by_value) and tactic.wants_force(ops, memories[inner.active])
        wanted = ops.flag(False)
        for i, (tactic, memory) in enumerate(zip(tactics, memories, strict=True)):
            if memory is not None and (tactic.uses_force or not self._by_value):
                wanted = wanted | ((inner.active == i) & tactic.wants_force(ops, memory))
        return wanted

    def _reach(self, ops: Any, x: Any, box: Box) -> Any:
        """How far a coordinate's probe goes, as it is in floating point; 0 where the bounds leave no room."""
        xp, scale = ops.xp, box.rate(x)
        size = xp.maximum(abs(x), scale) * self.optimizer.spec.eps**0.5
        radius = xp.minimum(size, LARGEST_PROBE * scale)
        probe = ops.where(x + radius <= box.upper, x + radius, xp.maximum(x - radius, box.lower))
        return probe - x
