"""Reading a NumPy function: every value counted, differences paid for, nothing that is not a number handed on."""

import numpy as np
import pytest

from shapeopt.oracles import BudgetExhausted, FunctionReader

FREE = np.full(2, -np.inf), np.full(2, np.inf)


def pair(x):
    return float(x @ x), 2 * x


def value(x):
    return float(x @ x)


def test_a_pair_and_a_value_are_one_call_each_and_the_next_is_refused():
    read = FunctionReader(pair, True, *FREE, budget=2)
    assert read.value(np.ones(2)) == 2.0
    found, gradient = read.value_and_gradient(np.ones(2) / 2)
    np.testing.assert_array_equal(gradient, [1.0, 1.0])
    assert (read.calls, read.exhausted, read.best_value, found) == (2, False, 0.5, 0.5)
    with pytest.raises(BudgetExhausted):
        read.value(np.zeros(2))
    assert read.exhausted and read.calls == 2


def test_differences_cost_a_call_each_and_the_last_value_is_not_paid_twice():
    read = FunctionReader(value, False, *FREE, budget=50)
    x = np.array([1.0, -3.0])
    np.testing.assert_allclose(read.value_and_gradient(x)[1], [2.0, -6.0], atol=1e-6)
    assert read.calls == 3 == read.cost and read.asked == 1
    read.value(np.zeros(2))
    read.value_and_gradient(np.zeros(2))
    assert read.calls == 6


def test_differences_stay_inside_the_bounds():
    lower, upper = np.array([0.0, -1.0]), np.array([1.0, 0.0])
    read = FunctionReader(value, False, lower, upper, budget=50)
    for x in (lower, upper):
        np.testing.assert_allclose(read.value_and_gradient(x)[1], 2 * x, atol=1e-6)
    assert read.outside == 0 and np.all((read.points >= lower) & (read.points <= upper))


def test_points_outside_are_moved_and_counted_and_nan_goes_to_the_last_point_without_bounds():
    read = FunctionReader(pair, True, np.zeros(2), np.ones(2), budget=9)
    read.value(np.array([-1.0, 0.5]))
    np.testing.assert_array_equal(read.points, [[0.0, 0.5]])
    assert read.outside == 1
    free = FunctionReader(pair, True, *FREE, budget=9)
    free.value(np.array([3.0, 4.0]))
    free.value(np.array([np.nan, 5.0]))
    np.testing.assert_array_equal(free.points[-1], [3.0, 5.0])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_reaches_the_method_as_a_high_value_with_no_slope(bad):
    read = FunctionReader(lambda x: (bad, np.full(2, np.nan)) if x[0] > 1 else pair(x), True, *FREE, budget=9)
    read.value(np.array([1.0, 3.0]))
    found, gradient = read.value_and_gradient(np.array([2.0, 0.0]))
    assert found > 10 and np.isfinite(found) and not gradient.any()
    assert not np.isfinite(read.values[-1]) and read.best_value == 10.0


def test_a_run_that_takes_too_long_is_refused():
    read = FunctionReader(pair, True, *FREE, budget=9, seconds=-1.0)
    with pytest.raises(BudgetExhausted, match="time for this run is over"):
        read.value(np.zeros(2))
    assert read.late and read.exhausted and read.calls == 0


def test_own_counts_are_summed_unless_a_point_was_not_finite():
    read = FunctionReader(pair, True, *FREE, budget=20)
    read.value(np.ones(2))
    read.report(1, 0)
    read.value(np.array([np.nan, 1.0]))
    read.report(7, 1)
    assert (read.reported, read.reported_asked) == (1, 1)
    read.value(np.ones(2))
    read.report(2, 2)
    assert (read.reported, read.reported_asked) == (3, 2)
