"""The archive of distinct basins: position, value, visits, curvature scale.

It feeds differences between good basins, repulsion (U_mem) and exclusion (V_bar) centres, novelty, and `result.minima`.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from .rows import is_row, put_row


class Archive(eqx.Module):
    """The best few distinct basins, in no order; a slot of value +inf is empty.

    Departs from the paper: its memory holds summaries of regions only.
    """

    points: Float[Array, "A d"]
    values: Float[Array, " A"]
    visits: Int[Array, " A"]
    curvatures: Float[Array, " A"]

    @staticmethod
    def empty(capacity: int, d: int, dtype: jax.typing.DTypeLike) -> "Archive":
        ones = jnp.ones(capacity, dtype)
        return Archive(jnp.zeros((capacity, d), dtype), jnp.inf * ones, jnp.zeros(capacity, jnp.int32), ones)

    @property
    def filled(self) -> Bool[Array, " A"]:
        return jnp.isfinite(self.values)

    @property
    def count(self) -> Int[Array, ""]:
        return jnp.sum(self.filled)

    def squared_distances(self, q: Float[Array, " d"]) -> Float[Array, " A"]:
        """|q - c_j|^2, +inf for empty slots."""
        return jnp.where(self.filled, jnp.sum((self.points - q) ** 2, axis=-1), jnp.inf)

    def write(
        self,
        q: Float[Array, " d"],
        value: Float[Array, ""],
        curvature: Float[Array, ""],
        radius: Float[Array, ""],
        active: Bool[Array, ""],
    ) -> "Archive":
        """A basin whose bottom is q (eq. dp_memory_write_rule); unchanged where not `active`.

        Within `radius` of a known basin it is that basin again: one more visit, and the lower of both as its bottom.
        Else it takes the slot of the worst, if it is better.
        """
        nowhere = jnp.zeros((), jnp.int32), jnp.zeros((), bool)
        slot, known = jax.lax.cond(active, lambda: self._slot(q, radius), lambda: nowhere)
        chosen = is_row(len(self.values), slot)
        moves = active & (value < self.values[slot])
        return Archive(
            put_row(self.points, slot, q, moves),
            jnp.where(chosen & moves, value, self.values),
            jnp.where(chosen & active & known, self.visits + 1, jnp.where(chosen & moves, 1, self.visits)),
            jnp.where(chosen & moves, curvature, self.curvatures),
        )

    def _slot(self, q: Float[Array, " d"], radius: Float[Array, ""]) -> tuple[Int[Array, ""], Bool[Array, ""]]:
        """Where q belongs, and whether that basin is known."""
        squares = self.squared_distances(q)
        nearest = jnp.argmin(squares)
        known = squares[nearest] <= radius**2
        return jnp.where(known, nearest, jnp.argmax(self.values)).astype(jnp.int32), known

    def novelty(self, q: Float[Array, " d"], radius: Float[Array, ""]) -> Float[Array, ""]:
        """In [0, 1]: 0 on a known basin, 1 far from all of them (eq. dp_probe_score)."""
        return 1.0 - jnp.exp(-0.5 * jnp.min(self.squared_distances(q)) / radius**2)
