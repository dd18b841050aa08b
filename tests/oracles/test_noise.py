"""First-order oracles: what the noise law says, minibatches, and refusals."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.oracles import (
    AdditiveNoise,
    CoordinateDifferenceOracle,
    ExactOracle,
    MinibatchOracle,
    NoisyOracle,
)

G = np.array([1.0, -3.0, 0.0])


def draws(noise, n=40_000):
    keys = jax.random.split(jax.random.key(0), n)
    return np.asarray(jax.jit(jax.vmap(lambda key: noise(jnp.asarray(G), key)))(keys))


def test_gaussian_noise_has_the_spread_asked_for():
    np.testing.assert_allclose(draws(AdditiveNoise(0.3)).std(0), 0.3, rtol=0.02)


def test_value_noise_is_unbiased_and_has_its_own_spread():
    oracle = NoisyOracle(lambda q: q @ q, AdditiveNoise(0.0), value_sigma=0.5)
    q = jnp.asarray([1.0, 2.0])
    read = jax.jit(jax.vmap(lambda key: oracle.read(oracle.init(key), q)[1]))
    readings = read(jax.random.split(jax.random.key(1), 20_000))
    assert abs(float(readings.value.mean()) - 5.0) < 4.5 * 0.5 / np.sqrt(20_000)
    np.testing.assert_allclose(readings.value.std(), 0.5, rtol=0.03)
    np.testing.assert_allclose(readings.gradient, np.broadcast_to(2 * q, (20_000, 2)))


def test_noise_wraps_any_oracle_and_keeps_its_cost():
    inner = CoordinateDifferenceOracle(lambda q: q @ q, directions=3)
    oracle = NoisyOracle(inner, AdditiveNoise(0.0))
    _, reading = oracle.read(oracle.init(jax.random.key(0)), jnp.asarray(G))
    assert oracle.cost == int(reading.cost) == 7
    np.testing.assert_allclose(reading.gradient, 2 * G, atol=1e-8)


def test_the_noise_level_may_be_traced():
    def spread(sigma):
        oracle = NoisyOracle(lambda q: q @ q, AdditiveNoise(sigma))
        return oracle.read(oracle.init(jax.random.key(0)), jnp.ones(2))[1].gradient - 2

    one, two = jax.jit(jax.vmap(spread))(jnp.asarray([1.0, 2.0]))
    np.testing.assert_allclose(two, 2 * one, rtol=1e-12)


def test_a_full_batch_is_the_whole_objective_and_batches_repeat_no_index():
    data = jnp.asarray([1.0, 2.0, 4.0, 8.0])
    full = MinibatchOracle(lambda q, i: jnp.mean((q[0] - data[i]) ** 2), size=4, batch=4)
    _, reading = full.read(full.init(jax.random.key(0)), jnp.zeros(1))
    np.testing.assert_allclose([reading.value, reading.gradient[0]], [85 / 4, -2 * 15 / 4])
    distinct = MinibatchOracle(lambda q, i: 0 * q[0] + jnp.sum(jnp.exp2(i.astype(q.dtype))), size=8, batch=3)
    for seed in range(10):
        value = round(float(distinct.read(distinct.init(jax.random.key(seed)), jnp.zeros(1))[1].value))
        assert value.bit_count() == 3


def test_nan_and_infinity_pass_through_an_exact_oracle():
    for bad in (jnp.nan, jnp.inf, -jnp.inf):
        oracle = ExactOracle(lambda q, bad=bad: q[0] * bad)
        _, reading = oracle.read(oracle.init(jax.random.key(0)), jnp.ones(2))
        np.testing.assert_equal(float(reading.value), bad)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: AdditiveNoise(-1.0), "`sigma` must be finite and not negative; got -1.0"),
        (lambda: NoisyOracle(jnp.sum, AdditiveNoise(0.1), -0.5), "`value_sigma` must be .*got -0.5"),
        (lambda: MinibatchOracle(jnp.sum, 4, 5), "`batch` must lie between 1 and `size` = 4; got 5"),
        (lambda: MinibatchOracle(jnp.sum, 4, 0), "`batch` must lie between 1 and `size` = 4; got 0"),
    ],
)
def test_wrong_construction_names_the_argument_and_the_value(make, message):
    with pytest.raises(ValueError, match=message):
        make()
