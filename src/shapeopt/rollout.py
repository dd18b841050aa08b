"""The only loops that spend: (optimizer, oracle, budget, key) -> trace (Algorithm alg:streaming_shape_compact).

`rollout` compiles a whole run and can be batched; `advance` compiles a stretch of it, with a length known only at run
time, so that a host loop can report in between; `compiled_tell` steps a run from Python around a host objective.
"""

import functools
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from .core import AbstractOptimizer, Box, Reading
from .oracles import AbstractOracle, OracleState


class Best(NamedTuple):
    """The best point read so far; value +inf while none was finite."""

    x: Float[Array, " d"]
    value: Float[Array, ""]

    def after(self, x: Float[Array, " d"], value: Float[Array, ""]) -> "Best":
        better = jnp.isfinite(value) & (value < self.value)
        return Best(jnp.where(better, x, self.x), jnp.where(better, value, self.value))


class Carry(NamedTuple):
    """What a run hands from one reading to the next."""

    state: PyTree
    oracle: OracleState
    best: Best


class Step(NamedTuple):
    """What one reading left in the trace."""

    value: Float[Array, ""]
    best: Float[Array, ""]
    calls: Int[Array, ""]
    x: Float[Array, " d"] | None
    info: PyTree


class Trace(NamedTuple):
    """A whole run: its end, and one `Step` a reading (stacked)."""

    best: Best
    steps: Step
    end: Carry


def start(
    optimizer: AbstractOptimizer,
    oracle: AbstractOracle,
    x0: Float[Array, " d"],
    box: Box,
    budget: int,
    key: PRNGKeyArray,
    spent: int = 0,
) -> Carry:
    """The carry before the first reading; `spent` calls were made before (to learn whether the objective traces)."""
    run_key, noise_key = jax.random.split(key)
    best = Best(x0, jnp.asarray(jnp.inf, x0.dtype))
    return Carry(optimizer.init(x0, box, budget, run_key), oracle.init(noise_key, spent), best)


def compiled_start(optimizer: AbstractOptimizer) -> Any:
    """init(x0, box, budget, key) -> state, compiled, so that a first run is not a long series of tiny compilations."""
    params, static = eqx.partition(optimizer, eqx.is_array)
    return functools.partial(_compiled_start(static), params)


@functools.lru_cache(maxsize=64)
def _compiled_start(static: Any) -> Any:
    def init(params: PyTree, x0: Any, box: Box, budget: Any, key: PRNGKeyArray) -> PyTree:
        return eqx.combine(params, static).init(x0, box, budget, key)

    return jax.jit(init)


def rollout(
    optimizer: AbstractOptimizer,
    oracle: AbstractOracle,
    x0: Float[Array, " d"],
    box: Box,
    budget: int,
    key: PRNGKeyArray,
    *,
    record_points: bool = False,
) -> Trace:
    """Run `optimizer` from x0 until no further reading fits into `budget`; traceable, so that `vmap` batches it."""
    carry = start(optimizer, oracle, x0, box, budget, key)
    one = lambda carry, _: _read(optimizer, oracle, carry, record_points)  # noqa: E731
    end, steps = jax.lax.scan(one, carry, length=budget // oracle.cost)
    return Trace(end.best, steps, end)


def advance(
    optimizer: AbstractOptimizer, oracle: AbstractOracle, carry: Carry, readings: int, room: int, record_points: bool
) -> tuple[Carry, Step]:
    """`readings` (at most `room`) more readings, which the caller knows to fit; steps after those are zeros.

    Compiled once for a problem and `room`, whatever `readings` is.
    """
    params, static = eqx.partition((optimizer, oracle), eqx.is_array)
    return _compiled_stretch(static, room, record_points)(params, carry, jnp.asarray(readings, jnp.int32))


@functools.lru_cache(maxsize=64)
def _compiled_stretch(static: Any, room: int, record_points: bool) -> Any:
    def stretch(params: PyTree, carry: Carry, readings: Int[Array, ""]) -> tuple[Carry, Step]:
        optimizer, oracle = eqx.combine(params, static)
        one = lambda carry: _read(optimizer, oracle, carry, record_points)  # noqa: E731
        shapes = jax.eval_shape(one, carry)[1]
        blank = jax.tree.map(lambda leaf: jnp.zeros((room, *leaf.shape), leaf.dtype), shapes)

        def body(i, held):
            carry, step = one(held[0])
            return carry, jax.tree.map(lambda rows, row: rows.at[i].set(row), held[1], step)

        return jax.lax.fori_loop(0, readings, body, (carry, blank))

    return jax.jit(stretch)


def compiled_tell(optimizer: AbstractOptimizer) -> Any:
    """tell(state, value, gradient, cost) -> (state, next x, info), compiled; for objectives that run on the host."""
    params, static = eqx.partition(optimizer, eqx.is_array)
    return functools.partial(_compiled_tell(static), params)


@functools.lru_cache(maxsize=64)
def _compiled_tell(static: Any) -> Any:
    def tell(params: PyTree, state: PyTree, value: Any, gradient: Any, cost: Any) -> Any:
        optimizer = eqx.combine(params, static)
        state = optimizer.tell(state, Reading(value, gradient, cost))
        return state, optimizer.ask(state), optimizer.info(state)

    return jax.jit(tell, donate_argnums=1)


def _read(
    optimizer: AbstractOptimizer, oracle: AbstractOracle, carry: Carry, record_points: bool
) -> tuple[Carry, Step]:
    x = optimizer.ask(carry.state)
    ledger, reading = oracle.read(carry.oracle, x)
    state = optimizer.tell(carry.state, reading)
    best = carry.best.after(x, reading.value)
    step = Step(reading.value, best.value, ledger.calls, x if record_points else None, optimizer.info(state))
    return Carry(state, ledger, best), step
