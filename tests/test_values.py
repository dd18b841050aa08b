"""Readings that are values alone: what `ValueOptimizer` asks, what it tells the policy, and what a user gets."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shapeopt
from shapeopt.core import Box, Reading
from shapeopt.oracles.value_only import ValueOracle
from shapeopt.policy import UniversalPolicy
from shapeopt.rollout import rollout
from shapeopt.shape import ShapeOptimizer
from shapeopt.values import ValueOptimizer

D = 3
OPTIMIZER = ValueOptimizer(ShapeOptimizer(UniversalPolicy(values=True)))


def bowl(x):
    return jnp.sum((x - 1.0) ** 2 * jnp.arange(1.0, D + 1))


class Counted:
    """A host objective that keeps every point at which it was called."""

    def __init__(self, fun):
        self.fun, self.points = fun, []

    def __call__(self, x):
        self.points.append(np.array(x))
        return self.fun(np.asarray(x))


def rippled(x):
    return float(np.sum((x - 1.3) ** 2 + 3.0 * (1.0 - np.cos(2 * np.pi * (x - 1.3)))))


def trace_of(budget, fun=bowl):
    x0, box = jnp.asarray([-3.0, 0.5, 5.5]), Box.around(np.full(D, -4.0), np.full(D, 6.0))
    return rollout(OPTIMIZER, ValueOracle(fun), x0, box, budget, jax.random.key(3), record_points=True)


def test_every_call_is_a_reading_and_the_first_is_at_x0():
    steps = trace_of(50).steps
    assert steps.calls.tolist() == list(range(1, 51))
    np.testing.assert_allclose(steps.x[0], [-3.0, 0.5, 5.5], rtol=1e-14)


def test_the_first_half_samples_and_then_forces_are_read_coordinate_by_coordinate():
    x = np.asarray(trace_of(100).steps.x)
    moved = np.sum(np.abs(np.diff(x, axis=0)) > 0, axis=1)
    assert np.all(moved[:48] == D)  # a sample moves every coordinate
    assert moved[50:53].tolist() == [1, 2, 2]  # a probe leaves its coordinate and enters the next


def test_the_force_that_the_policy_hears_is_the_gradient():
    """To the accuracy of one-sided differences, sqrt(eps)."""
    optimizer = ValueOptimizer(ShapeOptimizer(UniversalPolicy(values=True)))
    state = optimizer.init(jnp.asarray([0.5]), Box.around(np.array([-4.0]), np.array([6.0])), 40, jax.random.key(0))
    fun = lambda x: jnp.sum(x**3)  # noqa: E731
    for _ in range(2):
        x = optimizer.ask(state)
        state = optimizer.tell(state, Reading(fun(x), jnp.zeros(1), jnp.asarray(1, jnp.int32)))
    np.testing.assert_allclose(state.shape.policy.line.g, 3 * 0.5**2, rtol=1e-6)


def test_probes_stay_inside_the_narrowest_box_and_skip_a_coordinate_without_room():
    lower, upper = np.array([2.0, -1e9, 1e-9]), np.array([2.0, 1e9, 2e-9])
    seen = Counted(lambda x: float(np.sum(x**2)))
    shapeopt.minimize(seen, np.array([2.0, 1e9, 2e-9]), bounds=(lower, upper), budget=60)
    points = np.array(seen.points)
    assert len(points) == 60 and np.all((points >= lower) & (points <= upper))


def test_a_probe_that_is_not_finite_leaves_no_force_along_it_and_the_run_goes_on():
    hole = lambda x: jnp.where(x[0] > 1.5, jnp.nan, bowl(x))  # noqa: E731
    best = trace_of(200, hole).best
    assert np.isfinite(best.value) and best.value < 1e-3


def test_no_energy_flows_while_probes_are_read_and_the_ledger_closes():
    ledger = trace_of(100).steps.info.ledger
    np.testing.assert_allclose(ledger.total, ledger.delta_H, atol=1e-9)
    assert np.count_nonzero(np.asarray(ledger.delta_H)[50:]) <= 50 // D + 1


def test_too_few_values_for_forces_are_all_sampled():
    x = np.asarray(trace_of(4 * (D + 1)).steps.x)
    assert np.all(np.sum(np.abs(np.diff(x, axis=0)) > 0, axis=1) == D)


@pytest.mark.parametrize(("d", "budget"), [(1, 60), (2, 300), (20, 1000)])
def test_minimize_spends_every_call_of_a_host_objective_and_not_one_more(d, budget):
    seen = Counted(rippled)
    result = shapeopt.minimize(seen, bounds=(np.full(d, -5.0), np.full(d, 5.0)), budget=budget, seed=1)
    assert len(seen.points) == result.nfev == budget and result.njev == 0
    assert result.fun == min(map(rippled, seen.points)) and len(result.trace.value) == budget
    assert result.fun < (1e-8 if d <= 2 else 15.0 * 2.6)  # in 20 dimensions a random point is at 15 a coordinate


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


def test_values_alone_are_asked_one_at_a_time_and_those_of_differences_together():
    bounds = (np.full(2, -5.0), np.full(2, 5.0))
    alone, swarm = (shapeopt.Shape(bounds=bounds, budget=80, gradients=False, num_starts=n) for n in (1, 2))
    assert len(alone.ask(9)) == 1 and len(swarm.ask(99)) == 2 * (1 + 2 * 2)


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
