"""The blockwise memory summarises blocks of coordinates in O(d), free of the objective's units."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.paper.memory import BlockwiseMemory, make_spatial_memory, spatial_read_size
from shapeopt.paper.memory.blockwise import BINS
from shapeopt.paper.memory.summary import CHANNELS, COUNT, GRADIENT

DIMENSIONS = (1, 3, 20, 101)


def readings(d: int, count: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    draws = rng.uniform(-5.0, 5.0, (count, d)), rng.normal(size=count), rng.normal(size=(count, d))
    return tuple(jnp.asarray(draw) for draw in draws)


@eqx.filter_jit
def filled(memory, q, value, gradient):
    return jax.lax.scan(lambda m, reading: (m.write(*reading), None), memory, (q, value, gradient))[0]


@pytest.mark.grid(4)
@pytest.mark.parametrize("d", DIMENSIONS)
def test_reads_are_finite_and_of_the_promised_size_from_empty_on(d):
    memory = make_spatial_memory(d, jnp.float64)
    q, value, gradient = readings(d, 10)
    assert jnp.all(memory.read(q[0]) == 0.0)
    assert memory.novelty(q[0]) == 1.0
    for index in range(3):
        memory = memory.write(q[index], value[index], gradient[index])
        read = memory.read(q[index])
        assert read.shape == (spatial_read_size(d),)
        assert jnp.all((read >= -1.0) & (read <= 1.0))
        assert jnp.any(read != 0.0)


def test_cells_hold_the_statistics_of_a_slow_reference():
    d, count = 7, 40
    q, value, gradient = readings(d, count)
    memory = filled(BlockwiseMemory.empty(d, jnp.float64), q, value, gradient)
    table, row = np.asarray(memory.table), 1
    for size in memory.sizes:
        for start in range(0, d, size):
            x = np.asarray(q)[:, start : start + size].sum(1) / np.sqrt(min(size, d - start))
            bins = np.clip(np.floor((x + 5.0) / 10.0 * BINS), 0, BINS - 1)
            norms = np.linalg.norm(np.asarray(gradient)[:, start : start + size], axis=1)
            for k in range(BINS):
                here = bins == k
                assert table[row, COUNT] == here.sum()
                if here.any():
                    np.testing.assert_allclose(table[row, GRADIENT], norms[here].mean(), rtol=1e-12)
                row += 1
    assert row == len(table)
    np.testing.assert_array_equal(memory.best_q, q[jnp.argmin(value)])


@pytest.mark.grid(4)
@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize(("a", "b"), [(7.0, 0.0), (1e-3, 40.0)])
def test_reads_ignore_scale_and_shift_of_the_objective(d, a, b):
    q, value, gradient = readings(d, 30)
    empty = make_spatial_memory(d, jnp.float64)
    plain = filled(empty, q, value, gradient)
    moved = filled(empty, q, a * value + b, a * gradient)
    reads = jax.vmap(plain.read)(q)
    assert jnp.ptp(reads, axis=0).max() > 0.1
    np.testing.assert_allclose(jax.vmap(moved.read)(q), reads, atol=1e-8)


@pytest.mark.grid(4)
@pytest.mark.parametrize("d", DIMENSIONS)
def test_a_masked_write_changes_nothing(d):
    q, value, gradient = readings(d, 6)
    memory = filled(make_spatial_memory(d, jnp.float64), q, value, gradient)
    best = value.min() - 1.0
    assert eqx.tree_equal(memory.write(q[0], best, gradient[0], active=jnp.array(False)), memory)
    assert eqx.tree_equal(memory.write(q[0], -jnp.inf, gradient[0]), memory)
    assert not eqx.tree_equal(memory.write(q[0], best, gradient[0]), memory)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_novelty_falls_where_visited_and_only_there(d):
    here, there = jnp.full(d, 1.5), jnp.full(d, -1.5)
    memory = make_spatial_memory(d, jnp.float64)
    once = memory.write(here, jnp.array(0.0), jnp.ones(d))
    assert memory.novelty(here) == 1.0 > once.novelty(here)
    assert once.novelty(here) > once.write(here, jnp.array(0.0), jnp.ones(d)).novelty(here) > 0.0
    assert once.novelty(there) == 1.0


def test_the_last_features_point_to_the_best_reading():
    d = 3
    memory = BlockwiseMemory.empty(d, jnp.float64)
    memory = memory.write(jnp.array([4.0, 0.0, -4.0]), jnp.array(-1.0), jnp.ones(d))
    memory = memory.write(jnp.array([1.0, 1.0, 1.0]), jnp.array(2.0), jnp.ones(d))
    np.testing.assert_allclose(memory.read(jnp.zeros(d))[-d:], [0.4, 0.0, -0.4], atol=1e-15)


def test_memory_grows_no_faster_than_the_dimension():
    sizes = [sum(leaf.size for leaf in jax.tree.leaves(make_spatial_memory(d, jnp.float64))) for d in (100, 10_000)]
    assert sizes[1] - sizes[0] <= 10_000 + 8 * BINS * CHANNELS


def test_a_random_point_of_a_high_dimension_spreads_over_the_bins():
    """A plain block mean would fall into the middle bins alone."""
    q, value, gradient = readings(800, 100)
    memory = filled(BlockwiseMemory.empty(800, jnp.float64), q, value, gradient)
    used = np.asarray(memory.table[1:, COUNT]).reshape(-1, BINS) > 0
    assert used.sum(axis=1).min() >= 7


@pytest.mark.full
def test_it_runs_in_float32_under_jit_and_vmap():
    q, value, gradient = (x.astype(jnp.float32) for x in readings(20, 4))
    empty = make_spatial_memory(20, jnp.float32)
    batch = eqx.filter_jit(eqx.filter_vmap(empty.write))(q, value, gradient)
    for index in range(4):
        alone = empty.write(q[index], value[index], gradient[index])
        one = jax.tree.map(lambda leaf, i=index: leaf[i], batch)
        assert one.table.dtype == jnp.float32
        for left, right in zip(jax.tree.leaves(one), jax.tree.leaves(alone), strict=True):
            np.testing.assert_allclose(left, right, rtol=1e-6)


def test_huge_gradients_do_not_overflow():
    memory = make_spatial_memory(5, jnp.float32)
    memory = memory.write(jnp.zeros(5, jnp.float32), jnp.float32(1.0), jnp.full(5, 1e30, jnp.float32))
    assert jnp.all(jnp.isfinite(memory.table[0]))


def test_the_dimension_must_be_positive():
    with pytest.raises(ValueError, match="`d` must be at least 1; got 0"):
        BlockwiseMemory.empty(0, jnp.float64)
