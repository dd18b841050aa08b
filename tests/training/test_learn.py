"""What is learned from runs: places in a useful order, the mean metric, a prior."""

from dataclasses import replace

import numpy as np

from shapeopt.training import planner
from shapeopt.training.journals import secant_hessian
from shapeopt.training.learn import Facts, greedy, learn, mean_shape, prior_of
from shapeopt.training.run import Run
from shapeopt.training.table import area, compare

RNG = np.random.default_rng(0)


def facts(x, values=None, hessians=None, ratios=()):
    n = len(x)
    return Facts(
        x, np.full(x.shape[1], 10.0), values, np.zeros(n), np.ones(n), hessians or [None] * n, None, [list(ratios)] * n
    )


def test_the_greedy_order_covers_what_the_first_columns_left():
    """Column 0 serves half of the rows, column 2 the others; column 1 is second best everywhere, and adds nothing."""
    scores = np.array([[-4.0, -3.9, 0.0]] * 3 + [[-1.5, -1.0, -2.0]] * 2)
    assert greedy(scores)[:2] == [0, 2]


def test_an_instance_s_own_place_is_not_counted_for_it():
    """Only instance 0's place is good for another one; every own place is perfect."""
    values = np.full((4, 5), 0.9)
    values[:, 0] = 0.1
    values[np.arange(4), np.arange(4)] = 0.0
    x = RNG.normal(size=(4, 2))
    np.testing.assert_array_equal(learn(facts(x, values)).places[0], x[0])


def test_without_objectives_the_first_place_is_amid_the_others():
    x = np.concatenate([RNG.normal(size=(12, 2)) * 0.1, [[4.0, 4.0]]])
    assert np.linalg.norm(learn(facts(x)).places[0]) < 0.3


def test_the_mean_metric_of_equal_hessians_of_any_scale_is_theirs():
    B = np.diag([1.0, 50.0, 4.0]) + 0.5
    shape = mean_shape([B, 30.0 * B, 0.01 * B], np.ones(3))
    product = shape @ B
    np.testing.assert_allclose(product / product[0, 0], np.eye(3), atol=1e-9)


def test_the_mean_metric_follows_units():
    B, scale = np.diag([1.0, 50.0, 4.0]) + 0.5, np.array([1.0, 10.0, 0.1])
    shape = mean_shape([B], scale)
    np.testing.assert_allclose((shape @ B) / (shape @ B)[0, 0], np.eye(3), atol=1e-9)


def test_a_hessian_that_overflows_in_the_family_s_units_is_left_out():
    B, huge, scale = np.eye(2), np.diag([1e300, 1.0]), np.full(2, 1e10)  # of a place many decades below the others
    np.testing.assert_allclose(mean_shape([B, huge], scale), mean_shape([B], scale))


def test_a_saddle_s_hessian_still_gives_a_positive_definite_metric():
    assert np.linalg.eigvalsh(mean_shape([np.diag([1.0, -3.0]), np.zeros((2, 2))], np.ones(2))).min() > 0
    assert mean_shape([np.zeros((2, 2))], np.ones(2)) is None


def test_the_prior_is_that_of_the_descents():
    mean, scale = prior_of(facts(RNG.normal(size=(4, 2)), ratios=[1.0, 3.0, 1.0, 3.0, 2.0]))
    assert mean == 2.0 and scale == 0.7
    assert prior_of(facts(RNG.normal(size=(4, 2)))) is None


def test_the_secant_hessian_of_a_quadratic_s_readings_is_close_to_it():
    B = np.diag([1.0, 5.0, 20.0])
    x = np.concatenate([RNG.normal(size=(30, 3)) * 0.5, np.zeros((1, 3))])
    found = secant_hessian(x, x @ B, 30, np.ones(3))
    np.testing.assert_allclose(found, B, rtol=0.3, atol=0.8)


def run(*improved):
    return Run(1.0, [0.0], improved[-1][1], [(1, 1.0), *improved], [], [])


def test_the_table_counts_calls_to_shares_of_the_start_s_gap():
    before, after = [run((10, 0.05), (40, 0.0))] * 5, [run((5, 0.05), (10, 0.0))] * 5
    rows = {row.target: row for row in compare(before, after, 100)}
    assert (rows[1e-1].before, rows[1e-1].after, rows[1e-3].before, rows[1e-3].after) == (10, 5, 40, 10)
    assert rows[1e-3].ratio == rows[1e-3].high == 0.25
    assert area(after, np.zeros(5), 100) > area(before, np.zeros(5), 100)


def test_what_was_not_reached_counts_as_one_call_more_than_the_budget():
    rows = compare([run((10, 0.5))] * 3, [run((10, 0.0))] * 3, 50)
    assert rows[2].before == 51 and rows[2].solved_before == 0.0 and rows[2].solved_after == 1.0


def test_settings_that_end_in_a_worse_basin_are_not_chosen_for_being_quick_there(monkeypatch):
    """With one place runs end at .5 after five calls, and no run knew better; with two they reach 0 after twenty."""
    known = facts(RNG.normal(size=(4, 2)), np.full((4, 5), 0.9))
    known = replace(known, best=np.full(4, 0.5))
    ends = {1: [(5, 0.5)], 2: [(6, 0.6), (20, 0.0)], 3: [(30, 0.0)]}
    tried = lambda jobs, facts, settings, budget, label: [run(*ends[settings["opening"]])] * 4  # noqa: E731
    monkeypatch.setattr(planner, "_left_out", tried)
    untrained = [run((90, 0.5))] * 4
    assert planner.choose(None, known, untrained, 100, "")["opening"] == 2
