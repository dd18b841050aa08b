"""Descent by values alone: quadratics, valleys, bounds, holes, rounded values, and the parts that it is made of."""

import numpy as np
import pytest

import shapeopt
from shapeopt.ops import HOST
from shapeopt.optimizer import Policy
from shapeopt.tactics import quadratic_model as quadratic
from shapeopt.tactics.trust_region import in_box, in_sphere
from shapeopt.tactics.value_precision import taken_in, unit, unread

BOUNDS = (-5, 5)


def quadratic_of(d, condition=1e4, seed=0, lift=0.0):
    """A turned convex quadratic, its minimum, and a start."""
    rng = np.random.default_rng([d, seed])
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    A = turn @ np.diag(np.geomspace(1.0, condition, d)) @ turn.T
    bottom = rng.uniform(-3.0, 3.0, d)
    return (lambda x: 0.5 * (x - bottom) @ A @ (x - bottom) + lift), bottom, rng.uniform(-5.0, 5.0, d)


def rosenbrock(x):
    return float(np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2))


@pytest.mark.parametrize(("d", "budget"), [(1, 12), (2, 25), (5, 70), (10, 250)])
def test_quadratics_are_solved_once_their_hessian_is_known(d, budget):
    fun, bottom, x0 = quadratic_of(d)
    result = shapeopt.minimize(fun, x0, bounds=BOUNDS, budget=budget)
    assert result.fun < 1e-8 and result.njev == 0
    np.testing.assert_allclose(result.x, bottom, atol=1e-3)


def test_a_narrow_valley_is_followed():
    result = shapeopt.minimize(rosenbrock, np.full(4, -1.5), bounds=BOUNDS, budget=400)
    assert result.fun < 1e-8


def test_the_minimum_on_active_bounds_is_found():
    d = 6
    fun, _, x0 = quadratic_of(d, 1e2)
    slope = 500.0 * np.arange(1, d + 1) * np.array([1, -1, 1, -1, 0, 0])
    result = shapeopt.minimize(lambda x: fun(x) + slope @ x, x0, bounds=BOUNDS, budget=200)
    from scipy.optimize import minimize

    known = minimize(lambda x: fun(x) + slope @ x, x0, bounds=[BOUNDS] * d, method="L-BFGS-B", tol=1e-12)
    assert result.fun - known.fun < 1e-6 * abs(known.fun)


@pytest.mark.parametrize("digits", [3, 4, 6, 8])
@pytest.mark.parametrize("d", [2, 5, 10])
def test_rounded_values_are_minimised_to_their_rounding(digits, d):
    """Within ten units of the last digit; the result says what that is."""
    for condition in (1e1, 1e4):
        fun, _, x0 = quadratic_of(d, condition, lift=1000.0)
        printed = lambda x, fun=fun: float(f"{fun(x):.{digits}g}")  # noqa: E731
        result = shapeopt.minimize(printed, x0, bounds=BOUNDS, budget=60 * d)
        last_digit = 10.0 ** (4 - digits)
        assert fun(result.x) - 1000.0 <= 10 * last_digit
        assert result.value_precision == pytest.approx(last_digit)


def test_exact_values_have_no_precision_to_speak_of():
    result = shapeopt.minimize(rosenbrock, np.full(3, -1.5), bounds=BOUNDS, budget=400)
    assert result.value_precision == 0.0


@pytest.mark.parametrize("width", [1e3, 1e6, 1e8])
def test_bounds_far_wider_than_the_basin_do_not_hide_it(width):
    result = shapeopt.minimize(rosenbrock, np.array([-1.2, 1.0]), bounds=(-width, width), budget=300)
    assert result.fun < 1e-3


def test_a_plateau_is_not_searched_to_the_last_digit():
    seen = []
    shapeopt.minimize(lambda x: seen.append(x) or 1.0, np.full(3, 0.3), bounds=(-5, 5), budget=200)
    assert np.sum(np.max(np.abs(np.array(seen) - 0.3), axis=1) < 1e-3) < 20


def test_holes_in_the_domain_are_walked_around():
    """NaN in a half-space behind the start's side of the valley, and in a ball on the way."""
    fun, bottom, _ = quadratic_of(4, 10.0)
    x0 = bottom + np.array([2.0, -1.5, 1.0, 0.5])
    middle = 0.5 * (x0 + bottom)
    hole = lambda x: np.nan if np.linalg.norm(x - middle) < 0.4 or x[0] < bottom[0] - 0.3 else fun(x)  # noqa: E731
    result = shapeopt.minimize(hole, x0, bounds=BOUNDS, budget=250)
    assert result.fun < 1e-4


