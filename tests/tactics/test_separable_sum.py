"""The separable sum: it is found, swept and solved; what is no sum is told from one."""

import numpy as np
import pytest
from optimizer_runs import rastrigin, run_on_host, turned_rastrigin

from shapeopt.core.board import COUPLED, SUM, Plant
from shapeopt.ops import HOST
from shapeopt.tactics import SeparableSum
from shapeopt.tactics.profiles import Sweep, lowest_place, sweep_reading, sweep_target
from shapeopt.tactics.separable_sum import coupling_of, moved_half

D = 30
SHIFT = np.random.default_rng(3).uniform(-4.5, 4.5, D)
START = np.random.default_rng(4).uniform(-5.0, 5.0, D)
TURN = np.linalg.qr(np.random.default_rng(5).normal(size=(D, D)))[0]
LOWER, UPPER = np.full(D, -5.0), np.full(D, 5.0)


def ripples(x):
    z = x - SHIFT
    return float(np.sum(z**2 + 10.0 * (1.0 - np.cos(2.0 * np.pi * z)))), 2.0 * z + 20.0 * np.pi * np.sin(2 * np.pi * z)


def swept(fun, base, readings, split=False):
    """(lowest places, predicted decrease, path) of a sweep."""
    sweep = Sweep.begin(HOST, base, fun(base)[1], LOWER, UPPER, float(readings))
    path = []
    for _ in range(readings):
        path.append(sweep_target(HOST, sweep, split)[0])
        f, g = fun(path[-1])
        sweep = sweep_reading(HOST, sweep, path[-1], g, bool(np.isfinite(f)), split)
    return *lowest_place(HOST, sweep, split), np.array(path)


# ------------------------------------------------------------------------------------------------------------- profiles


@pytest.mark.parametrize(("readings", "split"), [(40, False), (64, False), (128, False), (128, True), (201, True)])
def test_every_coordinate_of_a_sum_finds_its_lowest_basin(readings, split):
    lowest, _, _ = swept(ripples, START, readings, split)
    assert np.abs(lowest - SHIFT).max() < 0.25


@pytest.mark.parametrize("split", [False, True])
def test_the_prediction_is_the_fall_of_a_quadratic_sum_and_its_bottom_is_exact(split):
    stiffness = np.geomspace(1e-3, 1e3, D)
    bowl = lambda x: (0.5 * float(stiffness @ (x - SHIFT) ** 2), stiffness * (x - SHIFT))  # noqa: E731
    lowest, predicted, _ = swept(bowl, START, 20, split)
    np.testing.assert_allclose(lowest, SHIFT, atol=1e-9)
    np.testing.assert_allclose(predicted, bowl(START)[0], rtol=1e-9)


@pytest.mark.parametrize("split", [False, True])
def test_where_nothing_is_lower_the_base_is_kept_and_no_decrease_is_predicted(split):
    lowest, predicted, _ = swept(ripples, SHIFT, 64, split)
    np.testing.assert_allclose(lowest, SHIFT, atol=1e-9)
    assert abs(predicted) < 1e-9


def test_the_path_goes_through_the_whole_box_in_equal_steps_and_stays_inside():
    _, _, path = swept(ripples, START, 49)
    assert np.abs(path).max() <= 5.0
    for i, start in enumerate(START):
        np.testing.assert_allclose(np.diff(np.sort(np.append(path[:, i], start))), 0.2, rtol=1e-9)


def test_a_reading_that_is_not_finite_is_passed_over():
    with_a_hole = lambda x: (np.nan, np.nan * x) if 1.0 < x[0] < 1.4 else ripples(x)  # noqa: E731
    lowest, predicted, _ = swept(with_a_hole, START, 128)
    assert np.isfinite(lowest).all() and np.isfinite(predicted)
    assert np.median(np.abs(lowest - SHIFT)) < 0.25


# ------------------------------------------------------------------------------------------------------------ the tests


def couplings(fun, start=None):
    """What the two tests say, from twenty starts or twenty times from one: a row of first and second ones."""
    rows, tactic = [], SeparableSum()
    for seed in range(20):
        rng = np.random.default_rng(seed)
        base = rng.uniform(-5.0, 5.0, D) if start is None else start
        g = fun(base)[1]
        u, z = rng.uniform(size=D), rng.normal(size=D)
        tried = moved_half(HOST, base, g, u, z, LOWER, UPPER, tactic.test_step, tactic.test_spread)
        f, tried_g = fun(tried)
        first = coupling_of(HOST, base, g, Plant(tried, 0.0, f, tried_g, True), 0.0, 2.0)
        ahead = base + tactic.far * 10.0
        other = np.where(np.abs(tried - base) > 1e-6, tried, np.where(ahead > 5.0, ahead - 10.0, ahead))
        f, other_g = fun(other)
        rows.append([first, coupling_of(HOST, tried, tried_g, Plant(other, 0.0, f, other_g, True), 0.0, 1.0)])
    return np.array(rows, float).T


