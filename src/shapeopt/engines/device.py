"""The device engine: the same optimizer, traced by JAX, under the contract that `rollout` compiles and batches."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..core import AbstractOptimizer, Box, Reading, compiler_options
from ..core.board import UNKNOWN, Spec
from ..ops import HOST
from ..ops.device import DEVICE
from ..ops.simplify import simplified
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
        rate = box.rate(box.outward(inner.q))
        f, g, cost = reading.value.astype(dtype), reading.gradient.astype(dtype) * rate, reading.cost.astype(dtype)
        optimizer = self._optimizer(inner.q)
        tell = simplified(lambda inner, f, g, cost: optimizer.tell(DEVICE, inner, f, g, cost))
        return DeviceState(tell(inner, f, g, cost), box)

    def is_even(self, d: int) -> bool:
        spec = Spec(d, values_only=self.values_only)
        return not any(tactic.uneven and tactic.blank(HOST, spec) is not None for tactic in self.policy.tactics)

    def settles(self, state: DeviceState) -> Any:
        """As the optimizer has it."""
        inner = state.inner.inner if isinstance(state.inner, ValueState) else state.inner
        return self._optimizer(inner.q).settles(DEVICE, inner)

    def info(self, state: DeviceState) -> Info:
        inner = state.inner.inner if isinstance(state.inner, ValueState) else state.inner
        return inner.info


class Batch(NamedTuple):
    """What a batch of starts read, one row a round and one column a start, and their states at its end."""

    value: np.ndarray
    next_x: np.ndarray
    info: Info
    ends: list[State]


def run_batch(
    optimizer: Optimizer, starts: list[State], box: Box, pair: Callable[[Any], tuple[Any, Any]], rounds: int
) -> Batch:
    """All starts for so many readings each, as one compiled program.

    Arguments:
        optimizer: the one that made the host states `starts`.
        box: maps internal coordinates to the user's.
        pair: x -> (value, gradient), traceable.
        rounds: readings of each start.
    """

    def read(state: State, _: None) -> tuple[State, tuple[Any, Any, Info]]:
        x = box.outward(state.q)
        value, force = pair(x)
        tell = simplified(lambda state, value, force: optimizer.tell(DEVICE, state, value, force, 1.0))
        state = tell(state, value, force * box.rate(x))
        return state, (value, box.outward(state.q), state.info)

    with jax.enable_x64(optimizer.spec.dtype == np.float64):
        box = jax.tree.map(jnp.asarray, box)
        stacked = jax.tree.map(lambda *leaves: _on_device(np.stack(leaves), optimizer.spec.dtype), *starts)
        run = jax.jit(
            jax.vmap(lambda state: jax.lax.scan(read, state, length=rounds)), compiler_options=compiler_options()
        )
        end, (value, next_x, info) = jax.device_get(run(stacked))
    by_round = lambda leaf: np.swapaxes(leaf, 0, 1)  # noqa: E731
    ends = [jax.tree.map(lambda leaf, i=i: _on_host(leaf[i]), end) for i in range(len(starts))]
    return Batch(by_round(value), by_round(next_x), jax.tree.map(by_round, info), ends)


def _on_device(leaf: np.ndarray, dtype: Any) -> Any:
    """A leaf of a host state in the type that the device engine has for it."""
    if leaf.dtype.kind == "f":
        return jnp.asarray(leaf, dtype)
    return jnp.asarray(leaf, jnp.int32) if leaf.dtype.kind == "i" else jnp.asarray(leaf)


def _on_host(leaf: np.ndarray) -> Any:
    """A leaf of a device state as the host engine has it: Python's scalars, and arrays that can be written to."""
    return leaf.copy() if leaf.ndim else leaf.item()
