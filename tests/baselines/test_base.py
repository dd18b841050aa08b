"""The step that descents share: gradients are made harmless, points are projected, hyperparameters are the identity."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.baselines import GradientDescent, Lookahead, Momentum
from shapeopt.baselines.base import usable_gradient
from shapeopt.core import Box, Reading


def reading(value, gradient, dtype=jnp.float64):
    return Reading(jnp.asarray(value, dtype), jnp.asarray(gradient, dtype), jnp.ones((), jnp.int32))


@pytest.mark.parametrize(("value", "gradient"), [(np.nan, [1.0, 2.0]), (1.0, [np.nan, 2.0]), (1.0, [-np.inf, 2.0])])
def test_a_reading_that_is_not_finite_counts_as_a_zero_gradient(value, gradient):
    np.testing.assert_array_equal(usable_gradient(reading(value, gradient), jnp.ones(2)), [0.0, 0.0])


def test_ordinary_gradients_pass_and_huge_ones_keep_sign_and_finite_squares():
    g = usable_gradient(reading(0.0, [1.25, 3e38], jnp.float32), jnp.ones(2, jnp.float32))
    assert g.dtype == jnp.float32 and g[0] == 1.25 and g[1] > 1e9
    assert np.isfinite(np.float32(1000) * g[1] ** 2)


def test_a_step_over_the_bound_ends_on_it_and_the_velocity_is_kept():
    box = Box.around(np.array([-1.0, -np.inf]), np.array([1.0, np.inf]))
    optimizer = Momentum(0.5, 0.9)
    state = optimizer.init(jnp.array([0.5, 0.5]), box, 3, jax.random.key(0))
    state = optimizer.tell(state, reading(0.0, [-4.0, -4.0]))
    np.testing.assert_allclose(optimizer.ask(state), [1.0, 2.5])
    state = optimizer.tell(state, reading(0.0, [0.0, 0.0]))
    np.testing.assert_allclose(optimizer.ask(state), [1.0, 2.5 + 0.5 * 0.9 * 4.0])


def test_lookahead_starts_a_cycle_inside_the_box():
    """Were the slow point the unclipped sum, the second cycle would end elsewhere."""
    box = Box.around(np.array([-1.0]), np.array([1.0]))
    optimizer = Lookahead(GradientDescent(1.0), period=1, alpha=0.5)
    state = optimizer.init(jnp.array([0.0]), box, 3, jax.random.key(0))
    state = optimizer.tell(state, reading(0.0, [-6.0]))  # 0 + (6 - 0) / 2 = 3, clipped to 1
    np.testing.assert_allclose(optimizer.ask(state), [1.0])
    state = optimizer.tell(state, reading(0.0, [1.0]))  # 1 + (0 - 1) / 2
    np.testing.assert_allclose(optimizer.ask(state), [0.5])


def test_equal_settings_are_one_optimizer_to_the_compiler():
    assert Momentum(0.1, 0.9) == Momentum(0.1, 0.9) and hash(Momentum(0.1, 0.9)) == hash(Momentum(0.1, 0.9))
    assert Momentum(0.1, 0.9) != Momentum(0.1, 0.8)
