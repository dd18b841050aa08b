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


def spend_in_parallel(shape, rng, calls, gradients=True, width=4):
    """Several points in flight at a time, answered in a random order."""
    flying = []
    for _ in range(calls):
        asked = shape.ask(width)
        flying += [x for x in asked if not any(np.array_equal(x, other) for other in flying)]
        x = flying.pop(rng.integers(len(flying)))
        value, gradient = fun(x)
        shape.tell(x, value, gradient if gradients else None)


@pytest.mark.parametrize(("gradients", "num_starts"), [(True, 3), (False, 1), (False, 3)])
def test_the_order_of_answers_has_no_effect(gradients, num_starts):
    settings = {"gradients": gradients, "num_starts": num_starts, "budget": 90}
    ordered, shuffled = make(**settings), make(**settings)
    spend(ordered, 90, gradients)
    spend_in_parallel(shuffled, np.random.default_rng(2), 90, gradients)
    one, other = ordered.result(), shuffled.result()
    assert one.trace.value.tobytes() == other.trace.value.tobytes()
    assert one.trace.calls.tobytes() == other.trace.calls.tobytes()
    assert one.fun == other.fun and shuffled.left == 0


def test_several_points_come_at_once_and_not_more_than_the_round_or_the_budget_has():
    shape = make(num_starts=3, budget=5)
    points = shape.ask(2)
    assert len(points) == 2 and not np.array_equal(*points)
    np.testing.assert_array_equal(points[0], shape.ask())
    assert len(shape.ask(9)) == 3, "a round of three particles"
    for x in reversed(shape.ask(3)):
        shape.tell(x, *fun(x))
    assert len(shape.ask(9)) == 2, "two calls are left"


def test_an_answer_before_its_turn_counts_for_the_best_at_once():
    shape = make(num_starts=3)
    x = shape.ask(3)[2]
    shape.tell(x, -1.0, np.zeros(3))
    np.testing.assert_array_equal(shape.best.x, x)
    assert shape.best.fun == -1.0 and shape.best.nfev == 1
    with pytest.raises(ValueError, match="not reported yet"):
        shape.tell(x, -1.0, np.zeros(3))


def test_the_last_answers_count_even_if_their_round_stays_open():
    shape = make(num_starts=3, budget=4)
    spend(shape, 3)
    x = shape.ask()
    shape.tell(x, -7.0, np.zeros(3))
    assert shape.result().fun == -7.0 and shape.result().nfev == 4


@pytest.mark.parametrize("gradients", [True, False])
def test_what_is_in_flight_may_be_told_in_another_process(tmp_path, gradients):
    path = tmp_path / "run.safetensors"
    settings = {"gradients": gradients, "num_starts": 3, "budget": 90}
    whole, part = make(**settings), make(**settings)
    spend(whole, 90, gradients)
    rng = np.random.default_rng(5)
    spend_in_parallel(part, rng, 40, gradients)
    flying = part.ask(2)[1]
    part.save(path)
    resumed = shapeopt.Shape.load(path)
    assert resumed.left == 50
    value, gradient = fun(flying)
    resumed.tell(flying, value, gradient if gradients else None)
    spend_in_parallel(resumed, rng, 49, gradients)
    assert resumed.result().trace.value.tobytes() == whole.result().trace.value.tobytes()


@pytest.mark.parametrize("n", [0, -1, 2.5, True])
def test_how_many_points_are_asked_for_is_a_whole_number(n):
    with pytest.raises(ValueError, match="`n`"):
        make().ask(n)


@pytest.mark.parametrize(
    ("value", "gradient", "message"),
    [
        (1.0, [1.0], "`gradient` must have as many numbers as `x`, 2; got 1"),
        (1.0, 1.0, "`gradient` must have as many numbers as `x`, 2; got 1"),
        ("a", [1.0, 1.0], "`value` must be a real number; got 'a'"),
        (None, [1.0, 1.0], "`value` must be a real number; got None"),
    ],
)
def test_a_wrong_answer_is_named_and_leaves_the_point_open(value, gradient, message):
    shape = shapeopt.Shape([1.0, 2.0], budget=9)
    x = shape.ask()
    with pytest.raises(ValueError, match=message):
        shape.tell(x, value, gradient)
    shape.tell(x, 5.0, [2.0, 4.0])
    assert shape.best.fun == 5.0 and shape.left == 8
