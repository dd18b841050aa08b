"""Turned axes: is f a sum over coordinates of some other orthogonal frame, and if so, which?

If f(q) = sum_i phi_i(a_i . q) with orthonormal a_i, its Hessian is A^T diag(phi_i'') A everywhere: the eigenvectors at
one place, read off d differences of forces, are the axes. Whether that is so for f is tested as it is for the
coordinates themselves, by one reading for which half of the turned coordinates move. A survey is a stage of d + 2
placements: a place, d small steps from it, the test.

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

MOST_TURNED = 128  # dimension up to which axes are looked for
INWARD = 0.5  # the place of a survey: on the way from a place that was read to the middle of the box
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
    move: Vector  # of the turned coordinates, in the test
    matrix: Float[Array, "d d"]  # rows a_i; differences of forces while a survey is under way
    read: Int[Array, ""]  # readings of the survey
    turned: Flag

    @staticmethod
    def blank(q: Vector) -> "Axes":
        nought = jnp.zeros_like(q)
        return Axes(
            nought, nought, nought, jnp.eye(q.size, dtype=q.dtype), jnp.zeros((), jnp.int32), jnp.zeros((), bool)
        )

    def turn(self, v: Vector) -> Vector:
        """v in the coordinates of the frame."""
        return self.matrix @ v

    def back(self, z: Vector) -> Vector:
        return z @ self.matrix

    def opened(self, q: Vector, lower: Vector, upper: Vector, draws: Draws, active: Flag) -> "Axes":
        """A survey around a place between q and the middle of the box, where `active`."""
        point = q + INWARD * (0.5 * (lower + upper) - q)
        wide = jnp.full_like(q, 2.0 * REACH)  # turned coordinates have no bounds of their own
        move = tentative_place(jnp.zeros_like(q), draws.normal, draws, -wide, wide)
        return replace(self, point=jnp.where(active, point, self.point), move=jnp.where(active, move, self.move))

    @property
    def target(self) -> Vector:
        """Where the survey reads next."""
        d, dtype = self.point.size, self.point.dtype
        step = jnp.where(is_row(d, self.read - 1), float(jnp.finfo(dtype).eps) ** (1 / 3), 0.0).astype(dtype)
        return self.point + jnp.where(self.read > d, self.back(self.move), step)

    def observed(self, plant: Plant, active: Flag) -> "Axes":
        """After a reading of the survey, where `active`; the last difference leads to the axes."""
        d = self.point.size
        first, row = active & (self.read == 0), is_row(d, self.read - 1)
        step = jnp.sum(jnp.where(row, plant.q - self.point, 0.0))
        difference = (plant.g - self.force) / jnp.where(step != 0, step, 1.0)
        differences = put_row(self.matrix, self.read - 1, difference, active & jnp.any(row))
        matrix = when(active & (self.read == d), eigenvectors, differences)
        return replace(
            self,
            force=jnp.where(first, plant.g, self.force),
            matrix=matrix,
            read=self.read + active.astype(jnp.int32),
        )

    def settled(self, turned: Flag, active: Flag) -> "Axes":
        """The survey is over, where `active`: its frame if f is `turned`, else that of the coordinates."""
        identity = jnp.eye(self.point.size, dtype=self.point.dtype)
        return replace(
            self, matrix=jnp.where(active & ~turned, identity, self.matrix), turned=self.turned | (active & turned)
        )

    def course(self, base: Vector, base_g: Vector, lower: Vector, upper: Vector, draws: Draws, narrow: Flag) -> Course:
        """Of a sweep of the frame's coordinates, each up or down first as it is drawn; through the box where nothing is
        turned."""
        half, base = 0.5 * (upper - lower), self.turn(base)
        reach = jnp.minimum(jnp.abs(self.matrix) @ half, TURNED_REACH * jnp.max(half))
        middle = jnp.where(narrow, base, self.turn(0.5 * (lower + upper)))
        reach = jnp.where(narrow, NARROW_REACH, reach) * jnp.where(draws.uniform < 0.5, -1.0, 1.0).astype(base.dtype)
        pick = lambda turned, plain: jnp.where(self.turned, turned, plain)  # noqa: E731
        ends = pick(middle - reach, lower), pick(middle + reach, upper)
        return Course(base, self.turn(base_g), *ends, self.turned)


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