def test_opening_points_follow_the_lowest_one():
    """Each of them changes one coordinate of the lowest point so far, or goes on along the same line."""
    d, bottom = 6, np.linspace(-2.0, 2.0, 6)
    fun = lambda x: float(np.sum((x - bottom) ** 2 + np.cos(3.0 * x)))  # noqa: E731
    result = shapeopt.minimize(fun, np.full(d, 3.3), bounds=BOUNDS, budget=2 * d + 2)
    opens = result.trace.tactic == "interpolate"
    points, values = result.trace.x[opens], result.trace.value[opens]
    before = result.trace.x[~opens][np.argmin(result.trace.value[~opens])]
    points, values = np.vstack([before, points]), np.concatenate([[fun(before)], values])
    moved = 0
    for i in range(1, 2 * d + 1):
        coordinate = (i - 1) // 2
        lowest = points[np.argmin(values[: 2 * coordinate + 1])]
        others = np.arange(d) != coordinate
        np.testing.assert_allclose(points[i][others], lowest[others])
        assert points[i][coordinate] != lowest[coordinate]
        moved += bool(np.any(lowest != before))
    assert moved > d


def test_the_stage_spends_one_value_a_reading_and_no_force_is_read():
    fun, _, x0 = quadratic_of(5)
    result = shapeopt.minimize(fun, x0, bounds=BOUNDS, budget=80)
    assert result.nfev == 80 and len(result.trace.value) == 80
    assert result.trace.tactic.tolist()[:13] == ["start", "explore", *["interpolate"] * 11]


def test_a_worse_basin_is_left_before_its_bottom_is_exact():
    """Of two wells the worse is left as hopeless, or because it is known."""
    wells = lambda x: float(min(np.sum((x - 2.0) ** 2), 5.0 + np.sum((x + 3.0) ** 2)))  # noqa: E731
    result = shapeopt.minimize(wells, np.full(3, 1.0), bounds=BOUNDS, budget=300)
    later = [event.cause for event in result.events if event.tactic == "interpolate"][1:]
    assert result.fun < 1e-10 and later and set(later) <= {"hopeless", "revisit", "converged", "budget"}
    assert later.count("converged") <= 2


def test_units_and_offsets_change_nothing():
    fun, _, x0 = quadratic_of(3, 1e2)
    plain = shapeopt.minimize(fun, x0, bounds=BOUNDS, budget=25, seed=3)
    scaled = shapeopt.minimize(lambda x: 1e3 * fun(x / 10.0), 10 * x0, bounds=(-50, 50), budget=25, seed=3)
    np.testing.assert_allclose(scaled.trace.x / 10.0, plain.trace.x, atol=1e-6)


def test_it_is_for_values_alone():
    fun, _, x0 = quadratic_of(3)
    gradient = lambda x: np.array([(fun(x + 1e-6 * e) - fun(x - 1e-6 * e)) / 2e-6 for e in np.eye(3)])  # noqa: E731
    result = shapeopt.minimize(fun, x0, bounds=BOUNDS, budget=40, jac=gradient)
    assert not {"interpolate", "explore"} & set(result.trace.tactic)
    fewer = shapeopt.minimize(fun, x0, bounds=BOUNDS, budget=40, policy=Policy().without("interpolate"))
    assert "refine" in fewer.trace.tactic


# ------------------------------------------------------------------------------------------------- its parts


