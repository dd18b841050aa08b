"""Readings on the axis of calls: where each lands, what the incumbent is, what is refused."""

from dataclasses import replace

import numpy as np
import pytest

from shapeopt.bench.curves import Curves, incumbent_gap, on_calls

NAN, INF = np.nan, np.inf


def two_runs(**changes):
    """Two runs of one task with readings of cost 2 and 3 in a budget of 6; the second run stops after one reading."""
    settings = dict(
        calls_after=np.array([[2, 5], [3, 0]]),
        observed=np.array([[4.0, 1.0], [7.0, 0.0]]),
        gap=np.array([[4.0, 1.0], [7.0, 0.0]]),
        distance=np.array([[2.0, 0.5], [3.0, 0.0]]),
        final_gap=np.array([0.25, 6.0]),
        final_distance=np.array([0.1, 2.5]),
        budget=6,
        tasks=1,
    )
    return Curves.from_readings(**(settings | changes))


def test_a_reading_stands_from_its_last_call_until_the_next_reading_ends():
    curves = two_runs()
    np.testing.assert_array_equal(curves.gap, [[NAN, 4, 4, 4, 1, 1], [NAN, NAN, 7, 7, 7, 7]])
    np.testing.assert_array_equal(curves.distance, [[NAN, 2, 2, 2, 0.5, 0.5], [NAN, NAN, 3, 3, 3, 3]])
    np.testing.assert_array_equal(curves.calls, [5, 3])
    assert (curves.runs, curves.budget, curves.starts) == (2, 6, 2)


def test_readings_of_one_call_keep_their_columns():
    values = np.array([[3.0, 1.0, 2.0]])
    np.testing.assert_array_equal(on_calls(np.array([1, 2, 3]), values, 3, NAN), values)


def test_minimum_indices_are_spread_as_integers_with_minus_one_before_the_first_reading():
    curves = two_runs(minimum_index=np.array([[5, -1], [0, 9]]))
    np.testing.assert_array_equal(curves.minimum_index, [[-1, 5, 5, 5, -1, -1], [-1, -1, 0, 0, 0, 0]])
    assert curves.minimum_index.dtype == np.int32


def test_the_incumbent_is_chosen_by_what_was_observed_and_judged_by_the_truth():
    observed = np.array([[5.0, 2.0, 3.0, 1.0, 1.0]])
    gap = np.array([[1.0, 4.0, 0.0, 2.0, 0.5]])
    np.testing.assert_array_equal(incumbent_gap(observed, gap), [[1, 4, 4, 2, 2]])


def test_without_noise_the_incumbent_s_gap_is_the_running_minimum():
    gap = np.random.default_rng(0).exponential(size=(5, 40))
    curves = Curves.from_readings(np.arange(1, 41), gap + 3.0, gap, gap, gap[:, -1], gap[:, -1], budget=40, tasks=5)
    np.testing.assert_array_equal(curves.best_gap, np.minimum.accumulate(gap, axis=1))


def test_a_value_that_is_not_finite_is_the_worst_gap_and_never_the_incumbent():
    for bad in (NAN, INF, -INF):
        curves = two_runs(observed=np.array([[bad, 1.0], [bad, 0.0]]), gap=np.array([[NAN, 1.0], [INF, 0.0]]))
        rows = [[NAN, INF, INF, INF, 1, 1], [NAN, NAN, INF, INF, INF, INF]]
        np.testing.assert_array_equal(curves.gap, rows)
        np.testing.assert_array_equal(curves.best_gap, rows)


def test_a_run_without_a_known_minimum_has_gaps_of_nan():
    curves = two_runs(gap=np.array([[NAN, NAN], [7.0, 0.0]]))
    assert np.isnan(curves.gap[0]).all() and np.isnan(curves.best_gap[0]).all()
    np.testing.assert_array_equal(curves.best_gap[1], [NAN, NAN, 7, 7, 7, 7])


def test_a_budget_below_the_cost_of_one_reading_leaves_curves_of_nothing():
    none = np.empty((2, 0))
    curves = Curves.from_readings(
        none.astype(int), none, none, none, np.array([3.0, 4.0]), np.array([1.0, 2.0]), budget=2, tasks=1
    )
    for rows in (curves.gap, curves.best_gap, curves.distance):
        np.testing.assert_array_equal(rows, np.full((2, 2), NAN))
    np.testing.assert_array_equal(curves.calls, [0, 0])
    np.testing.assert_array_equal(curves.final_gap, [3, 4])
    assert np.all(two_runs(calls_after=np.zeros((2, 2), int), minimum_index=np.ones((2, 2), int)).minimum_index == -1)


def test_runs_are_task_major():
    curves = replace(two_runs(), tasks=2)
    assert curves.starts == 1
    four = np.arange(8).reshape(4, 2)
    cell = Curves(four, four, four, four[:, 0], four[:, 0], np.full(4, 2), None, 2, 0.0, 0.0)
    np.testing.assert_array_equal(cell.by_task(cell.final_gap), [[0, 2], [4, 6]])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tasks": 3}, "`tasks` must divide the 2 runs; got 3"),
        ({"tasks": 0}, "`tasks` must divide the 2 runs; got 0"),
        ({"budget": 4}, r"`calls_after` must lie in \[0, 4\], the budget; got 0 to 5"),
        ({"calls_after": np.array([[2, 2], [3, 0]])}, "`calls_after` must rise"),
        ({"calls_after": np.array([[0, 2], [3, 0]])}, "`calls_after` must rise"),
        ({"final_gap": np.zeros(3)}, r"`final_gap` must have shape \(2,\); got \(3,\)"),
    ],
)
def test_readings_that_do_not_fit_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        two_runs(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"gap": np.zeros(3)}, r"`gap` must have shape \(runs, budget\)"),
        ({"best_gap": np.zeros((2, 5))}, r"`best_gap` must have shape \(2, 6\); got \(2, 5\)"),
        ({"minimum_index": np.zeros((2, 5), int)}, r"`minimum_index` must have shape \(2, 6\)"),
        ({"calls": np.array([7, 1])}, r"`calls` must lie in \[0, 6\]"),
        ({"gap": np.array([[1, 2, NAN, 2, 1, 1]] * 2)}, "`gap` must not be nan after its first known column"),
    ],
)
def test_curves_that_do_not_fit_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        replace(two_runs(), **changes)
