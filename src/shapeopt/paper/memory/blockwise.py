"""Blockwise memory for every dimension but two (eq. dp_highd_latent_memory)."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.ad_checkpoint import checkpoint_name
from jaxtyping import Array, Bool, Float, Int

from ...core import REACH
from .spatial import READ, AbstractSpatialMemory, Regions
from .summary import BEST, COUNT, FEATURES, absorb, describe, empty_rows, is_writable, novelty_of

BLOCK_LEVELS = (2, 4, 8)  # at most this many blocks at each level, coarse to fine; our choice, the paper names none
BINS = 8  # cells along each block's coordinate; our choice
LINE_BINS = 16  # in one dimension, where a cell is a place: as many as the finest grid of two dimensions has


class BlockwiseMemory(AbstractSpatialMemory):
    """Consecutive coordinates in blocks, at several scales; each block keeps summaries along one coordinate of its own.

        x_b(q) = |b|^(-1/2) sum_{i in b} q_i,   cell of (b, q) = the one of some equal bins of [-5, 5] that holds x_b

    A cell has the channels of the multigrid (`summary`), with the norm of the block's own part of the gradient; the
    position of the best reading is kept once, for all blocks, and read as x_b(best) - x_b(q). The root of |b| keeps the
    scale of x_b the same in every dimension (a plain mean would shrink into one bin).

    Departs from the paper: it says that blocks of fixed size keep summaries "analogous" to the grid's and no more; the
    bins, the block coordinate and the relative reads are new.
    """

    table: Float[Array, "cells 5"]
    best_q: Float[Array, " d"]
    sizes: tuple[int, ...] = eqx.field(static=True)  # coordinates in a block, one entry a level

    @staticmethod
    def empty(d: int, dtype: jnp.dtype, levels: tuple[int, ...] = BLOCK_LEVELS) -> "BlockwiseMemory":
        sizes = _block_sizes(d, levels)
        cells = 1 + bins_of(d) * sum(-(-d // size) for size in sizes)
        return BlockwiseMemory(empty_rows(cells, dtype), jnp.zeros(d, dtype), sizes)

    @staticmethod
    def read_size(d: int, levels: tuple[int, ...] = BLOCK_LEVELS) -> int:
        """Length of what `read` returns."""
        return (FEATURES + 1) * sum(-(-d // size) for size in _block_sizes(d, levels))

    def write(
        self,
        q: Float[Array, " d"],
        value: Float[Array, ""],
        gradient: Float[Array, " d"],
        active: Bool[Array, ""] | bool = True,
    ) -> "BlockwiseMemory":
        q, value, gradient = jax.lax.stop_gradient((q, value, gradient))
        cells = jnp.concatenate([jnp.zeros(1, jnp.int32), self._cells(self._coordinates(q))])
        rows = self.table[cells]
        written = absorb(rows, value, self._norms(gradient))
        allowed = is_writable(q, value, gradient, active)
        kept = jnp.where(allowed, written, rows)  # eq. dp_memory_write_rule
        improves = allowed & (value < self.table[0, BEST])
        table = self.table.at[cells].set(kept, unique_indices=True)
        return BlockwiseMemory(table, jnp.where(improves, q, self.best_q), self.sizes)

    def read(self, q: Float[Array, " d"]) -> Float[Array, " features"]:
        x = self._coordinates(q)
        features = describe(self.table[self._cells(x)], self.table[0])
        towards_best = jnp.clip((self._coordinates(self.best_q) - x) / (2.0 * REACH), -1.0, 1.0)
        known = checkpoint_name(jnp.isfinite(self.table[0, BEST]), READ)
        read = jnp.concatenate([features.reshape(-1), jnp.where(known, towards_best, 0.0)])
        return checkpoint_name(read, READ)

    def regions(self) -> Regions:
        if self.best_q.size > 1:  # a cell is a slab through the whole box
            return super().regions()
        width = 2.0 * REACH / LINE_BINS
        points = (np.arange(LINE_BINS) + 0.5)[:, None] * width - REACH
        return Regions(jnp.asarray(points, self.table.dtype), self.table[1:, COUNT], width)

    def novelty(self, q: Float[Array, " d"]) -> Float[Array, ""]:
        return novelty_of(self.table[self._cells(self._coordinates(q)), COUNT])

    def _coordinates(self, q: Float[Array, " d"]) -> Float[Array, " blocks"]:
        """x_b of every block, all levels in one vector, clipped to the domain."""
        inside = self._membership(q.size)
        return jnp.clip(q @ (inside / np.sqrt(inside.sum(0))).astype(q.dtype), -REACH, REACH)

    def _norms(self, gradient: Float[Array, " d"]) -> Float[Array, " 1+blocks"]:
        """Norm of the whole gradient and of its part in every block; scaled, so that squares do not overflow."""
        size = jnp.max(jnp.abs(gradient))
        squares = (gradient / jnp.where(size > 0, size, 1.0)) ** 2
        parts = squares @ self._membership(squares.size).astype(squares.dtype)
        return size * jnp.sqrt(jnp.concatenate([jnp.sum(squares)[None], parts]))

    def _membership(self, d: int) -> np.ndarray:
        """(d, blocks): 1 where the coordinate is in the block. In a batch, one product with it is quicker than a sum a
        level."""
        numbers = np.arange(d)
        return np.concatenate([np.eye(-(-d // size))[numbers // size] for size in self.sizes], axis=1)

    def _cells(self, x: Float[Array, " blocks"]) -> Int[Array, " blocks"]:
        count = bins_of(self.best_q.size)
        bins = jnp.clip(((x + REACH) * (count / (2.0 * REACH))).astype(jnp.int32), 0, count - 1)
        return bins + (1 + count * np.arange(x.size, dtype=np.int32))


def bins_of(d: int) -> int:
    """Cells along a block's coordinate."""
    return LINE_BINS if d == 1 else BINS


def _block_sizes(d: int, levels: tuple[int, ...]) -> tuple[int, ...]:
    """Coordinates in a block at each level, coarse to fine; levels that coincide in a low dimension are merged."""
    if d < 1:
        raise ValueError(f"`d` must be at least 1; got {d}.")
    if not levels or min(levels) < 1:
        raise ValueError(f"`levels` must be block counts of at least 1; got {levels}.")
    return tuple(sorted({-(-d // count) for count in levels}, reverse=True))
