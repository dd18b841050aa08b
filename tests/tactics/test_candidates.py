"""The next call under noise goes where it tells candidates apart, or improves the best one."""

import numpy as np

from shapeopt.core.board import Spec
from shapeopt.ops import HOST
from shapeopt.optimizer import Optimizer, Policy
from shapeopt.tactics.candidates import Candidates, lowest_apart, next_one

LOOK = 10.0


def candidates(levels, errors, steps):
    m, e, n = (np.array(one, float) for one in (levels, errors, steps))
    return Candidates(np.zeros((m.size, 2)), m, e, n)


def chosen(levels, errors, steps, fall=0.0):
    return next_one(HOST, candidates(levels, errors, steps), fall, LOOK)


def test_a_rival_that_is_clearly_worse_has_no_call():
    assert chosen([0.0, 5.0], [0.5, 0.5], [20, 20]) == 0


def test_a_rival_that_may_be_better_has_the_call_if_less_is_known_of_it():
    assert chosen([0.0, 0.3], [0.1, 1.0], [60, 12]) == 1
    assert chosen([0.0, 0.3], [0.1, 1.0], [12, 60]) == 0  # one call more would tell little of it


def test_the_best_one_has_the_call_where_its_descent_gains_more():
    assert chosen([0.0, 1.0], [1.0, 0.1], [20, 20]) == 0


def test_a_rival_that_was_not_descended_yet_has_the_call_while_it_may_fall_below():
    assert chosen([0.0, 5.0], [0.1, 0.1], [20, 0], fall=6.0) == 1
    assert chosen([0.0, 5.0], [0.1, 0.1], [20, 0], fall=0.5) == 0
    assert chosen([0.0, 5.0], [0.1, 0.1], [20, LOOK], fall=6.0) == 0  # its descent is over


def test_absent_candidates_have_no_call():
    assert chosen([np.inf, 2.0, np.inf], [9.0, 0.1, 9.0], [0, 50, 0], fall=100.0) == 1


def test_values_in_another_unit_change_nothing():
    rng = np.random.default_rng(0)
    for _ in range(50):
        m, e, n = rng.normal(size=5), rng.uniform(0.1, 1.0, 5), rng.integers(0, 30, 5)
        assert chosen(m, e, n, 1.0) == chosen(1e6 * m - 1e7, 1e6 * e, n, 1e6)


def test_candidates_are_the_lowest_readings_that_are_apart():
    side = np.full(2, 5.0)
    board = (
        Optimizer(Policy(), Spec(2, values_only=True))
        .init(HOST, 0 * side, -side, side, 100, np.zeros(2, np.uint32))
        .board
    )
    rng = np.random.default_rng(1)
    points, values = rng.uniform(-5.0, 5.0, (60, 2)), rng.normal(size=60)
    values[40:] = np.inf
    found = lowest_apart(HOST, board, points, values, 6, 3.5, 0.7)
    known = found.centres[found.levels < np.inf]
    assert len(known) == 4 and np.array_equal(known[0], points[values.argmin()])
    gaps = np.linalg.norm(known[:, None] - known[None], axis=2)[np.triu_indices(4, 1)]
    assert gaps.min() > 1.0
    assert (np.diff(found.levels[:4]) > 0).all() and (found.errors == 0.7).all()
