"""The device engine: the same optimizer, traced by JAX, under the contract that `rollout` compiles and batches."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from ..core import AbstractOptimizer, Box, Reading
from ..core.board import UNKNOWN, Spec
from ..ops.device import DEVICE
from ..optimizer import Info, Optimizer, Policy, State
from ..values_only import ValueReadings, ValueState


class DeviceState(eqx.Module):
    """The optimizer's state, and the box that maps it to the user's coordinates."""

    inner: State | ValueState
    box: Box


class DeviceShape(AbstractOptimizer):
    """SHAPE as a traceable optimizer; a batch of runs is `vmap` over it.

    Departs from the paper: as `Optimizer`.
    """

    policy: Policy = eqx.field(static=True, default=Policy())
    noise_std: float = eqx.field(static=True, default=UNKNOWN)
    values_only: bool = eqx.field(static=True, default=False)

    def _optimizer(self, q: Any) -> Optimizer:
        return Optimizer(self.policy, Spec(q.shape[-1], q.dtype, self.values_only), self.noise_std)

    def init(self, x0: Any, box: Box, budget: Any, key: Any) -> DeviceState:
        q = jnp.clip(box.inward(x0), box.q_lower, box.q_upper)
        optimizer, words = self._optimizer(q), jax.random.key_data(key)
        inner: Any = optimizer.init(DEVICE, q, box.q_lower, box.q_upper, jnp.asarray(budget, q.dtype), words)
        if self.values_only:
            inner = ValueReadings(optimizer).init(DEVICE, inner)
        return DeviceState(jax.tree.map(jnp.asarray, inner), box)

    def ask(self, state: DeviceState) -> Any:
        if isinstance(state.inner, ValueState):
            return ValueReadings(self._optimizer(state.inner.inner.q)).ask(DEVICE, state.inner, state.box)
        return state.box.outward(state.inner.q)

    def tell(self, state: DeviceState, reading: Reading) -> DeviceState:
        inner, box = state.inner, state.box
        if isinstance(inner, ValueState):
            optimizer = self._optimizer(inner.inner.q)
            f = reading.value.astype(inner.inner.q.dtype)
            return DeviceState(ValueReadings(optimizer).tell(DEVICE, inner, f, box), box)
        dtype = inner.q.dtype
        f, g, cost = reading.value.astype(dtype), reading.gradient.astype(dtype) * box.scale, reading.cost.astype(dtype)
        return DeviceState(self._optimizer(inner.q).tell(DEVICE, inner, f, g, cost), box)

    def info(self, state: DeviceState) -> Info:
        inner = state.inner.inner if isinstance(state.inner, ValueState) else state.inner
        return inner.info
