"""Units change no decision, and what is called converged is: a small part of benchmarks/invariance.py."""

import runpy
from pathlib import Path

import numpy as np
import pytest

import shapeopt

MEASURED = runpy.run_path(str(Path(__file__).parents[1] / "benchmarks" / "invariance.py"))


def test_powers_of_two_as_units_change_no_call_of_a_whole_run():
    assert not MEASURED["exact_units"](8)


def test_other_units_change_the_first_basin_by_round_off_alone():
    assert not MEASURED["rounded_units"](8)


def test_converged_points_are_stationary_on_the_box_too():
    wrong, seen, active = MEASURED["converged"](8)
    assert not wrong and seen >= 20 and active >= 10


def test_a_point_that_is_not_stationary_would_be_told():
    problem = next(MEASURED["generated"](1, boxed=False))
    steep, _ = MEASURED["_scaled_gradient"](problem, problem.x0)
    assert steep > 0 and MEASURED["_further_fall"](problem, problem.x0) > 0


@pytest.mark.parametrize(
    ("dtype", "power"), [(np.float32, 40), (np.float32, -40), (np.float64, 400), (np.float64, -400)]
)
def test_a_scale_whose_squares_are_finite_changes_no_call(dtype, power):
    def waves(x, scale):
        value, slope = np.sum(x**2 - 10 * np.cos(6 * x)), 2 * x + 60 * np.sin(6 * x)
        return dtype(scale) * value, dtype(scale) * slope

    start, scale = np.full(3, 2.2, dtype), 2.0**power
    plain = shapeopt.minimize(lambda x: waves(x, 1.0), start, bounds=(-5, 5), budget=60, jac=True)
    scaled = shapeopt.minimize(lambda x: waves(x, scale), start, bounds=(-5, 5), budget=60, jac=True)
    np.testing.assert_array_equal(plain.trace.x, scaled.trace.x)
    assert scaled.fun == scale * plain.fun