def test_coupling_tells_a_sum_from_a_function_of_a_sum_and_both_from_turned_axes():
    weights = np.arange(1.0, D + 1.0)

    def of_a_sum(x):
        total, slope = float(weights @ (x - SHIFT) ** 2), 2.0 * weights * (x - SHIFT)
        return np.sqrt(total), 0.5 * slope / np.sqrt(total)

    def turned(x):
        f, g = ripples(TURN @ x)
        return f, g @ TURN

    sums, functions, turns = (couplings(fun) for fun in (ripples, of_a_sum, turned))
    assert sums.max() < 1e-12 and functions.max() < 1e-9 and turns.min() > SeparableSum().threshold(D)


def test_the_second_test_tells_a_well_from_a_sum_though_its_bottom_looks_like_one():
    def well(x):
        depth = np.exp(-np.sum((x - SHIFT) ** 2) / 40.0)
        return -depth, depth * (x - SHIFT) / 20.0

    first, second = couplings(well, SHIFT)
    assert first.max() < 1e-6 and second.min() > 0.35


def test_noise_that_is_known_is_not_taken_for_coupling():
    rng, tactic, noise = np.random.default_rng(0), SeparableSum(), 20.0
    first, second, third = noise * rng.normal(size=(3, D))
    g = ripples(START)[1] + 0.5 * (first + second)
    u, z = rng.uniform(size=D), rng.normal(size=D)
    there = moved_half(HOST, START, g, u, z, LOWER, UPPER, tactic.test_step, tactic.test_spread)
    plant = Plant(there, 0.0, 0.0, ripples(there)[1] + third, True)
    unaware, aware = (float(coupling_of(HOST, START, g, plant, std, 2.0)) for std in (0.0, noise))
    assert unaware > 0.2 > 2.0 * aware


@pytest.mark.parametrize("d", [2, 3, 30])
def test_a_test_moves_some_coordinates_and_not_all_and_stays_inside(d):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        q = rng.uniform(-5.0, 5.0, d)
        sides = -np.full(d, 5.0), np.full(d, 5.0)
        place = moved_half(HOST, q, np.ones(d), rng.uniform(size=d), rng.normal(size=d), *sides, 0.9, 0.4)
        assert 0 < np.sum(place != q) < d and np.abs(place).max() <= 5.0


def test_a_sweep_takes_less_than_half_of_a_run_unless_that_would_be_too_coarse():
    lengths = [float(SeparableSum().length(HOST, n)) for n in (44.0, 100.0, 500.0, 2000.0)]
    assert lengths == [32.0, 45.0, 64.0, 128.0]


# ---------------------------------------------------------------------------------------------------------------- runs


@pytest.mark.parametrize("d", [2, 10, 100])
def test_a_rippled_sum_is_solved_after_its_sweep(d):
    x0 = np.random.default_rng(d).uniform(-5.0, 5.0, d)
    made = run_on_host(rastrigin, x0, 100, keep=True)
    phases = [phase for tactic, phase, _ in made.decisions if tactic == "separable sum"]
    assert phases[0] == "test" and phases[1] == "retest" and phases.count("sweep") >= 45 and "lowest" in phases
    assert made.states[-1].board.structure == SUM and made.best < 1e-8
    before = made.decisions.index(next(d for d in made.decisions if d[1] == "lowest"))
    assert made.value[:before].min() > 0.5 > made.value[before] * 0.01


def coupled_bowl(x):
    return float(x.sum() ** 2 + x @ x), 2.0 * x.sum() + 2.0 * x


@pytest.mark.parametrize("fun", [turned_rastrigin, coupled_bowl])
def test_what_is_no_sum_is_refuted_by_a_test_and_never_swept(fun):
    made = run_on_host(fun, START[:6], 200, keep=True)
    swept = [phase for tactic, phase, _ in made.decisions if tactic == "separable sum"]
    assert ("separable sum", swept[-1], "rejected") in made.decisions and set(swept) <= {"test", "retest"}
    assert any(state.board.structure == COUPLED for state in made.states)


def test_a_short_run_is_not_tested():
    bowl = lambda x: (float(x @ x), 2.0 * x)  # noqa: E731
    short, long = (run_on_host(bowl, np.full(6, 3.0), budget) for budget in (43, 70))
    assert "separable sum" not in short.tactics and "separable sum" in long.tactics


def uneven_bowl(x):
    """Convex, a sum, and no quadratic."""
    z = x - SHIFT[: x.size]
    return float(np.sum(np.cosh(z) + z**2)), np.sinh(z) + 2.0 * z


def test_a_sum_with_one_minimum_is_tested_after_its_first_basin_and_never_swept():
    made = run_on_host(uneven_bowl, START[:8], 200, keep=True)
    phases = [phase for tactic, phase, _ in made.decisions if tactic == "separable sum"]
    assert phases == ["test", "retest"] and made.states[-1].board.structure == SUM
    first = [tactic for tactic, _, _ in made.decisions].index("separable sum")
    assert ("refine", "", "converged") in made.decisions[:first]


def test_a_short_run_in_more_dimensions_than_it_has_readings_descends_before_it_sweeps():
    start = 0.7 + np.random.default_rng(3).normal(size=200) * 0.15
    made = run_on_host(rastrigin, start, 64)
    assert made.tactics[1:7] == ["refine"] * 6 and made.best < 1e-8
