"""`shapeopt.Shape`: asking, telling, saving, loading, extending."""

import numpy as np
import pytest

import shapeopt
from shapeopt.oracles import BudgetExhausted


def fun(x):
    return float(np.sum(x * x - 10.0 * np.cos(2.0 * np.pi * x) + 10.0)), 2.0 * x + 20.0 * np.pi * np.sin(
        2.0 * np.pi * x
    )


def spend(shape, calls, gradients=True):
    for _ in range(calls):
        x = shape.ask()
        value, gradient = fun(x)
        shape.tell(x, value, gradient if gradients else None)


def make(**settings):
    return shapeopt.Shape(bounds=[(-5, 5)] * 3, **{"budget": 60, "seed": 1, **settings})


def test_ask_and_tell_do_what_minimize_does():
    shape = make(x0=np.full(3, 3.3))
    spend(shape, 60)
    result = shapeopt.minimize(fun, np.full(3, 3.3), bounds=[(-5, 5)] * 3, budget=60, seed=1, jac=True)
    np.testing.assert_array_equal(shape.result().trace.value, result.trace.value)
    assert shape.result().fun == result.fun and shape.left == 0


@pytest.mark.parametrize("gradients", [True, False])
def test_a_saved_run_goes_on_to_the_same_bytes(tmp_path, gradients):
    path = tmp_path / "run.safetensors"
    whole = make(gradients=gradients)
    spend(whole, 60, gradients)
    part = make(gradients=gradients)
    spend(part, 25, gradients)
    part.save(path)
    resumed = shapeopt.Shape.load(path)
    assert resumed.left == 35
    spend(resumed, 35, gradients)
    assert resumed.result().trace.value.tobytes() == whole.result().trace.value.tobytes()
    np.testing.assert_array_equal(resumed.result().x, whole.result().x)


def test_asking_twice_gives_the_same_point():
    shape = make()
    np.testing.assert_array_equal(shape.ask(), shape.ask())


def test_budget_ends_the_run_until_it_is_extended():
    shape = make(budget=5)
    spend(shape, 5)
    with pytest.raises(BudgetExhausted, match="5"):
        shape.ask()
    shape.extend(8)
    spend(shape, 3)
    assert shape.result().nfev == 8


def test_without_gradients_every_value_is_a_call_inside_the_bounds():
    shape = make(budget=200, gradients=False)
    first = fun(shape.ask())[0]
    spend(shape, 200, gradients=False)
    assert shape.best.fun < first and shape.left == 0


@pytest.mark.parametrize(
    ("tell", "words"),
    [
        (lambda s: s.tell(np.zeros(3), 1.0, np.zeros(3)), "ask"),
        (lambda s: s.tell(s.ask(), 1.0), "gradient"),
        (lambda s: s.tell(s.ask(), np.zeros(2), np.zeros(3)), "value"),
        (lambda s: s.tell(s.ask(), 1.0, np.zeros(4)), "gradient"),
    ],
)
def test_wrong_answers_are_refused(tell, words):
    with pytest.raises(ValueError, match=words):
        tell(make())


def test_failed_evaluations_are_told_as_nan():
    shape = make()
    shape.tell(shape.ask(), np.nan)
    spend(shape, 59)
    assert np.isfinite(shape.best.fun)


def test_damaged_files_are_refused(tmp_path):
    path = tmp_path / "run.safetensors"
    shape = make()
    spend(shape, 3)
    shape.save(path)
    path.write_bytes(path.read_bytes()[:-7])
    with pytest.raises(ValueError, match=r"run\.safetensors"):
        shapeopt.Shape.load(path)
