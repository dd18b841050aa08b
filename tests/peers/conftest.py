"""An oracle whose objective counts for itself, and a reader of it."""

from collections.abc import Callable

import equinox as eqx
import jax
import numpy as np
import pytest

from shapeopt.core import Box
from shapeopt.oracles import AbstractOracle, Reader


class Log(list):
    __hash__ = object.__hash__  # a static field must be hashable


def ripples(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A bowl with ripples: least value 0 at x = 1, many local minima."""
    z = x - 1
    return np.sum(z**2 + 2 * (1 - np.cos(4 * z))), 2 * z + 8 * np.sin(4 * z)


class CountingOracle(AbstractOracle):
    """`ripples`, computed on the host, which writes down every point that it is asked at."""

    asked: Log = eqx.field(static=True)

    @property
    def cost(self) -> int:
        return 1

    def measure(self, q, key):
        shapes = jax.ShapeDtypeStruct((), q.dtype), jax.ShapeDtypeStruct(q.shape, q.dtype)
        return jax.pure_callback(self._answer, shapes, q)

    def _answer(self, q):
        self.asked.append(np.array(q))
        return ripples(np.asarray(q))


@pytest.fixture(scope="session")
def counted() -> Callable[[int], tuple[Reader, Log]]:
    """budget -> (reader, what its objective was asked), on [-4, 5] x [-4, 5] x [-4, 5]; one program for all tests."""
    with jax.enable_x64(True):
        oracle, box = CountingOracle(Log()), Box.around(np.full(3, -4.0), np.full(3, 5.0))
        key = jax.random.key(0)

    def make(budget: int) -> tuple[Reader, Log]:
        oracle.asked.clear()
        return Reader(oracle, box, budget, key), oracle.asked

    return make
