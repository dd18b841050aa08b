"""What every spatial memory m_s offers to the event map and to the policies (eqs. dp_memory_write_rule, dp_context)."""

import abc
from typing import Self

import equinox as eqx
from jaxtyping import Array, Bool, Float

READ = "memory read"  # what `jax.checkpoint` may keep by name: a read is small, and the memory that it came from is not


class AbstractSpatialMemory(eqx.Module):
    """Where the search has been and what it found there, in a fixed number of cells over [-REACH, REACH]^d.

    Writes carry no derivatives: a cell lookup has none, and the update is not learned (section subsec:dp_memory_repr).
    """

    @abc.abstractmethod
    def write(
        self,
        q: Float[Array, " d"],
        value: Float[Array, ""],
        gradient: Float[Array, " d"],
        active: Bool[Array, ""] | bool = True,
    ) -> Self:
        """The memory after a reading; unchanged, without a branch, if `active` is false or the reading not finite."""

    @abc.abstractmethod
    def read(self, q: Float[Array, " d"]) -> Float[Array, " features"]:
        """MemRead(m_s, q) of eq. dp_assimilated_signal; scale-free, bounded, zero while empty."""

    @abc.abstractmethod
    def novelty(self, q: Float[Array, " d"]) -> Float[Array, ""]:
        """Novelty(q; m_s) of eq. dp_probe_score in (0, 1]."""
