"""Readings that are values alone: what is asked, what the optimizer gets, and what a user gets."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shapeopt
from shapeopt.core import Box, Reading
from shapeopt.core.problem import read_problem
from shapeopt.engines.device import DeviceShape
from shapeopt.engines.host import HostRun, seed_words
from shapeopt.optimizer import Policy

D = 3
BY_FORCES = Policy().without("interpolate", "explore", "sample")
X0, LOWER, UPPER = np.array([-3.0, 0.5, 5.5]), np.full(D, -4.0), np.full(D, 6.0)


def bowl(x):
    return float(np.sum((x - 1.0) ** 2 * np.arange(1.0, x.size + 1)))


class Counted:
    """A host objective that keeps every point at which it was called."""

    def __init__(self, fun):
        self.fun, self.points = fun, []

    def __call__(self, x):
        self.points.append(np.array(x))
        return self.fun(np.asarray(x))


def rippled(x):
    return float(np.sum((x - 1.3) ** 2 + 3.0 * (1.0 - np.cos(2 * np.pi * (x - 1.3)))))


def points_of(budget, fun=bowl, policy=None):
    """Where a run on the host reads, and the run."""
    problem = read_problem(X0, (LOWER, UPPER), np.random.default_rng(0))
    run = HostRun(policy or Policy(), problem, budget, 3, values_only=True)
    points = []
    for call in range(1, budget + 1):
        points.append(run.x.copy())
        run.tell(Reading(np.float64(fun(run.x)), np.zeros(D), np.int32(1)), call)
    return np.array(points), run


def test_every_call_is_a_reading_and_the_first_is_at_x0():
    result = shapeopt.minimize(bowl, X0, bounds=(LOWER, UPPER), budget=50)
    assert result.trace.calls.tolist() == list(range(1, 51))
    np.testing.assert_allclose(result.trace.x[0], X0, rtol=1e-14)


def test_the_run_opens_at_x0_the_centre_and_two_points_along_each_coordinate():
    x, _ = points_of(2 + 2 * D)
    np.testing.assert_allclose(x[1], 0.5 * (LOWER + UPPER), atol=0.01 * np.max(UPPER - LOWER))
    start = min(x[:2], key=bowl)
    moved = np.abs(x[2:] - start) > 1e-9
    assert moved.sum(axis=1).tolist() == [1] * (2 * D) and moved.sum(axis=0).tolist() == [2] * D


def test_the_force_that_the_optimizer_gets_is_the_gradient():
    """To the accuracy of one-sided differences, sqrt(eps), where no tactic opens basins by values."""
    problem = read_problem(np.array([0.5]), (np.array([-4.0]), np.array([6.0])), np.random.default_rng(0))
    run = HostRun(BY_FORCES, problem, 40, 0, values_only=True)
    for call in (1, 2):
        run.tell(Reading(np.float64(run.x[0] ** 3), np.zeros(1), np.int32(1)), call)
    np.testing.assert_allclose(run.state(0).board.base_g, 3 * 0.5**2, rtol=1e-6)


def test_without_interpolation_forces_are_read_coordinate_by_coordinate():
    x, _ = points_of(60, policy=BY_FORCES)
    moved = np.sum(np.abs(np.diff(x, axis=0)) > 0, axis=1)
    assert moved[: D + 1].tolist() == [1, 2, 2, D]  # a probe leaves its coordinate and enters the next; then a step


@pytest.mark.full
def test_the_device_asks_at_the_same_points():
    box = Box.around(LOWER, UPPER, X0)
    optimizer = DeviceShape(values_only=True)
    key = jax.random.wrap_key_data(jnp.asarray(seed_words(3, 0)))
    state, tell, points = optimizer.init(X0, box, 100, key), jax.jit(optimizer.tell), []
    ask = jax.jit(optimizer.ask)
    for _ in range(100):
        points.append(np.asarray(ask(state)))
        state = tell(state, Reading(jnp.asarray(bowl(points[-1])), jnp.zeros(D), jnp.asarray(1, jnp.int32)))
    np.testing.assert_allclose(np.array(points)[:80], points_of(100)[0][:80], rtol=1e-6, atol=1e-6)


def test_probes_stay_inside_the_narrowest_box_and_skip_a_coordinate_without_room():
    lower, upper = np.array([2.0, -1e9, 1e-9]), np.array([2.0, 1e9, 2e-9])
    seen = Counted(lambda x: float(np.sum(x**2)))
    shapeopt.minimize(seen, np.array([2.0, 1e9, 2e-9]), bounds=(lower, upper), budget=60)
    points = np.array(seen.points)
    assert len(points) == 60 and np.all((points >= lower) & (points <= upper))


def test_a_probe_that_is_not_finite_leaves_no_force_along_it_and_the_run_goes_on():
    hole = lambda x: np.nan if x[0] > 1.5 else bowl(x)  # noqa: E731
    _, run = points_of(200, hole)
    assert np.isfinite(run.best) and run.best < 1e-3


def test_no_energy_flows_while_probes_are_read_and_the_ledger_closes():
    forms = {"bounds": (LOWER, UPPER), "budget": 100}
    for policy in (Policy(), BY_FORCES):
        energy = shapeopt.minimize(bowl, X0, policy=policy, **forms).energy
        total = sum(energy[term] for term in energy if term != "delta_H")
        np.testing.assert_allclose(total, energy.delta_H, atol=1e-9)
    assert 0 < np.count_nonzero(energy.delta_H) <= 100 // D + 1


@pytest.mark.parametrize(("d", "budget"), [(1, 60), (2, 300), (20, 1000)])
def test_minimize_spends_every_call_of_a_host_objective_and_not_one_more(d, budget):
    seen = Counted(rippled)
    result = shapeopt.minimize(seen, bounds=(np.full(d, -5.0), np.full(d, 5.0)), budget=budget, seed=1)
    assert len(seen.points) == result.nfev == budget and result.njev == 0
    assert result.fun == min(map(rippled, seen.points)) and len(result.trace.value) == budget
    assert result.fun < (
        1e-8 if d == 1 else 2.6 * (1.0 if d == 2 else 15.0)
    )  # in 20 dimensions a random point is at 15 a coordinate


def test_ask_and_tell_goes_the_way_of_minimize():
    bounds = (np.full(2, -5.0), np.full(2, 5.0))
    seen = Counted(rippled)
    shapeopt.minimize(seen, np.array([3.0, -2.0]), bounds=bounds, budget=80, seed=4)
    shape = shapeopt.Shape(np.array([3.0, -2.0]), bounds=bounds, budget=80, seed=4, gradients=False)
    asked = []
    while shape.left:
        asked.append(shape.ask())
        shape.tell(asked[-1], rippled(asked[-1]))
    np.testing.assert_array_equal(asked, seen.points)


def test_every_particle_asks_for_one_value_at_a_time():
    bounds = (np.full(2, -5.0), np.full(2, 5.0))
    alone, several = (shapeopt.Shape(bounds=bounds, budget=80, gradients=False, num_starts=n) for n in (1, 3))
    assert len(alone.ask(9)) == 1 and len(several.ask(99)) == 3


def test_particles_with_values_alone_spend_the_budget_and_find_the_minimum():
    seen = Counted(rippled)
    result = shapeopt.minimize(seen, bounds=(np.full(2, -5.0), np.full(2, 5.0)), budget=900, num_starts=3)
    assert len(seen.points) == result.nfev == 900 and result.njev == 0 and result.fun < 1e-6


def test_every_particle_plans_with_its_share_of_the_budget():
    problem = read_problem(X0, (LOWER, UPPER), np.random.default_rng(0))
    for values_only, unit in ((True, D + 1), (False, 1)):
        run = HostRun(Policy(), problem, 60, 0, num_starts=3, values_only=values_only)
        assert [run.state(i).board.left for i in range(3)] == [60 / 3 / unit] * 3


@pytest.mark.parametrize(("scheme", "cost"), [("2-point", 3), ("3-point", 5), ("cs", 3)])
def test_differences_that_the_user_asked_for_are_gradients(scheme, cost):
    seen = Counted(lambda x: np.sum((x - 1.3) ** 2))
    result = shapeopt.minimize(seen, np.array([3.0, -2.0]), budget=31, jac=scheme)
    assert result.njev == 31 // cost and np.all(np.diff(result.trace.calls) == cost)
    assert len(seen.points) == result.nfev == cost * result.njev and result.gradient_fit is None


def test_sampling_finds_the_funnel_under_ripples_that_stop_a_descent():
    """The mean of sampled values in 20 dimensions is far below the first local minimum."""
    turned = np.linalg.qr(np.random.default_rng(0).normal(size=(20, 20)))[0]
    fun = lambda x: rippled(turned @ x)  # noqa: E731
    bounds, x0 = (np.full(20, -5.0), np.full(20, 5.0)), np.full(20, -4.2)
    sampled = shapeopt.minimize(fun, x0, bounds=bounds, budget=500, seed=0)
    assert sampled.fun < 0.3 * fun(x0)
