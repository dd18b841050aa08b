"""Local descent, and the two functions that a reader becomes for libraries that ask value and gradient apart."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.core import Box
from shapeopt.oracles import CoordinateDifferenceOracle, ExactOracle, Reader
from shapeopt.peers.descent import SplitReadings, descend


def bowl(q):
    return jnp.sum((q - 0.5) ** 4 + 0.3 * (q - 0.5) ** 2)


def reader(oracle) -> Reader:
    return Reader(oracle, Box.around(np.full(3, -5.0), np.full(3, 5.0)), 100, jax.random.key(0))


def test_a_value_with_its_gradient_is_one_call_of_a_first_order_oracle():
    read, x = reader(ExactOracle(bowl)), np.array([1.0, -2.0, 0.25])
    split = SplitReadings(read)
    assert split.value(x) == pytest.approx(float(bowl(jnp.asarray(x))), rel=1e-13)
    x_later = x.copy()
    x[:] = 0  # a library may reuse its array
    np.testing.assert_allclose(split.gradient(x_later), jax.grad(bowl)(jnp.asarray(x_later)), rtol=1e-12)
    assert read.calls == 1
    np.testing.assert_allclose(split.gradient(x), jax.grad(bowl)(jnp.asarray(x)), rtol=1e-12)
    assert read.calls == 2


def test_values_of_a_value_only_oracle_are_not_charged_for_gradients_that_nobody_asks_for():
    read, x = reader(CoordinateDifferenceOracle(bowl, 3)), np.array([1.0, -2.0, 0.25])
    split = SplitReadings(read)
    split.value(x)
    assert read.calls == 1
    np.testing.assert_allclose(split.gradient(x), jax.grad(bowl)(jnp.asarray(x)), rtol=1e-7, atol=1e-9)
    assert read.calls == 8


def test_a_looser_tolerance_ends_a_descent_earlier_and_higher():
    tight, loose = reader(ExactOracle(bowl)), reader(ExactOracle(bowl))
    start = np.array([4.0, -3.0, 2.0])
    low, high = descend(tight, start, tight.lower, tight.upper), descend(loose, start, loose.lower, loose.upper, 1e-1)
    assert loose.calls < tight.calls
    assert low.fun < 1e-8 < high.fun
    np.testing.assert_allclose(low.x, 0.5, atol=1e-4)
