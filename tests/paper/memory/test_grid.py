"""The multigrid memory keeps plain statistics by cell, and its reads do not know the units of the objective."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.paper.memory import BlockwiseMemory, MultigridMemory, make_spatial_memory, spatial_read_size
from shapeopt.paper.memory.summary import BEST, COUNT, GRADIENT, MEAN, SPREAD


def readings(count: int, seed: int = 0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    q = rng.uniform(-5.0, 5.0, (count, 2)).astype(dtype)
    return jnp.asarray(q), jnp.asarray(rng.normal(size=count).astype(dtype)), jnp.asarray(rng.normal(size=(count, 2)))


@eqx.filter_jit
def filled(memory, q, value, gradient):
    return jax.lax.scan(lambda m, reading: (m.write(*reading), None), memory, (q, value, gradient))[0]


@pytest.fixture
def empty() -> MultigridMemory:
    return MultigridMemory.empty(jnp.float64)


def test_the_dimension_chooses_the_memory():
    assert isinstance(make_spatial_memory(2, jnp.float64), MultigridMemory)
    assert all(isinstance(make_spatial_memory(d, jnp.float64), BlockwiseMemory) for d in (1, 3, 20))


def test_every_level_holds_the_statistics_of_a_slow_reference(empty):
    q, value, gradient = readings(60)
    memory = filled(empty, q, value, gradient)
    norms = np.linalg.norm(gradient, axis=1)
    for index, n in enumerate(memory.levels):
        cells = np.clip(np.floor((np.asarray(q) + 5.0) / 10.0 * n), 0, n - 1).astype(int)
        level = np.asarray(memory.level(index))
        assert level.shape == (5, n, n)
        for i in range(n):
            for j in range(n):
                here = (cells[:, 0] == i) & (cells[:, 1] == j)
                assert level[COUNT, i, j] == here.sum()
                if here.any():
                    expected = np.asarray(value)[here]
                    np.testing.assert_allclose(level[MEAN, i, j], expected.mean(), atol=1e-13)
                    np.testing.assert_allclose(level[SPREAD, i, j], expected.std(), atol=1e-13)
                    np.testing.assert_allclose(level[GRADIENT, i, j], norms[here].mean(), atol=1e-13)
                    assert level[BEST, i, j] == expected.min()


@pytest.mark.parametrize(("a", "b"), [(7.0, 0.0), (1e-3, 40.0), (2e5, -3.0)])
def test_reads_ignore_scale_and_shift_of_the_objective(empty, a, b):
    q, value, gradient = readings(40)
    probes = jnp.concatenate([q[:10], readings(10, seed=1)[0]])
    plain = filled(empty, q, value, gradient)
    moved = filled(empty, q, a * value + b, a * gradient)
    reads = jax.vmap(plain.read)(probes)
    assert jnp.ptp(reads, axis=0).max() > 0.1
    np.testing.assert_allclose(jax.vmap(moved.read)(probes), reads, atol=1e-8)


def test_a_masked_write_changes_nothing(empty):
    q, value, gradient = readings(5)
    memory = filled(empty, q, value, gradient)
    assert eqx.tree_equal(memory.write(q[0], value[0], gradient[0], active=False), memory)
    assert not eqx.tree_equal(memory.write(q[0], value[0], gradient[0], active=True), memory)


@pytest.mark.parametrize("broken", ["q", "value", "gradient"])
def test_a_reading_that_is_not_finite_is_not_written(empty, broken):
    reading = {"q": jnp.ones(2), "value": jnp.array(1.0), "gradient": jnp.ones(2)}
    reading[broken] = reading[broken] * jnp.nan
    assert eqx.tree_equal(empty.write(**reading), empty)


def test_novelty_falls_where_visited_and_only_there(empty):
    here, there = jnp.array([1.0, 1.0]), jnp.array([-4.0, -4.0])
    once = empty.write(here, jnp.array(0.0), jnp.ones(2))
    twice = once.write(here, jnp.array(0.0), jnp.ones(2))
    assert empty.novelty(here) == 1.0 > once.novelty(here) > twice.novelty(here) > 0.0
    assert once.novelty(there) == 1.0
    # another fine cell of the same coarse cell is less novel than the far corner, more than the visited cell
    beside = jnp.array([2.0, 2.0])
    assert once.novelty(here) < once.novelty(beside) < once.novelty(there)


def test_an_empty_memory_reads_zeros(empty):
    read = empty.read(jnp.zeros(2))
    assert read.shape == (spatial_read_size(2),)
    assert jnp.all(read == 0.0)


def test_reads_stay_in_the_unit_interval_for_huge_and_equal_values():
    memory = MultigridMemory.empty(jnp.float32)
    q = jnp.zeros(2, jnp.float32)
    for value in (3.0, 3.0, 1e37, -1e37):
        memory = memory.write(q, jnp.float32(value), jnp.full(2, 1e30, jnp.float32))
        read = memory.read(q)
        assert read.dtype == jnp.float32
        assert jnp.all((read >= 0.0) & (read <= 1.0))


def test_points_outside_the_domain_use_the_nearest_cell(empty):
    memory = empty.write(jnp.array([50.0, -jnp.finfo(jnp.float64).max]), jnp.array(1.0), jnp.ones(2))
    assert all(memory.level(index)[COUNT, -1, 0] == 1.0 for index in range(3))
    np.testing.assert_array_equal(memory.read(jnp.array([5.0, -5.0])), memory.read(jnp.array([1e9, -1e9])))


def test_a_batch_of_memories_equals_each_alone(empty):
    q, value, gradient = readings(6)
    batch = eqx.filter_vmap(empty.write)(q, value, gradient)
    for index in range(6):
        alone = empty.write(q[index], value[index], gradient[index])
        assert eqx.tree_equal(jax.tree.map(lambda leaf, i=index: leaf[i], batch), alone)


def test_writes_carry_no_derivative(empty):
    here = jnp.array([0.3, 0.4])
    memory = filled(empty, *readings(5)).write(here, jnp.array(9.0), jnp.ones(2))

    def read_after(q):
        return jnp.sum(memory.write(q, jnp.sum(q**2), 2.0 * q).read(q))

    assert read_after(here) != read_after(1.01 * here)
    assert jnp.all(jax.grad(read_after)(here) == 0.0)


def test_levels_must_be_sizes():
    with pytest.raises(ValueError, match=r"`levels`.*\(4, 0\)"):
        MultigridMemory.empty(jnp.float64, levels=(4, 0))
