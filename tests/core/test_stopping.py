"""What ends a run early, and what it says of it."""

import numpy as np
import pytest

import shapeopt
from shapeopt.core import Status
from shapeopt.core.stopping import Stopping

X0 = np.full(2, 3.3)


def rastrigin(x):
    return np.sum(x**2 - 10 * np.cos(2 * np.pi * x) + 10), 2 * x + 20 * np.pi * np.sin(2 * np.pi * x)


def run(**limits):
    return shapeopt.minimize(rastrigin, X0, bounds=(-5, 5), jac=True, **{"budget": 2000} | limits)


def test_a_target_ends_the_run_with_the_call_that_reaches_it():
    result = run(target=1.0)
    assert result.status == Status.TARGET_REACHED and result.success and "target" in result.message
    assert result.fun <= 1.0 and result.nfev < 2000
    assert (result.trace.best[:-1] > 1.0).all() and result.trace.best[-1] <= 1.0


def test_a_target_that_is_never_reached_costs_the_budget():
    result = run(target=-1.0, budget=200)
    assert result.status == Status.BUDGET_SPENT and result.nfev == 200 and "budget" in result.message


def test_tol_ends_a_run_whose_best_value_has_settled():
    result = run(tol=1e-8)
    half = result.trace.best[np.searchsorted(result.trace.calls, result.nfev / 2)]
    assert result.status == Status.SETTLED and "tol" in result.message and result.nfev < 2000
    assert half - result.fun <= 1e-8


def test_confidence_ends_a_run_at_the_first_reading_that_has_it():
    result = run(confidence=0.8)
    assert result.status == Status.CONFIDENT and "confidence" in result.message and result.nfev < 2000
    assert result.confidence >= 0.8
    assert run(callback=lambda progress: progress.nfev == result.nfev - 1).confidence < 0.8


def test_confidence_does_not_depend_on_units():
    scaled = shapeopt.minimize(
        lambda x: tuple(2.0**20 * part for part in rastrigin(x)), X0, bounds=(-5, 5), jac=True, budget=400
    )
    assert scaled.confidence == run(budget=400).confidence > 0.3


def test_values_alone_and_ask_and_tell_have_a_confidence():
    by_value = shapeopt.minimize(lambda x: float(x @ x), X0, bounds=(-5, 5), budget=300)
    shape = shapeopt.Shape(X0, bounds=(-5, 5), budget=100)
    while shape.left:
        x = shape.ask()
        shape.tell(x, float(x @ x), 2 * x)
    assert by_value.confidence > 0.5 and shape.result().confidence > 0.5


def test_noisy_gradients_give_no_confidence():
    rng = np.random.default_rng(0)
    result = shapeopt.minimize(
        lambda x: (float(x @ x), 2 * x + rng.normal(size=2)), X0, bounds=(-5, 5), jac=True, noise=1.0, budget=200
    )
    assert result.confidence == 0.0


@pytest.mark.parametrize(
    ("name", "value"), [("target", "low"), ("target", float("nan")), ("tol", -1.0), ("confidence", 1.0)]
)
def test_a_wrong_limit_is_refused_by_name(name, value):
    with pytest.raises(ValueError, match=f"`{name}` must be"):
        Stopping(**{name: value})


def test_a_limited_run_goes_on_from_its_journal_to_the_same_end(tmp_path):
    first = run(target=1.0, journal=tmp_path / "run.journal")
    again = shapeopt.minimize(
        rastrigin, X0, bounds=(-5, 5), jac=True, budget=2000, target=1.0, journal=tmp_path / "run.journal"
    )
    assert again.nfev == first.nfev and np.array_equal(again.x, first.x)
