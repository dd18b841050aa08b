"""Every peer under one grid: counted rightly, stopped hard, kept in the box, repeatable, not handicapped."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.core import Box
from shapeopt.oracles import AdditiveNoise, CoordinateDifferenceOracle, ExactOracle, NoisyOracle, Reader
from shapeopt.peers import PEERS, Start, available, run_peer

pytestmark = pytest.mark.grid(6)

X0 = np.array([-3.0, 0.7, 4.2])
# Two are deterministic, one samples a fixed sequence, and one picks a deterministic method for so few dimensions.
SEEDLESS = {"direct", "shgo", "mlsl", "ngopt"}
ALL = tuple(name for name, peer in PEERS.items() if not peer.needs_residuals)
METHODS = tuple({type(PEERS[name]): name for name in reversed(ALL)}.values())  # one entry of each class


def peers(names=METHODS) -> list:
    """Names as parameters; those whose package is missing are skipped, and seen to be."""
    chosen = {name: PEERS[name].package for name in names}
    absent = {p: pytest.mark.skipif(not available(p), reason=f"{p} is not installed") for p in chosen.values()}
    return [pytest.param(name, marks=absent[package]) for name, package in chosen.items()]


def run(name: str, reader: Reader, seed: int = 0, x0: np.ndarray = X0) -> Reader:
    run_peer(PEERS[name], reader, x0, reader.lower, reader.upper, seed)
    return reader


def wavy(q):
    """A bowl with ripples: least value 0 at q = 1."""
    z = q - 1
    return jnp.sum(z**2 + 2 * (1 - jnp.cos(4 * z)))


def reader(oracle, dim: int, budget: int, half: float = 5.0) -> Reader:
    return Reader(oracle, Box.around(np.full(dim, -half), np.full(dim, half)), budget, jax.random.key(1))


@pytest.mark.parametrize("budget", [1, 2, 7, 100])
@pytest.mark.parametrize("name", peers(ALL))
def test_the_objective_is_asked_as_often_as_the_budget_allows_and_only_inside_the_box(name, budget, counted):
    read, asked = counted(budget)
    run(name, read)
    assert len(asked) == read.calls == budget
    points = np.array(asked)
    np.testing.assert_array_equal(points, read.points)
    assert np.all((points >= read.lower) & (points <= read.upper))
    assert read.best_value == read.values.min()  # the best seen counts, wherever the library ended


@pytest.mark.parametrize("name", peers(ALL))
def test_a_peer_that_takes_a_start_reads_it_first(name, counted):
    read, asked = counted(3)
    run(name, read)
    at_start = np.allclose(asked[0], X0, rtol=0, atol=1e-12)
    assert at_start is (PEERS[name].start is not Start.IGNORES)


@pytest.mark.parametrize("name", peers())
def test_a_start_in_a_corner_of_an_odd_box_is_taken(name):
    lower, upper = np.array([-0.1, 1 / 3, 1e-3]), np.array([0.7, np.pi, 1e3])
    read = Reader(ExactOracle(wavy), Box.around(lower, upper), 30, jax.random.key(0))
    run(name, read, x0=upper)
    assert read.calls == 30


@pytest.mark.parametrize("name", peers())
def test_one_seed_gives_one_search_whatever_others_draw(name, counted):
    np.random.seed(1)
    first = run(name, counted(60)[0], seed=5).points
    np.random.seed(2)
    np.testing.assert_array_equal(run(name, counted(60)[0], seed=5).points, first)


@pytest.mark.parametrize("name", peers(name for name in METHODS if name not in SEEDLESS))
def test_another_seed_gives_another_search(name, counted):
    first = run(name, counted(100)[0], seed=5).points
    assert not np.array_equal(run(name, counted(100)[0], seed=6).points, first)


@pytest.mark.parametrize("name", peers())
def test_the_callers_random_state_is_left_alone(name, counted):
    np.random.seed(7)
    expected = np.random.rand(3)
    np.random.seed(7)
    run(name, counted(60)[0])
    np.testing.assert_array_equal(np.random.rand(3), expected)


@pytest.mark.parametrize("name", peers())
def test_a_peer_finds_the_bottom_of_a_bowl(name):
    read = reader(ExactOracle(lambda q: jnp.sum((q - 1) ** 2)), 3, 300)
    run(name, read)
    assert read.best_value < (1e-8 if PEERS[name].uses_gradients else 1.0)  # 26.3 at the start


@pytest.mark.parametrize("name", peers())
def test_values_alone_cost_one_call_and_gradients_what_their_differences_cost(name):
    read = reader(CoordinateDifferenceOracle(wavy, 3), 3, 100)
    run(name, read)
    costs = np.diff(read.calls_after, prepend=0)
    assert set(costs) <= ({1, 7} if PEERS[name].uses_gradients else {1})
    assert 100 - read.cost < read.calls <= 100


@pytest.mark.parametrize("name", peers())
def test_noisy_readings_are_searched_to_the_end_of_the_budget(name):
    read = reader(NoisyOracle(wavy, AdditiveNoise(0.5), value_sigma=0.1), 3, 100)
    run(name, read)
    assert read.calls == 100
    exact = [float(wavy(x)) for x in read.points[:5]]
    assert np.any(np.abs(read.values[:5] - exact) > 1e-3)


@pytest.mark.parametrize("bad", [jnp.nan, jnp.inf])
@pytest.mark.parametrize("name", peers())
def test_an_objective_that_fails_on_half_of_the_box_is_survived(name, bad):
    read = reader(ExactOracle(lambda q: jnp.where(q[0] > 0, bad, jnp.sum((q + 1) ** 2))), 3, 100)
    run(name, read, x0=np.full(3, -3.0))
    assert read.calls == 100
    assert np.isfinite(read.best_value)


@pytest.mark.parametrize("name", peers())
def test_one_dimension_is_enough(name):
    read = reader(ExactOracle(wavy), 1, 60)
    run(name, read, x0=np.array([-3.0]))
    assert read.calls == 60
    assert read.best_value < 2.0
