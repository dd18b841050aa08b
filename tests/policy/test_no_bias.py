"""The universal policy favours neither the centre of the box, nor its axes, nor a scale of f or of x."""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import wilcoxon

from shapeopt.core import Box
from shapeopt.oracles import ExactOracle
from shapeopt.policy import UniversalPolicy
from shapeopt.rollout import rollout
from shapeopt.shape import ShapeOptimizer

D, RUNS, CALLS, WELLS = 4, 128, 100, 6
RNG = np.random.default_rng(0)


def in_ball(*shape: int) -> np.ndarray:
    """Points within 1.5 of the origin: inside the box, turned in any way or moved by less than 3.5."""
    z = RNG.normal(size=(*shape, D))
    return 1.5 * RNG.uniform(size=(*shape, 1)) ** (1 / D) * z / np.linalg.norm(z, axis=-1, keepdims=True)


CENTRES, STARTS = in_ball(RUNS, WELLS), in_ball(RUNS)


def wells(x: jax.Array, centres: jax.Array) -> jax.Array:
    """Round wells, the first of them the deepest, on a round bowl: a landscape without axes."""
    depths = jnp.asarray([1.0, 0.9, 0.85, 0.8, 0.75, 0.7])
    return jnp.min(-depths / (1.0 + 4.0 * jnp.sum((x - centres) ** 2, axis=1)))


@functools.cache
def compiled() -> Callable:
    """Best values of a f(x / scale), one run a row."""
    optimizer = ShapeOptimizer(UniversalPolicy(), record_energy=False)

    def run(centres: jax.Array, x0: jax.Array, key: jax.Array, a: jax.Array, scale: jax.Array, box: Box) -> jax.Array:
        oracle = ExactOracle(lambda x: a * wells(x / scale, centres))
        return rollout(optimizer, oracle, scale * x0, box, CALLS, key).best.value / a

    return jax.jit(jax.vmap(run, (0, 0, 0, None, None, None)))


def log_gaps(centres: np.ndarray, starts: np.ndarray, a: float = 1.0, scale: float = 1.0) -> np.ndarray:
    """log10 of the best gap of a f(x / scale) in the box [-5, 5]^d times `scale`, one run a row."""
    side = np.full(D, 5.0 * scale)
    keys = jax.random.split(jax.random.key(1), RUNS)
    box = jax.tree.map(jnp.asarray, Box.around(-side, side))
    best = compiled()(jnp.asarray(centres), jnp.asarray(starts), keys, jnp.asarray(a), jnp.asarray(scale), box)
    return np.log10(np.maximum(np.asarray(best) + 1.0, 0.0) + 1e-10)


def assert_alike(one: np.ndarray, other: np.ndarray) -> None:
    assert wilcoxon(one, other).pvalue > 0.01, f"medians {np.median(one):.2f} and {np.median(other):.2f}"


def test_the_runs_tell_good_from_bad():
    nearer = log_gaps(0.3 * CENTRES, 0.3 * STARTS)
    assert wilcoxon(log_gaps(CENTRES, STARTS), nearer).pvalue < 0.001


def test_minima_near_a_corner_are_found_as_well_as_those_around_the_centre():
    corner = 3.4 * np.sign(RNG.normal(size=(RUNS, D)))
    assert_alike(log_gaps(CENTRES, STARTS), log_gaps(CENTRES + corner[:, None], STARTS + corner))


def test_turned_axes_change_nothing_where_the_landscape_has_none():
    turns = np.linalg.qr(RNG.normal(size=(RUNS, D, D)))[0]
    turned = np.einsum("nij,nkj->nki", turns, CENTRES), np.einsum("nij,nj->ni", turns, STARTS)
    assert_alike(log_gaps(CENTRES, STARTS), log_gaps(*turned))


@pytest.mark.parametrize(("a", "scale"), [(1e6, 1.0), (1e-6, 1.0), (1.0, 1e6), (1.0, 1e-6)])
def test_the_scale_of_f_and_of_x_changes_nothing_that_a_paired_test_sees(a, scale):
    assert_alike(log_gaps(CENTRES, STARTS), log_gaps(CENTRES, STARTS, a, scale))
