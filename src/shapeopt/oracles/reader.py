"""A traceable oracle read from Python, point by point: what optimizers of other libraries get to see."""

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
from .counting import AbstractReader


class Reader(AbstractReader):
    """Counts every call of `oracle`, refuses the one that does not fit into `budget`, and remembers all that was read.

    Reading number n draws its noise as in a `rollout` with the same `key`, so that a baseline and another library's
    optimizer meet the same noise.

    Departs from the paper: nothing; it asks for paired noise and one count for all methods, and leaves open how.
    """

    def __init__(self, oracle: AbstractOracle, box: Box, budget: int, key: PRNGKeyArray) -> None:
        alone = oracle.value_alone
        super().__init__(np.asarray(box.lower), np.asarray(box.upper), budget, oracle.cost, alone.cost)
        self._pair, self._value = _compiled(oracle, True), _compiled(alone, False)
        self._key = jax.random.split(key)[1]  # the half that `rollout` gives to its oracle
        self.seconds = 0.0  # inside the objective, the first reading's compilation included

    def value(self, x: Any) -> float:
        """The value at x, for one call (for a whole reading where the oracle can't give it alone)."""
        return float(self._read(self._value, self.value_cost, x)[0])

    def value_and_gradient(self, x: Any) -> tuple[float, np.ndarray]:
        """Value and force at x, for the cost of a whole reading."""
        outcome = self._read(self._pair, self.cost, x)
        return float(outcome[0]), outcome[1:].copy()

    def _read(self, measure: Any, cost: int, x: Any) -> np.ndarray:
        self.asked += 1
        point = self._inside(x)
        number = np.int32(self.readings)
        self._charge(cost)
        began = time.perf_counter()
        with self._precision():
            outcome = np.asarray(measure(self._key, number, point))
        self.seconds += time.perf_counter() - began
        self._keep(point, float(outcome[0]))
        return outcome

    def _precision(self) -> Any:
        return jax.enable_x64(True) if self.lower.dtype.itemsize == 8 else nullcontext()


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
