"""Counter-based random numbers: the same bits on both engines, uniform, normal, and independent of their neighbours."""

import jax
import numpy as np
import pytest
from scipy import stats

from shapeopt.ops import HOST, normal, uniform
from shapeopt.ops.device import DEVICE

KEY = np.array([3, 2_000_000_001], np.uint32)


@pytest.fixture(scope="module")
def table() -> np.ndarray:
    """Rows: counters; columns: the numbers of one counter."""
    return np.array([uniform(HOST, KEY, counter, 64) for counter in range(4000)])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_both_engines_draw_the_same_bits(dtype):
    drawn = jax.jit(lambda counter: uniform(DEVICE, KEY, counter, 33, dtype))
    for counter in (0, 1, 7, 2**30, 3 * 2**29 + 5):
        host, there = uniform(HOST, KEY, counter, 33, dtype), np.asarray(drawn(np.int32(counter)))
        assert host.dtype == there.dtype == dtype and host.tobytes() == there.tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_normal_numbers_of_both_engines_agree_to_round_off(dtype):
    there = jax.jit(lambda: normal(DEVICE, KEY, np.int32(4), 101, dtype))()
    np.testing.assert_allclose(there, normal(HOST, KEY, 4, 101, dtype), rtol=50 * np.finfo(dtype).eps)


def test_uniform_numbers_are_uniform_and_strictly_inside(table):
    assert table.min() > 0.0 and table.max() < 1.0
    assert abs(table.mean() - 0.5) < 5 * (1 / 12) ** 0.5 / table.size**0.5
    assert stats.kstest(table.ravel(), "uniform").pvalue > 1e-3
    assert min(stats.kstest(column, "uniform").pvalue for column in table.T) > 1e-5


def test_single_precision_never_draws_a_bound():
    drawn = np.concatenate([uniform(HOST, KEY, counter, 4096, np.float32) for counter in range(200)])
    assert drawn.dtype == np.float32 and drawn.min() > 0.0 and drawn.max() < 1.0
    assert stats.kstest(drawn, "uniform").pvalue > 1e-3


@pytest.mark.parametrize("axis", ["numbers of one counter", "counters"])
def test_numbers_do_not_correlate(table, axis):
    rows = table if axis == "counters" else table.T
    correlation = np.corrcoef(rows[:64])
    np.fill_diagonal(correlation, 0.0)
    assert np.abs(correlation).max() < 5.0 / rows.shape[1] ** 0.5


@pytest.mark.parametrize("flip", [(1, 0), (0, 1)])
def test_keys_that_differ_in_one_bit_draw_other_numbers(flip):
    one, other = (uniform(HOST, key, 0, 4096) for key in (KEY, KEY ^ np.array(flip, np.uint32)))
    assert np.mean(one == other) < 0.01 and abs(np.corrcoef(one, other)[0, 1]) < 5.0 / 64


def test_counters_that_differ_draw_other_numbers():
    drawn = [uniform(HOST, KEY, counter, 16).tobytes() for counter in (0, 1, 2, 2**29, 2**30, 2**30 + 1, 3 * 2**29)]
    assert len(set(drawn)) == len(drawn)


def test_a_longer_draw_begins_like_a_shorter_one_in_single_precision_alone():
    """The halves of a float64 come from two words, the second after all the first ones."""
    short, long = (uniform(HOST, KEY, 0, n, np.float32) for n in (5, 9))
    np.testing.assert_array_equal(short, long[:5])


def test_normal_numbers_are_standard_normal_and_finite():
    drawn = normal(HOST, KEY, 0, 20_000)
    assert np.isfinite(drawn).all() and drawn.shape == (20_000,)
    assert abs(drawn.mean()) < 0.03 and abs(drawn.var() - 1.0) < 0.04
    assert stats.kstest(drawn, "norm").pvalue > 1e-3
