"""`universal` samples where basins are small for the box, and nowhere else."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from shapeopt.oracles import ExactOracle
from shapeopt.policy import UniversalPolicy
from shapeopt.policy.moves import KINDS, moves_few
from shapeopt.rollout import rollout
from shapeopt.shape import ShapeOptimizer
from shapeopt.tasks import cube

D, RUNS = 10, 8
TURN = np.linalg.qr(np.random.default_rng(0).normal(size=(D, D)))[0]
CENTRES = np.random.default_rng(1).uniform(-5, 5, size=(12, D))
DEPTHS = np.linspace(1.0, 2.0, 12)


def ripples(x: jax.Array) -> jax.Array:
    """Ackley's function in turned axes: basins are a tenth of the box wide."""
    z = TURN @ (x - 1.0)
    return -20.0 * jnp.exp(-0.2 * jnp.sqrt(jnp.mean(z**2) + 1e-9)) - jnp.exp(jnp.mean(jnp.cos(2 * jnp.pi * z)))


def wells(x: jax.Array) -> jax.Array:
    """Bowls whose lower envelope leaves basins as wide as the distances of their centres."""
    return jnp.min(jnp.mean((x - CENTRES) ** 2, axis=1) + DEPTHS)


def samples(f: Callable, budget: int) -> np.ndarray:
    """How many readings each of some runs sampled with."""

    def one(key: jax.Array) -> jax.Array:
        start, run = jax.random.split(key)
        x0 = jax.random.uniform(start, (D,), minval=-5.0, maxval=5.0)
        optimizer = ShapeOptimizer(UniversalPolicy(), record_energy=False)
        end = rollout(optimizer, ExactOracle(f), x0, cube(D, 5.0, "float64"), budget, run).end
        return end.state.policy.sampler.read

    return np.asarray(jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(0), RUNS)))


def test_small_basins_are_sampled_around():
    assert np.mean(samples(ripples, 150) > 0) >= 0.75


def test_wide_basins_are_not_though_moves_into_them_are_short():
    assert not samples(wells, 150).any()


def test_moves_of_few_coordinates_are_told_from_others_and_from_stations():
    found = [bool(moves_few(jnp.asarray(kind))) for kind in range(-9, len(KINDS))]
    assert found == [False] * 9 + [kind.few for kind in KINDS]
