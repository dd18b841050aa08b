"""Units change no decision, and what is called converged is: a small part of benchmarks/invariance.py."""

import runpy
from pathlib import Path

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
