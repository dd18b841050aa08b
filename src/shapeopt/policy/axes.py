"""Turned axes: is f a sum over coordinates of some other orthogonal frame, and if so, which?

If f(q) = sum_i phi_i(a_i . q) with orthonormal a_i, its Hessian is H = A^T diag(phi_i'') A everywhere. Two Hessians of
such a sum commute, and few others do: six readings, two places and four small steps, compare H' H g with H H' g, and a
survey ends there if they differ, or if H' g is H g, as for a quadratic, which has one basin. Else the eigenvectors of
H, read off d differences of forces, are the axes, which is tested as it is for the coordinates themselves, by one
reading for which half of the turned coordinates move. A survey is a stage of d + 7 placements, or of six.

Departs from the paper: not in it; each reading of a survey is a placement (design, the escape limit).
"""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from ..core import REACH, is_row, put_row, when
from .base import Plant
from .draws import Draws
from .sweep import Course, tentative_place

LEAST_TURNED, MOST_TURNED = 4, 128  # dimensions in which axes are looked for; in fewer, hops are as quick
INWARD = 0.5  # the places of a survey: on the way from a place that was read, or one aside, to the middle of the box
ASIDE = 3.0  # standard deviation of that, by coordinate, in internal units (the box is 10 wide)
COMMUTING = 0.03  # difference of H' H g and H H' g, as a share of both, up to which Hessians are taken to commute
QUADRATIC = 0.01  # difference of H g and H' g, likewise, below which f is taken for a quadratic: it has one basin
PRELUDE = 6  # readings that show it
TURNED_REACH = 1.25  # of turned coordinates that are swept, in half-widths of the box; at most what the box has
ROUNDS = 10  # in which each pair of coordinates is rotated once; Jacobi's method converges quadratically
NARROW_REACH = 2.0  # the same of every second sweep, around the base: finer, and so exact

Scalar = Float[Array, ""]
Vector = Float[Array, " d"]
Flag = Bool[Array, ""]


class Axes(eqx.Module):
    """The frame in which f is looked at: that of the coordinates until a survey has found another."""

    point: Vector  # of the survey
    force: Vector  # there
    aside: Vector  # another place, to compare Hessians
    aside_force: Vector
    move: Vector  # of the turned coordinates, in the test
    matrix: Float[Array, "d d"]  # rows a_i; what small steps have shown while a survey is under way
    read: Int[Array, ""]  # readings of the survey
    turned: Flag  # whether the frame is that of `matrix`

    @staticmethod
    def blank(q: Vector) -> "Axes":
        nought, matrix = jnp.zeros_like(q), jnp.zeros((q.size, q.size), q.dtype)
        return Axes(nought, nought, nought, nought, nought, matrix, jnp.zeros((), jnp.int32), jnp.zeros((), bool))

    def turn(self, *vectors: Vector) -> Float[Array, "n d"]:
        """Vectors in the coordinates of the frame, one a row. Sums of products, since a product of matrices in a loop
        can't be part of one kernel (see `rollout.ONE_KERNEL`)."""
        return when(self.turned, lambda rows: jnp.sum(rows[:, None, :] * self.matrix, axis=-1), jnp.stack(vectors))

    def back(self, z: Vector) -> Vector:
        return when(self.turned, lambda z: jnp.sum(z[:, None] * self.matrix, axis=0), z)

    def opened(self, q: Vector, lower: Vector, upper: Vector, draws: Draws, active: Flag) -> "Axes":
        """A survey around a place between q and the middle of the box, where `active`."""
        inward = lambda q: q + INWARD * (0.5 * (lower + upper) - q)  # noqa: E731
        aside = inward(jnp.clip(q + ASIDE * draws.normal, lower, upper))
        wide = jnp.full_like(q, 2.0 * REACH)  # turned coordinates have no bounds of their own
        move = tentative_place(jnp.zeros_like(q), draws.normal, draws, -wide, wide)
        point, aside, move = (
            jnp.where(active, new, old)
            for new, old in ((inward(q), self.point), (aside, self.aside), (move, self.move))
        )
        return replace(self, point=point, aside=aside, move=move)

    @property
    def target(self) -> Vector:
        """Where the survey reads next."""
        tests = self.read == survey_length(self.point.size) - 1
        small = jnp.where(self.read > 1, self._step * self._along, 0.0)
        return self._place + jnp.where(tests, self.back(self.move), small)

    @property
    def _is_aside(self) -> Flag:
        """Whether the next reading is aside: that place itself, and steps there along g and along H g."""
        return (self.read == 1) | (self.read == 3) | (self.read == 4)

    @property
    def _place(self) -> Vector:
        return jnp.where(self._is_aside, self.aside, self.point)

    @property
    def _along(self) -> Vector:
        """What a small step leads along: g at both places, H g and H' g at the other one, then each coordinate."""
        crossed = jnp.where(self.read == 4, self.matrix[0], self.matrix[1])
        way = jnp.where(self.read < 4, self.force, crossed)
        return jnp.where(self.read < PRELUDE, way, is_row(way.size, self.read - PRELUDE).astype(way.dtype))

    @property
    def _step(self) -> Scalar:
        """Length of that step, in lengths of what it leads along."""
        size, dtype = jnp.max(jnp.abs(self._along)), self.point.dtype
        return float(jnp.finfo(dtype).eps) ** (1 / 3) / jnp.where(size > 0, size, 1.0)

    def observed(self, plant: Plant, active: Flag) -> "Axes":
        """After a reading of the survey, where `active`; the last difference leads to the axes."""
        last = active & (self.read == survey_length(self.point.size) - 2)
        matrix = when(active & (self.read > 1), lambda rows: self._with_difference(rows, plant), self.matrix)
        return replace(
            self,
            force=jnp.where(active & (self.read == 0), plant.g, self.force),
            aside_force=jnp.where(active & (self.read == 1), plant.g, self.aside_force),
            matrix=when(last, eigenvectors, matrix),
            read=self.read + active.astype(jnp.int32),
            turned=self.turned | last,
        )

    def _with_difference(self, rows: Float[Array, "d d"], plant: Plant) -> Float[Array, "d d"]:
        """With the Hessian times that: H g, H' g, H' H g and H H' g in the first rows, then H in all."""
        force = jnp.where(self._is_aside, self.aside_force, self.force)
        row = self.read - jnp.where(self.read < PRELUDE, 2, PRELUDE)
        return put_row(rows, row, (plant.g - force) / self._step, row < len(rows))

    @property
    def given_up(self) -> Flag:
        """Whether two Hessians have been seen not to commute, or to be the same."""
        same, commuting = _apart(self.matrix[0], self.matrix[1]) < QUADRATIC, _apart(*self.matrix[2:4]) < COMMUTING
        return (self.read == PRELUDE) & (same | ~commuting)

    def course(self, straight: Course, draws: Draws, narrow: Flag) -> Course:
        """Of a sweep that would lead `straight` through the box: turned, each coordinate is up or down first as it is
        drawn."""

        def turned(straight: Course) -> Course:
            half, middle = 0.5 * (straight.upper - straight.lower), 0.5 * (straight.upper + straight.lower)
            base, base_g, middle = self.turn(straight.base, straight.base_g, middle)
            reach = jnp.minimum(jnp.sum(jnp.abs(self.matrix) * half, axis=-1), TURNED_REACH * jnp.max(half))
            reach = jnp.where(narrow, NARROW_REACH, reach) * jnp.where(draws.uniform < 0.5, -1.0, 1.0).astype(
                base.dtype
            )
            middle = jnp.where(narrow, base, middle)
            return Course(base, base_g, middle - reach, middle + reach, jnp.ones((), bool))

        return when(self.turned, turned, straight)


