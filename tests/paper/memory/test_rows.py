"""Replacing a row: the same outcome for small tables, large ones and batches."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.paper.memory.rows import SMALL_TABLE, is_row, put_row


@pytest.mark.parametrize("d", [3, SMALL_TABLE])
@pytest.mark.parametrize("active", [True, False])
def test_a_row_is_replaced_where_active_and_nothing_else(d, active):
    table, row = np.arange(4.0 * d).reshape(4, d), -np.ones(d)
    expected = table.copy()
    if active:
        expected[2] = row
    for function in (put_row, jax.jit(put_row)):
        changed = function(jnp.asarray(table), jnp.asarray(2, jnp.int32), jnp.asarray(row), jnp.asarray(active))
        np.testing.assert_array_equal(changed, expected)


def test_a_batch_replaces_each_its_own_row():
    tables, rows = jnp.zeros((3, 4, 2)), jnp.arange(6.0).reshape(3, 2)
    changed = jax.vmap(put_row)(tables, jnp.arange(3), rows, jnp.array([True, False, True]))
    for i, active in enumerate((True, False, True)):
        np.testing.assert_array_equal(changed[i, i], rows[i] if active else 0.0)
        np.testing.assert_array_equal(np.delete(np.asarray(changed[i]), i, axis=0), 0.0)


def test_a_row_is_found_by_its_number():
    np.testing.assert_array_equal(is_row(3, jnp.asarray(1, jnp.int32)), [False, True, False])
