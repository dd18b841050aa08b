"""The potential that a stage adds to the task: anchor, memory, barrier (eqs. shape_shaped_potential,
dp_stage_potential_discrete).

Values are in units of f. Memory and barrier stand on fixed-size sets of centres, so that they compile once; a centre of
height 0 is inactive, whatever its point and width hold.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


class Centres(eqx.Module):
    """A fixed number of points, each with a height (0: inactive) and a width; none at all is allowed."""

    points: Float[Array, "A d"]
    heights: Float[Array, " A"]
    widths: Float[Array, " A"]

    def __check_init__(self):
        count = self.points.shape[:-1]
        if self.heights.shape != count or self.widths.shape != count:
            raise ValueError(
                f"`heights` and `widths` must have one entry a point; got {self.heights.shape} and "
                f"{self.widths.shape} for `points` of shape {self.points.shape}."
            )

    @staticmethod
    def none(d: int, dtype: jax.typing.DTypeLike) -> "Centres":
        return Centres(jnp.zeros((0, d), dtype), jnp.zeros(0, dtype), jnp.zeros(0, dtype))

    def seen_from(self, q: Float[Array, " d"]) -> tuple[Float[Array, "A d"], Float[Array, " A"], Float[Array, " A"]]:
        """Offsets q - c, squared widths, and ratios |q - c|^2 / width^2, made harmless where a centre is inactive."""
        active = self.heights != 0
        offsets = jnp.where(active[:, None], q - self.points, 0.0)
        squares = jnp.where(active, self.widths**2, 1.0)
        return offsets, squares, jnp.sum(offsets**2, axis=-1) / squares


class ShapedPotential(eqx.Module):
    """What the stage adds to f  (eqs. shape_shaped_potential, dp_stage_potential_discrete).

        U_shp(q) = kappa / 2 |q - q_bar|^2 + U_mem(q) + V_bar(q)
        U_mem(q) = sum_j height_j exp(-|q - c_j|^2 / (2 width_j^2))
        V_bar(q) = sum_j height_j max(0, 1 - |q - c_j|^2 / width_j^2)^2

    Departs from the paper: it leaves the forms of U_mem and V_bar open; Gaussians (as in metadynamics) and a bump with
    compact support and a continuous gradient are our choice.
    """

    q_bar: Float[Array, " d"]
    kappa: Float[Array, ""]
    memory: Centres
    barrier: Centres

    @staticmethod
    def none(q: Float[Array, " d"]) -> "ShapedPotential":
        """No shaping; `q` lends its size and dtype."""
        return ShapedPotential.anchored(q, jnp.zeros((), q.dtype))

    @staticmethod
    def anchored(q_bar: Float[Array, " d"], kappa: Float[Array, ""]) -> "ShapedPotential":
        """The anchor alone."""
        empty = Centres.none(q_bar.shape[-1], q_bar.dtype)
        return ShapedPotential(q_bar, kappa, empty, empty)

    def value(self, q: Float[Array, " d"]) -> Float[Array, ""]:
        total = 0.5 * self.kappa * jnp.sum((q - self.q_bar) ** 2)
        if self.memory.heights.size:
            _, _, ratios = self.memory.seen_from(q)
            total += jnp.dot(self.memory.heights, jnp.exp(-0.5 * ratios))
        if self.barrier.heights.size:
            _, _, ratios = self.barrier.seen_from(q)
            total += jnp.dot(self.barrier.heights, jnp.maximum(1.0 - ratios, 0.0) ** 2)
        return total

    def gradient(self, q: Float[Array, " d"]) -> Float[Array, " d"]:
        total = self.kappa * (q - self.q_bar)
        if self.memory.heights.size:
            offsets, squares, ratios = self.memory.seen_from(q)
            total -= (self.memory.heights * jnp.exp(-0.5 * ratios) / squares) @ offsets
        if self.barrier.heights.size:
            offsets, squares, ratios = self.barrier.seen_from(q)
            total -= (4.0 * self.barrier.heights * jnp.maximum(1.0 - ratios, 0.0) / squares) @ offsets
        return total
