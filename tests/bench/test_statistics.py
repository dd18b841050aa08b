"""Comparisons over tasks: corrections against worked examples, intervals against simulated truth, odd numbers."""

import numpy as np
import pytest
import scipy.stats

from shapeopt.bench.metrics import Better
from shapeopt.bench.statistics import (
    Spread,
    Tolerance,
    Verdict,
    compare,
    compare_all,
    holm,
    mean_interval,
    quantile,
    signed_rank,
    spread,
)

NAN, INF = np.nan, np.inf


def test_spread_divides_by_the_number_of_tasks():
    assert spread(np.array([1.0, 2.0, 3.0, 10.0])) == Spread(mean=4.0, std=np.sqrt(50 / 4), median=2.5, lowest=1.0)


def test_that_divisor_is_the_one_of_the_paper_s_hit_rates():
    """Three hits in three of 16 tasks of 32 starts, which the paper prints as 0.006 ± 0.012."""
    rates = np.r_[np.full(3, 1 / 32), np.zeros(13)]
    assert f"{spread(rates).mean:.3f} {spread(rates).std:.3f}" == "0.006 0.012"
    assert f"{rates.std(ddof=1):.3f}" == "0.013"


def test_spread_of_failures_is_infinite_and_of_nothing_unknown():
    assert spread(np.array([1.0, INF, NAN])) == Spread(INF, INF, INF, 1.0)
    assert spread(np.array([1.0, 3.0, INF])).median == 3.0
    assert np.isnan(spread(np.array([NAN, NAN])).mean)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.25, 0.5, 0.9, 1.0])
def test_quantile_equals_numpy_s_on_finite_numbers(share):
    values = np.random.default_rng(0).normal(size=12)
    np.testing.assert_allclose(quantile(values, share), np.quantile(values, share), rtol=1e-14)


def test_quantile_meets_infinity_only_where_it_must():
    assert quantile(np.array([0.0, 1.0, INF]), 0.5) == 1.0
    assert quantile(np.array([0.0, 1.0, INF, INF]), 0.5) == INF
    assert quantile(np.array([0.0, INF]), 0.0) == 0.0


def test_holm_is_the_worked_example():
    """Four tests: 4 · 0.005, 3 · 0.01, then 2 · 0.03 which also lifts 1 · 0.04."""
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])


def test_holm_never_exceeds_one_and_leaves_a_single_p_alone():
    assert holm([0.7, 0.6]) == [1.0, 1.0]
    assert holm([0.02]) == [0.02]
    assert holm([]) == []


def test_signed_rank_is_the_exact_probability_of_the_ranks():
    """All of n differences of one sign: 2 / 2^n. One of eight, the smallest, of the other: 4 of 2^8 sums are as far."""
    a = np.arange(1.0, 9.0)
    assert signed_rank(a, np.zeros(8)) == pytest.approx(2 / 2**8)
    assert signed_rank(a * np.r_[-1, np.ones(7)], np.zeros(8)) == pytest.approx(4 / 2**8)


def test_ties_are_left_out_of_the_test():
    a, b = np.arange(1.0, 9.0), np.zeros(8)
    same = np.full(5, 3.0)
    assert signed_rank(np.r_[a, same], np.r_[b, same * (1 + 1e-9)]) == signed_rank(a, b)
    assert signed_rank(same, same) == 1.0


@pytest.mark.parametrize(
    ("a", "b", "tie"),
    [(1.0, 1.0009, True), (1.0, 1.0011, False), (1e-16, 9e-16, True), (1e-12, 2e-12, False), (0.0, 0.0, True)],
)
def test_numbers_tie_within_the_share_or_below_the_floor(a, b, tie):
    assert Tolerance().ties(np.array(a), np.array(b)) == tie
    assert Tolerance().ties(np.array(-b), np.array(-a)) == tie