def _apart(one: Vector, other: Vector) -> Scalar:
    """The difference of two vectors as a share of both; not a number if both are 0, and so below nothing."""
    return jnp.linalg.norm(one - other) / (jnp.linalg.norm(one) + jnp.linalg.norm(other))


def survey_length(d: int) -> int:
    """Readings of a survey that is not given up."""
    return PRELUDE + d + 1


def eigenvectors(matrix: Float[Array, "d d"]) -> Float[Array, "d d"]:
    """Rows of orthonormal eigenvectors of the symmetric part, in no order, by Jacobi's rotations.

    Half as many pairs as there are coordinates are rotated at a time, the k-th of the upper half with the k-th of the
    lower; then all but the first move on by one place, so that after d - 1 times each has met every other. Plain
    operations, unlike `eigh`, whose call into LAPACK can't be part of one kernel (see `rollout.ONE_KERNEL`).
    """
    d = len(matrix)
    half = (d + 1) // 2
    padded = jnp.pad(0.5 * (matrix + matrix.T), (0, 2 * half - d))
    order = np.arange(2 * half)
    ring = np.concatenate([order[1:half], order[half:][::-1]])  # down the upper half, back up the lower one
    onward = order.copy()
    onward[ring] = np.roll(ring, 1)

    def turned(rows: Float[Array, "n n"], c: Float[Array, " h"], s: Float[Array, " h"]) -> Float[Array, "n n"]:
        upper, lower = rows[:half], rows[half:]
        met = jnp.concatenate([c[:, None] * upper - s[:, None] * lower, s[:, None] * upper + c[:, None] * lower])
        return met[onward]

    def rotated(_: int, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        a, vectors = carry
        first, second, off = jnp.diag(a)[:half], jnp.diag(a)[half:], jnp.diag(a[:half, half:])
        slope = (second - first) / jnp.where(off != 0, 2.0 * off, 1.0)
        t = jnp.where(slope >= 0, 1.0, -1.0) / (jnp.abs(slope) + jnp.sqrt(slope**2 + 1.0))
        t = jnp.where(off != 0, t, 0.0)
        c = 1.0 / jnp.sqrt(t**2 + 1.0)
        s = t * c
        return turned(turned(a, c, s).T, c, s), turned(vectors, c, s)

    identity = jnp.eye(2 * half, dtype=matrix.dtype)
    _, vectors = jax.lax.fori_loop(0, ROUNDS * max(2 * half - 1, 1), rotated, (padded, identity))
    return vectors[:d, :d]
