"""The sweep: is f a sum of functions of one coordinate each, and if so, where is each of them lowest?

Along a path on which all coordinates move at the same time, the force on a coordinate of such a sum depends on that
coordinate alone, and its integral

    F_i(x_i) = int g_i dx_i

is the coordinate's own function up to a constant: N readings show d profiles, whatever d is. The path starts at the
base, goes through the whole box, up to its upper end and on from its lower end, and back to the base. In turned axes
(axes.py), whose coordinates share the bounds of the box, it is two ways from the base, since a coordinate that jumps
would move the others. Between two readings whose forces point at each other the bottom is that of the parabola through
both.

Departs from the paper: not in it; a sweep is a stage of escapes, each a placement (design, the escape limit).
"""

from dataclasses import replace
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from .base import Plant
from .draws import Draws

TEST_STEP = 0.9  # median move of a coordinate that is tested, in internal units (the box is 10 wide)
TEST_SPREAD = 0.4  # standard deviation of its logarithm
TEST_LEAST = 1e-6  # least move that counts as one
LEAST_LEFT = 4  # untouched coordinates from which on a common factor of their forces is told from a change
LEAST_FACTOR, LARGEST_FACTOR = 0.2, 5.0  # bounds of such a factor
NOISE_IN_OWN = 2.0  # variances of noise that a change of force must pass to tell of anything; 1.5 are in it
SWEEP_SHARE, SWEEP_SHORT, SWEEP_LONG = 0.12, 64.0, 128.0  # of a run's readings; within these bounds
SWEEP_FINE = 32.0  # readings below which ripples of a tenth of the box are lost
SWEEP_MOST = 0.45  # share of a short run that a sweep may take, if that is not below the line above

Scalar = Float[Array, ""]
Vector = Float[Array, " d"]
Flag = Bool[Array, ""]


def sweep_length(readings: Scalar) -> Scalar:
    """Readings of a sweep in a run of so many."""
    usual = jnp.clip(SWEEP_SHARE * readings, SWEEP_SHORT, SWEEP_LONG)
    return jnp.floor(jnp.minimum(usual, jnp.maximum(SWEEP_MOST * readings, SWEEP_FINE)))


def tentative_place(base: Vector, base_g: Vector, draws: Draws, lower: Vector, upper: Vector) -> Vector:
    """About half of the coordinates, at least one and not all, moved down their forces; the others as they are."""
    order = jnp.arange(base.size)
    chosen = (draws.uniform < 0.5) & (order != jnp.argmax(draws.uniform)) | (order == jnp.argmin(draws.uniform))
    reach = TEST_STEP * jnp.exp(TEST_SPREAD * draws.normal)
    move = jnp.where(chosen, jnp.where(base_g > 0, -reach, reach), 0.0)
    inside = (base + move >= lower) & (base + move <= upper)
    return jnp.clip(jnp.where(inside, base + move, base - move), lower, upper)


def coupling_of(base: Vector, base_g: Vector, plant: Plant, sigma: Scalar) -> Scalar:
    """How much a move of some coordinates changed the force on the others, per change of the force on themselves.

    0 for a sum, about 1 for a sum in turned axes. If f is a function of a sum, the others' forces change by one common
    factor, which is taken out. So is noise of standard deviation `sigma`, which the base, read twice, has half of.
    """
    moved = jnp.abs(plant.q - base) > TEST_LEAST  # a placement is exact to round-off only
    left = jnp.where(moved, 0.0, 1.0).astype(base.dtype)
    count = jnp.sum(left)
    along, before = jnp.dot(left * plant.g, base_g), jnp.dot(left * base_g, base_g)
    told = (count >= LEAST_LEFT) & (before > 0)
    factor = jnp.where(told, jnp.clip(along / jnp.where(before > 0, before, 1.0), LEAST_FACTOR, LARGEST_FACTOR), 1.0)
    noise = jnp.maximum(sigma, 0.0) ** 2
    others = jnp.sum(left * (plant.g - factor * base_g) ** 2) / jnp.maximum(count - told.astype(count.dtype), 1.0)
    others = jnp.maximum(others - (1.0 + 0.5 * factor**2) * noise, 0.0)
    own = jnp.sum((1.0 - left) * (plant.g - base_g) ** 2) / jnp.maximum(base.size - count, 1.0)
    own = own - NOISE_IN_OWN * noise
    tells = plant.finite & (count > 0) & (own > 0)
    return jnp.where(tells, jnp.sqrt(others / jnp.where(tells, own, 1.0)), jnp.inf)


class Ends(NamedTuple):
    """Where a sweep leads; `split` into two ways from the base, to the upper and to the lower end, or in one round."""

    lower: Vector
    upper: Vector
    split: Flag


class Profile(eqx.Module):
    """The lowest place on a part of the path, and its height above where that part began."""

    low: Vector
    place: Vector

    def with_candidate(self, low: Vector, place: Vector, active: Bool[Array, " d"]) -> "Profile":
        lower = active & (low < self.low)
        return Profile(jnp.where(lower, low, self.low), jnp.where(lower, place, self.place))