@pytest.mark.parametrize("law", ["normal", "skewed"])
def test_the_interval_covers_the_true_mean_nearly_as_often_as_it_says(law):
    rng = np.random.default_rng(1)
    draw = {"normal": lambda: rng.normal(1.0, 2.0, 32), "skewed": lambda: rng.exponential(1.0, 32)}[law]
    intervals = np.array([mean_interval(draw(), seed=i) for i in range(300)])
    covered = np.mean((intervals[:, 0] <= 1) & (intervals[:, 1] >= 1))
    assert 0.89 < covered < 0.98
    if law == "skewed":  # the long tail widens its own side
        low, high = np.median(intervals, axis=0)
        assert high - 1 > 1.2 * (1 - low)
    else:  # as wide as Student's
        student = 2 * scipy.stats.t(31).ppf(0.975) * 2.0 / np.sqrt(32)
        np.testing.assert_allclose(np.mean(np.diff(intervals)), student, rtol=0.1)


def test_the_level_widens_the_interval_and_the_seed_fixes_it():
    d = np.random.default_rng(2).normal(size=20)
    low, high = mean_interval(d, seed=3, level=0.99)
    narrow = mean_interval(d, seed=3, level=0.8)
    assert low < narrow[0] < d.mean() < narrow[1] < high
    assert mean_interval(d, seed=3) == mean_interval(d, seed=3) != mean_interval(d, seed=4)


def test_the_interval_of_tiny_differences_is_that_of_large_ones_scaled():
    d = np.random.default_rng(5).exponential(size=16)
    for scale in (1e-12, 1e-150):
        np.testing.assert_allclose(np.array(mean_interval(scale * d, seed=0)) / scale, mean_interval(d, seed=0))


def test_an_interval_without_enough_to_draw_from_claims_nothing():
    assert mean_interval(np.array([2.0]), seed=0) == (-INF, INF)
    assert mean_interval(np.full(4, 2.0), seed=0) == (2.0, 2.0)
    assert mean_interval(np.zeros(4), seed=0) == (0.0, 0.0)


def gaps(n=16, seed=0):
    return np.random.default_rng(seed).exponential(size=n)


@pytest.mark.parametrize("scale", [1.0, 1e-12, 1e5])
def test_a_third_of_the_gap_on_every_task_is_better_at_any_scale(scale):
    a, b = scale * gaps(), 3 * scale * gaps()
    found = compare(a, b, seed=0)
    np.testing.assert_allclose(found.mean_difference, np.mean(a) - np.mean(b))
    assert found.interval[0] < found.mean_difference < found.interval[1] < 0
    assert (found.wins, found.ties, found.losses, found.verdict) == (16, 0, 0, "better")
    assert found.p == found.p_holm == pytest.approx(2 / 2**16)
    assert compare(b, a, seed=0).verdict is Verdict.WORSE


def test_where_higher_is_better_the_verdict_turns_and_the_difference_does_not():
    a, b = gaps(), 3 * gaps()
    lower, higher = compare(a, b, seed=0), compare(a, b, Better.HIGHER, seed=0)
    assert higher.mean_difference == lower.mean_difference < 0
    assert higher.interval[0] < higher.mean_difference < higher.interval[1] < 0
    assert (higher.losses, higher.verdict) == (16, "worse")


def test_a_difference_below_the_tolerance_is_a_tie_however_steady():
    a = gaps()
    found = compare(a, a * 1.0005, seed=0)
    assert found.interval[1] < 0 and (found.p, found.verdict) == (1.0, "tie")
    assert (found.wins, found.ties, found.losses) == (0, 16, 0)


def test_few_huge_losses_against_many_small_wins_are_no_verdict():
    """The ranks say better, the mean says worse."""
    rng = np.random.default_rng(0)
    d = np.r_[-rng.uniform(1, 2, 400), rng.uniform(500, 600, 100)]
    found = compare(d + 1000, np.full(500, 1000.0), seed=0)
    assert found.p_holm < 1e-6 and found.interval[0] > 0
    assert (found.wins, found.losses, found.verdict) == (400, 100, "tie")
    assert compare(np.full(500, 1000.0), d + 1000, seed=0).verdict is Verdict.TIE


