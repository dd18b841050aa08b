"""Areas, targets and ratios against numbers worked out by hand."""

import dataclasses

import numpy as np
import pytest
from suite_lines import made

from shapeopt.bench.suite_metrics import TAUS, best_of, ratio, score, targets


def scored(**methods):
    found = {method: {run.key: run for run in runs} for method, runs in methods.items()}
    return score("toy", "dev", found, sorted({key for runs in found.values() for key in runs}))


def test_there_are_thirteen_targets_from_a_tenth_to_a_ten_millionth():
    assert len(TAUS) == 13 and TAUS[0] == pytest.approx(0.1) and TAUS[-1] == pytest.approx(1e-7)


def test_the_area_is_the_share_of_the_log_axis_on_which_a_target_is_reached():
    (area,) = scored(a=[made("p", [1, 10], [1.0, 0.0])]).areas[0]
    assert area == pytest.approx(0.5)  # all targets by call 10 of 100
    (area,) = scored(a=[made("p", [1, 10], [1.0, 0.05])]).areas[0]
    assert area == pytest.approx(0.5 / 13)
    (area,) = scored(a=[made("p", [1], [0.0])]).areas[0]
    assert area == 1.0
    assert scored(a=[made("p", [1], [1.0])]).areas[0] == 0


def test_targets_lie_between_the_start_and_the_certified_minimum_or_the_best_of_all_records():
    runs = [made("p", [1], [5.0], start=11.0, minimum=None), made("p", [1], [1.0], start=11.0, minimum=None)]
    np.testing.assert_allclose(targets(runs), 1 + 10 * TAUS)
    np.testing.assert_allclose(targets([made("p", [1], [5.0], start=11.0, minimum=1.0)]), 1 + 10 * TAUS)


def test_round_off_does_not_decide_whether_the_best_value_is_reached():
    best = 1e6
    runs = [made("p", [1], [best * (1 + sign * 3e-13)], start=best + 1e-6, minimum=best) for sign in (-1, 1)]
    found = scored(a=[runs[0]], b=[runs[1]])
    assert found.areas.min() == 1.0


def test_a_start_without_a_value_is_replaced_by_the_worst_first_value():
    np.testing.assert_allclose(targets([made("p", [1, 2], [11.0, 2.0], start=np.inf, minimum=1.0)]), 1 + 10 * TAUS)


def test_solved_counts_the_target_at_the_end():
    found = scored(a=[made("p", [1, 90], [1.0, 9e-4]), made("q", [1, 90], [1.0, 9e-8])])
    assert found.solved(1e-3).tolist() == [[True, True]] and found.solved(1e-5).tolist() == [[False, True]]


def test_the_ratio_is_of_mean_areas_with_an_interval_over_groups():
    fast = [made(str(i), [1, 10], [1.0, 0.0]) for i in range(8)]
    slow = [made(str(i), [1, 10 if i % 2 else 100], [1.0, 0.0]) for i in range(8)]
    told = ratio(scored(a=fast, b=slow), "a", "b")
    assert told.value == pytest.approx(2.0) and told.low < 2 < told.high
    assert (told.wins, told.ties, told.losses) == (4, 4, 0)
    one_group = scored(a=[dataclasses.replace(r, group="g") for r in fast], b=slow)
    assert ratio(one_group, "a", "b").low == pytest.approx(2.0), "a single group has no spread"
    assert ratio(scored(a=slow, b=fast), "a", "b").losses == 4


def test_the_best_peer_has_every_problem():
    whole = [made("p", [1, 10], [1.0, 0.0]), made("q", [1, 10], [1.0, 0.0])]
    found = scored(a=whole, b=[made("p", [1], [0.0])], c=[whole[0], made("q", [], [], spent=0, error="absent")])
    assert best_of(found, ["a", "b", "c"]) == "a" and best_of(found, ["b", "c"]) is None
    assert found.whole() == ["a"]
