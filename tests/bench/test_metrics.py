"""Every metric against numbers worked out by hand on two tasks of two runs and four calls."""

from dataclasses import replace

import numpy as np
import pytest

from shapeopt.bench.curves import Curves
from shapeopt.bench.metrics import (
    GAP_HIT,
    METRICS,
    PAPER_HIT,
    Better,
    HitRule,
    Quantity,
    auc_best_gap,
    auc_distance,
    auc_gap,
    auc_lowest_gap,
    best_gap,
    calls_to_target,
    distinct_minima,
    expected_calls,
    final_distance,
    final_gap,
    hit_best,
    hit_final,
    hit_trajectory,
    lowest_gap,
    minima_hits,
    objective_seconds,
    optimizer_seconds,
    summarise,
    wasted_budget,
)

NAN, INF = np.nan, np.inf

# Run 2 has noise: its incumbent after three calls (gap 3) is not its lowest gap (1). Run 3 stopped after two calls.
CURVES = Curves(
    gap=np.array([[8.0, 4, 2, 6], [NAN, 5, 5, 0.001], [4, 1, 3, 7], [9, 2, 2, 2]]),
    best_gap=np.array([[8.0, 4, 2, 2], [NAN, 5, 5, 0.001], [4, 4, 3, 3], [9, 2, 2, 2]]),
    distance=np.array([[4.0, 2, 1, 3], [NAN, 2, 2, 0.1], [2, 1, 0.5, 2], [3, 1, 1, 1]]),
    final_gap=np.array([1.0, 0.0, 8.0, 2.0]),
    final_distance=np.array([0.5, 0.05, 0.15, 0.2]),
    calls=np.array([4, 4, 4, 2]),
    minimum_index=np.array([[-1, 3, 3, 0], [-1, 3, -1, 7], [2, 2, 2, 2], [-1, 2, 2, 2]], np.int32),
    tasks=2,
    seconds_objective=0.28,
    seconds_optimizer=0.07,
)
HIT_2 = HitRule(Quantity.GAP, 2.5)


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (final_gap, [1, 0, 8, 2]),
        (best_gap, [2, 0.001, 3, 2]),
        (lowest_gap, [1, 0, 1, 2]),
        (auc_gap, [(8 + 4 + 2 + 6 + 1) / 5, (5 + 5 + 5 + 0.001 + 0) / 5, (4 + 1 + 3 + 7 + 8) / 5, (9 + 4 * 2) / 5]),
        (auc_best_gap, [(8 + 4 + 2 + 2 + 2) / 5, (3 * 5 + 2 * 0.001) / 5, (4 + 4 + 3 + 3 + 3) / 5, (9 + 4 * 2) / 5]),
        (auc_lowest_gap, [(8 + 4 + 2 + 2 + 1) / 5, (3 * 5 + 0.001 + 0) / 5, (4 + 4 * 1) / 5, (9 + 4 * 2) / 5]),
        (final_distance, [0.5, 0.05, 0.15, 0.2]),
        (auc_distance, [(4 + 2 + 1 + 3 + 0.5) / 5, (3 * 2 + 0.1 + 0.05) / 5, (2 + 1 + 0.5 + 2 + 0.15) / 5, 6.2 / 5]),
        (wasted_budget, [1 - 3 / 4, 0, 1 - 3 / 4, 1 - 2 / 4]),
        (objective_seconds, [0.02] * 4),
        (optimizer_seconds, [0.005] * 4),
        (distinct_minima, [3, 1]),
        (minima_hits, [3 + 2, 4 + 1]),
    ],
)
def test_metric_is_the_number_worked_out_by_hand(metric, expected):
    np.testing.assert_allclose(metric(CURVES), expected, rtol=1e-14)


@pytest.mark.parametrize(
    ("metric", "rule", "expected"),
    [
        (hit_final, PAPER_HIT, [0, 1, 1, 0]),  # 0.2 itself is no hit
        (hit_trajectory, PAPER_HIT, [0, 1, 1, 0]),
        (hit_trajectory, HitRule(Quantity.DISTANCE, 0.6), [1, 1, 1, 1]),
        (hit_best, PAPER_HIT, [NAN] * 4),
        (hit_final, HIT_2, [1, 1, 0, 1]),
        (hit_trajectory, HIT_2, [1, 1, 1, 1]),
        (hit_best, HIT_2, [1, 1, 0, 1]),
        (hit_best, GAP_HIT, [0, 1, 0, 0]),
        (calls_to_target, HIT_2, [3, 4, INF, 2]),
        (calls_to_target, HitRule(Quantity.GAP, 2.0), [INF, 4, INF, INF]),
        (calls_to_target, HitRule(Quantity.DISTANCE, 0.6), [INF, 4, 3, INF]),
        (expected_calls, HIT_2, [(3 + 4) / 2, (4 + 2) / 1]),
        (expected_calls, GAP_HIT, [4 + 4, INF]),
    ],
)
def test_metric_under_a_rule_is_the_number_worked_out_by_hand(metric, rule, expected):
    np.testing.assert_array_equal(metric(CURVES, rule), expected)


