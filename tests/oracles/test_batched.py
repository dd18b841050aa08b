"""Vectorised objectives: whole rounds in one go, every point a call, the same run as point by point."""

import jax.numpy as jnp
import numpy as np
import pytest

import shapeopt
from shapeopt.oracles import Rows

BOX = [(-3, 3)] * 2
X0 = np.array([2.0, -1.5])


class Vectorised:
    def __init__(self):
        self.sizes = []
        self.points = []

    def values(self, x):
        x = np.asarray(x)
        self.sizes.append(len(x))
        self.points.extend(x.copy())
        return (x * x + 1 - np.cos(4 * x)).sum(axis=1)

    def gradients(self, x):
        x = np.asarray(x)
        return 2 * x + 4 * np.sin(4 * x)

    def pairs(self, x):
        return self.values(x), self.gradients(x)


def one(many):
    """The same function of one point."""

    def fun(x):
        answer = many(np.asarray(x)[None])
        return (answer[0][0], answer[1][0]) if isinstance(answer, tuple) else answer[0]

    return fun


@pytest.mark.parametrize("num_starts", [1, 3])
@pytest.mark.parametrize("jac", [None, True, "callable"])
def test_a_vectorised_run_is_the_run_point_by_point_in_fewer_calls_of_the_function(jac, num_starts):
    many, single = Vectorised(), Vectorised()
    settings = {"bounds": BOX, "budget": 64, "seed": 1, "num_starts": num_starts}
    fun = "pairs" if jac is True else "values"
    gradient, slope = (many.gradients, one(single.gradients)) if jac == "callable" else (jac, jac)
    together = shapeopt.minimize(getattr(many, fun), X0, jac=gradient, batched=True, **settings)
    alone = shapeopt.minimize(one(getattr(single, fun)), X0, jac=slope, **settings)
    np.testing.assert_array_equal(together.trace.value, alone.trace.value)
    assert together.nfev == alone.nfev == sum(many.sizes) == len(single.sizes) <= 64
    np.testing.assert_array_equal(np.sort(many.points, axis=0), np.sort(single.points, axis=0))
    if num_starts > 1:  # a single particle asks for one point at a time
        assert len(many.sizes) < len(single.sizes) / 2


def test_a_vectorised_jax_function_is_compiled():
    asked = []

    def values(x):
        asked.append(x.shape)
        return jnp.sum((x - 0.5) ** 2, axis=1)

    result = shapeopt.minimize(values, X0, bounds=BOX, budget=100, batched=True)
    assert result.nfev == 100 and len(asked) < 10 and result.fun < 1e-12


def test_a_place_that_is_read_again_is_asked_again():
    rng = np.random.default_rng(0)
    many = Vectorised()

    def noisy(x):
        values, gradients = many.pairs(x)
        return values + rng.normal(size=len(values)), gradients + rng.normal(size=gradients.shape)

    result = shapeopt.minimize(noisy, X0, jac=True, bounds=BOX, budget=60, batched=True)
    assert result.nfev == sum(many.sizes) == 60


def test_a_place_that_is_asked_for_twice_has_two_answers():
    numbers = iter(range(10))
    rows = Rows(lambda x: np.array([next(numbers) for _ in x]))
    place = np.zeros(2)
    rows.fetch(np.array([place, place]))
    assert [rows(place) for _ in range(3)] == [0, 1, 2], "the third is asked anew"
    rows.fetch(place[None])
    rows.fetch(np.ones((1, 2)))
    assert rows(place) == 5, "an answer does not outlive its round"


def test_an_exception_costs_its_points_and_can_be_skipped():
    many = Vectorised()

    def breaks(x):
        values = many.values(x)
        if len(many.sizes) == 3:
            raise RuntimeError("the simulator broke")
        return values

    with pytest.raises(RuntimeError, match="simulator") as raised:
        shapeopt.minimize(breaks, X0, bounds=BOX, budget=60, batched=True)
    assert np.isfinite(raised.value.shapeopt_result.fun)
    many.sizes.clear()
    result = shapeopt.minimize(breaks, X0, bounds=BOX, budget=60, batched=True, on_error="skip")
    assert np.isfinite(result.fun) and result.nfev <= 60


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"fun": lambda x: 0.0}, "rows"),
        ({"x0": np.zeros((2, 2))}, "x0"),
        ({"jac": "2-point"}, "jac"),
        ({"call_timeout": 3.0}, "call_timeout"),
        ({"fun": 3}, "fun"),
    ],
)
def test_wrong_arguments_are_named(settings, words):
    with pytest.raises(ValueError, match=words):
        shapeopt.minimize(**{"fun": Vectorised().values, "x0": X0, "batched": True, **settings})
