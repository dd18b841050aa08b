"""Refining where forces jump or stay the same: kinks teach curvature, flat faces none; and when a basin is left."""

import numpy as np
import pytest
from optimizer_runs import bowl, kinked, rastrigin, rosenbrock, run_on_host
from scipy.optimize import minimize

from shapeopt.core.board import Plant, Spec
from shapeopt.ops import HOST
from shapeopt.optimizer import Optimizer, Policy
from shapeopt.tactics import Hop, Refine
from shapeopt.tactics.refine import cubic_minimum

ALONE = Policy((Refine(), Hop()))


def board_of(d):
    state = Optimizer(ALONE, Spec(d)).init(
        HOST, np.zeros(d), np.full(d, -5.0), np.full(d, 5.0), 100.0, np.ones(2, "u4")
    )
    return state.board._replace(fresh=True)


def reading(q, f, g):
    return Plant(np.asarray(q, float), np.zeros(len(q)), np.float64(f), np.asarray(g, float), True)


def entered(q, f, g):
    """(tactic, its memory at the start of a basin, the board)."""
    tactic, board = Refine(), board_of(len(q))
    blank = tactic.blank(HOST, Spec(len(q)))
    return tactic, tactic.open(HOST, blank, board, reading(q, f, g), None), board


def test_forces_that_differ_by_round_off_teach_no_curvature():
    g = np.array([0.3, -0.7, 1.1])
    tactic, memory, board = entered(np.zeros(3), 5.0, g)
    after, _ = tactic.observe(HOST, memory, board, reading(-0.5 * g, 4.1, g * (1.0 - 3e-16)))
    assert after.accepted and not after.inverse.R_inverse.any()
    np.testing.assert_allclose(after.gamma, tactic.growth * memory.gamma)


def test_a_trial_before_a_kink_learns_the_curvature_across_it():
    slope, back = np.array([2.0, 1.0]), np.array([-3.0, 1.0])
    tactic, memory, board = entered(np.zeros(2), 5.0, slope)
    memory = memory._replace(move=np.array([-2.0, 0.0]))
    memory, _ = tactic.observe(HOST, memory, board, reading([-2.0, 0.0], 7.0, back))
    assert not memory.accepted and memory.bracketed
    memory, _ = tactic.observe(HOST, memory, board, reading([-0.5, 0.0], 4.0, slope))
    assert memory.accepted and not memory.bracketed
    s, y = np.array([-1.5, 0.0]), back - slope
    np.testing.assert_allclose(memory.inverse.solve(HOST, y, memory.gamma), s, atol=1e-12)


def test_a_trial_whose_slope_has_changed_keeps_its_own_pair():
    tactic, memory, board = entered(np.zeros(2), 5.0, np.array([2.0, 1.0]))
    memory = memory._replace(move=np.array([-2.0, 0.0]))
    memory, _ = tactic.observe(HOST, memory, board, reading([-2.0, 0.0], 7.0, [-3.0, 1.0]))
    memory, _ = tactic.observe(HOST, memory, board, reading([-0.5, 0.0], 4.0, [1.0, 1.0]))
    np.testing.assert_allclose(memory.inverse.solve(HOST, np.array([-1.0, 0.0]), memory.gamma), [-0.5, 0.0], atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_the_cubic_s_minimum_is_that_of_a_cubic(seed):
    a, b, slope = np.random.default_rng(seed).uniform([1.0, -2.0, -3.0], [3.0, 2.0, -0.5])
    cubic = np.polynomial.Polynomial([0.0, slope, b, a])
    t = cubic_minimum(HOST, slope, cubic(1.0), cubic.deriv()(1.0))
    assert abs(cubic.deriv()(t)) < 1e-9 and cubic.deriv(2)(t) > 0


@pytest.mark.parametrize(("fun", "d"), [(bowl, 20), (rosenbrock, 10)])
def test_one_descent_needs_about_as_many_readings_as_scipy_s(fun, d):
    x0 = np.random.default_rng(0).uniform(-2.0, 2.0, d)
    made = run_on_host(fun, x0, 400, policy=ALONE)
    ours = int(np.argmax(made.value < 1e-8))
    theirs = minimize(fun, x0, jac=True, method="L-BFGS-B", options={"ftol": 0, "gtol": 1e-6, "maxcor": 24}).nfev
    assert 0 < ours <= 1.6 * theirs


def test_a_kinked_bottom_is_reached():
    x0 = np.random.default_rng(0).uniform(-5.0, 5.0, 5)
    assert run_on_host(kinked, x0, 150, policy=ALONE).best < 1e-6


def test_every_cause_of_an_end_of_a_descent_is_met():
    causes = set()
    uphill = lambda x: (rastrigin(x)[0], -rastrigin(x)[1])  # noqa: E731
    for fun in (rastrigin, uphill):
        for seed in range(3):
            made = run_on_host(fun, np.random.default_rng(seed).uniform(-5.0, 5.0, 3), 300, policy=ALONE, seed=seed)
            causes |= {cause for tactic, _, cause in made.decisions if tactic == "refine"}
    assert causes >= {"none", "converged", "stall", "hopeless", "revisit"}