def test_a_significant_test_with_an_interval_around_zero_is_a_tie():
    d = np.r_[-np.linspace(1, 2, 30), 50.0]
    found = compare(d, np.zeros(31), seed=0)
    assert found.p_holm < 0.01 and found.interval[0] < 0 < found.interval[1]
    assert found.verdict is Verdict.TIE
    assert compare(np.zeros(31), d, seed=0).verdict is Verdict.TIE


def test_holm_may_take_a_verdict_back():
    a, b = gaps(6, seed=3), 3 * gaps(6, seed=3)  # p = 2 / 2^6
    alone = compare(a, b, seed=0)
    assert alone.verdict is Verdict.BETTER and alone.p == pytest.approx(1 / 32)
    together = compare_all({"first": (a, b), "second": (b, a)}, seed=0)
    assert [found.p_holm for found in together.values()] == pytest.approx([1 / 16, 1 / 16])
    assert {found.verdict for found in together.values()} == {Verdict.TIE}


def test_holm_in_compare_all_orders_by_p():
    clear, faint = (gaps(), 3 * gaps()), (gaps(6, seed=3), 3 * gaps(6, seed=3))
    together = compare_all({"faint": faint, "clear": clear}, seed=0)
    assert together["clear"].p_holm == pytest.approx(2 * 2 / 2**16)
    assert together["faint"].p_holm == pytest.approx(1 / 32)


@pytest.mark.parametrize("failure", [INF, NAN])
def test_failures_are_the_worst_of_their_pair(failure):
    some = compare(np.r_[failure, gaps(15)], np.r_[5.0, 2 * gaps(15)], seed=0)
    assert (some.wins, some.losses) == (15, 1) and np.isfinite(some.interval).all()
    all_failed = compare(np.full(16, failure), gaps(), seed=0)
    assert (all_failed.losses, all_failed.verdict) == (16, "worse")
    rates = compare(np.full(16, failure), gaps(), Better.HIGHER, seed=0)
    assert (rates.losses, rates.verdict) == (16, "worse")
    nobody = compare(np.full(4, failure), np.full(4, INF), seed=0)
    assert (nobody.ties, nobody.verdict, nobody.interval) == (4, "tie", (0.0, 0.0))


def test_a_failure_lies_beyond_the_worst_by_the_pair_s_range():
    found = compare(np.array([1.0, INF]), np.array([2.0, 4.0]), seed=0)
    assert found.mean_difference == ((1 - 2) + (4 + 3 - 4)) / 2


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: compare(np.zeros(3), np.zeros(4), seed=0), r"`a` and `b` must have one number a task.*\(3,\).*\(4,\)"),
        (lambda: compare(np.zeros(0), np.zeros(0), seed=0), "`a` and `b` must have one number a task"),
        (lambda: compare(np.zeros(3), np.zeros(3), seed=0, level=1.0), r"`level` must lie in \(0, 1\); got 1.0"),
        (lambda: Tolerance(relative=-1.0), "`relative` must be finite and not negative; got -1.0"),
        (lambda: Tolerance(floor=NAN), "`floor` must be finite and not negative; got nan"),
    ],
)
def test_wrong_settings_are_refused_by_name_and_value(build, message):
    with pytest.raises(ValueError, match=message):
        build()


@pytest.mark.parametrize("size", [2, 5, 9, 11])
def test_tied_ranks_have_the_exact_law_that_scipy_goes_through(size):
    rng = np.random.default_rng(size)
    for _ in range(3):
        difference = np.append(rng.choice([-2.0, -1.0, 1.0, 2.0], size - 2), [1.0, -1.0])
        p = signed_rank(difference, np.zeros(size))
        np.testing.assert_allclose(p, scipy.stats.wilcoxon(difference).pvalue, rtol=1e-12)


def test_differences_that_agree_but_for_round_off_have_an_interval():
    a = np.linspace(1, 2, 20)
    low, high = mean_interval(a - (a + 1), seed=0)
    np.testing.assert_allclose([low, high], [-1, -1])
    assert compare(a, a + 1, seed=0).verdict is Verdict.BETTER
