"""Hops: inside the box, around the best or anywhere, and as wide as they pay."""

import numpy as np
import pytest
from optimizer_runs import run_on_host, wells

from shapeopt.core.board import KNOWN, LOWER, NEW, Draws, Spec
from shapeopt.ops import HOST, normal, uniform
from shapeopt.tactics import Hop
from shapeopt.tactics.hop import reflect

D = 40
KEY = np.array([5, 6], np.uint32)


class Facts:
    """What a hop reads of the board."""

    def __init__(self, base, outcome=NEW, scored=True):
        self.base, self.outcome, self.scored = base, outcome, scored
        self.lower, self.upper, self.reach = np.full(D, -5.0), np.full(D, 5.0), 5.0


def targets(tactic, base, count=300):
    blank, found = tactic.blank(HOST, Spec(D)), []
    for counter in range(count):
        draws = Draws(uniform(HOST, KEY, counter, D + 2), normal(HOST, KEY, 10_000 + counter, D))
        found.append(tactic.open(HOST, blank, Facts(base), None, lambda draws=draws: draws).target)
    return np.array(found)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_targets_stay_in_the_box_from_a_corner_and_differ(share):
    points = targets(Hop(share_anywhere=share), np.full(D, 4.9))
    assert np.all(np.abs(points) <= 5.0) and len(np.unique(points, axis=0)) == len(points)


def test_hops_anywhere_cover_the_box_without_favouring_its_centre():
    points = targets(Hop(share_anywhere=1.0), np.zeros(D))
    assert abs(points.mean()) < 0.1 and abs(points.std() - 10.0 / 12**0.5) < 0.1


def test_hops_around_the_best_are_centred_there_and_not_on_the_box():
    base = np.linspace(-2.0, 2.0, D)
    offsets = np.median(targets(Hop(share_anywhere=0.0), base), axis=0) - base
    assert np.abs(offsets).mean() < 0.2 and abs(np.polyfit(base, offsets, 1)[0]) < 0.15


def test_the_share_of_hops_anywhere_is_what_it_says():
    anywhere = [phase for _, phase, _ in run_on_host(wells, np.zeros(3), 600).decisions if phase in Hop.phases]
    assert 0.1 < anywhere.count("anywhere") / len(anywhere) < 0.35


@pytest.mark.parametrize(("outcome", "sign"), [(KNOWN, 1.0), (NEW, -1.0), (LOWER, 0.0)])
def test_hops_that_fall_back_widen_the_next_ones_and_worse_basins_narrow_them(outcome, sign):
    tactic = Hop(share_anywhere=0.0)
    memory = tactic.blank(HOST, Spec(D))._replace(hopped=True)
    draws = Draws(uniform(HOST, KEY, 1, D + 2), normal(HOST, KEY, 2, D))
    after = tactic.open(HOST, memory, Facts(np.zeros(D), outcome), None, lambda: draws)
    assert np.sign(after.log_factor) == sign
    unscored = tactic.open(HOST, memory, Facts(np.zeros(D), outcome, scored=False), None, lambda: draws)
    assert unscored.log_factor == 0.0
    limit = memory._replace(log_factor=tactic.widest)
    assert tactic.open(HOST, limit, Facts(np.zeros(D), KNOWN), None, lambda: draws).log_factor == tactic.widest


def test_reflection_mirrors_at_the_sides_and_never_leaves():
    lower, upper = np.full(3, -1.0), np.full(3, 2.0)
    np.testing.assert_allclose(reflect(HOST, np.array([0.5, 2.5, -1.25]), lower, upper), [0.5, 1.5, -0.75])
    far = reflect(HOST, np.array([100.0, -100.0, 0.0]), lower, upper)
    assert np.all((far >= lower) & (far <= upper))
