"""What every spatial memory m_s offers to the event map and to the policies (eqs. dp_memory_write_rule, dp_context)."""

import abc
from typing import NamedTuple, Self

import equinox as eqx
from jaxtyping import Array, Bool, Float


class Regions(NamedTuple):
    """Cells of a spatial memory: their centres, how often each was written, and how wide they are."""

    points: Float[Array, "A d"]
    counts: Float[Array, " A"]
    width: float


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

    def regions(self) -> "Regions":
        """The finest cells as places, for U_mem and V_bar; only in dimensions whose cells are places."""
        raise ValueError(
            f"`shaping` by the memory's cells needs one or two dimensions; {type(self).__name__} has more."
        )

    @abc.abstractmethod
    def novelty(self, q: Float[Array, " d"]) -> Float[Array, ""]:
        """Novelty(q; m_s) of eq. dp_probe_score in (0, 1]."""
