"""Gated work changes what it should, and in a batch only there."""

import jax
import jax.numpy as jnp
import numpy as np

from shapeopt.core import when


def test_work_is_done_where_it_is_active_alone():
    add = lambda active, x: when(active, lambda pair: (pair[0] + 1.0, -pair[1]), (x, 2.0 * x))  # noqa: E731
    active, x = jnp.asarray([True, False, True]), jnp.arange(3.0)
    first, second = jax.jit(jax.vmap(add))(active, x)
    np.testing.assert_array_equal(first, [1.0, 1.0, 3.0])
    np.testing.assert_array_equal(second, [0.0, 2.0, -4.0])


def test_nothing_runs_where_nothing_is_active():
    ran = []

    def work(x: jax.Array) -> jax.Array:
        jax.debug.callback(lambda: ran.append(1))
        return x

    step = jax.jit(jax.vmap(lambda active: when(active, work, jnp.zeros(()))))
    jax.block_until_ready(step(jnp.zeros(4, bool)))
    jax.effects_barrier()
    assert not ran
    jax.block_until_ready(step(jnp.asarray([False, True, False, False])))
    jax.effects_barrier()
    assert ran
