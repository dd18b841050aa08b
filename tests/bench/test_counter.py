"""A counter inside the objective agrees with every method's reported calls, and nothing is spent past the budget.

Only the oracle gets the counting objective: the onlooker, who looks at the truth of every point, does not count.
"""

from dataclasses import dataclass
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.baselines import BASELINES
from shapeopt.bench import execute
from shapeopt.bench.cells import Cell
from shapeopt.bench.execute import Keys, run_cell, run_keys
from shapeopt.bench.methods import find_method
from shapeopt.bench.sensing import EXACT, AbstractSensing, Noisy, ValueOnly
from shapeopt.peers import PEERS, available
from shapeopt.tasks import AbstractFamily, AbstractTask, cube

pytestmark = pytest.mark.grid(10)

# What the protocols use, each with the budget of a tiny run, which no reading of several calls fills to the last call.
KINDS = {
    "exact": (EXACT, 6),
    "noisy": (Noisy(0.2), 6),
    "directions": (ValueOnly(1), 14),  # readings of 3 calls
    "coordinates": (ValueOnly(), 44),  # readings of 5 calls
}
SPENT = {"exact": 6, "noisy": 6, "directions": 12, "coordinates": 40}  # by a method that reads values with gradients


class Counter:
    """Counts on the host how often the objective was evaluated, point by point."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, q) -> None:
        self.count += 1


class RipplesTask(AbstractTask):
    """A bowl with ripples on [-5, 5]^2; `counter` hears of every evaluation."""

    minimiser: jax.Array
    minimum: jax.Array
    counter: Counter | None = eqx.field(static=True, default=None)

    def __call__(self, q):
        if self.counter is not None:
            jax.debug.callback(self.counter, q)
        z = q - self.minimiser
        return jnp.sum(z**2 + 2 * (1 - jnp.cos(4 * z)))

    @property
    def box(self):
        return cube(2, 5.0, np.float64)

    def start(self, key):
        return jax.random.uniform(key, (2,), minval=-5.0, maxval=5.0)

    def distance(self, q):
        return jnp.linalg.norm(q - self.minimiser)


class Ripples(AbstractFamily):
    dimension: int = eqx.field(static=True, default=2)

    @property
    def name(self):
        return "ripples"

    @property
    def minimum_source(self):
        return "exact"

    def sample(self, key):
        return RipplesTask(jax.random.uniform(key, (2,), minval=-3.0, maxval=3.0), jnp.zeros(()))


@dataclass(frozen=True)
class Counted(AbstractSensing):
    """`inner` of a counting copy of the task."""

    inner: AbstractSensing
    counter: Counter
    label: ClassVar[str] = "counted"

    def oracle(self, task, budget):
        return self.inner.oracle(RipplesTask(task.minimiser, task.minimum, self.counter), budget)


COUNTERS = {kind: Counter() for kind in KINDS}
CELLS = {
    kind: Cell(Ripples(), budget, tasks=2, sensing=Counted(sensing, COUNTERS[kind]))
    for kind, (sensing, budget) in KINDS.items()
}


@pytest.fixture(autouse=True)
def unmeasured(monkeypatch):
    """The objective's time is not measured, since that evaluates it, too."""
    monkeypatch.setattr(execute, "_objective_seconds", lambda cell, seed: 0.0)


def counted(kind, work):
    """What `work` gives, and how often the objective was evaluated meanwhile."""
    counter = COUNTERS[kind]
    counter.count = 0
    done = work()
    jax.effects_barrier()
    return done, counter.count


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "name", [name for name, peer in PEERS.items() if available(peer.package) and not peer.needs_residuals]
)
def test_every_peer_s_calls_are_the_evaluations_of_the_objective_and_within_the_budget(name, kind):
    cell = CELLS[kind]
    curves, count = counted(kind, lambda: run_cell(cell, find_method(name), 0))
    assert curves.calls.sum() == count
    assert np.all(curves.calls <= cell.budget) and np.all(curves.calls > cell.budget - 5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_compiled_batch_s_calls_are_the_evaluations_of_the_objective(kind):
    curves, count = counted(kind, lambda: run_cell(CELLS[kind], find_method("gd"), 0))
    np.testing.assert_array_equal(curves.calls, SPENT[kind])
    assert count == 2 * SPENT[kind]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["universal", *BASELINES])
def test_every_traceable_method_s_calls_are_the_evaluations_of_the_objective(name, kind):
    """Lane by lane what a batch does, operation by operation: a program for each would take minutes to compile."""
    cell = CELLS[kind]
    keys = Keys(*(words[0] for words in run_keys(cell, 0)))
    optimizer, task = find_method(name).optimizer(cell), cell.family.sample(jax.random.wrap_key_data(keys.task))
    own, shared = eqx.partition(task, eqx.is_array)
    with jax.disable_jit(), jax.numpy_dtype_promotion("standard"):  # constants are not weak there
        (calls, *_), count = counted(kind, lambda: execute._roll(cell, optimizer, shared, own, keys))
    assert calls[-1] == count == SPENT[kind] <= cell.budget


def test_the_onlooker_is_not_counted():
    task = Ripples().sample(jax.random.key(0))
    _, count = counted("exact", lambda: execute._look(task, False, jnp.zeros(2)))
    assert count == 0
    oracle = CELLS["exact"].sensing.oracle(task, 6)
    _, count = counted("exact", lambda: oracle.measure(jnp.zeros(2), jax.random.key(0)))
    assert count == 1