class Sweep(eqx.Module):
    """A sweep under way, and what the profiles show so far."""

    q: Vector  # the last reading of the path
    g: Vector
    height: Vector  # F since the part began
    wrapped: Bool[Array, " d"]  # whether the coordinate went on from the lower end
    first: Profile  # from the base to the upper end
    second: Profile  # from the lower end to the base
    steps: Scalar
    length: Scalar
    promise: Scalar  # fall of f that the lowest places promise; known at the end
    count: Int[Array, ""]  # sweeps so far
    idle: Int[Array, ""]  # of them, how many in a row brought nothing

    @staticmethod
    def blank(q: Vector) -> "Sweep":
        nought, zero = jnp.zeros_like(q), jnp.zeros((), q.dtype)
        none = Profile(nought, q)
        none_yet = jnp.zeros((), jnp.int32)
        return Sweep(q, nought, nought, jnp.zeros(q.shape, bool), none, none, zero, zero, zero, none_yet, none_yet)

    def opened(self, length: Scalar, active: Flag) -> "Sweep":
        """A new sweep, where `active`; its first reading sets what is kept per coordinate."""
        return replace(
            self,
            steps=jnp.where(active, 0.0, self.steps),
            length=jnp.where(active, length, self.length),
            count=self.count + active.astype(jnp.int32),
        )

    def target(self, base: Vector, ends: Ends) -> Vector:
        """Where the next reading of the path is."""
        return self._next(base, ends)[0]

    def _next(self, base: Vector, ends: Ends) -> tuple[Vector, Bool[Array, " d"]]:
        """That place, and for which coordinates it is on the second part of the path."""
        width, step, half = ends.upper - ends.lower, self.steps + 1.0, jnp.ceil(0.5 * self.length)
        ahead, second = base + width * step / (self.length + 1.0), step > half
        share = jnp.where(second, step - half, step) / half
        way = base + share * (jnp.where(second, ends.lower, ends.upper) - base)
        beyond = ahead > ends.upper
        round_trip = jnp.where(beyond, ahead - width, ahead)
        return jnp.where(ends.split, way, round_trip), jnp.where(ends.split, second, beyond)

    def observed(self, plant: Plant, base: Vector, base_g: Vector, ends: Ends, active: Flag) -> "Sweep":
        """After a reading on the path, where `active`; one that is not finite is passed over."""
        begun = self._begun(base, base_g)
        wraps = self._next(base, ends)[1] & ~begun.wrapped
        begun = begun._at(base, base_g, wraps & ends.split)
        breaks = wraps & ~ends.split
        height = jnp.where(breaks, 0.0, begun.height + 0.5 * (begun.g + plant.g) * (plant.q - begun.q))
        low, place = begun._lowest_between(plant.q, plant.g, height, ~breaks)
        wrapped = begun.wrapped | wraps
        first, second = (
            part.with_candidate(low, place, here) for part, here in ((begun.first, ~wrapped), (begun.second, wrapped))
        )
        read = replace(begun, q=plant.q, g=plant.g, height=height, wrapped=wrapped, first=first, second=second)
        new = jax.tree.map(lambda a, b: a if a is b else jnp.where(plant.finite, a, b), read, begun)
        new = jax.tree.map(lambda a, b: a if a is b else jnp.where(active, a, b), new, self)
        return replace(new, steps=self.steps + active.astype(self.steps.dtype))

    def _begun(self, base: Vector, base_g: Vector) -> "Sweep":
        """With the base as the reading before the first."""
        opening, nought = self.steps == 0, jnp.zeros_like(base)
        pick = lambda new, old: jnp.where(opening, new, old)  # noqa: E731
        return replace(
            self._at(base, base_g, opening),
            wrapped=~opening & self.wrapped,
            first=Profile(pick(nought, self.first.low), pick(base, self.first.place)),
            second=Profile(pick(jnp.inf, self.second.low), pick(base, self.second.place)),
        )

    def _at(self, base: Vector, base_g: Vector, active: Bool[Array, "..."]) -> "Sweep":
        """With the base as the last reading, where `active`."""
        pick = lambda new, old: jnp.where(active, new, old)  # noqa: E731
        return replace(self, q=pick(base, self.q), g=pick(base_g, self.g), height=pick(0.0, self.height))

    def lowest(self, base: Vector, base_g: Vector, ends: Ends) -> tuple[Vector, Scalar]:
        """Where every coordinate is lowest, the base itself where nothing is lower, and the fall of f if f is a sum."""
        end = self.height + 0.5 * (self.g + base_g) * (base - self.q)  # a round ends where it began
        closes = self.wrapped & ~ends.split
        second = self.second.with_candidate(*self._lowest_between(base, base_g, end, closes), closes)
        low = second.low - jnp.where(ends.split, 0.0, end)
        better = self.wrapped & (low < self.first.low)
        return jnp.where(better, second.place, self.first.place), -jnp.sum(jnp.where(better, low, self.first.low))

    def _lowest_between(self, q: Vector, g: Vector, height: Vector, joined: Bool[Array, " d"]) -> tuple[Vector, Vector]:
        """(height, place) of the bottom between the last reading and (q, g), if there is one, else of q itself."""
        way = q - self.q  # back, perhaps, in turned axes
        between = joined & (self.g * way < 0) & (g * way > 0)
        share = self.g / jnp.where(between, self.g - g, 1.0)
        step = share * way
        return jnp.where(between, self.height + 0.5 * self.g * step, height), jnp.where(between, self.q + step, q)