def test_a_run_stands_at_its_start_until_its_first_reading_is_complete():
    late = replace(CURVES, gap=np.array([[NAN, NAN, 6.0, 2.0]] * 4))
    np.testing.assert_allclose(auc_gap(late), (6 + 6 + 6 + 2 + CURVES.final_gap) / 5)


def test_an_auc_is_the_mean_of_all_positions_the_first_and_the_unread_last_included():
    row, last = np.array([[6.0, 3.0]]), np.array([0.0])
    one = Curves.from_readings(np.array([1, 2]), row, row, row, last, last + 9, budget=2, tasks=1)
    assert auc_gap(one) == (6 + 3 + 0) / 3 and auc_distance(one) == (6 + 3 + 9) / 3


def test_an_unread_final_position_counts_for_the_paper_s_best_gap_and_not_for_ours():
    solved = replace(CURVES, final_gap=np.full(4, -1e-9))
    np.testing.assert_array_equal(lowest_gap(solved), -1e-9)
    np.testing.assert_array_equal(best_gap(solved), best_gap(CURVES))


def test_a_broken_run_is_the_worst_and_wastes_all_while_an_unknown_cell_stays_unknown():
    broken = np.full((4, 4), NAN)
    broken[1] = [NAN, 5, 5, 1]
    curves = replace(CURVES, gap=broken, best_gap=broken, final_gap=np.array([NAN, 1, NAN, NAN]))
    for metric in (final_gap, best_gap, lowest_gap):
        np.testing.assert_array_equal(metric(curves), [INF, 1, INF, INF])
    np.testing.assert_array_equal(auc_gap(curves), [INF, (5 + 5 + 5 + 1 + 1) / 5, INF, INF])
    np.testing.assert_array_equal(wasted_budget(curves), [1, 0, 1, 1])
    np.testing.assert_array_equal(hit_best(curves, HIT_2), [0, 1, 0, 0])
    nothing = np.full((4, 4), NAN)
    unknown = replace(
        CURVES, gap=nothing, best_gap=nothing, distance=nothing, final_gap=nothing[0], final_distance=nothing[0]
    )
    for name in ("final_gap", "best_gap", "auc_gap", "auc_distance", "wasted_budget", "hit_final", "hit_trajectory"):
        assert np.isnan(summarise(unknown, PAPER_HIT)[name]).all(), name


def test_a_value_that_is_not_finite_after_a_finite_one_is_no_improvement():
    rows = np.array([[INF, 2.0, 2.0, 2.0]] * 4)
    np.testing.assert_array_equal(wasted_budget(replace(CURVES, best_gap=rows)), 1 - 2 / 4)


def test_a_summary_has_every_metric_once_a_task_with_means_over_its_runs():
    summary = summarise(CURVES, PAPER_HIT)
    assert summary.keys() == METRICS.keys() and all(values.shape == (2,) for values in summary.values())
    np.testing.assert_allclose(summary["final_gap"], [0.5, 5])
    np.testing.assert_allclose(summary["hit_final"], [0.5, 0.5])
    np.testing.assert_allclose(summary["calls"], [4, 3])
    np.testing.assert_allclose(summary["distinct_minima"], [3, 1])
    np.testing.assert_allclose(summary["best_gap"], [1.0005, 2.5])


def test_only_hits_and_minima_are_better_when_higher():
    higher = {name for name, metric in METRICS.items() if metric.better is Better.HIGHER}
    assert higher == {"hit_final", "hit_trajectory", "hit_best", "distinct_minima", "minima_hits"}
    assert len({metric.label for metric in METRICS.values()}) == len(METRICS)


def test_minima_are_unknown_where_no_index_was_kept():
    without = replace(CURVES, minimum_index=None)
    assert np.isnan(distinct_minima(without)).all() and np.isnan(minima_hits(without)).all()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: HitRule(Quantity.GAP, 0.0), "`tolerance` must be finite and positive; got 0.0"),
        (lambda: HitRule(Quantity.GAP, NAN), "`tolerance` must be finite and positive; got nan"),
        (lambda: HitRule("gap", 0.1), "`quantity` must be one of .*; got 'gap'"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build()
