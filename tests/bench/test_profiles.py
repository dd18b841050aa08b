"""ECDFs, profiles and gaps against budgets on cells small enough to work out by hand."""

import numpy as np
import pytest

from shapeopt.bench.curves import Curves
from shapeopt.bench.profiles import (
    Targets,
    area,
    areas,
    calls_to_solve,
    calls_to_targets,
    coco_targets,
    data_profile,
    ecdf,
    ecdfs,
    performance_profile,
    quantile_gap_at,
    start_gap,
)

NAN, INF = np.nan, np.inf


def curves(gap):
    """Runs without noise, one a task."""
    gap = np.asarray(gap, float)
    best = np.fmin.accumulate(gap, axis=1)
    runs, budget = gap.shape
    return Curves(gap, best, gap, gap[:, -1], gap[:, -1], np.full(runs, budget), None, runs, 0.0, 0.0)


# The first run reads only after its second call.
QUICK = curves([[NAN, 10, 1, 1], [8, 4, 0, 0]])
SLOW = curves([[NAN, 10, 10, 5], [8, 7, 6, 0.5]])
CELL = {"quick": QUICK, "slow": SLOW}
THREE = Targets(np.array([10.0, 1.0, 0.1]))


def test_coco_s_targets_are_51_from_a_hundred_to_a_hundred_millionth():
    targets = coco_targets()
    assert len(targets) == 51
    np.testing.assert_allclose(targets[[0, 5, 10, 50]], [1e2, 1e1, 1e0, 1e-8])
    np.testing.assert_array_equal(Targets().values, targets)


def test_calls_to_targets_are_the_first_at_or_below():
    np.testing.assert_array_equal(calls_to_targets(QUICK, THREE), [[2, 3, INF], [1, 3, 3]])
    np.testing.assert_array_equal(calls_to_targets(SLOW, THREE), [[2, INF, INF], [1, 4, INF]])


def test_relative_targets_are_shares_of_the_run_s_own_start():
    relative = Targets(np.array([1.0, 0.5, 0.1]), relative=True)
    np.testing.assert_array_equal(calls_to_targets(QUICK, relative), [[2, 3, 3], [1, 2, 3]])
    np.testing.assert_array_equal(calls_to_targets(SLOW, relative), [[2, 4, INF], [1, 4, 4]])


@pytest.mark.parametrize("start", [0.0, -1e-16])
def test_relative_targets_are_reached_at_once_by_a_run_that_starts_at_the_minimum(start):
    solved, targets = curves([[start, 1.0, 1.0]]), Targets(np.array([1e2, 1e-3]), relative=True)
    np.testing.assert_array_equal(calls_to_targets(solved, targets), [[1, 1]])


def test_ecdf_is_the_share_of_pairs_reached_so_far():
    np.testing.assert_allclose(ecdf(QUICK, THREE), np.array([1, 2, 5, 5]) / 6)
    np.testing.assert_allclose(ecdfs(CELL, THREE)["slow"], np.array([1, 2, 2, 3]) / 6)


def test_area_is_that_under_the_steps():
    profile = np.array([1, 2, 5, 5]) / 6
    logarithmic = (1 * np.log(2) + 2 * np.log(3 / 2) + 5 * np.log(4 / 3)) / 6 / np.log(4)
    np.testing.assert_allclose(area(profile), logarithmic)
    np.testing.assert_allclose(area(profile, log_calls=False), (1 + 2 + 5) / 6 / 3)
    assert area(np.ones(7)) == pytest.approx(1.0) and area(np.array([0.25])) == 0.25
    np.testing.assert_allclose(areas(CELL, THREE)["quick"], logarithmic)
    np.testing.assert_allclose(areas(CELL, THREE, log_calls=False)["slow"], (1 + 2 + 2) / 6 / 3)


def test_a_run_is_solved_within_tau_of_the_best_of_all_methods():
    """Run 0: best 1, start 10, goal 1 + 0.5 · 9 = 5.5. Run 1: best 0, start 8, goal 4."""
    calls = calls_to_solve(CELL, tau=0.5)
    np.testing.assert_array_equal(calls["quick"], [3, 2])
    np.testing.assert_array_equal(calls["slow"], [4, 4])
    strict = calls_to_solve(CELL, tau=0.05)  # goals 1.45 and 0.4
    np.testing.assert_array_equal(strict["quick"], [3, 3])
    np.testing.assert_array_equal(strict["slow"], [INF, INF])


def test_the_best_method_solves_even_where_nothing_was_gained():
    stuck = curves([[0.1, 0.1]])
    np.testing.assert_array_equal(calls_to_solve({"a": stuck, "b": stuck}, tau=0.3)["a"], [1])


def test_data_profile_counts_calls_in_groups_of_the_dimension_and_one():
    profile = data_profile(CELL, dimension=1, tau=0.5, groups=np.array([0.5, 1.0, 1.5, 2.0]))
    np.testing.assert_array_equal(profile["quick"], [0, 0.5, 1, 1])
    np.testing.assert_array_equal(profile["slow"], [0, 0, 0, 1])


def test_performance_profile_counts_calls_in_those_of_the_quickest():
    profile = performance_profile(CELL, tau=0.5, ratios=np.array([1.0, 1.4, 2.0]))
    np.testing.assert_array_equal(profile["quick"], [1, 1, 1])
    np.testing.assert_array_equal(profile["slow"], [0, 0.5, 1])


def test_a_run_that_nobody_solves_counts_for_nobody():
    broken = curves([[NAN, NAN], [2.0, 1.0]])
    profile = performance_profile({"a": broken, "b": broken}, tau=0.1, ratios=np.array([1.0, 100.0]))
    np.testing.assert_array_equal(profile["a"], [0.5, 0.5])
    np.testing.assert_array_equal(calls_to_targets(broken, THREE)[0], [INF] * 3)
    np.testing.assert_array_equal(start_gap(broken), [INF, 2])


def test_gaps_at_budgets_are_those_of_the_incumbent():
    worse_again = curves([[4.0, 1.0, 9.0], [6.0, 5.0, 2.0], [8.0, 8.0, 8.0]])
    cell = {"a": worse_again}
    np.testing.assert_allclose(quantile_gap_at(cell, [1, 3])["a"], [6, 2])
    np.testing.assert_allclose(quantile_gap_at(cell, [3], share=0.75)["a"], [5])
    np.testing.assert_array_equal(quantile_gap_at(CELL, [1], share=1.0)["quick"], [INF])


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Targets(np.array([1.0, 0.0])), "`values` must be a list of positive targets"),
        (lambda: calls_to_solve(CELL, 0.0), r"`tau` must lie in \(0, 1\); got 0.0"),
        (
            lambda: calls_to_solve(CELL | {"one": curves([[1.0, 2.0]])}, 0.1),
            "`cell` must have methods on the same runs",
        ),
        (lambda: quantile_gap_at(CELL, [5]), r"`budgets` must lie in \[1, 4\], the cell's budget; got \[5\]"),
        (lambda: quantile_gap_at(CELL, [0]), r"`budgets` must lie in \[1, 4\]"),
        (lambda: quantile_gap_at(CELL, [1], share=1.5), r"`share` must lie in \[0, 1\]; got 1.5"),
    ],
)
def test_wrong_settings_are_refused_by_name_and_value(build, message):
    with pytest.raises(ValueError, match=message):
        build()
