"""One-dimensional multi-well potentials (eq. hermite_zero_slope): L wells of prescribed place and depth."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..core import REACH, Box
from .base import PAPER_RADII, AbstractFamily, AbstractTask, StartLaw, cube, draw_start, require_law

VALLEYS = (0.0, 2.0)  # range of the valleys that are not the deepest
BARRIERS = (2.5, 4.0)  # range of the maxima between them
EXTRA_DEPTH = (0.0, 1.0)  # how much deeper than the margin the deepest valley lies
EXTRA_WALL = (0.5, 1.5)  # how much higher than the highest barrier the walls at the ends are


class MultiwellTask(AbstractTask):
    """A cubic Hermite spline with zero slope at every knot (eq. hermite_zero_slope), quadratic walls outside.

    Departs from the paper: the ends of the domain are knots as well, higher than all barriers, and the quadratic walls
    continue them, so that the potential is C^1 on the whole line.
    """

    knots: Float[Array, " k"]
    values: Float[Array, " k"]
    minimum: Float[Array, ""]
    minimiser: Float[Array, " 1"]
    law: StartLaw = eqx.field(static=True)
    half_width: float = eqx.field(static=True)

    def __call__(self, q: Float[Array, " 1"]) -> Float[Array, ""]:
        inside = jnp.clip(q[0], -self.half_width, self.half_width)
        i = jnp.clip(jnp.searchsorted(self.knots, inside, side="right") - 1, 0, self.knots.shape[0] - 2)
        t = (inside - self.knots[i]) / (self.knots[i + 1] - self.knots[i])
        spline = self.values[i] + (self.values[i + 1] - self.values[i]) * t**2 * (3 - 2 * t)  # eq. hermite_zero_slope
        return spline + jnp.square(q[0] - inside)

    @property
    def box(self) -> Box:
        return cube(1, self.half_width, self.knots.dtype)

    def start(self, key: PRNGKeyArray) -> Float[Array, " 1"]:
        law = StartLaw.NEAR if self.law is StartLaw.NEAR else StartLaw.BOX  # the paper starts uniformly in the domain
        return draw_start(key, law, self.minimiser, self.half_width, PAPER_RADII)

    def distance(self, q: Float[Array, " 1"]) -> Float[Array, ""]:
        return jnp.abs(q[0] - self.minimiser[0])


class Multiwell(AbstractFamily):
    """L wells on [-K, K], at least `separation` apart in knots, one of them the deepest by `margin` or more.

    `separation` None stands for 0.4 of the mean spacing of the knots.

    Departs from the paper: it gives no ranges for the values; they are constants of this file.
    """

    dimension: int = eqx.field(static=True, default=1)
    law: StartLaw = eqx.field(static=True, default=StartLaw.BOX)
    wells: int = eqx.field(static=True, default=4)
    half_width: float = eqx.field(static=True, default=REACH)
    separation: float | None = eqx.field(static=True, default=None)
    margin: float = eqx.field(static=True, default=0.5)

    def __check_init__(self) -> None:
        require_law(self.law)
        if self.dimension != 1:
            raise ValueError(f"`dimension` must be 1 for multi-well potentials; got {self.dimension!r}.")
        if not self.wells >= 2:
            raise ValueError(f"`wells` must be at least 2; got {self.wells}.")
        if not self.half_width > 0:
            raise ValueError(f"`half_width` must be positive; got {self.half_width}.")
        if not self.margin > 0:
            raise ValueError(f"`margin` must be positive; got {self.margin}.")
        if self.separation is not None and not 0 < self.separation < self.half_width / self.wells:
            limit = self.half_width / self.wells
            raise ValueError(f"`separation` must lie in (0, {limit}) to fit the knots; got {self.separation}.")

    @property
    def name(self) -> str:
        return "double_well" if self.wells == 2 else "multiwell"

    @property
    def minimum_source(self) -> str:
        return "exact: the deepest knot of the spline, whose only stationary points are its knots"

    def sample(self, key: PRNGKeyArray) -> MultiwellTask:
        key_places, key_values = jax.random.split(key)
        knots = self._places(key_places)
        values, deepest = self._values(key_values)
        return MultiwellTask(
            knots=knots,
            values=values,
            minimum=values[deepest],
            minimiser=knots[deepest][None],
            law=self.law,
            half_width=self.half_width,
        )

    def _places(self, key: PRNGKeyArray) -> Float[Array, " k"]:
        """The ends and 2L - 1 places between them, no two closer than the separation."""
        spacing = self.half_width / self.wells  # mean distance of neighbours among 2L + 1 knots
        separation = 0.4 * spacing if self.separation is None else self.separation
        slack = 2 * self.half_width - 2 * self.wells * separation
        count = 2 * self.wells - 1
        free = jnp.sort(jax.random.uniform(key, (count,), maxval=slack))
        inner = -self.half_width + free + separation * jnp.arange(1, count + 1, dtype=free.dtype)
        end = jnp.full((1,), self.half_width, free.dtype)
        return jnp.concatenate([-end, inner, end])

    def _values(self, key: PRNGKeyArray) -> tuple[Float[Array, " k"], Array]:
        """Heights of all knots, and the index of the deepest."""
        key_valley, key_barrier, key_which, key_depth, key_wall = jax.random.split(key, 5)
        valleys = jax.random.uniform(key_valley, (self.wells,), minval=VALLEYS[0], maxval=VALLEYS[1])
        which = jax.random.randint(key_which, (), 0, self.wells)
        lowest_other = jnp.min(jnp.where(jnp.arange(self.wells) == which, jnp.inf, valleys))
        depth = self.margin + jax.random.uniform(key_depth, (), minval=EXTRA_DEPTH[0], maxval=EXTRA_DEPTH[1])
        valleys = valleys.at[which].set(lowest_other - depth)
        barriers = jax.random.uniform(key_barrier, (self.wells - 1,), minval=BARRIERS[0], maxval=BARRIERS[1])
        walls = jnp.max(barriers) + jax.random.uniform(key_wall, (2,), minval=EXTRA_WALL[0], maxval=EXTRA_WALL[1])
        heights = jnp.zeros(2 * self.wells + 1, valleys.dtype)
        heights = heights.at[1::2].set(valleys).at[2:-1:2].set(barriers).at[jnp.array([0, -1])].set(walls)
        return heights, 2 * which + 1
