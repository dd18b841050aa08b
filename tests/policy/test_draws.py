"""The randomness of escapes: cheap, yet uniform, independent of its neighbours and of neighbouring keys."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from shapeopt.policy.draws import draw, hashed_uniform


@pytest.fixture(scope="module")
def table() -> np.ndarray:
    """Rows: the escapes of one run; columns: the numbers of an escape."""
    words = jax.random.key_data(jax.random.key(3))
    return np.asarray(jax.vmap(lambda escape: hashed_uniform(words, escape, 64))(jnp.arange(4000)), float)


def test_hashed_numbers_are_uniform_and_strictly_inside(table):
    assert table.min() > 0.0 and table.max() < 1.0
    assert stats.kstest(table.ravel(), "uniform").pvalue > 1e-3
    columns = [stats.kstest(column, "uniform").pvalue for column in table.T]
    assert min(columns) > 1e-5


@pytest.mark.parametrize("turn", ["numbers of one escape", "escapes"])
def test_hashed_numbers_do_not_correlate(table, turn):
    rows = table if turn == "escapes" else table.T
    correlation = np.corrcoef(rows[:64])
    np.fill_diagonal(correlation, 0.0)
    assert np.abs(correlation).max() < 5.0 / rows.shape[1] ** 0.5


def test_counters_of_keys_that_differ_in_one_bit_part():
    words = jnp.asarray([[5, 9], [5, 8], [4, 9]], jnp.uint32)
    a, b, c = (np.asarray(hashed_uniform(row, jnp.zeros((), int), 4096)) for row in words)
    for other in (b, c):
        assert np.mean(a == other) < 0.01
        assert abs(np.corrcoef(a, other)[0, 1]) < 5.0 / 64


def test_normal_draws_are_standard_normal_and_finite():
    draws = draw(jax.random.key_data(jax.random.key(0)), jnp.zeros((), int), 20_000, 9, jnp.float64)
    assert np.isfinite(draws.normal).all()
    assert stats.kstest(np.asarray(draws.normal), "norm").pvalue > 1e-3
    assert [part.shape for part in draws] == [(9,), (), (), (2,), (20_000,), (20_000,)]
