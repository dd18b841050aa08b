"""Summaries of readings, the rows of every spatial memory (section subsec:dp_memory_repr).

A row holds the five channels below for the readings written to one cell; the first row of a table holds them for all
readings, and is what the others are measured against, so that f -> a f + b (a > 0) leaves every feature as it was.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

COUNT, MEAN, SPREAD, GRADIENT, BEST = range(5)  # SPREAD is the root of the running variance: no overflow by squaring
CHANNELS = 5
FEATURES = 6


def empty_rows(cells: int, dtype: jnp.dtype) -> Float[Array, "cells 5"]:
    """Rows that have seen nothing; the best value of nothing is +inf."""
    return jnp.zeros((cells, CHANNELS), dtype).at[:, BEST].set(jnp.inf)


def is_writable(
    q: Float[Array, " d"], value: Float[Array, ""], gradient: Float[Array, " d"], active: Bool[Array, ""] | bool
) -> Bool[Array, ""]:
    """The write indicator (eq. dp_event_indicator), lowered for a reading that is not finite."""
    finite = jnp.isfinite(value) & jnp.all(jnp.isfinite(q)) & jnp.all(jnp.isfinite(gradient))
    return jnp.asarray(active) & finite


def absorb(
    rows: Float[Array, "n 5"], value: Float[Array, ""], gradient_norm: Float[Array, "*n"]
) -> Float[Array, "n 5"]:
    """Rows after one more reading: running mean and deviation, mean gradient norm, best value."""
    count, mean, spread = rows[:, COUNT], rows[:, MEAN], rows[:, SPREAD]
    share = 1.0 / (count + 1.0)
    step = (value - mean) * share
    return jnp.stack(
        [
            count + 1.0,
            mean + step,
            # var' = (n var) / (n + 1) + n step^2, rooted term by term
            jnp.hypot(spread * jnp.sqrt(count * share), step * jnp.sqrt(count)),
            rows[:, GRADIENT] + (gradient_norm - rows[:, GRADIENT]) * share,
            jnp.minimum(rows[:, BEST], value),
        ],
        axis=1,
    )


def describe(rows: Float[Array, "n 5"], overall: Float[Array, " 5"]) -> Float[Array, "n 6"]:
    """Features in [0, 1] of each row relative to all readings; all zero for a row that has seen nothing.

    Occupancy n/(n+1); share of all writes; merit of the mean and of the best value, s/(x + s) for a value x above the
    overall best with overall deviation s; relative deviation; relative gradient norm.
    """
    count = rows[:, COUNT]
    seen = count > 0
    spread = overall[SPREAD]
    above = jnp.where(seen[:, None], rows[:, jnp.array([MEAN, BEST])] - overall[BEST], 0.0)
    merit = jnp.where(above > 0, _share(spread, above), 1.0)
    features = jnp.stack(
        [
            count / (count + 1.0),
            count / jnp.maximum(overall[COUNT], 1.0),
            merit[:, 0],
            merit[:, 1],
            _share(rows[:, SPREAD], spread),
            _share(rows[:, GRADIENT], overall[GRADIENT]),
        ],
        axis=1,
    )
    return jnp.where(seen[:, None], features, 0.0)


def novelty_of(counts: Float[Array, " n"]) -> Float[Array, ""]:
    """Mean over some rows' counts n of (1 + n)^(-1/2): one where nothing was written, falling with every write."""
    return jnp.mean(jax.lax.rsqrt(1.0 + counts))


def _share(part: Float[Array, "..."], rest: Float[Array, "..."]) -> Float[Array, "..."]:
    """part / (part + rest) of non-negative numbers, zero where both are zero."""
    whole = part + rest
    return jnp.where(whole > 0, part / jnp.where(whole > 0, whole, 1.0), 0.0)
