"""`shapeopt.scipy_method`: SciPy's ways of saying things, and its documented examples."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import (
    Bounds,
    OptimizeResult,
    OptimizeWarning,
    basinhopping,
    minimize,
    rosen,
    rosen_der,
    rosen_hess,
    rosen_hess_prod,
)

import shapeopt
from shapeopt import scipy_method
from shapeopt.adapters.hopping import Hops
from shapeopt.core.result import Result

X0 = np.array([1.3, 0.7])
FIVE = [1.3, 0.7, 0.8, 1.9, 1.2]
BUDGET = 60


class Wavy:
    """A NumPy objective with many basins that counts how often it is asked, and where."""

    def __init__(self):
        self.places = []

    def value(self, x, centre=0.0, height=1.0):
        self.places.append(np.array(x).real)
        x = np.asarray(x) - centre
        return (x * x).sum() + height * (1 - np.cos(5 * x)).sum()

    def gradient(self, x, centre=0.0, height=1.0):
        return 2 * (np.asarray(x) - centre) + 5 * height * np.sin(5 * (np.asarray(x) - centre))

    def pair(self, x, centre=0.0, height=1.0):
        return self.value(np.asarray(x), centre, height), self.gradient(x, centre, height)


def recorded(kind, seen):
    """A callback in one of SciPy's two signatures."""
    if kind == "xk":
        return lambda xk: seen.append((xk, None))
    return lambda intermediate_result: seen.append((intermediate_result.x, intermediate_result.fun))


BOUNDS = {
    "none": None,
    "pairs": [(-2, 2), (None, 1.5)],
    "arrays": np.array([[-2.0, 2.0], [-3.0, 1.5]]),
    "bounds": Bounds([-2, -np.inf], [2, 1.5]),
    "one bound for all": Bounds(-2, 2),
}


@given(
    jac=st.sampled_from([True, "callable", None, "2-point", "3-point", "cs"]),
    bounds=st.sampled_from(sorted(BOUNDS)),
    args=st.sampled_from([(), (0.25,), (0.25, 2.0), 0.25]),
    callback=st.sampled_from([None, "xk", "intermediate_result"]),
    direct=st.booleans(),
)
def test_every_form_is_understood_counted_and_kept_inside_the_bounds(jac, bounds, args, callback, direct):
    wavy, seen, box = Wavy(), [], BOUNDS[bounds]
    fun = wavy.pair if jac is True else wavy.value
    told = None if callback is None else recorded(callback, seen)
    forms = {"jac": wavy.gradient if jac == "callable" else jac, "bounds": box, "callback": told}
    if direct:  # SciPy replaces a string `jac` by None before a method sees it, so strings are tried without it, too
        result = scipy_method(fun, X0, args, **forms, budget=BUDGET)
    else:
        result = minimize(fun, X0, args, method=scipy_method, options={"budget": BUDGET}, **forms)
    assert isinstance(result, OptimizeResult) and result.success and result.message
    assert result.nfev == len(wavy.places) <= BUDGET
    assert BUDGET - result.nfev < 5, "no reading of five calls fits any more"
    centre = args if isinstance(args, float) else args[0] if args else 0.0
    tail = args[1:] if isinstance(args, tuple) else ()
    assert result.fun == Wavy().value(result.x, centre, *tail) < Wavy().value(X0, centre, *tail)
    places = np.array(wavy.places)
    if box is not None:
        sides = (box.lb, box.ub) if isinstance(box, Bounds) else np.array(box, float).T
        lower, upper = (np.where(np.isnan(side), inf, side) for side, inf in zip(sides, (-np.inf, np.inf), strict=True))
        assert (places >= lower).all() and (places <= upper).all()
    if callback is not None:
        assert seen and seen[-1][0].shape == (2,)
        values = [fun for _, fun in seen if fun is not None]
        assert values == sorted(values, reverse=True)


@pytest.mark.parametrize("kind", ["xk", "intermediate_result"])
def test_stop_iteration_ends_the_run(kind):
    calls, wavy = [], Wavy()

    def stop(*_):
        calls.append(1)
        if len(calls) == 7:
            raise StopIteration

    told = (lambda xk: stop()) if kind == "xk" else lambda intermediate_result: stop()
    result = minimize(wavy.pair, X0, jac=True, method=scipy_method, callback=told, options={"budget": BUDGET})
    assert len(calls) == 7 and result.nfev == len(wavy.places) < 10 and "callback" in result.message


def test_what_a_callback_returns_is_not_looked_at_as_in_scipy():
    wavy = Wavy()
    result = minimize(
        wavy.pair, X0, jac=True, method=scipy_method, callback=lambda xk: True, options={"budget": BUDGET}
    )
    assert result.nfev == BUDGET


