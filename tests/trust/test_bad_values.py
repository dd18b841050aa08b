"""Values and gradients that are no numbers, too large or too small: the best finite point comes back, in the budget."""

import jax.numpy as jnp
import numpy as np
import pytest
from trust_objectives import START, Counted, ripples, value

import shapeopt

BAD = {"nan": np.nan, "+inf": np.inf, "-inf": -np.inf}
BUDGET = 60
bad_values = pytest.mark.parametrize("bad", BAD.values(), ids=BAD)


def minimize(fun, jac=None, start=START, **settings):
    return shapeopt.minimize(fun, start, **{"bounds": (-5, 5), "budget": BUDGET, "jac": jac, **settings})


def best_finite(points, fun):
    """The lowest value among points that `fun` answers with a finite one."""
    values = [fun(x) for x in points]
    return min(v for v in values if np.isfinite(v))


@bad_values
@pytest.mark.parametrize("when", [{1}, {2}, {5}, {1, 2, 3, 4}, set(range(3, BUDGET, 2))], ids=str)
@pytest.mark.parametrize("jac", [True, None])
def test_bad_calls_cost_their_call_and_the_best_finite_point_comes_back(bad, when, jac):
    spoilt = (bad, np.full(2, bad)) if jac else bad
    fun = Counted(ripples if jac else value, lambda n: spoilt if n in when else None)
    result = minimize(fun, jac)
    good = [x for n, x in enumerate(fun.points, 1) if n not in when]
    assert fun.calls == result.nfev <= BUDGET and result.success
    assert result.fun == min(value(x) for x in good) == value(result.x)


@bad_values
@pytest.mark.parametrize("jac", [True, None])
def test_a_bad_region_is_left(bad, jac):
    """The global minimum lies in the good half, and the start in the bad one."""

    def fun(x):
        x = np.asarray(x)
        answer = ripples(x) if x[0] < 2 else (bad, np.full(2, bad))
        return answer if jac else answer[0]

    counted = Counted(fun)
    result = minimize(counted, jac, budget=150)
    assert counted.calls <= 150 and result.success and np.isfinite(result.fun)
    assert result.fun == best_finite(counted.points, lambda x: fun(x)[0] if jac else fun(x))


@bad_values
def test_a_bad_region_is_left_by_a_compiled_run_too(bad):
    def fun(x):
        return jnp.where(x[0] < 2, jnp.sum(x * x - 10 * jnp.cos(2 * jnp.pi * x) + 10), bad)

    result = minimize(fun, budget=150)
    assert result.success and np.isfinite(result.fun) and result.x[0] < 2 and result.nfev == 150
    assert not np.isfinite(result.trace.value[0])


@bad_values
@pytest.mark.parametrize("jac", [True, None, "compiled"])
def test_nothing_but_bad_values_is_no_success_and_no_error(bad, jac):
    fun = Counted((lambda x: jnp.sum(x) * 0 + bad) if jac == "compiled" else lambda x: (bad, x * 0) if jac else bad)
    result = minimize(fun if jac != "compiled" else fun.fun, True if jac is True else None)
    assert not result.success and result.nfev <= BUDGET and fun.calls <= BUDGET
    assert "finite" in result.message and np.all(np.abs(result.x) <= 5) and result.minima == []


@bad_values
@pytest.mark.parametrize("when", [{1}, {4}, set(range(2, 40, 3)), set(range(1, BUDGET + 1))], ids=len)
def test_a_bad_gradient_beside_a_good_value_loses_the_gradient_alone(bad, when):
    fun = Counted(lambda x: (value(x), np.array([bad, 1.0]) if fun.calls in when else ripples(x)[1]))
    result = minimize(fun, True)
    assert fun.calls == result.nfev == BUDGET and result.success
    assert result.fun == min(value(x) for x in fun.points)


@pytest.mark.parametrize("scale", [1e300, 1e150, 1e-150, 1e-300, 5e-324])
@pytest.mark.parametrize("jac", [True, None])
def test_huge_and_denormal_values_are_searched_all_the_same(scale, jac):
    def fun(x):
        with np.errstate(all="ignore"):
            f, g = ripples(x)
            return (f * scale, g * scale) if jac else f * scale

    counted = Counted(fun)
    result = minimize(counted, jac)
    values = [fun(x)[0] if jac else fun(x) for x in counted.points]
    assert counted.calls <= BUDGET and result.success and result.fun == min(v for v in values if np.isfinite(v))
    assert np.all(np.abs(counted.points) <= 5)


@pytest.mark.parametrize("scale", [1e30, 1e300])
def test_values_past_single_precision_lead_to_no_bad_query_there(scale):
    def fun(x):
        with np.errstate(all="ignore"):
            f, g = ripples(np.asarray(x, np.float64))
            return f * scale, g * scale

    counted = Counted(fun)
    result = minimize(counted, True, start=START.astype(np.float32))
    assert counted.calls == result.nfev == BUDGET and np.all(np.abs(counted.points) <= 5)
    assert result.fun == pytest.approx(min(fun(x)[0] for x in counted.points), rel=1e-6)
