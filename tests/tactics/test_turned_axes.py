"""Axes in which an objective is a sum are found and swept; others are left alone."""

import numpy as np
import pytest
from optimizer_runs import _turn, rosenbrock, run_on_host, turned_rastrigin

from shapeopt.core.board import TURNED_SUM
from shapeopt.optimizer import Policy
from shapeopt.tactics.turned_axes import PRELUDE, TurnedAxesMemory

D, BUDGET = 5, 200
STARTS = np.random.default_rng(4).uniform(-5.0, 5.0, (4, D))


def memory_of(made):
    return next(m for m in made.states[-1].memories if isinstance(m, TurnedAxesMemory))


@pytest.mark.parametrize("start", range(len(STARTS)))
def test_a_rippled_sum_in_turned_axes_is_solved_and_the_axes_are_its_own(start):
    made = run_on_host(turned_rastrigin, STARTS[start], BUDGET, keep=True)
    assert made.best < 1e-8 and made.states[-1].board.structure == TURNED_SUM
    alike = np.abs(memory_of(made).matrix @ _turn(D, np.dtype(float)).T)
    np.testing.assert_allclose(np.sort(alike, axis=-1)[:, -1], 1.0, atol=1e-4)
    phases = [phase for tactic, phase, _ in made.decisions if tactic == "turned axes"]
    assert phases[: PRELUDE + D] == ["survey"] * (PRELUDE + D) and phases[PRELUDE + D] == "test"
    assert "sweep" in phases and "lowest" in phases


def test_without_the_tactic_it_is_not_solved():
    policy = Policy().without("turned axes")
    assert np.median([run_on_host(turned_rastrigin, x0, BUDGET, policy=policy).best for x0 in STARTS]) > 0.5


def saddle(x):
    """A quadratic, lowest at a corner of the box."""
    turn = _turn(x.size, x.dtype)
    z, slopes = turn @ x, np.linspace(-1.0, 1.0, x.size)
    return float(slopes @ z**2 + 0.3 * z[0]), (2.0 * slopes * z + 0.3 * (np.arange(x.size) == 0)) @ turn


@pytest.mark.parametrize("fun", [rosenbrock, saddle])
def test_a_sum_in_no_frame_and_a_quadratic_are_given_up_after_the_first_six_readings(fun):
    made = run_on_host(fun, STARTS[0], BUDGET, keep=True)
    phases = [phase for tactic, phase, _ in made.decisions if tactic == "turned axes"]
    assert phases == ["survey"] * PRELUDE and ("turned axes", "survey", "rejected") in made.decisions
    assert made.states[-1].board.structure != TURNED_SUM


def test_where_one_minimum_is_known_no_axes_are_looked_for():
    def bowl(x):
        z = _turn(x.size, x.dtype) @ x
        return float(np.sum(np.cosh(z) + z**2)), (np.sinh(z) + 2.0 * z) @ _turn(x.size, x.dtype)

    assert "turned axes" not in run_on_host(bowl, STARTS[0], BUDGET).tactics


def test_a_survey_that_meets_what_is_not_finite_leads_to_no_bad_query():
    with_a_hole = lambda x: (np.nan, np.nan * x) if abs(x[3]) < 2.5 else turned_rastrigin(x)  # noqa: E731
    for x0 in STARTS:
        made = run_on_host(with_a_hole, x0, BUDGET)
        assert np.isfinite(made.x).all() and np.abs(made.x).max() <= 5.0
