"""SGHMC: a heavy ball without noise, a sampler of exp(-f / T) with it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.baselines import SGHMC, Momentum, make_baseline
from shapeopt.core import Box
from shapeopt.oracles import ExactOracle
from shapeopt.rollout import rollout


def bowl(x):
    return 0.5 * jnp.sum(jnp.array([1.0, 2.0, 4.0]) * x**2)


def points(optimizer, steps, key):
    wide = Box.around(np.full(3, -1e3), np.full(3, 1e3))
    return rollout(optimizer, ExactOracle(bowl), jnp.ones(3), wide, steps, key, record_points=True).steps.x


def test_at_temperature_zero_it_is_the_heavy_ball_it_was_derived_from():
    ball = make_baseline("momentum", "ackley")
    derived = make_baseline("sghmc", "ackley")
    assert isinstance(ball, Momentum) and isinstance(derived, SGHMC) and derived.temperature == 1.0
    cold = SGHMC(derived.eta, derived.gamma, 0.0)
    key = jax.random.key(0)
    run = jax.jit(lambda key: (points(cold, 100, key), points(ball, 100, key)))
    np.testing.assert_allclose(*run(key), rtol=0, atol=1e-12)


@pytest.mark.parametrize("temperature", [1.0, 0.25])
def test_positions_settle_to_the_boltzmann_law(temperature):
    """On a bowl with curvature c the variance is T / c, up to the step's error of about eta^2 c / 4."""
    optimizer = SGHMC(0.1, 1.0, temperature)
    chains = jax.jit(jax.vmap(lambda key: points(optimizer, 300, key)[150::10]))(
        jax.random.split(jax.random.key(1), 400)
    )
    variance = np.asarray(chains).reshape(-1, 3).var(axis=0)
    np.testing.assert_allclose(variance, temperature / np.array([1.0, 2.0, 4.0]), rtol=0.1)


def test_damping_beyond_one_step_is_refused():
    with pytest.raises(ValueError, match=r"`gamma` must be positive and at most 2.0; got 3.0"):
        SGHMC(0.5, 3.0)
