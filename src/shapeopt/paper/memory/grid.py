"""Multigrid memory for two dimensions (eq. dp_2d_multigrid_memory)."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.ad_checkpoint import checkpoint_name
from jaxtyping import Array, Bool, Float, Int

from ...core import REACH
from .spatial import READ, AbstractSpatialMemory, Regions
from .summary import CHANNELS, COUNT, FEATURES, absorb, describe, empty_rows, is_writable, novelty_of

GRID_LEVELS = (4, 8, 16)  # our choice; the paper names neither the number of levels nor their sizes


class MultigridMemory(AbstractSpatialMemory):
    """Square grids from coarse to fine over [-5, 5]^2, read and written at the cell that holds q.

        m_s = (m_s^(0), ..., m_s^(L-1)),   m_s^(l) in R^{C x n_l x n_l}

    Channels: occupancy, running mean and deviation of the value, gradient norm, best value (see `summary`). All levels
    share one table with one row a cell, so that a read is one gather and a write one scatter; row 0 is the domain.

    Departs from the paper: reads are relative to the memory's own best value, deviation and gradient norm instead of
    raw; the deviation is kept instead of the variance; points outside the domain use the nearest cell.
    """

    table: Float[Array, "cells 5"]
    levels: tuple[int, ...] = eqx.field(static=True)

    @staticmethod
    def empty(dtype: jnp.dtype, levels: tuple[int, ...] = GRID_LEVELS) -> "MultigridMemory":
        if not levels or min(levels) < 1:
            raise ValueError(f"`levels` must be grid sizes of at least 1; got {levels}.")
        return MultigridMemory(empty_rows(1 + sum(n * n for n in levels), dtype), tuple(levels))

    @staticmethod
    def read_size(levels: tuple[int, ...] = GRID_LEVELS) -> int:
        """Length of what `read` returns."""
        return FEATURES * len(levels)

    def level(self, index: int) -> Float[Array, "5 n n"]:
        """m_s^(l): the channels of one level on its grid, first axis q_0."""
        n, start = self.levels[index], 1 + sum(m * m for m in self.levels[:index])
        return jnp.moveaxis(self.table[start : start + n * n].reshape(n, n, CHANNELS), -1, 0)

    def write(
        self,
        q: Float[Array, "2"],
        value: Float[Array, ""],
        gradient: Float[Array, "2"],
        active: Bool[Array, ""] | bool = True,
    ) -> "MultigridMemory":
        q, value, gradient = jax.lax.stop_gradient((q, value, gradient))
        cells = jnp.concatenate([jnp.zeros(1, jnp.int32), self._cells(q)])
        rows = self.table[cells]
        written = absorb(rows, value, jnp.hypot(gradient[0], gradient[1]))
        kept = jnp.where(is_writable(q, value, gradient, active), written, rows)  # eq. dp_memory_write_rule
        return MultigridMemory(self.table.at[cells].set(kept, unique_indices=True), self.levels)

    def read(self, q: Float[Array, "2"]) -> Float[Array, " features"]:
        return checkpoint_name(describe(self.table[self._cells(q)], self.table[0]).reshape(-1), READ)

    def regions(self) -> Regions:
        n = self.levels[-1]
        centres = (np.arange(n) + 0.5) * (2.0 * REACH / n) - REACH
        points = np.stack(np.meshgrid(centres, centres, indexing="ij"), axis=-1).reshape(-1, 2)
        return Regions(jnp.asarray(points, self.table.dtype), self.table[-n * n :, COUNT], 2.0 * REACH / n)

    def novelty(self, q: Float[Array, "2"]) -> Float[Array, ""]:
        return novelty_of(self.table[self._cells(q), COUNT])

    def _cells(self, q: Float[Array, "2"]) -> Int[Array, " L"]:
        """Row of the cell that holds q, at each level."""
        sizes = np.asarray(self.levels, np.int32)
        starts = (1 + np.cumsum(sizes**2) - sizes**2).astype(np.int32)
        unit = jnp.clip((q + REACH) / (2.0 * REACH), 0.0, 1.0)
        scaled = (unit[:, None] * sizes.astype(q.dtype)).astype(jnp.int32)
        row, column = jnp.clip(scaled, 0, sizes - 1)
        return starts + row * sizes + column
