"""Reverse mode hands on a bounded derivative from one reading of a run to the one before."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from shapeopt.paper.training.adjoint import bounded

LIMIT = 0.5


class Runs(eqx.Module):
    """What `bounded` needs of a state: q, other arrays, and whole numbers that have no derivative."""

    q: Float[Array, "batch d"]
    kappa: Float[Array, " batch"]
    age: Int[Array, " batch"]


def adjoints(q_slopes, kappa_slopes, limit=LIMIT):
    """The derivatives by q and kappa of sum(q_slopes q) + sum(kappa_slopes kappa), behind the bound."""
    slopes = jnp.asarray(q_slopes), jnp.asarray(kappa_slopes)

    def loss(q, kappa):
        runs = bounded(Runs(q, kappa, jnp.zeros(len(kappa), jnp.int32)), limit)
        return jnp.sum(slopes[0] * runs.q) + jnp.sum(slopes[1] * runs.kappa)

    return jax.grad(loss, (0, 1))(jnp.ones_like(slopes[0]), jnp.ones_like(slopes[1]))


def test_states_pass_unchanged():
    runs = Runs(jnp.array([[1.0, jnp.inf]]), jnp.array([3.0]), jnp.array([7], jnp.int32))
    assert eqx.tree_equal(bounded(runs, LIMIT), runs)


def test_a_long_adjoint_is_shortened_as_a_whole_and_leaves_other_runs_alone():
    q, kappa = adjoints([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]], [10.0, 10.0, 10.0])
    np.testing.assert_allclose(q, [[0.3, 0.4], [0.3, 0.4], [0.0, 0.0]], rtol=1e-12)
    np.testing.assert_allclose(kappa, [1.0, 10.0, 10.0], rtol=1e-12)


def test_a_run_whose_adjoint_is_not_finite_is_left_out():
    q, kappa = adjoints([[np.inf, 1.0], [np.nan, 1.0], [0.3, 0.4]], [np.nan, 1.0, 2.0])
    np.testing.assert_array_equal(q, [[0.0, 0.0], [0.0, 0.0], [0.3, 0.4]])
    np.testing.assert_array_equal(kappa, [0.0, 0.0, 2.0])


def test_squares_of_a_long_adjoint_do_not_overflow():
    q, _ = adjoints([[3e200, 4e200]], [0.0])
    np.testing.assert_allclose(q, [[0.3, 0.4]], rtol=1e-12)


def test_a_chaotic_recursion_has_a_bounded_gradient():
    """x -> 4 x (1 - x) doubles a difference at every step: 2^2000 is beyond any float."""

    def loss(x0, limit):
        def step(runs, _):
            runs = runs if limit is None else bounded(runs, limit)
            return Runs(4.0 * runs.q * (1.0 - runs.q), runs.kappa, runs.age), None

        start = Runs(x0, jnp.zeros(1), jnp.zeros(1, jnp.int32))
        return jnp.sum(jax.lax.scan(step, start, length=2000)[0].q)

    x0 = jnp.array([[0.3]])
    assert not np.isfinite(jax.grad(loss)(x0, None)).all()
    assert np.abs(jax.grad(loss)(x0, LIMIT)).max() <= LIMIT
