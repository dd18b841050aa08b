"""Where to go when a basin is left: kinds of move, drawn by what each has earned so far in this run.

Each kind has a radius (internal units: the box is 10 wide) and says whether it moves all coordinates or a few. The kind
of the next escape is drawn by Thompson sampling over its rate of success. A better basin would be too rare a success to
learn from: one in the lower half of the basins that were left last will do, unless it is the one that the move is from.
"""

import enum
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ..core import is_row
from ..paper.memory import Archive
from .draws import Draws


class Kind(NamedTuple):
    """One kind of move: its radius, whether it moves few coordinates, and how often it is expected to pay."""

    name: str
    radius: float
    few: bool
    prior: float


KINDS = (
    Kind("near", 0.25, False, 0.25),
    Kind("middle", 0.7, False, 0.25),
    Kind("far", 2.0, False, 0.15),
    Kind("few near", 0.7, True, 0.25),
    Kind("few middle", 1.5, True, 0.25),
    Kind("few far", 3.0, True, 0.15),
    Kind("difference", 0.1, False, 0.2),
    Kind("anywhere", 1.0, False, 0.45),
    Kind("settle", 0.0, False, 0.4),
    Kind("sweep", 0.1, False, 0.9),
)
DIFFERENCE, ANYWHERE, SETTLE, SWEEP = 6, 7, 8, 9


class Station(enum.IntEnum):
    """What stands in place of a kind where none was drawn: the first reading, the test for a sum, a sweep's end, a
    second reading of the base, which shows whether forces are noisy, sampling, the mean that it led to, a survey for
    turned axes, a place found in a model of bodies, and the second test for a sum."""

    OPENING = -1
    TEST = -2
    LOWEST = -3
    CHECK = -4
    SAMPLE = -5
    MEAN = -6
    SURVEY = -7
    MODELLED = -8
    RETEST = -9


WIDER, NARROWER = 0.2, 0.05  # change of the log radius after a move that fell back, and one that led to a worse basin
WIDEST = 1.5  # largest change of the log radius in all
PRIOR_WEIGHT = 2.0  # how many trials the prior is worth
RECENT = 16  # basins that are compared
LOWER = 0.5  # share of them that may be lower than one that counts as a success
RADIUS_SPREAD = 0.4  # standard deviation of the log radius
DIFFERENCE_WEIGHT = 0.8  # as differential evolution's F


class Credit(eqx.Module):
    """What each kind of move has earned."""

    successes: Float[Array, " kinds"]
    trials: Float[Array, " kinds"]

    @staticmethod
    def blank(dtype: jax.typing.DTypeLike) -> "Credit":
        zeros = jnp.zeros(len(KINDS), dtype)
        return Credit(zeros, zeros)

    def paid(self, kind: Int[Array, ""], success: Bool[Array, ""], active: Bool[Array, ""]) -> "Credit":
        tried = is_row(len(KINDS), kind) & active
        one = tried.astype(self.trials.dtype)
        return Credit(self.successes + jnp.where(success, one, 0.0), self.trials + one)

    def draw(self, normals: Float[Array, " kinds"], bias: Float[Array, " kinds"]) -> Int[Array, ""]:
        """A kind, by Thompson sampling with the normal approximation of the beta posterior; `bias` is the planner's."""
        prior = jnp.asarray([kind.prior for kind in KINDS], self.trials.dtype)
        weight = self.trials + PRIOR_WEIGHT
        mean = (self.successes + PRIOR_WEIGHT * prior) / weight
        spread = jnp.sqrt(mean * (1.0 - mean) / (weight + 1.0))
        return jnp.argmax(mean + spread * normals + bias).astype(jnp.int32)


class Recent(eqx.Module):
    """Values of the basins that were left last; +inf where there were fewer."""

    values: Float[Array, " recent"]

    @staticmethod
    def none(dtype: jax.typing.DTypeLike) -> "Recent":
        return Recent(jnp.full(RECENT, jnp.inf, dtype))

    def with_basin(self, f: Float[Array, ""], active: Bool[Array, ""]) -> "Recent":
        return Recent(jnp.where(active, jnp.concatenate([f[None], self.values[:-1]]), self.values))

    def has_low(self, f: Float[Array, ""]) -> Bool[Array, ""]:
        """Whether f is low among them."""
        count = lambda chosen: jnp.sum(chosen, dtype=f.dtype)  # noqa: E731
        return count(self.values < f) <= LOWER * count(jnp.isfinite(self.values))


def next_widening(
    widening: Float[Array, ""], kind: Int[Array, ""], fell_back: Bool[Array, ""], better: Bool[Array, ""]
) -> Float[Array, ""]:
    """The log of what all radii are multiplied by, after a move of this kind from the base.

    Moves that fall back into the basin they left were too short, others perhaps too long: as the step size of SciPy's
    basinhopping, but told by the basin instead of by the value.
    """
    change = jnp.where(fell_back, WIDER, jnp.where(better, 0.0, -NARROWER))
    return jnp.where((kind >= 0) & (kind < DIFFERENCE), jnp.clip(widening + change, -WIDEST, WIDEST), widening)


def moves_few(kind: Int[Array, ""]) -> Bool[Array, ""]:
    """Whether it is a kind of move of few coordinates."""
    return jnp.any(is_row(len(KINDS), kind) & jnp.asarray([k.few for k in KINDS]))


def propose(
    kind: Int[Array, ""],
    draws: Draws,
    base: Float[Array, " d"],
    archive: Archive,
    lower: Float[Array, " d"],
    upper: Float[Array, " d"],
    log_radius: Float[Array, ""],
) -> Float[Array, " d"]:
    """The anchor of an escape of this kind from `base`, inside [lower, upper] (finite) by reflection."""
    dtype, d = base.dtype, base.size
    radius = jnp.asarray([k.radius for k in KINDS], dtype)[kind] * jnp.exp(RADIUS_SPREAD * draws.radius + log_radius)
    few = moves_few(kind)
    share = jnp.exp(draws.share * jnp.log(jnp.maximum(0.5 * d, 1.0))) / d  # log-uniform from one coordinate to half
    chosen = (draws.uniform < jnp.where(few, share, 1.0)) | (jnp.arange(d) == jnp.argmin(draws.uniform))
    around = base + radius * jnp.where(chosen, draws.normal, 0.0)
    pair = _filled_pair(archive, draws.pair)
    difference = DIFFERENCE_WEIGHT * (archive.points[pair[0]] - archive.points[pair[1]])
    around = around + jnp.where((kind == DIFFERENCE) & (archive.count >= 3), 1.0, 0.0).astype(dtype) * difference
    anywhere = lower + (upper - lower) * draws.uniform
    anchor = jnp.where(kind == ANYWHERE, anywhere, around)
    reflected = jnp.where(anchor > upper, 2.0 * upper - anchor, jnp.where(anchor < lower, 2.0 * lower - anchor, anchor))
    return jnp.clip(reflected, lower, upper)


def _filled_pair(archive: Archive, uniform: Float[Array, " 2"]) -> tuple[Int[Array, ""], Int[Array, ""]]:
    """Two distinct filled slots, given that there are two; the archive fills its slots in order."""
    count = jnp.maximum(archive.count, 2)
    first = (uniform[0] * count.astype(uniform.dtype)).astype(count.dtype)
    shift = (uniform[1] * (count - 1).astype(uniform.dtype)).astype(count.dtype)
    return first % count, (first + 1 + shift) % count
