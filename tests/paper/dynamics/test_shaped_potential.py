"""The shaped potential against a plain NumPy sum and against autodiff."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shapeopt.paper.dynamics import Centres, ShapedPotential


def _draw(rng, d, count, dtype):
    spread = np.sqrt(d)
    points = rng.standard_normal((count, d)).astype(dtype)
    heights = rng.uniform(-1, 2, count).astype(dtype)
    return Centres(*map(jnp.asarray, (points, heights, (spread * rng.uniform(0.5, 3, count)).astype(dtype))))


def _reference(q, q_bar, kappa, memory, barrier):
    total = 0.5 * kappa * sum((q - q_bar) ** 2)
    for c, height, width in zip(memory.points, memory.heights, memory.widths, strict=True):
        total += height * np.exp(-sum((q - c) ** 2) / (2 * width**2))
    for c, height, width in zip(barrier.points, barrier.heights, barrier.widths, strict=True):
        total += height * max(0.0, 1 - sum((q - c) ** 2) / width**2) ** 2
    return total


@given(
    st.integers(1, 200),
    st.sampled_from([(0, 0), (3, 0), (0, 2), (5, 4)]),
    st.sampled_from([np.float32, np.float64]),
    st.integers(0, 2**32 - 1),
)
@settings(max_examples=15)
def test_value_is_the_plain_sum_and_gradient_is_its_derivative(d, counts, dtype, seed):
    rng = np.random.default_rng(seed)
    q, q_bar = (jnp.asarray(rng.standard_normal(d).astype(dtype)) for _ in range(2))
    memory, barrier = (_draw(rng, d, count, dtype) for count in counts)
    potential = ShapedPotential(q_bar, jnp.asarray(1.7, dtype), memory, barrier)
    value, gradient, derivative = jax.jit(lambda U, q: (U.value(q), U.gradient(q), jax.grad(U.value)(q)))(potential, q)
    assert value.dtype == gradient.dtype == dtype
    wide = jax.tree.map(lambda a: np.asarray(a, np.float64), potential)
    expected = _reference(np.asarray(q, np.float64), wide.q_bar, wide.kappa, wide.memory, wide.barrier)
    rtol = 100 * np.finfo(dtype).eps
    np.testing.assert_allclose(value, expected, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(gradient, derivative, rtol=rtol, atol=rtol)


def test_inactive_centres_are_harmless_whatever_they_hold():
    q = jnp.array([0.3, -0.2])
    junk = Centres(jnp.full((2, 2), jnp.inf).at[1].set(jnp.nan), jnp.zeros(2), jnp.zeros(2))
    potential = ShapedPotential(q, jnp.zeros(()), junk, junk)
    assert potential.value(q) == 0
    assert not potential.gradient(q).any()
    assert not jax.grad(potential.value)(q).any()


def test_barrier_vanishes_outside_its_radius_and_meets_it_smoothly():
    barrier = Centres(jnp.zeros((1, 2)), jnp.array([3.0]), jnp.array([2.0]))
    potential = ShapedPotential(jnp.zeros(2), jnp.zeros(()), Centres.none(2, barrier.points.dtype), barrier)
    assert potential.value(jnp.zeros(2)) == 3.0
    outside, just_inside = jnp.array([2.0, 0.1]), jnp.array([2.0 - 1e-6, 0.0])
    assert potential.value(outside) == 0 and not potential.gradient(outside).any()
    assert 0 < -potential.gradient(just_inside)[0] < 1e-4


def test_memory_pushes_away_from_a_visited_basin():
    memory = Centres(jnp.zeros((1, 2)), jnp.array([1.0]), jnp.array([1.0]))
    potential = ShapedPotential(jnp.zeros(2), jnp.zeros(()), memory, Centres.none(2, memory.points.dtype))
    q = jnp.array([0.5, 0.0])
    assert potential.gradient(q)[0] < 0 and potential.value(q) < potential.value(0 * q)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_no_shaping_adds_nothing(dtype):
    q = jnp.array([1.0, 2.0], dtype)
    potential = ShapedPotential.none(q)
    assert potential.value(q + 1) == 0 and not potential.gradient(q + 1).any()
    assert potential.gradient(q).dtype == dtype