def grown(d, count, seed=0):
    """A model of random points of a random quadratic, one after the other, and the quadratic."""
    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(d, d)), rng.normal(size=d)
    fun = lambda z: float(0.5 * z @ (A + A.T) @ z + b @ z)  # noqa: E731
    model = quadratic.blank(HOST, (d + 1) * (d + 2) // 2, d, np.dtype(float))
    for _ in range(2 * d + 1):
        z = rng.normal(size=d)
        model = quadratic.add(HOST, model, z, fun(z))
    model = quadratic.first_fit(HOST, model)
    for row in range(2 * d + 1, count):
        z = rng.normal(size=d)
        model = quadratic.replace(HOST, model, row, z, fun(z), 1.0)
    return model, fun, A + A.T


def test_the_model_has_the_values_of_all_points():
    for count in (9, 11, 15):
        model, _, _ = grown(4, count)
        best, f = model.at_best()
        steps = model.points[:count] - best
        predicted = [f + quadratic.predict(HOST, model, step) for step in steps]
        np.testing.assert_allclose(predicted, model.values[:count], rtol=1e-7, atol=1e-7)


def test_a_full_set_of_points_has_the_hessian():
    model, _, H = grown(4, 15)
    np.testing.assert_allclose(model.H, H, atol=1e-6)


def test_replacing_points_one_by_one_equals_inverting_anew():
    model, fun, _ = grown(3, 10)
    rng = np.random.default_rng(1)
    for row in (2, 5, 7):
        z = rng.normal(size=3)
        model = quadratic.replace(HOST, model, row, z, fun(z), 1.0)
    again = quadratic.inverted(HOST, model._replace(inverse=model.inverse.copy()))
    np.testing.assert_allclose(
        *(quadratic.lagrange_function(HOST, m, 4)[1] for m in (model, again)), rtol=1e-6, atol=1e-8
    )


@pytest.mark.parametrize("seed", range(6))
def test_the_step_in_a_sphere_is_the_minimum(seed):
    rng = np.random.default_rng(seed)
    A, g = rng.normal(size=(4, 4)), rng.normal(size=4)
    H = A + A.T if seed % 2 else A @ A.T
    z = in_sphere(HOST, g, H, 0.7)
    value = lambda z: g @ z + 0.5 * z @ H @ z  # noqa: E731
    others = rng.normal(size=(4000, 4))
    others *= (0.7 * rng.uniform(size=(4000, 1)) ** 0.25) / np.linalg.norm(others, axis=1, keepdims=True)
    assert np.linalg.norm(z) <= 0.7 * (1 + 1e-9)
    assert value(z) <= min(map(value, others)) + 0.03 * abs(value(z))


def test_the_hard_case_goes_to_the_sphere():
    z = in_sphere(HOST, np.array([0.0, 1.0]), np.diag([-1.0, 2.0]), 1.0)
    assert np.linalg.norm(z) == pytest.approx(1.0, rel=1e-2) and abs(z[0]) > 0.9


def test_the_step_in_a_box_stays_inside_and_is_as_low_as_sampled_ones():
    rng = np.random.default_rng(0)
    for _ in range(10):
        A, g, T = rng.normal(size=(3, 3)), rng.normal(size=3), rng.normal(size=(3, 3)) + 2 * np.eye(3)
        H = A @ A.T
        lower, upper = -rng.uniform(0, 1, 3), rng.uniform(0, 1, 3)
        z = in_box(HOST, g, H, T, lower, upper, 1.0)
        x = T @ z
        assert np.all(x >= lower - 1e-9) and np.all(x <= upper + 1e-9)
        value = lambda z, g=g, H=H: g @ z + 0.5 * z @ H @ z  # noqa: E731
        others = np.linalg.solve(T, rng.uniform(lower, upper, (3000, 3)).T).T
        inside = others[np.linalg.norm(others, axis=1) <= 1.0]
        assert value(z) <= 0.8 * min(map(value, inside))


def test_digits_and_decimals_of_values_are_counted():
    rng = np.random.default_rng(0)
    values = rng.normal(size=30) * 100.0
    for rounding, expected in (
        (lambda v: float(f"{v:.4g}"), 10.0 ** (np.floor(np.log10(abs(values[0]))) - 3)),
        (lambda v: round(v, 2), 0.01),
        (lambda v: v, 0.0),
    ):
        printed = unread(HOST, np.dtype(float))
        for value in values:
            printed = taken_in(HOST, printed, rounding(value), np.dtype(float))
        assert unit(HOST, printed, np.array([rounding(values[0])]))[0] == pytest.approx(expected)


def test_single_precision_stays_single():
    seen = set()

    def fun(x):
        seen.add(x.dtype)
        return float(np.sum((x - 1.2) ** 2 * np.arange(1, x.size + 1)))

    result = shapeopt.minimize(fun, np.full(4, -2.0, np.float32), bounds=BOUNDS, budget=120)
    assert seen == {np.dtype(np.float32)} == {result.x.dtype} and result.fun < 1e-9
