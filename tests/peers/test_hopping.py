"""Basin hopping and its monotonic kind: what they reach, and how they hop."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shapeopt.peers.monotonic as monotonic
from shapeopt.core import Box
from shapeopt.oracles import ExactOracle, Reader
from shapeopt.peers import BasinHopping, MonotonicHopping, run_peer
from shapeopt.tasks import StartLaw, make_family


def gaps(peer, name: str, dimension: int, tasks: int, budget: int = 500) -> np.ndarray:
    """Best gap seen on tasks with a near start."""
    family, found = make_family(name, dimension, law=StartLaw.NEAR), []
    for i in range(tasks):
        task_key, start_key, run_key = jax.random.split(jax.random.key(i), 3)
        task = family.sample(task_key)
        reader = Reader(ExactOracle(task), task.box, budget, run_key)
        run_peer(peer, reader, np.asarray(task.start(start_key)), reader.lower, reader.upper, i)
        found.append(reader.best_value - float(task.minimum))
    return np.array(found)


@pytest.mark.full
@pytest.mark.parametrize("dimension", [2, 20])
@pytest.mark.parametrize("name", ["ackley", "levy"])
def test_untuned_basin_hopping_solves_ackley_and_levy_from_near_starts(name, dimension):
    assert np.all(gaps(BasinHopping(), name, dimension, 3) < 1e-8)


@pytest.mark.full
def test_a_larger_step_gets_basin_hopping_out_of_rastrigins_basins():
    small, large = (gaps(BasinHopping(stepsize=step), "rastrigin", 2, 3, 300) for step in (0.05, 1.0))
    assert small.mean() > 4  # it ends where the first descent did
    assert np.sum(large < 1e-8) >= 2


def test_loose_descents_visit_more_basins_for_the_same_calls():
    def basins(ftol):
        reader = Reader(ExactOracle(egg_box), Box.around(np.full(2, -5.0), np.full(2, 5.0)), 100, jax.random.key(0))
        peer = MonotonicHopping(step=0.3, ftol=ftol)
        run_peer(peer, reader, np.array([3.2, -4.1]), reader.lower, reader.upper, 0)
        return len(np.unique(np.rint(reader.points), axis=0))

    assert basins(1e-1) > 1.5 * basins(1e-9)


def egg_box(q):
    """A basin around every point with whole coordinates; the lowest is at 0."""
    return jnp.sum(jnp.sin(jnp.pi * q) ** 2 + 0.05 * q**2)


def test_hops_start_around_the_best_minimum_so_far(monkeypatch, counted):
    values = [5.0, 7.0, 3.0, 4.0, 3.0, 1.0, 2.0]
    minima = [np.full(3, x) for x in (-3.0, 4.0, -1.0, 2.0, 3.0, 1.0, 0.0)]
    starts = []

    def descend(reader, start, lower, upper, ftol):
        if len(starts) == len(values):
            raise StopIteration
        starts.append(start)
        return SimpleNamespace(x=minima[len(starts) - 1], fun=values[len(starts) - 1])

    monkeypatch.setattr(monotonic, "descend", descend)
    reader, _ = counted(100)
    with pytest.raises(StopIteration):
        MonotonicHopping(step=0.05).search(reader, np.zeros(3), reader.lower, reader.upper, 0)
    best = np.array(
        [-3.0, -3.0, -1.0, -1.0, -1.0, 1.0]
    )  # where the next hop must start; an equal value changes nothing
    distance = np.abs(np.array(starts[1:]) - best[:, None])
    assert np.all((distance > 0) & (distance <= 0.05 * 9))


def test_a_hop_moves_few_coordinates_uniformly_inside_the_box():
    peer, rng = MonotonicHopping(step=0.2, share=0.1), np.random.default_rng(0)
    lower, upper = np.full(10, -5.0), np.full(10, 5.0)
    x = np.array([4.5] + [0.0] * 9)
    hops = np.array([peer._hop(x, lower, upper, rng) for _ in range(4000)])
    moved = hops != x
    assert moved.any(axis=1).all()
    assert moved.mean() == pytest.approx(0.1 + 0.9 * 0.1, abs=0.01)  # by chance, or as the one that always moves
    first = hops[moved[:, 0], 0]
    assert 2.5 <= first.min() < 2.6 and 4.9 < first.max() <= 5.0
    assert first.mean() == pytest.approx(3.75, abs=0.1)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: BasinHopping(stepsize=0.0), "`stepsize` must be positive; got 0.0"),
        (lambda: BasinHopping(temperature=-1.0), "`temperature` must not be negative; got -1.0"),
        (lambda: MonotonicHopping(step=1.5), r"`step` must lie in \(0, 1\]; got 1.5"),
        (lambda: MonotonicHopping(share=0.0), r"`share` must lie in \(0, 1\]; got 0.0"),
        (lambda: MonotonicHopping(ftol=-1.0), "`ftol` must not be negative; got -1.0"),
    ],
)
def test_wrong_construction_names_the_argument_and_the_value(make, message):
    with pytest.raises(ValueError, match=message):
        make()
