"""A comparison's cells with a counter inside what the methods read; the part `bench` of `guarantees.py`.

Only the oracle gets the counting copy of a task: the onlooker, who looks at the truth of every point, does not count.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from guarantee_doors import Counter, Lent

from shapeopt.bench import execute
from shapeopt.bench.cells import Cell
from shapeopt.bench.methods import find_method
from shapeopt.bench.sensing import AbstractSensing, Exact, Noisy, ValueOnly
from shapeopt.tasks import AbstractFamily, AbstractTask, cube

LENT = Lent()


class RipplesTask(AbstractTask):
    """A bowl with ripples on [-5, 5]^3; where `counted`, the counter hears of every evaluation."""

    minimiser: jax.Array
    minimum: jax.Array
    counted: bool = eqx.field(static=True, default=False)

    def __call__(self, q):
        z = q - self.minimiser
        value = jnp.sum(z**2 + 2 * (1 - jnp.cos(4 * z)))
        if not self.counted:
            return value
        zero = jax.ShapeDtypeStruct(q.shape[:-1], q.dtype)
        return value + jax.pure_callback(LENT, zero, jax.lax.stop_gradient(q), vmap_method="expand_dims")

    @property
    def box(self):
        return cube(3, 5.0, np.float64)

    def start(self, key):
        return jax.random.uniform(key, (3,), minval=-5.0, maxval=5.0)

    def distance(self, q):
        return jnp.linalg.norm(q - self.minimiser)


class Ripples(AbstractFamily):
    dimension: int = eqx.field(static=True, default=3)

    @property
    def name(self):
        return "ripples"

    @property
    def minimum_source(self):
        return "exact"

    def sample(self, key):
        return RipplesTask(jax.random.uniform(key, (3,), minval=-3.0, maxval=3.0), jnp.zeros(()))


def _counting(task: Any) -> RipplesTask:
    return RipplesTask(task.minimiser, task.minimum, True)


@dataclass(frozen=True)
class Counted(AbstractSensing):
    """`inner` of the counting copy."""

    inner: AbstractSensing

    @property
    def label(self) -> str:
        return "counted"

    def oracle(self, task, budget):
        return self.inner.oracle(_counting(task), budget)


@dataclass(frozen=True)
class CountedValues(ValueOnly):
    """The same of values alone, by which our method is told apart: it reads single values there."""

    def oracle(self, task, budget):
        return super().oracle(_counting(task), budget)


SENSINGS = {
    "exact": Counted(Exact()),
    "noisy": Counted(Noisy(0.2)),
    "values1": CountedValues(1),
    "values": CountedValues(),
}
HOSTED = ("basinhopping", "cma")
METHODS = {"universal": ("values",), "gd": tuple(SENSINGS)}
METHODS |= {name: tuple(SENSINGS) for name in HOSTED}


def of_bench(config: Any) -> Iterator[tuple[tuple[str, str, int], Callable[[], tuple[int, int, int, int, bool]]]]:
    for method, sensings in METHODS.items():
        for sensing in sensings:
            for budget in config.budgets:
                slow = method in HOSTED and budget >= 100
                tasks = config.seeds_of_slow if slow else config.seeds
                cell = Cell(Ripples(), budget, tasks=tasks, sensing=SENSINGS[sensing])
                yield (method, sensing, budget), lambda cell=cell, method=method: counted(cell, method)


def counted(cell: Cell, method: str) -> tuple[int, int, int, int, bool]:
    box = RipplesTask(jnp.zeros(3), jnp.zeros(())).box
    counter = LENT.to = Counter(np.asarray(box.lower), np.asarray(box.upper))
    timed, execute._objective_seconds = execute._objective_seconds, lambda cell, seed: 0.0  # it evaluates, too
    try:
        calls = execute.run_cell(cell, find_method(method), 0).calls
    finally:
        execute._objective_seconds = timed
    most = int(calls.max()) + max(0, counter.count - int(calls.sum()))
    return cell.runs, counter.count, most - cell.budget, counter.outside, int(calls.sum()) == counter.count
