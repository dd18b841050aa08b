"""The only loops that spend: (optimizer, oracle, budget, key) -> trace (Algorithm alg:streaming_shape_compact).

`rollout` is a whole run as one compiled loop, which `vmap` batches.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from .core import AbstractOptimizer, Box
from .oracles import AbstractOracle, OracleState

Watch = Callable[[Float[Array, " d"]], PyTree]


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
    seen: PyTree = None  # what `watch` said of x


class Trace(NamedTuple):
    """A whole run: its end, and one `Step` a reading (stacked)."""

    best: Best
    steps: Step
    end: Carry


def rollout(
    optimizer: AbstractOptimizer,
    oracle: AbstractOracle,
    x0: Float[Array, " d"],
    box: Box,
    budget: int,
    key: PRNGKeyArray,
    *,
    record_points: bool = False,
    watch: Watch | None = None,
) -> Trace:
    """Run `optimizer` from x0 until no further reading fits into `budget`; traceable, so that `vmap` batches it.

    Args:
        optimizer: SHAPE or a baseline.
        oracle: the objective with its counter; `oracle.cost` calls a reading.
        x0: where to start.
        box: the bounds.
        budget: calls.
        key: all randomness follows from it.
        record_points: keep every point that was read.
        watch: a function of each point read, whose answers are kept; the optimizer does not see them.

    Returns:
        The best point, one entry a reading, and the state at the end.

    Raises:
        ValueError: what the optimizer raises for a dimension or a budget that it can't run.

    Example:
        trace = rollout(Adam(0.1), ExactOracle(task), x0, task.box, 200, jax.random.key(0))
    """
    run_key, noise_key = jax.random.split(key)
    best = Best(x0, jnp.asarray(jnp.inf, x0.dtype))
    carry = Carry(optimizer.init(x0, box, budget, run_key), oracle.init(noise_key), best)
    one = lambda carry, _: read_once(optimizer, oracle, carry, record_points, watch)  # noqa: E731
    end, steps = jax.lax.scan(one, carry, length=budget // oracle.cost)
    return Trace(end.best, steps, end)


def read_once(
    optimizer: AbstractOptimizer, oracle: AbstractOracle, carry: Carry, record_points: bool, watch: Watch | None = None
) -> tuple[Carry, Step]:
    """One reading."""
    x = optimizer.ask(carry.state)
    ledger, reading = oracle.read(carry.oracle, x)
    state = optimizer.tell(carry.state, reading)
    best = carry.best.after(x, reading.value)
    kept, seen = x if record_points else None, None if watch is None else watch(x)
    step = Step(reading.value, best.value, ledger.calls, kept, optimizer.info(state), seen)
    return Carry(state, ledger, best), step
