"""A traceable oracle read from Python, point by point: what optimizers that are not ours get to see."""

import functools
import time
from contextlib import nullcontext
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from ..core import Box
from .base import AbstractOracle
from .host import BudgetExhausted


class Reader:
    """Counts every call of `oracle`, refuses the one that does not fit into `budget`, and remembers all that was read.

    Reading number n draws its noise as in a `rollout` with the same `key`, so an optimizer of ours and a stranger meet
    the same noise. A point outside the box is moved to its nearest point before it is read, and counted in `outside`.
    `exhausted` says that a reading was refused; the lowest finite value is kept in `best_x` and `best_value`. Points
    and values have the dtype of the box.

    Departs from the paper: nothing; it asks for paired noise and one count for all methods, and leaves open how.
    """

    def __init__(self, oracle: AbstractOracle, box: Box, budget: int, key: PRNGKeyArray) -> None:
        if budget < 0:
            raise ValueError(f"`budget` must not be negative; got {budget}.")
        self.lower, self.upper = np.asarray(box.lower), np.asarray(box.upper)
        self.budget, self.cost = budget, oracle.cost
        alone = oracle.value_alone
        self.value_cost = alone.cost
        self._pair, self._value = _compiled(oracle, True), _compiled(alone, False)
        self._key = jax.random.split(key)[1]  # the half that `rollout` gives to its oracle
        self._points: list[np.ndarray] = []
        self._values: list[float] = []
        self._calls: list[int] = []
        self.calls = 0
        self.outside = 0
        self.exhausted = False
        self.seconds = 0.0  # inside the objective, the first reading's compilation included
        self.best_x: np.ndarray | None = None
        self.best_value = np.inf

    @property
    def readings(self) -> int:
        return len(self._values)

    @property
    def points(self) -> np.ndarray:
        """Where it was read, one row a reading."""
        return np.array(self._points, self.lower.dtype).reshape(-1, self.lower.size)

    @property
    def values(self) -> np.ndarray:
        """What was observed, noise included."""
        return np.array(self._values, self.lower.dtype)

    @property
    def calls_after(self) -> np.ndarray:
        """Calls spent once each reading was made."""
        return np.array(self._calls, np.int64)

    def value(self, x: Any) -> float:
        """The value at x, for one call (for a whole reading where the oracle can't give it alone)."""
        return float(self._read(self._value, self.value_cost, x)[0])

    def value_and_gradient(self, x: Any) -> tuple[float, np.ndarray]:
        """Value and force at x, for the cost of a whole reading."""
        outcome = self._read(self._pair, self.cost, x)
        return float(outcome[0]), outcome[1:].copy()

    def _read(self, measure: Any, cost: int, x: Any) -> np.ndarray:
        point = self._inside(x)
        if self.calls + cost > self.budget:
            self.exhausted = True
            raise BudgetExhausted(f"A reading of {cost} calls does not fit: {self.calls} of {self.budget} are spent.")
        number = np.int32(self.readings)
        self.calls += cost
        began = time.perf_counter()
        with self._precision():
            outcome = np.asarray(measure(self._key, number, point))
        self.seconds += time.perf_counter() - began
        self._keep(point, float(outcome[0]))
        return outcome

    def _precision(self) -> Any:
        return jax.enable_x64(True) if self.lower.dtype.itemsize == 8 else nullcontext()

    def _inside(self, x: Any) -> np.ndarray:
        x = np.asarray(x, self.lower.dtype)
        if x.shape != self.lower.shape:
            raise ValueError(f"`x` must have shape {self.lower.shape}, as the box; got {x.shape}.")
        point = np.fmin(np.fmax(x, self.lower), self.upper)  # unlike clip, these send NaN to a bound
        self.outside += not np.array_equal(point, x)
        return point

    def _keep(self, point: np.ndarray, value: float) -> None:
        self._points.append(point)
        self._values.append(value)
        self._calls.append(self.calls)
        if -np.inf < value < self.best_value:
            self.best_x, self.best_value = point, value


def _compiled(oracle: AbstractOracle, with_gradient: bool) -> Any:
    """(noise key, reading's number, point) -> [value, gradient], compiled once for all tasks of one structure."""
    params, static = eqx.partition(oracle, lambda leaf: isinstance(leaf, jax.Array | np.ndarray))
    return functools.partial(_compiled_measure(static, with_gradient), params)


@functools.lru_cache(maxsize=64)
def _compiled_measure(static: Any, with_gradient: bool) -> Any:
    def measure(params: PyTree, key: PRNGKeyArray, number: Int[Array, ""], x: Float[Array, " d"]) -> Float[Array, " n"]:
        value, gradient = eqx.combine(params, static).measure(x, jax.random.fold_in(key, number))
        return jnp.concatenate([value[None], gradient]) if with_gradient else value[None]

    return jax.jit(measure)
