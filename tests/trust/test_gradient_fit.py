"""A gradient that is not the value's is noticed and reported, a right one never, and neither costs a call."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from trust_objectives import START, Counted, gradient, ripples, traceable, value

import shapeopt
from shapeopt.core.gradient_fit import fit_gradients

WRONG = {
    "sign": lambda g: -g,
    "factor 2": lambda g: 2 * g,
    "factor 1/2": lambda g: 0.5 * g,
    "nothing": lambda g: 0 * g,
    "order": lambda g: g[::-1],
    "offset": lambda g: g + 30.0,
}


def kink(x):
    x = np.asarray(x)
    return float(np.sum(np.abs(x - 0.3))), np.sign(x - 0.3)


def valley(x):
    x = np.asarray(x)
    a = x[1] - x[0] ** 2
    return float(100 * a * a + (1 - x[0]) ** 2), np.array([-400 * x[0] * a - 2 * (1 - x[0]), 200 * a])


def minimize(fun, jac=True, **settings):
    return shapeopt.minimize(fun, START, bounds=(-5, 5), jac=jac, **{"budget": 120, **settings})


@pytest.mark.parametrize("fun", [ripples, valley, kink])
@pytest.mark.parametrize("seed", range(3))
def test_a_right_gradient_agrees(fun, seed):
    counted = Counted(fun)
    result = minimize(counted, seed=seed)
    assert result.gradient_fit is None or result.gradient_fit.agrees
    assert "gradient" not in result.message and counted.calls == 120


def test_a_right_gradient_with_noise_is_called_noisy_and_not_wrong():
    rng = np.random.default_rng(0)
    message = minimize(lambda x: (value(x), gradient(x) + rng.normal(size=2))).message
    assert "noisy" in message and "does not agree" not in message


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("fun", [ripples, valley])
def test_a_wrong_gradient_is_reported(fun, name):
    result = minimize(lambda x: (fun(x)[0], WRONG[name](fun(x)[1])))
    assert not result.gradient_fit.agrees and result.gradient_fit.moves >= 4
    assert "gradient does not agree with the values" in result.message
    assert result.success, "a report, not a failure: the best point is still the best seen"


@pytest.mark.parametrize("factor", [1.0, -1.0])
def test_compiled_and_particle_runs_are_judged_as_well(factor):
    pair = jax.jit(lambda x: (traceable(x), factor * jax.grad(traceable)(x)))
    assert minimize(pair).gradient_fit.agrees is (factor == 1.0)
    swarm = minimize(lambda x: (value(x), factor * gradient(x)), num_starts=3)
    assert swarm.gradient_fit.agrees is (factor == 1.0)


def test_nothing_is_said_where_no_gradient_was_given_or_its_noise_is_known():
    assert minimize(value, None).gradient_fit is None
    assert minimize(lambda x: jnp.sum(x * x), None).gradient_fit is None
    assert minimize(lambda x: (value(x), -gradient(x)), noise=0.5).gradient_fit is None


def test_the_ratio_is_that_of_the_values_to_the_gradient():
    rng = np.random.default_rng(1)
    points = np.cumsum(0.01 * rng.normal(size=(40, 3)), axis=0) + 1.0
    values, gradients = np.sum(points**2, axis=1), 2 * points
    assert fit_gradients(points, values, 4 * gradients, 1).ratio == pytest.approx(0.25)
    assert fit_gradients(points, values, gradients, 2).ratio == pytest.approx(1.0)
    assert fit_gradients(points[:4], values[:4], gradients[:4], 1) is None
    assert fit_gradients(points, np.full(40, np.nan), gradients, 1) is None


def test_gradients_that_are_never_finite_are_said():
    result = minimize(lambda x: (value(x), np.full(len(x), np.nan)))
    assert not result.gradient_fit.agrees and result.gradient_fit.moves == 0
    assert "No gradient was finite" in result.message