@pytest.mark.parametrize(("jac", "cost"), [("2-point", 3), ("3-point", 5), ("cs", 3)])
def test_finite_differences_cost_what_they_ask_and_agree_with_the_gradient(jac, cost):
    result = scipy_method(rosen, X0, jac=jac, budget=10 * cost)
    exact = scipy_method(rosen, X0, jac=rosen_der, budget=10)
    assert result.nfev == 10 * cost and result.njev == 10
    np.testing.assert_allclose(result.trace.value, exact.trace.value, rtol=1e-3)


def test_two_point_differences_at_a_bound_stay_inside():
    wavy = Wavy()
    box = Bounds([1.0, 0.5], [1.0, 3.0])  # the first coordinate has no room at all
    result = scipy_method(wavy.value, [1.0, 3.0], jac="2-point", bounds=box, budget=30)
    places = np.array(wavy.places)
    assert (places >= box.lb).all() and (places <= box.ub).all() and result.fun < Wavy().value(np.array([1.0, 3.0]))


def test_tol_ends_a_run_that_no_longer_gains():
    spent = {tol: scipy_method(rosen, X0, jac=rosen_der, tol=tol, budget=400).nfev for tol in (None, 1e-8)}
    assert spent[None] == 400 and 50 <= spent[1e-8] < 200
    result = minimize(rosen, X0, jac=rosen_der, method=scipy_method, tol=1e-8, options={"budget": 400})
    assert result.nfev == spent[1e-8] and result.status == 0 and "tol" in result.message
    np.testing.assert_allclose(result.x, 1, atol=1e-4)


def test_a_start_outside_the_bounds_is_moved_inside():
    wavy = Wavy()
    scipy_method(wavy.pair, [9.0, -9.0], jac=True, bounds=[(-2, 2)] * 2, budget=5)
    np.testing.assert_array_equal(wavy.places[0], [2, -2])


def test_a_jax_objective_is_compiled_through_scipy():
    asked = []

    def bowl(x):
        asked.append(1)
        return jnp.sum((x - 0.5) ** 2), 2 * (jnp.asarray(x) - 0.5)

    result = minimize(bowl, X0, jac=True, method=scipy_method, options={"budget": 100})
    assert result.nfev == 100 and len(asked) < 10 and result.fun < 1e-12


def test_options_of_other_methods_and_hessians_are_named_in_scipys_warnings():
    with pytest.warns(OptimizeWarning, match="gtol"):
        minimize(rosen, X0, jac=rosen_der, method=scipy_method, options={"gtol": 1e-6, "budget": 20})
    with pytest.warns(RuntimeWarning, match="hess"):
        minimize(rosen, X0, jac=rosen_der, hess=rosen_hess, method=scipy_method, options={"budget": 20})


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"bounds": [(0, 1)] * 3}, "bounds"),
        ({"bounds": 3}, "bounds"),
        ({"jac": "4-point"}, "jac"),
        ({"budget": 0}, "budget"),
        ({"tol": -1.0}, "tol"),
    ],
)
def test_wrong_arguments_are_named(settings, words):
    with pytest.raises(ValueError, match=words):
        scipy_method(rosen, X0, **settings)


def test_it_is_a_method_inside_basinhopping():
    wavy = Wavy()
    local = {"method": scipy_method, "jac": True, "bounds": [(-4, 4)] * 2, "options": {"budget": 20}}
    result = basinhopping(wavy.pair, [3.0, -3.0], niter=3, minimizer_kwargs=local, rng=0)
    assert result.nfev == len(wavy.places) == 80 and result.lowest_optimization_result.success
    assert result.fun < 4 and np.abs(wavy.places).max() <= 4


def test_tol_does_not_end_a_run_by_values_that_only_looked_around():
    """A sweep through the box gains nothing for more than half of the calls until then."""
    result = minimize(rosen, FIVE, method=scipy_method, tol=1e-6, options={"budget": 2000})
    assert result.fun < 1e-8 and result.nfev < 2000


def test_tol_does_not_end_a_run_by_values_that_looked_around_after_an_unfinished_descent():
    """The first descent ends by its clock at 0.036, and sampling gains nothing for as many calls."""
    result = minimize(rosen, FIVE, method=scipy_method, tol=1e-6, options={"budget": 5000, "seed": 1})
    assert result.fun < 1e-8 and result.nfev < 3000


# SciPy's documented examples, with another method.


def test_documented_rosenbrock_by_values():
    result = minimize(rosen, FIVE, method=scipy_method, options={"budget": 2000})
    np.testing.assert_allclose(result.x, 1, atol=1e-4)


