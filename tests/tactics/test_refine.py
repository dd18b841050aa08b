"""Refining where forces jump or stay the same: kinks teach curvature, flat faces none; and when a basin is left."""

import numpy as np
import pytest
from optimizer_runs import bowl, kinked, rastrigin, rosenbrock, run_on_host
from scipy.optimize import minimize

import shapeopt
from shapeopt.bench.suites import SUITES
from shapeopt.core.board import Plant, Spec
from shapeopt.core.codes import Cause
from shapeopt.dynamics.dense import Room, dense_way
from shapeopt.ops import HOST
from shapeopt.optimizer import Optimizer, Policy
from shapeopt.tactics import Hop, Refine
from shapeopt.tactics.cubic import cubic_minimum
from shapeopt.tactics.refine import LEAST_MISFIT, mixed_misfit

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


def tried(tactic, memory, board, q, f, g):
    """The memory after a trial at q that was predicted to decrease f by 1."""
    s = np.asarray(q, float) - memory.now.q
    memory = memory._replace(length=np.linalg.norm(s), bent=-s @ memory.now.g, predicted=1.0)
    return tactic.observe(HOST, memory, board, reading(q, f, g))[0]


def test_forces_that_differ_by_round_off_teach_no_curvature():
    g = np.array([0.3, -0.7, 1.1])
    tactic, memory, board = entered(np.zeros(3), 5.0, g)
    after = tried(tactic, memory, board, -0.5 * g, 4.1, g * (1.0 - 3e-16))
    assert after.accepted and after.now.inverse.pairs == 0
    np.testing.assert_allclose(after.now.inverse.H, tactic.stretch * memory.now.inverse.H)


@pytest.mark.parametrize(("f", "taught"), [(5.5, True), (7.0, False)])
def test_a_rejected_trial_teaches_curvature_unless_it_is_far_from_what_was_predicted(f, taught):
    tactic, memory, board = entered(np.zeros(2), 5.0, np.array([2.0, 1.0]))
    after = tried(tactic, memory, board, [-2.0, 0.0], f, [-3.0, 1.0])
    assert not after.accepted and after.rejections == 1 and after.now.inverse.pairs == taught
    if taught:
        np.testing.assert_allclose(after.now.inverse.H @ [-5.0, 0.0], [-2.0, 0.0], atol=1e-12)


def test_the_radius_shrinks_to_the_cubic_s_minimum_and_grows_to_where_the_slope_vanishes():
    tactic = Refine()
    cubic = np.polynomial.Polynomial([0.0, -1.0, 0.5, 1.0])
    bottom = cubic_minimum(HOST, -1.0, cubic(1.0), cubic.deriv()(1.0))
    shrunk = tactic._radius(HOST, 1.0, 1.0, -0.5, -cubic(1.0), -1.0, cubic.deriv()(1.0))
    grown = tactic._radius(HOST, 1.0, 1.0, 0.9, 0.9, -1.0, -0.8)
    np.testing.assert_allclose([shrunk, grown], [min(bottom, 0.5), 5.0])


def test_a_model_that_predicts_nothing_is_replaced_before_the_basin_counts_as_converged():
    tactic, memory, board = entered(np.array([1.0, 1.0]), 5.0, np.array([0.0, 3.0]))
    blind = memory.now.inverse._replace(H=np.diag([1.0, 1e-30]), pairs=3)
    memory = memory._replace(now=memory.now._replace(inverse=blind, gamma=0.1), age=5)
    plant = reading(memory.now.q, memory.now.f, memory.now.g)
    after, moved, cause = tactic.propose(HOST, memory, board, plant, lambda move: move)
    assert cause == 0 and after.replaced and after.now.inverse.pairs == 3  # a basin that ends here keeps its metric
    np.testing.assert_allclose(moved.way, [0.0, -0.3])
    read = tactic.observe(HOST, after, board, reading([1.0, 0.7], 4.9, [0.0, 2.0]))[0]
    np.testing.assert_allclose(read.now.inverse.H, np.diag([0.3, 0.3]))


