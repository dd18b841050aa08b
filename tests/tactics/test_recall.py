"""Recall: a run opens at remembered places, goes on from the lowest, and drops a memory that does not pay."""

import numpy as np
import pytest
from optimizer_runs import run_on_device, run_on_host, wells

from shapeopt.optimizer import TACTICS, Policy
from shapeopt.planner import FamilyOrder
from shapeopt.tactics import Recall

X0 = np.array([4.0, -3.0])


def bowl(x):
    return float(x @ x), 2.0 * x


def with_memory(*places, opening=1):
    return Policy((Recall(places, (0.1,) * len(places[0]), opening, later=True), *TACTICS))


def test_a_lower_place_is_where_the_first_descent_begins():
    run = run_on_host(bowl, X0, 12, policy=with_memory((0.5, 0.5)))
    assert run.tactics[:3] == ["start", "recall", "refine"]
    np.testing.assert_array_equal(run.x[1], [0.5, 0.5])
    assert np.linalg.norm(run.x[2] - run.x[1]) < 2.0 < np.linalg.norm(run.x[2] - X0)


def test_a_higher_place_costs_its_reading_and_the_descent_begins_at_x0():
    plain, run = run_on_host(bowl, X0, 12), run_on_host(bowl, X0, 12, policy=with_memory((-5.0, 5.0)))
    np.testing.assert_array_equal(run.x[2:5], plain.x[1:4])


def test_of_several_places_the_lowest_is_descended_from():
    run = run_on_host(bowl, X0, 12, policy=with_memory((3.0, 3.0), (0.2, 0.1), (-4.0, 1.0), opening=3))
    assert run.tactics[:5] == ["start", "recall", "recall", "recall", "refine"]
    assert np.linalg.norm(run.x[4] - [0.2, 0.1]) < np.linalg.norm(run.x[4] - [-4.0, 1.0])


def test_a_memory_that_does_not_pay_is_dropped():
    """All places lie far up the bowl of the first basin: after two failures nothing more is asked of them."""
    places = [(5.0, 5.0), (5.0, 4.0), (4.0, 5.0), (5.0, 3.0), (-5.0, 5.0)]
    lower = run_on_host(bowl, np.array([5.0, -5.0]), 200, policy=with_memory((1.0, 1.0), *places))
    assert 2 <= lower.tactics.count("recall") <= 3
    higher = run_on_host(bowl, X0, 200, policy=with_memory(*places))
    assert higher.tactics.count("recall") == 1


@pytest.mark.parametrize("opening", [1, 3])
def test_after_a_memory_that_is_dropped_the_first_descent_has_its_readings_before_the_test_for_a_sum(opening):
    """As without a memory, where the test comes after three readings of the first basin; of three places of the opening
    only the first was read."""
    d = 8
    recall = Recall(((5.0,) * d,) * opening, (0.1,) * d, opening, calm=0.0)
    plain = run_on_host(wells, np.full(d, 3.0), 100)
    run = run_on_host(wells, np.full(d, 3.0), 100, policy=Policy((recall, *TACTICS)))
    sums = [one.tactics.index("separable sum") for one in (plain, run)]
    assert plain.tactics[1:4] == ["refine"] * 3
    assert run.tactics[2 : sums[1]] == plain.tactics[1 : sums[0]]
    np.testing.assert_array_equal(run.x[2 : sums[1]], plain.x[1 : sums[0]])


def test_a_place_where_the_force_is_unusually_large_is_not_believed():
    """The place is lower than x0, but not as calm as the family's are; the waiting tactics come back with it."""
    recall = Recall(((2.0, 2.0),), (0.1, 0.1), calm=0.1)
    late = tuple(i for i, tactic in enumerate(TACTICS, start=1) if tactic.name == "hop")
    run = run_on_host(bowl, X0, 60, policy=Policy((recall, *TACTICS), FamilyOrder(late=late)))
    assert run.tactics.count("recall") == 1 and "hop" in run.tactics


@pytest.mark.parametrize(("fall", "read"), [(0.1, 3), (0.9, 1)])
def test_an_opening_goes_on_only_where_the_place_is_as_much_lower_as_the_family_has_it(fall, read):
    """From (4, -3) to (3, 3) f falls by 7, which is .12 of force times distance."""
    recall = Recall(((3.0, 3.0), (0.2, 0.1), (-4.0, 1.0)), (0.1, 0.1), 3, fall=fall)
    run = run_on_host(bowl, X0, 12, policy=Policy((recall, *TACTICS)))
    assert run.tactics.count("recall") == read
    assert run.tactics[1 : 1 + read] == ["recall"] * read


