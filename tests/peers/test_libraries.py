"""What is particular to one library: its quirks, its failures, its settings."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.core import Box
from shapeopt.oracles import ExactOracle, Reader
from shapeopt.peers import (
    BipopCmaEs,
    CmaEs,
    ControlledRandomSearch,
    DifferentialEvolution,
    Direct,
    DualAnnealing,
    Isres,
    Mlsl,
    MultiStart,
    Shgo,
    run_peer,
)


def reader(fun, dim: int, budget: int) -> Reader:
    return Reader(ExactOracle(fun), Box.around(np.full(dim, -5.0), np.full(dim, 5.0)), budget, jax.random.key(0))


def run(peer, read: Reader, seed: int = 0, x0=None) -> Reader:
    x0 = np.full(read.lower.size, -3.0) if x0 is None else x0
    run_peer(peer, read, x0, read.lower, read.upper, seed)
    return read


def wells(q):
    """Two wells; the start lies in the higher one."""
    return jnp.sum((q**2 - 4) ** 2 - 3 * q)


LOWEST = max(np.roots([4, 0, -16, -3]).real)  # where the derivative of a coordinate's term vanishes


def test_multi_start_finds_the_well_that_the_start_is_not_in():
    read = run(MultiStart(), reader(wells, 2, 300), x0=np.full(2, -1.9))
    assert read.values[:5].min() > 11  # the start's well
    np.testing.assert_allclose(read.best_x, LOWEST, atol=1e-4)


def test_the_population_of_differential_evolution_has_the_size_asked_for():
    """All members are read, x0 first, before a trial point is: trials copy most coordinates of a member."""
    for members in (5, 12):
        points = run(DifferentialEvolution(members=members), reader(wells, 4, members + 1)).points
        bins = np.floor((points[1:members] + 5) / 10 * members)  # a Latin hypercube has one member in each slice
        assert all(len(np.unique(column)) >= members - 1 for column in bins.T)


def test_direct_goes_on_past_the_tolerances_that_would_end_it():
    read = run(Direct(), reader(lambda q: jnp.sum((q - 0.3) ** 2), 2, 1500))
    assert read.calls == 1500
    assert read.best_value < 1e-14  # SciPy's default side length, 1e-6, would end it far above


def test_dual_annealing_descends_with_gradients():
    read = run(DualAnnealing(), reader(wells, 10, 500))
    np.testing.assert_allclose(read.best_x, LOWEST, atol=1e-4)


def test_shgo_works_in_many_dimensions():
    read = run(Shgo(points=30), reader(lambda q: jnp.sum(q**2), 40, 200))
    assert read.calls == 200


@pytest.mark.parametrize("make", [CmaEs, BipopCmaEs])
def test_cma_starts_around_x0_with_its_own_scale_in_every_coordinate(make):
    pytest.importorskip("cma")
    lower, upper = np.array([0.0, -1e-3, -1e4]), np.array([1.0, 1e-3, 1e4])
    read = Reader(ExactOracle(lambda q: 0 * q[0]), Box.around(lower, upper), 201, jax.random.key(0))
    x0 = 0.5 * (lower + upper)
    run(make(sigma0=0.05), read, x0=x0)
    first = (read.points[1:8] - x0) / (upper - lower)
    assert np.all(np.abs(first) < 0.25)
    assert 0.02 < first.std() < 0.1


def test_cma_begins_again_elsewhere_once_it_has_converged():
    pytest.importorskip("cma")
    read = run(CmaEs(sigma0=0.05), reader(wells, 1, 2500))
    assert read.calls == 2500
    assert np.sum(np.abs(np.diff(read.points[:, 0])) > 3) >= 1
    np.testing.assert_allclose(read.best_x, LOWEST, atol=1e-4)


@pytest.mark.parametrize("make", [Mlsl, ControlledRandomSearch, Isres])
def test_a_fault_of_the_objective_passes_through_nlopt(make, monkeypatch):
    pytest.importorskip("nlopt")
    read = reader(wells, 3, 200)
    fault = OSError("the simulator is gone")
    original = Reader._read

    def failing(self, *arguments):
        if self.readings == 12:
            raise fault
        return original(self, *arguments)

    monkeypatch.setattr(Reader, "_read", failing)
    with pytest.raises(OSError, match="the simulator is gone"):
        run(make(), read)
    assert read.calls == 12


def test_nlopt_begins_again_where_its_descent_gives_up():
    pytest.importorskip("nlopt")
    read = run(Mlsl(), reader(lambda q: jnp.where(jnp.sum(q) > -50, jnp.inf, 0.0), 3, 60))
    assert read.calls == 60


def test_what_nlopt_refuses_is_not_taken_for_a_failed_round():
    nlopt = pytest.importorskip("nlopt")
    read = reader(wells, 3, 60)
    with pytest.raises((ValueError, nlopt.invalid_argument)):
        Mlsl().search(read, np.full(3, -9.0), read.lower, read.upper, 0)  # a start outside the bounds
    assert read.calls == 0


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: DifferentialEvolution(members=4), "`members` must be at least 5, as SciPy asks, or None; got 4"),
        (lambda: DifferentialEvolution(tol=-1.0), "`tol` must not be negative; got -1.0"),
        (lambda: DualAnnealing(initial_temp=0.0), "`initial_temp` must lie in .*; got 0.0"),
        (lambda: Shgo(points=100), "`points` must be positive and not 100; got 100"),
        (lambda: CmaEs(sigma0=0.0), r"`sigma0` must lie in \(0, 1\]; got 0.0"),
        (lambda: BipopCmaEs(sigma0=2.0), r"`sigma0` must lie in \(0, 1\]; got 2.0"),
        (lambda: Mlsl(tol=0.0), "`tol` must be positive; got 0.0"),
        (lambda: ControlledRandomSearch(members=0), "`members` must be positive, or None; got 0"),
        (lambda: Isres(members=0), "`members` must be positive, or None; got 0"),
    ],
)
def test_wrong_construction_names_the_argument_and_the_value(make, message):
    with pytest.raises(ValueError, match=message):
        make()