def test_a_step_in_a_box_solves_for_the_free_coordinates():
    """A coupled quadratic whose free minimum lies outside: the step reaches the minimum within the box."""
    B, g = np.array([[2.0, 1.5], [1.5, 2.0]]), np.array([-1.0, -6.0])
    room = Room.around(HOST, np.zeros(2), g, np.full(2, -1.0), np.full(2, 1.0), 1e-12)
    way = dense_way(HOST, np.linalg.inv(B), g, room, 100.0)
    np.testing.assert_allclose(way.s, [-0.25, 1.0])
    np.testing.assert_allclose((way.bent, way.slope, way.length), (way.s @ B @ way.s, g @ way.s, 1.0625**0.5))


def test_the_room_of_a_place_knows_which_coordinates_are_held_and_which_steps_are_inside():
    lower, upper = np.full(2, -1.0), np.full(2, 1.0)
    inside = Room.around(HOST, np.array([0.5, 0.0]), np.ones(2), lower, upper, 1e-12)
    assert inside.held is None and inside.least == 0.5
    for s in ([0.4, 0.1], [-1.2, 0.9], [0.6, 0.0], [0.0, -1.1]):
        within = bool((np.abs(np.array([0.5, 0.0]) + s) <= 1.0).all())
        assert inside.admits(HOST, np.array(s), np.linalg.norm(s)) == within
    pressed = Room.around(HOST, np.array([-1.0, 1.0]), np.ones(2), lower, upper, 1e-12)
    assert pressed.held.tolist() == [True, False] and not pressed.admits(HOST, np.array([0.1, -0.1]), 0.2)


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


def test_more_basins_behind_a_run_make_it_less_ready_to_leave_one():
    tactic, memory, board = entered(np.zeros(2), 5.0, np.array([2.0, 1.0]))
    memory = memory._replace(predicted=1.0, fell=0.5)
    few, many = (tactic._reach(HOST, memory, board._replace(escapes=n)) for n in (1, 20))
    np.testing.assert_allclose(few, np.exp(tactic.prior_mean) * 5.0**tactic.prior_scale)
    assert many > 5.0 * few


def test_descents_that_fell_as_predicted_make_a_run_readier_to_leave():
    tactic, memory, board = entered(np.zeros(2), 5.0, np.array([2.0, 1.0]))
    memory = memory._replace(predicted=1.0, fell=0.5, age=9)
    before = tactic._reach(HOST, memory, board._replace(escapes=5))
    for _ in range(6):
        seen = memory.prospect._replace(f=memory.now.f + 1.0, next=1.0)
        memory = memory._replace(prospect=tactic._learned(HOST, memory._replace(prospect=seen), 2))
    assert tactic._reach(HOST, memory, board._replace(escapes=5)) < 0.2 * before


def test_the_best_basin_is_resumed_before_the_run_ends():
    """Left by the tolerance on what was gained, it is finished to round-off in the last readings."""
    loose = Policy((Refine(tolerance_gained=1e-2, forgetting_first=0.7, others=1000), Hop()))
    x0 = np.random.default_rng(0).uniform(-2.0, 2.0, 6)
    made = run_on_host(rosenbrock, x0, 200, policy=loose)
    first = next(
        i for i, (tactic, _, cause) in enumerate(made.decisions) if tactic == "refine" and cause == "converged"
    )
    left, late = np.min(made.value[: first + 1]), np.min(made.value[-20:])
    assert late < left and late == made.best


def test_an_unfinished_best_basin_is_resumed_after_so_many_others_and_then_after_twice_as_many():
    tactic, memory, board = entered(np.array([1.0, 1.0]), 5.0, np.array([0.0, 3.0]))
    board = board._replace(base=memory.now.q, base_f=5.0, fresh=False, left=50.0, readings=100.0)
    kept = tactic._kept(HOST, memory._replace(predicted=1.0), board, int(Cause.CONVERGED), 1e-12)
    bids = [tactic.offer(HOST, kept, board._replace(escapes=count)).bid for count in range(6)]
    assert bids[: tactic.others] == [-np.inf] * tactic.others and bids[tactic.others :] == [1.5, 1.5]
    other = kept._replace(now=kept.now._replace(f=9.0), same=2, gained=1e6)  # of the basin that was left since
    resumed = tactic.open(HOST, other, board, reading([3.0, 3.0], 9.0, [1.0, 0.0]), None)
    assert resumed.now.f == 5.0 and resumed.same == 0 and resumed.gained == 0
    again = tactic._kept(HOST, resumed._replace(predicted=1.0), board._replace(escapes=4), int(Cause.CONVERGED), 1e-12)
    assert again.due == 2 * 4 + tactic.others
    done = tactic._kept(HOST, resumed._replace(predicted=0.0), board, int(Cause.CONVERGED), 1e-12)
    assert tactic.offer(HOST, done, board._replace(escapes=100)).bid == -np.inf