def test_tactics_that_are_late_wait_while_the_memory_is_believed():
    d, late = 8, tuple(i for i, tactic in enumerate(TACTICS, start=1) if tactic.name == "separable sum")
    recall = Recall(((2.0,) * d,), (0.1,) * d)
    soon = run_on_host(wells, np.full(d, 3.0), 300, policy=Policy((recall, *TACTICS), FamilyOrder()))
    waits = run_on_host(wells, np.full(d, 3.0), 300, policy=Policy((recall, *TACTICS), FamilyOrder(late=late)))
    limited = run_on_host(wells, np.full(d, 3.0), 300, policy=Policy((recall, *TACTICS), FamilyOrder(0, late, 60.0)))
    first = lambda run: (*run.tactics, "separable sum").index("separable sum")  # noqa: E731
    assert first(soon) < 60 <= first(limited) < first(waits) == 300


def test_places_that_lead_lower_are_asked_for_again():
    """Each next place is in a lower well, so the memory goes on to be used."""
    places = [(1.5, 1.5), (0.9, 0.9), (0.1, 0.1)]
    run = run_on_host(wells, X0, 150, policy=with_memory(*places))
    assert run.tactics.count("recall") >= 3


def test_later_places_stay_in_the_box():
    run = run_on_host(wells, X0, 200, policy=Policy((Recall(((4.9, -4.9),), (3.0, 3.0), later=True), *TACTICS)))
    assert np.abs(run.x).max() <= 5.0


def test_both_engines_recall_the_same_places():
    policy = with_memory((0.5, 0.4), (1.0, -1.0), opening=2)
    host = run_on_host(wells, X0, 30, policy=policy)
    device = run_on_device(wells, X0, 30, policy=policy)
    assert host.tactics[:4] == device.tactics[:4] == ["start", "recall", "recall", "refine"]
    np.testing.assert_allclose(host.x[:8], device.x[:8], atol=1e-6)


@pytest.mark.parametrize(
    ("places", "width", "opening"), [((), (), 1), (((1.0, 2.0),), (0.1,), 1), (((1.0, 2.0),), (0.1, 0.1), 2)]
)
def test_a_memory_that_does_not_fit_is_refused(places, width, opening):
    with pytest.raises(ValueError, match="places"):
        Recall(places, width, opening)


def profiled(fall=0.0, opening=5):
    """Six places on a line whose values follow one of two patterns: the lowest is at 4, or at 5."""
    places = tuple((float(i) - 2.5, 0.0) for i in range(6))
    return Policy((Recall(places, (0.1, 0.1), opening, profiles=PATTERNS, fall=fall), *TACTICS))


PATTERNS = ((0.0, -0.1, -0.4, 0.3, -1.0, 0.5), (0.0, 0.1, 0.4, -0.3, 0.5, -1.0))


def line(values):
    return lambda x: (
        float(np.interp(x[0] + 2.5, np.arange(6), values) + 50.0 * x[1] ** 2),
        np.array([0.1, 100.0 * x[1]]),
    )


@pytest.mark.parametrize(("row", "scale", "level"), [(0, 1.0, 0.0), (1, 1.0, 0.0), (0, 1e4, -7.0), (1, 1e-3, 1e3)])
def test_what_was_read_says_which_place_comes_next_whatever_the_scale_and_level_of_f(row, scale, level):
    """After the first three places the pattern is known."""
    fun = line(np.array(PATTERNS[row]))
    scaled = lambda x: (level + scale * fun(x)[0], scale * fun(x)[1])  # noqa: E731
    run = run_on_host(scaled, X0, 12, policy=profiled())
    assert run.tactics[1:6] == ["recall"] * 5
    np.testing.assert_allclose(np.array(run.x)[1:5, 0], [-2.5, -1.5, -0.5, (1.5, 2.5)[row]])


def test_a_memory_of_values_is_dropped_after_three_places_that_are_not_as_low_as_in_the_family():
    high = run_on_host(lambda x: (-abs(x[1]), np.array([0.0, 1.0])), X0, 12, policy=profiled())
    assert high.tactics.count("recall") == 3
    slope = lambda x: (0.3 * abs(x[1]) + abs(x[0] + 2.5), np.array([1.0, -0.3]))  # noqa: E731
    for fall, read in ((0.0, 5), (5.0, 3)):  # x0 lies 3.2 ranges of the three above their middle one
        assert run_on_host(slope, X0, 12, policy=profiled(fall)).tactics.count("recall") == read


@pytest.mark.parametrize("row", [0, 1])
def test_both_engines_read_profiles_in_the_same_order(row):
    fun, policy = line(np.array(PATTERNS[row])), profiled()
    host, device = (run(fun, X0, 7, policy=policy) for run in (run_on_host, run_on_device))
    np.testing.assert_allclose(np.array(host.x)[:7], np.array(device.x)[:7], atol=1e-6)


def test_profiles_that_do_not_fit_the_places_are_refused():
    with pytest.raises(ValueError, match="profiles"):
        Recall(((0.0,), (1.0,)), (0.1,), profiles=((0.0,),))
