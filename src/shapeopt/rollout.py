"""The only loop that spends: (optimizer, oracle, budget, key) -> trace (Algorithm alg:streaming_shape_compact)."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from .core import AbstractOptimizer, Box
from .oracles import AbstractOracle


class Best(NamedTuple):
    """The best point read so far; value +inf while none was finite."""

    x: Float[Array, " d"]
    value: Float[Array, ""]

    def after(self, x: Float[Array, " d"], value: Float[Array, ""]) -> "Best":
        better = value < self.value  # False for NaN
        return Best(jnp.where(better, x, self.x), jnp.where(better, value, self.value))


class Step(NamedTuple):
    """What one reading left in the trace."""

    value: Float[Array, ""]
    best: Float[Array, ""]
    calls: Int[Array, ""]
    x: Float[Array, " d"] | None
    info: PyTree


class Trace(NamedTuple):
    """A whole run: the best point, and one `Step` a reading (stacked)."""

    best: Best
    steps: Step
    state: PyTree
    oracle: PyTree


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
    run_key, noise_key = jax.random.split(key)
    carry = optimizer.init(x0, box, budget, run_key), oracle.init(noise_key), Best(x0, jnp.asarray(jnp.inf, x0.dtype))
    return advance(optimizer, oracle, carry, budget // oracle.cost, record_points)


def advance(optimizer: AbstractOptimizer, oracle: AbstractOracle, carry, readings: int, record_points: bool) -> Trace:
    """`readings` more readings; the caller sees to it that they fit into the budget."""
    static = eqx.filter(carry, eqx.is_array, inverse=True)

    def one(dynamic, _):
        state, ledger, best = eqx.combine(dynamic, static)
        x = optimizer.ask(state)
        ledger, reading = oracle.read(ledger, x)
        state = optimizer.tell(state, reading)
        best = best.after(x, reading.value)
        step = Step(reading.value, best.value, ledger.calls, x if record_points else None, optimizer.info(state))
        return eqx.filter((state, ledger, best), eqx.is_array), step

    dynamic, steps = jax.lax.scan(one, eqx.filter(carry, eqx.is_array), length=readings)
    state, ledger, best = eqx.combine(dynamic, static)
    return Trace(best, steps, state, ledger)