def test_a_fall_from_a_very_high_start_does_not_end_a_descent_in_a_valley():
    problem = SUITES["nist"].problem("mgh17/start1").make()  # 9e4 at first, 1 after seven calls, a minimum of .0245
    result = shapeopt.minimize(problem.fun, problem.x0, jac=True, budget=150, seed=0)
    assert result.fun < 0.025


def gaussian_well(x):
    """A valley along the second coordinate whose slope grows towards a well: curvature is negative on the way."""
    well = np.exp(-0.5 * x[1] ** 2)
    return float(0.5 * x[0] ** 2 - well), np.array([x[0], x[1] * well])


def test_a_basin_s_metric_is_told_as_it_was_learned():
    scales = np.array([1.0, 30.0, 900.0])
    fun = lambda x: (0.5 * float(scales @ x**2), scales * x)  # noqa: E731
    run = run_on_host(fun, np.array([2.0, -1.0, 0.5]), 40, policy=ALONE, keep=True)
    metric = run.states[20].board.metric
    assert np.allclose(np.diag(metric) * scales, np.diag(metric)[0], rtol=0.3)


def test_a_trial_that_leaves_a_peak_for_a_plateau_is_rejected_and_a_bottom_reached_at_once_is_not():
    tactic, memory, board = entered(np.array([1.0, 1.0]), 0.0, np.array([0.3, 0.4]))
    memory = memory._replace(length=1.0, predicted=0.25, bent=0.5)
    there = np.array([0.4, 0.2])
    with np.errstate(all="ignore"):
        beyond = tactic.observe(HOST, memory, board, reading(there, -0.05, [1e-9, 0.0]))[0]
    assert not beyond.accepted and beyond.now.radius == tactic.back and beyond.mismatch == memory.mismatch
    bottom = tactic.observe(HOST, memory, board, reading(there, -0.25, [1e-9, 0.0]))[0]
    assert bottom.accepted


def test_steps_grow_where_curvature_is_negative_along_them():
    made = run_on_host(gaussian_well, np.array([0.8, 4.5]), 60, policy=Policy((Refine(),)))
    assert np.min(made.value) < -1.0 + 1e-10
    stuck = run_on_host(gaussian_well, np.array([0.8, 4.5]), 60, policy=Policy((Refine(stretch=1.0),)))
    assert np.min(stuck.value) > -0.5


def test_one_long_step_that_misfits_is_no_sign_of_noise_and_misfits_in_a_row_are():
    mean = LEAST_MISFIT
    for error in (0.0, 0.0, 1.0, 0.0, 0.0):
        mean = mixed_misfit(mean, error)
    assert mean < 0.05 < 0.25 * np.mean((1.0, 0.0, 0.0, 0.0))
    for _ in range(12):
        mean = mixed_misfit(mean, 0.3)
    assert 0.2 < mean < 0.31


@pytest.mark.parametrize(("mismatch", "noise_std", "left"), [(0.3, -1.0, True), (0.2, -1.0, False), (0.3, 0.0, False)])
def test_a_descent_is_interrupted_at_once_where_values_do_not_fit_forces_at_all(mismatch, noise_std, left):
    """Though every trial is accepted; not again where readings at one point agreed."""
    tactic, memory, board = entered(np.zeros(2), 5.0, np.array([2.0, 1.0]))
    after = tried(tactic, memory, board, [-0.5, 0.0], 4.0, [1.0, 1.0])._replace(mismatch=mismatch)
    assert after.accepted
    board = board._replace(noise_std=noise_std)
    plant = reading(after.now.q, after.now.f, after.now.g)
    _, _, cause = tactic.propose(HOST, after, board, plant, lambda move: move)
    assert (cause == Cause.CLOCK) == left
