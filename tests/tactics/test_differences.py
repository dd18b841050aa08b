"""Differences finish what interpolation has begun, in many dimensions, with exact values alone."""

import numpy as np
import pytest

import shapeopt
from shapeopt.optimizer import Policy

BOUNDS = (-5, 5)


def turned(d, condition=1e3):
    """A turned convex quadratic and a start."""
    rng = np.random.default_rng(d)
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    bottom, stiff = rng.uniform(-3, 3, d), np.geomspace(1.0, condition, d)
    return (lambda x: float(np.sum(stiff * (turn @ (x - bottom)) ** 2))), rng.uniform(-5, 5, d)


def test_a_smooth_valley_in_many_dimensions_is_finished_by_differences():
    fun, x0 = turned(24)
    result = shapeopt.minimize(fun, x0, bounds=BOUNDS, budget=1500)
    alone = shapeopt.minimize(fun, x0, bounds=BOUNDS, budget=1500, policy=Policy().without("differences"))
    assert result.fun < 1e-8 < 1e-4 * alone.fun
    tactics = result.trace.tactic.tolist()
    assert tactics.index("interpolate") < tactics.index("differences")
    assert {event.phase for event in result.events if event.tactic == "differences"} <= {"first force", "descent"}
    spent = result.trace.calls[tactics.index("differences")]
    assert spent > 4 * 25, "interpolation has had its share first"


def test_budget_and_bounds_hold_in_the_middle_of_a_force():
    fun, x0 = turned(20)
    for budget in (110, 117, 130):
        seen = []
        shapeopt.minimize(lambda x: seen.append(x) or fun(x), x0, bounds=BOUNDS, budget=budget)  # noqa: B023
        assert len(seen) == budget and np.abs(seen).max() <= 5


@pytest.mark.parametrize("change", [lambda f: float(f"{f:.3g}"), lambda f: f + 0.1 * np.sin(1e9 * f)])
def test_rounded_and_noisy_values_are_not_differentiated(change):
    fun, x0 = turned(20)
    result = shapeopt.minimize(lambda x: change(fun(x)), x0, bounds=BOUNDS, budget=1000)
    first = shapeopt.minimize(fun, x0, bounds=BOUNDS, budget=1000)
    assert "differences" in first.trace.tactic.tolist()
    assert result.trace.tactic.tolist().count("differences") <= 21, "one force at the most"


@pytest.mark.parametrize("d", [15, 65])
def test_few_dimensions_and_very_many_do_without(d):
    fun, x0 = turned(d)
    result = shapeopt.minimize(fun, x0, bounds=BOUNDS, budget=600)
    assert "differences" not in result.trace.tactic.tolist()