def test_documented_rosenbrock_by_gradients_prints_how_it_ended(capsys):
    result = minimize(rosen, FIVE, method=scipy_method, jac=rosen_der, options={"disp": True, "budget": 150})
    np.testing.assert_allclose(result.x, 1, atol=1e-6)
    assert "best value" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["none", "hess", "hessp"])
@pytest.mark.parametrize("option", ["gtol", "xtol", "xatol"])
@pytest.mark.filterwarnings("ignore:Unknown solver options", "ignore:Method scipy_method does not use")
def test_documented_options_and_second_derivatives_change_nothing(name, option):
    curvature = {"none": {}, "hess": {"hess": rosen_hess}, "hessp": {"hessp": rosen_hess_prod}}[name]
    forms = {"jac": rosen_der, "options": {option: 1e-8, "budget": 150}, **curvature}
    result = minimize(rosen, FIVE, method=scipy_method, **forms)
    np.testing.assert_allclose(result.x, 1, atol=1e-6)


def test_documented_rosenbrock_with_arguments():
    def rosen_with_args(x, a, b):
        return sum(a * (x[1:] - x[:-1] ** 2.0) ** 2.0 + (1 - x[:-1]) ** 2.0) + b

    result = minimize(rosen_with_args, FIVE, method=scipy_method, args=(0.5, 1.0), jac="2-point")
    assert result.fun == pytest.approx(1, abs=1e-6)


def test_documented_eggholder():
    def eggholder(x):
        x = np.asarray(x)
        a, b = x[0], x[1] + 47
        return -b * np.sin(np.sqrt(abs(a / 2 + b))) - a * np.sin(np.sqrt(abs(a - b)))

    result = minimize(eggholder, [0, 0], bounds=[(-512, 512)] * 2, method=scipy_method, options={"budget": 3000})
    assert result.fun == pytest.approx(-959.6407, abs=1e-3)


def test_documented_basinhopping_examples_run_with_ours():
    def wave(x):
        return np.cos(14.5 * np.asarray(x) - 0.3) + (np.asarray(x) + 0.2) * np.asarray(x)

    result = shapeopt.basinhopping(wave, [1.0], minimizer_kwargs={"method": "BFGS"}, niter=20)
    assert result.fun == pytest.approx(-1.0009, abs=1e-4) and result.x == pytest.approx(-0.1951, abs=1e-4)
    assert result.nit == 21 and result.success and isinstance(result.message, list)
    assert result.lowest_optimization_result.fun == result.fun


def func2d(x):
    x = np.asarray(x)
    f = np.cos(14.5 * x[0] - 0.3) + (x[1] + 0.2) * x[1] + (x[0] + 0.2) * x[0]
    return f, np.array([-14.5 * np.sin(14.5 * x[0] - 0.3) + 2.0 * x[0] + 0.2, 2.0 * x[1] + 0.2])


HOPPING = {"minimizer_kwargs": {"method": "L-BFGS-B", "jac": True}, "rng": 0}


def test_every_basin_that_is_left_is_told_to_the_callback():
    seen = []
    result = shapeopt.basinhopping(func2d, [1.0, 1.0], niter=10, callback=lambda *told: seen.append(told), **HOPPING)
    assert len(seen) == result.nit > 5 and result.nfev <= 220
    assert all(f == func2d(x)[0] for x, f, _ in seen), "the place belongs to the value"
    assert seen[0][2] and sum(better for *_, better in seen) < 11
    assert result.fun == pytest.approx(-1.0109, abs=1e-4)


def test_only_a_stage_that_wrote_memory_closes_a_basin():
    hops = Hops(2, None, None, False)
    moves = [Result(wrote=wrote, x=X0, value=1.0, best=1.0) for wrote in (False, True, False)]
    assert not hops(Result(events=moves)) and hops.basins == 1
    assert hops(Result(events=moves)) and hops.basins == 2


def test_hopping_ends_early_when_asked_or_when_nothing_changes():
    stopped = shapeopt.basinhopping(func2d, [1.0, 1.0], niter=50, callback=lambda x, f, accept: True, **HOPPING)
    assert stopped.nit == 1 and "callback" in stopped.message[0]
    same = shapeopt.basinhopping(func2d, [1.0, 1.0], niter=50, niter_success=5, **HOPPING)
    assert same.nit < 51 and same.message == ["success condition satisfied"]


def test_settings_of_scipys_walk_are_refused_or_said_to_be_unused():
    with pytest.warns(OptimizeWarning, match="stepsize"):
        shapeopt.basinhopping(func2d, [1.0, 1.0], niter=0, stepsize=2.0, **HOPPING)
    with pytest.raises(ValueError, match="constraints"):
        shapeopt.basinhopping(func2d, [1.0, 1.0], minimizer_kwargs={"constraints": ()})
