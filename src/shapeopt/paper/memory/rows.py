"""Choosing and replacing a row of a table inside compiled code."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

SMALL_TABLE = 8192  # numbers up to which rewriting a table under a mask is cheaper than placing one row in it


def is_row(n: int, i: Int[Array, ""]) -> Bool[Array, " n"]:
    """Which of n rows is number i."""
    return jnp.arange(n, dtype=i.dtype) == i


def put_row(
    table: Float[Array, "n d"], i: Int[Array, ""], row: Float[Array, " d"], active: Bool[Array, ""]
) -> Float[Array, "n d"]:
    """`table` with row number i replaced where `active`.

    A mask compiles into one pass and, batched, stays one; placing a row in a batch becomes a loop over the batch. Yet a
    large table must not be rewritten for the sake of one row.
    """
    if table.size <= SMALL_TABLE:
        chosen = is_row(len(table), i) & active
        return jnp.where(chosen[:, None], row, table)
    return jax.lax.dynamic_update_index_in_dim(table, jnp.where(active, row, table[i]), i, 0)
