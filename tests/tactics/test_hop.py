"""Hops: inside the box, around the best or anywhere, and as wide as they pay."""

import numpy as np
import pytest

from shapeopt.core.board import KNOWN, LOWER, NEW, Draws, Spec
from shapeopt.ops import HOST, normal, uniform
from shapeopt.tactics import Hop
from shapeopt.tactics.hop import reflect, soft

D = 40
KEY = np.array([5, 6], np.uint32)


class Facts:
    """What a hop reads of the board."""

    def __init__(self, base, outcome=NEW, scored=True, metric=None):
        self.base, self.outcome, self.scored, self.metric = base, outcome, scored, metric
        self.key = KEY
        self.lower, self.upper, self.reach = np.full(D, -5.0), np.full(D, 5.0), 5.0


def drawn(counter, anywhere):
    """Random numbers with which a hop follows one law: the second one decides."""
    u = uniform(HOST, KEY, counter, D + 2).copy()
    u[1] = 0.0 if anywhere else 1.0
    return lambda: Draws(u, normal(HOST, KEY, 10_000 + counter, D))


def targets(base, anywhere, count=300):
    tactic, found = Hop(), []
    memory = tactic.blank(HOST, Spec(D))
    for counter in range(count):
        memory = tactic.open(HOST, memory._replace(places=counter + 1), Facts(base), None, drawn(counter, anywhere))
        assert memory.anywhere == anywhere
        found.append(memory.target)
        memory = memory._replace(log_factor=0.0)
    return np.array(found)


@pytest.mark.parametrize("anywhere", [False, True])
def test_targets_stay_in_the_box_from_a_corner_and_differ(anywhere):
    points = targets(np.full(D, 4.9), anywhere)
    assert np.all(np.abs(points) <= 5.0) and len(np.unique(points, axis=0)) == len(points)


def test_hops_anywhere_cover_the_box_without_favouring_its_centre():
    points = targets(np.zeros(D), True)
    assert abs(points.mean()) < 0.1 and abs(points.std() - 10.0 / 12**0.5) < 0.1


def test_hops_around_the_best_are_centred_there_and_not_on_the_box():
    base = np.linspace(-2.0, 2.0, D)
    offsets = np.median(targets(base, False), axis=0) - base
    assert np.abs(offsets).mean() < 0.2 and abs(np.polyfit(base, offsets, 1)[0]) < 0.15


def test_the_middle_of_a_bounded_box_of_few_dimensions_is_read_once_and_first():
    tactic, facts = Hop(few=D), Facts(np.ones(D))
    first = tactic.open(HOST, tactic.blank(HOST, Spec(D)), facts, None, drawn(3, False))
    assert first.anywhere and 0.0 < np.abs(first.target).max() <= 0.1
    assert tactic.open(HOST, first, facts, None, drawn(4, True)).target.max() > 1.0
    assert not Hop().open(HOST, tactic.blank(HOST, Spec(D)), facts, None, drawn(3, False)).anywhere
    facts.upper = np.full(D, np.inf)
    assert not tactic.open(HOST, tactic.blank(HOST, Spec(D)), facts, None, drawn(3, False)).anywhere


@pytest.mark.parametrize("paying", [0, 1])
def test_the_law_that_finds_lower_basins_is_drawn_more_often(paying):
    tactic, rng = Hop(), np.random.default_rng(7)
    memory, laws = tactic.blank(HOST, Spec(D))._replace(places=1), []
    for counter in range(400):
        lower = laws and laws[-1] == paying and rng.random() < 0.5
        u = uniform(HOST, KEY, counter, D + 2)
        draws = Draws(u, normal(HOST, KEY, 10_000 + counter, D))
        memory = tactic.open(HOST, memory, Facts(np.zeros(D), LOWER if lower else NEW), None, lambda draws=draws: draws)
        laws.append(int(memory.anywhere))
    assert np.mean(np.array(laws[100:]) == paying) > 0.6


@pytest.mark.parametrize(("outcome", "sign"), [(KNOWN, 1.0), (NEW, -1.0), (LOWER, 0.0)])
def test_hops_that_fall_back_widen_the_next_ones_and_worse_basins_narrow_them(outcome, sign):
    tactic = Hop()
    memory = tactic.blank(HOST, Spec(D))._replace(hopped=True, places=1)
    draws = drawn(1, False)
    after = tactic.open(HOST, memory, Facts(np.zeros(D), outcome), None, draws)
    assert np.sign(after.log_factor) == sign
    unscored = tactic.open(HOST, memory, Facts(np.zeros(D), outcome, scored=False), None, draws)
    assert unscored.log_factor == 0.0
    limit = memory._replace(log_factor=tactic.widest)
    assert tactic.open(HOST, limit, Facts(np.zeros(D), KNOWN), None, draws).log_factor == tactic.widest


def test_hops_are_long_where_the_best_basin_is_soft():
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(D, D)))[0]
    softness = np.where(np.arange(D) < 4, 1.0, 1e-4)
    metric = (Q * softness) @ Q.T
    z = rng.normal(size=(300, D))
    along = np.array([soft(HOST, metric, one) for one in z]) @ Q
    assert np.allclose(np.linalg.norm(along, axis=1), np.linalg.norm(z, axis=1))
    ratio = np.mean(along[:, :4] ** 2) / np.mean(along[:, 4:] ** 2)
    assert ratio > 1e3


def test_hops_are_plain_where_no_metric_is_known_or_it_is_not_positive_definite():
    z = np.arange(1.0, 4.0)
    for metric in (None, np.zeros((3, 3)), np.diag([1.0, -1.0, 1.0])):
        assert np.array_equal(soft(HOST, metric, z), z)


def test_reflection_mirrors_at_the_sides_and_never_leaves():
    lower, upper = np.full(3, -1.0), np.full(3, 2.0)
    np.testing.assert_allclose(reflect(HOST, np.array([0.5, 2.5, -1.25]), lower, upper), [0.5, 1.5, -0.75])
    far = reflect(HOST, np.array([100.0, -100.0, 0.0]), lower, upper)
    assert np.all((far >= lower) & (far <= upper))
