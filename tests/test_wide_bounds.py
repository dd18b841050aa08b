"""Positive bounds that are decades apart: by values such coordinates are searched by their logarithm."""

import jax.numpy as jnp
import numpy as np
import pytest

import shapeopt
from shapeopt.core.problem import read_problem, seeded
from shapeopt.engines.host import HostRun
from shapeopt.optimizer import Policy
from shapeopt.report.view import Frame, extent, make_view

LOWER, UPPER = np.array([1e-8, 1e-3, -2.0]), np.array([1e-1, 1e5, 2.0])
TRUTH = np.array([3e-6, 40.0, 0.7])
X0 = np.array([2e-3, 5e3, -1.0])
AMID = np.array([5e-2, 6e4, -1.0])
BOUNDS = list(zip(LOWER, UPPER, strict=True))
TIMES = np.linspace(0.1, 3, 12)


def residuals(x, xp=np):
    """Of a saturating curve with a slow drift: smooth in the logarithms of the first two."""
    model = lambda y: xp.log1p(y[1] * TIMES / (1 + TIMES * y[1] / 50)) + 1e5 * y[0] * TIMES + y[2]  # noqa: E731
    return model(x) - model(TRUTH)


def value(x):
    return float(residuals(x) @ residuals(x))


def pair(x):
    gradient = np.empty(3)
    for i, width in enumerate(1e-6 * np.where(LOWER > 0, x, 1.0)):
        below, above = (np.clip(x + end * width * np.eye(3)[i], LOWER, UPPER) for end in (-1, 1))
        gradient[i] = (value(above) - value(below)) / (above - below)[i]
    return value(x), gradient


def test_values_alone_find_parameters_over_many_decades():
    result = shapeopt.minimize(value, X0, bounds=BOUNDS, budget=300)
    np.testing.assert_allclose(result.x, TRUTH, rtol=0.05)


def test_gradients_are_taken_in_the_users_coordinates():
    result = shapeopt.minimize(pair, X0, bounds=BOUNDS, jac=True, budget=120)
    np.testing.assert_allclose(result.x, TRUTH, rtol=0.05)


def test_both_engines_search_the_same_coordinates():
    traced = lambda x: jnp.sum(residuals(x, jnp) ** 2)  # noqa: E731
    one = shapeopt.minimize(traced, X0, bounds=BOUNDS, budget=100)
    many = shapeopt.minimize(traced, X0, bounds=BOUNDS, budget=64 * 100, num_starts=64)
    np.testing.assert_allclose(one.x, TRUTH, rtol=0.05)
    np.testing.assert_allclose(many.x, TRUTH, rtol=0.05)


def test_jacobians_are_taken_in_the_users_coordinates():
    result = shapeopt.least_squares(residuals, X0, bounds=(LOWER, UPPER), budget=300)
    np.testing.assert_allclose(result.x, TRUTH, rtol=1e-4)


@pytest.mark.parametrize("most", [1e8, 1e300])
def test_bounds_as_far_above_one_as_below_are_no_guard(most):
    result = shapeopt.minimize(
        lambda x: float(np.sum((np.log10(x) - 3) ** 2)), bounds=[(1 / most, most)] * 2, budget=60
    )
    np.testing.assert_allclose(result.x, 1e3, rtol=1e-3)


def test_a_start_that_is_not_given_is_drawn_by_the_logarithm():
    starts = [shapeopt.minimize(value, bounds=BOUNDS, budget=1, seed=seed).x for seed in range(40)]
    assert 0.2 < np.mean([x[0] < 1e-4 for x in starts]) < 0.8


def test_a_change_of_units_changes_the_digits_alone():
    units = np.array([1e3, 1e-6, 7.0])
    own = shapeopt.minimize(value, X0, bounds=BOUNDS, budget=25)
    other = shapeopt.minimize(
        lambda y: value(y / units), X0 * units, bounds=list(zip(LOWER * units, UPPER * units, strict=True)), budget=25
    )
    np.testing.assert_allclose(other.x / units, own.x, rtol=1e-6)


def test_the_landscape_of_a_report_has_logarithmic_axes_where_the_search_has():
    x0 = np.array([1e-2, 0.5]) * [0.1, 1.0]
    frame = Frame.of(np.array([1e-6, -1.0]), np.array([1e-1, 1.0]), x0, by_values=True)
    view = make_view(frame, x0[None], x0[None])
    assert view.labels == ("log x<sub>1</sub>", "x<sub>2</sub>")
    np.testing.assert_allclose(view.project(x0[None])[0], [[-3.0, 0.5]])
    np.testing.assert_allclose(view.lift(np.array([[-3.0, 0.5]])), [x0])
    np.testing.assert_allclose(extent(view, np.zeros((0, 2)), np.zeros((0, 2))), [[-6.0, -1.0], [-1.0, 1.0]])


@pytest.mark.parametrize("size", [1e-7, 1.0])
def test_a_minimum_on_the_lower_bound_is_found(size):
    lower, upper = np.full(2, 1e-5) * size, np.full(2, 10.0) * size
    result = shapeopt.minimize(lambda x: float(np.sum(x / size)), upper / 3, bounds=(lower, upper), budget=120)
    np.testing.assert_allclose(result.x, lower, rtol=1e-2)


@pytest.mark.parametrize(("x0", "by_values", "logs"), [(X0, True, True), (X0, False, False), (AMID, True, False)])
def test_only_values_and_a_start_far_down_the_bounds_speak_for_logarithms(x0, by_values, logs):
    run = HostRun(Policy(), read_problem(x0, BOUNDS, seeded(0)), 20, 0, values_only=by_values)
    assert (run.box.logs is not None) is logs
    assert Frame.of(LOWER, UPPER, x0, by_values).logs.any() == logs


def test_a_policy_that_knows_places_in_the_box_keeps_the_numbers():
    run = HostRun(Policy(affine=True), read_problem(X0, BOUNDS, seeded(0)), 20, 0, values_only=True)
    assert run.box.logs is None
