"""What was visited: the basins themselves, and spatial summaries for the policies to read."""

import jax.numpy as jnp

from .archive import Archive
from .blockwise import BlockwiseMemory
from .grid import MultigridMemory
from .spatial import READ, AbstractSpatialMemory

__all__ = [
    "READ",
    "AbstractSpatialMemory",
    "Archive",
    "BlockwiseMemory",
    "MultigridMemory",
    "make_spatial_memory",
    "spatial_read_size",
]


def make_spatial_memory(d: int, dtype: jnp.dtype) -> AbstractSpatialMemory:
    """The empty memory that the paper uses in d dimensions: a multigrid for two, blocks otherwise."""
    return MultigridMemory.empty(dtype) if d == 2 else BlockwiseMemory.empty(d, dtype)


def spatial_read_size(d: int) -> int:
    """Length of a read of `make_spatial_memory(d, dtype)`, known without building one."""
    return MultigridMemory.read_size() if d == 2 else BlockwiseMemory.read_size(d)
