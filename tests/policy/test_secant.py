"""The secant metric: what it equals, that it stays positive definite, that it forgets."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapeopt.policy.secant import SecantMetric, SecantPairs


def random_pairs(seed, d, count, spread=1.0):
    rng = np.random.default_rng(seed)
    B = rng.normal(size=(d, d))
    hessian = B @ B.T / d + 0.1 * np.diag(10.0 ** rng.uniform(-spread, spread, d))
    moves = rng.normal(size=(count, d)) * 10.0 ** rng.uniform(-4, 1, (count, 1))
    return [(s, hessian @ s) for s in moves]


def dense_inverse(pairs, gamma, d):
    """BFGS updates of gamma I, one after another (Nocedal and Wright, eq. 6.17)."""
    H = gamma * np.eye(d)
    for s, y in pairs:
        rho = 1.0 / (s @ y)
        V = np.eye(d) - rho * np.outer(y, s)
        H = V.T @ H @ V + rho * np.outer(s, s)
    return H


def filled(pairs, capacity, d, dtype=np.float64):
    held = SecantPairs.empty(capacity, d, dtype)
    for s, y in pairs:
        held = held.add(jnp.asarray(s, dtype), jnp.asarray(y, dtype), jnp.ones((), bool))
    return held


@pytest.mark.parametrize(("d", "count"), [(1, 3), (5, 2), (5, 11), (80, 7)])
def test_solve_equals_the_dense_bfgs_product_of_the_last_pairs(d, count):
    pairs = random_pairs(0, d, count)
    held = filled(pairs, 4, d)
    H = dense_inverse(pairs[-4:], 0.3, d)
    v = np.random.default_rng(1).normal(size=d)
    np.testing.assert_allclose(held.solve(jnp.asarray(v), jnp.asarray(0.3)), H @ v, rtol=1e-8, atol=1e-10)


@given(seed=st.integers(0, 10_000), d=st.integers(1, 200), dtype=st.sampled_from([np.float32, np.float64]))
def test_metric_is_positive_definite_and_symmetric(seed, d, dtype):
    held = filled(random_pairs(seed, d, 6, spread=0.5), 4, d, dtype)
    rng = np.random.default_rng(seed)
    free = jnp.asarray(rng.uniform(size=d) < 0.8)
    metric = SecantMetric(held, jnp.asarray(0.5, dtype), free, jnp.asarray(2.0, dtype))
    v, w = jnp.asarray(rng.normal(size=(2, d)), dtype)
    assert jnp.dot(v, metric.solve(v)) > 0
    left, right = jnp.dot(w, metric.solve(v)), jnp.dot(v, metric.solve(w))
    size = jnp.linalg.norm(v) * jnp.linalg.norm(metric.solve(w)) + jnp.linalg.norm(w) * jnp.linalg.norm(metric.solve(v))
    assert abs(left - right) <= 2e3 * np.finfo(dtype).eps * size


def test_inactive_pairs_change_nothing_and_forgotten_ones_have_no_effect():
    held = filled(random_pairs(2, 6, 3), 4, 6)
    v, gamma = jnp.arange(6.0), jnp.asarray(0.7)
    same = held.add(-jnp.ones(6), jnp.ones(6), jnp.zeros((), bool))
    np.testing.assert_array_equal(same.solve(v, gamma), held.solve(v, gamma))
    np.testing.assert_allclose(held.forget(jnp.ones((), bool)).solve(v, gamma), gamma * v)
    after = held.forget(jnp.ones((), bool)).add(2.0 * jnp.ones(6), jnp.ones(6), jnp.ones((), bool))
    np.testing.assert_allclose(after.solve(v, gamma), dense_inverse([(2 * np.ones(6), np.ones(6))], 0.7, 6) @ v)


def test_held_coordinates_do_not_mix_with_free_ones():
    held = filled(random_pairs(3, 4, 3), 4, 4)
    free = jnp.asarray([True, False, True, True])
    metric = SecantMetric(held, jnp.asarray(0.5), free, jnp.asarray(1.0))
    out = metric.solve(jnp.asarray([0.0, 1.0, 0.0, 0.0]))
    np.testing.assert_array_equal(out, [0.0, 0.5, 0.0, 0.0])
