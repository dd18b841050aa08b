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
FAR = 0.382  # way of the other coordinates in the second test, in widths of the box: round it by the golden section
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


def other_place(base: Vector, tried: Vector, lower: Vector, upper: Vector) -> Vector:
    """The place of the second test: the coordinates that the first one moved as they are there, the others far away."""
    width = upper - lower
    ahead = base + FAR * width
    return jnp.where(has_moved(base, tried), tried, jnp.where(ahead > upper, ahead - width, ahead))


def has_moved(base: Vector, q: Vector) -> Bool[Array, " d"]:
    return jnp.abs(q - base) > TEST_LEAST  # a placement is exact to round-off only


def coupling_of(base: Vector, base_g: Vector, plant: Plant, sigma: Scalar, base_readings: float = 2.0) -> Scalar:
    """How much a move of some coordinates changed the force on the others, per change of the force on themselves.

    0 for a sum, about 1 for a sum in turned axes. If f is a function of a sum, the others' forces change by one common
    factor, which is taken out. So is noise of standard deviation `sigma`, which the base has less of the more often it
    was read.
    """
    left = jnp.where(has_moved(base, plant.q), 0.0, 1.0).astype(base.dtype)
    count = jnp.sum(left)
    along, before = jnp.dot(left * plant.g, base_g), jnp.dot(left * base_g, base_g)
    told = (count >= LEAST_LEFT) & (before > 0)
    factor = jnp.where(told, jnp.clip(along / jnp.where(before > 0, before, 1.0), LEAST_FACTOR, LARGEST_FACTOR), 1.0)
    noise = jnp.maximum(sigma, 0.0) ** 2
    others = jnp.sum(left * (plant.g - factor * base_g) ** 2) / jnp.maximum(count - told.astype(count.dtype), 1.0)
    others = jnp.maximum(others - (1.0 + factor**2 / base_readings) * noise, 0.0)
    own = jnp.sum((1.0 - left) * (plant.g - base_g) ** 2) / jnp.maximum(base.size - count, 1.0)
    own = own - NOISE_IN_OWN * noise
    tells = plant.finite & (count > 0) & (own > 0)
    return jnp.where(tells, jnp.sqrt(others / jnp.where(tells, own, 1.0)), jnp.inf)


class Course(NamedTuple):
    """Where a sweep begins, and where it leads: in one round through the box, or `split` into two ways from the base,
    to the upper and to the lower end."""

    base: Vector
    base_g: Vector
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
    """A sweep under way, and what the profiles show so far; all in the frame in which f is taken for a sum."""

    course: Course
    q: Vector  # the last reading of the path
    g: Vector
    height: Vector  # F since the part began
    wrapped: Bool[Array, " d"]  # whether the coordinate is on the second part
    first: Profile  # from the base to the upper end
    second: Profile  # from the lower end to the base, or from the base to the lower end
    steps: Scalar
    length: Scalar
    promise: Scalar  # fall of f that the lowest places promise; known at the end
    count: Int[Array, ""]  # sweeps so far
    idle: Int[Array, ""]  # of them, how many in a row brought nothing

    @staticmethod
    def blank(q: Vector) -> "Sweep":
        nought, no, zero, none = (
            jnp.zeros_like(q),
            jnp.zeros((), bool),
            jnp.zeros((), q.dtype),
            jnp.zeros((), jnp.int32),
        )
        course, nowhere = Course(q, nought, nought, nought, no), Profile(nought, q)
        wrapped = jnp.zeros(q.shape, bool)
        return Sweep(course, q, nought, nought, wrapped, nowhere, nowhere, zero, zero, zero, none, none)

    def opened(self, course: Course, length: Scalar, active: Flag) -> "Sweep":
        """A new sweep, where `active`, with the base as the reading before its first."""
        base, nought = course.base, jnp.zeros_like(course.base)
        new = replace(
            self,
            course=course,
            q=base,
            g=course.base_g,
            height=nought,
            wrapped=jnp.zeros_like(self.wrapped),
            first=Profile(nought, base),
            second=Profile(jnp.full_like(base, jnp.inf), base),
            steps=jnp.zeros_like(self.steps),
            length=length.astype(self.length.dtype),
            count=self.count + 1,
        )
        return _where(active, new, self)

    @property
    def target(self) -> Vector:
        """Where the next reading of the path is."""
        return self._next()[0]

    def _next(self) -> tuple[Vector, Bool[Array, " d"]]:
        """That place, and for which coordinates it is on the second part of the path."""
        (base, _, lower, upper, split), step, half = self.course, self.steps + 1.0, jnp.ceil(0.5 * self.length)
        ahead, second = base + (upper - lower) * step / (self.length + 1.0), step > half
        way = base + jnp.where(second, step - half, step) / half * (jnp.where(second, lower, upper) - base)
        beyond = ahead > upper
        round_trip = jnp.where(beyond, ahead - (upper - lower), ahead)
        return jnp.where(split, way, round_trip), jnp.where(split, second, beyond)

    def observed(self, plant: Plant) -> "Sweep":
        """After a reading on the path; one that is not finite is passed over."""
        course, wrapped = self.course, self._next()[1]
        afresh = wrapped & ~self.wrapped  # the second part begins: here, or at the base
        last = replace(
            self,
            q=jnp.where(afresh, jnp.where(course.split, course.base, plant.q), self.q),
            g=jnp.where(afresh, jnp.where(course.split, course.base_g, plant.g), self.g),
            height=jnp.where(afresh, 0.0, self.height),
        )
        height = last.height + 0.5 * (last.g + plant.g) * (plant.q - last.q)
        low, place = last._lowest_between(plant.q, plant.g, height)
        first = self.first.with_candidate(low, place, ~wrapped)
        second = self.second.with_candidate(low, place, wrapped)
        new = replace(self, q=plant.q, g=plant.g, height=height, wrapped=wrapped, first=first, second=second)
        return replace(_where(plant.finite, new, self), steps=self.steps + 1.0)

    def lowest(self) -> tuple[Vector, Scalar]:
        """Where every coordinate is lowest, the base itself where nothing is lower, and the fall of f if f is a sum."""
        base, base_g, _, _, split = self.course
        end = self.height + 0.5 * (self.g + base_g) * (base - self.q)  # a round ends where it began
        closed = self.second.with_candidate(*self._lowest_between(base, base_g, end), self.wrapped & ~split)
        low = closed.low - jnp.where(split, 0.0, end)
        better = self.wrapped & (low < self.first.low)
        return jnp.where(better, closed.place, self.first.place), -jnp.sum(jnp.where(better, low, self.first.low))

    def _lowest_between(self, q: Vector, g: Vector, height: Vector) -> tuple[Vector, Vector]:
        """(height, place) of the bottom between the last reading and (q, g), if there is one, else of q itself."""
        way = q - self.q
        between = (self.g * way < 0) & (g * way > 0)
        step = self.g / jnp.where(between, self.g - g, 1.0) * way
        return jnp.where(between, self.height + 0.5 * self.g * step, height), jnp.where(between, self.q + step, q)


def _where(condition: Flag, new: Sweep, old: Sweep) -> Sweep:
    return jax.tree.map(lambda a, b: a if a is b else jnp.where(condition, a, b), new, old)
