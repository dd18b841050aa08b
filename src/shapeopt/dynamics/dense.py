"""A dense secant model of the inverse Hessian, and the step that it makes inside a radius and a box.

Two matrices race. H is BFGS with self-scaling (Oren and Luenberger 1974; only downwards, as Al-Baali 1998): where the
model has too much curvature along a step, all of it is scaled down before the pair is taken in,

    H <- H / tau,   tau = min(1, s.y / s.B s),   H+ = (I - rho s y^T) H (I - rho y s^T) + rho s s^T,   rho = 1 / s.y

which forgets curvature of regions left behind. K is SR1, which keeps every pair of a quadratic,

    K+ = K + u u^T / u.y,   u = s - K y

and is used where it has predicted steps from changes of the force clearly better than H of late, and points downhill.
H is positive definite by construction. A step -K g is made by a metric that is: M^-1 = s s^T / (-g.s) on it, and any
positive multiple of the identity across the force.

A shape learned from a family's basins may take the identity's place: A with A^-1 = B, both positive definite, of any
scale. Its scale comes from the first pair, which also says whether it is used at all: by Cauchy and Schwarz

    (s.y)^2 <= (y.A y)(s.B s),   with equality where y is a multiple of B s,

and if that is not clearly sharper than the identity's bound (y.y)(s.s), the model begins with the identity.

Departs from the paper: there M is diagonal.
"""

import functools
from typing import Any, NamedTuple

import numpy as np

PASSES = 6  # changes of the set of coordinates that are fixed on a side
SOUND = 1e-8  # least |u.y| of an SR1 update, as a share of |u||y| (Nocedal and Wright, section 6.2)
ERROR_FLOOR = 1e-9
SHARPER = 0.7  # of the identity's bound, that a learned shape's must be below


@functools.lru_cache(maxsize=16)
def identity(d: int, dtype: Any) -> np.ndarray:
    """The identity matrix, made once."""
    eye = np.eye(d, dtype=dtype)
    eye.setflags(write=False)
    return eye


class LearnedShape(NamedTuple):
    """An inverse Hessian of unknown scale, and its inverse."""

    A: Any
    B: Any


class Dense(NamedTuple):
    """H, K and a running mean of the logarithm of the relative error of either."""

    H: Any
    K: Any
    error_H: Any
    error_K: Any
    pairs: Any
    shape: LearnedShape | None = None  # None: the identity

    @staticmethod
    def blank(ops: Any, d: int, dtype: Any, shape: LearnedShape | None = None) -> "Dense":
        zero = ops.real(0.0, dtype)
        return Dense(ops.xp.zeros((d, d), dtype), ops.xp.zeros((d, d), dtype), zero, zero, ops.whole(0), shape)

    def opened(self, ops: Any, g: Any, gamma: Any, radius: Any) -> "Dense":
        """With no pairs: gamma I, or the learned shape with a first step -H g as long as the radius."""
        if self.shape is None:
            return self.reset(ops, gamma)
        length = ops.norm(ops.times(self.shape.A, g))
        H = (radius / ops.pick(length > 0, length, 1.0)) * self.shape.A
        return self.reset(ops, gamma)._replace(H=H, K=H)

    def reset(self, ops: Any, gamma: Any) -> "Dense":
        """gamma I, with no pairs."""
        H = gamma * identity(self.H.shape[0], self.H.dtype)
        zero = ops.real(0.0, self.H.dtype)
        return Dense(H, H, zero, zero, ops.whole(0), self.shape)

    def is_blank(self, ops: Any) -> Any:
        """Whether no pair was taken in yet."""
        return self.pairs == 0

    def stretched(self, ops: Any, factor: float, s: Any, bent: Any) -> "Dense":
        """With the curvature s.B s = `bent` along a step divided by the factor; where no pair is known, all of it."""
        more = ops.outer((factor - 1.0) / bent * s, s)
        H, K = ops.cond(
            self.is_blank(ops), lambda: (factor * self.H, factor * self.K), lambda: (self.H + more, self.K + more)
        )
        return Dense(H, K, self.error_H, self.error_K, self.pairs, self.shape)

    def add(self, ops: Any, s: Any, y: Any, sy: Any, yy: Any, curvature: Any) -> "Dense":
        """With the pair (s, y), s.y > 0, whose first sets the scale; `curvature`: s.B s where H made the step."""
        first, H, K = self.pairs == 0, self.H, self.K
        if ops.traced or first:
            H, K = ops.pick(first, (self._begun(ops, s, y, sy, yy),) * 2, (H, K))
        Hy, Ky = ops.times(H, y), ops.times(K, y)
        yHy = ops.dot(y, Hy)
        error_H = _mixed(ops, self.error_H, 1.0 - yHy / sy)
        error_K = _mixed(ops, self.error_K, 1.0 - ops.dot(y, Ky) / sy)
        larger = ops.no(first) & (curvature > sy)
        scale = 1.0
        if ops.traced or larger:
            scale = ops.pick(larger, curvature / sy, 1.0)
            H = ops.pick(larger, scale * H, H)
        half = ((0.5 + 0.5 * scale * yHy / sy) / sy) * s - (scale / sy) * Hy  # H+ = H + s half^T + half s^T
        cross = ops.outer(s, half)
        u = s - Ky
        uy = ops.dot(u, y)
        sound = uy * uy > SOUND**2 * ops.dot(u, u) * yy
        if ops.traced or sound:
            K = ops.pick(sound, K + ops.outer(u / ops.pick(sound, uy, 1.0), u), K)
        return Dense(H + (cross + cross.T.copy()), K, error_H, error_K, self.pairs + 1, self.shape)

    def _begun(self, ops: Any, s: Any, y: Any, sy: Any, yy: Any) -> Any:
        """The model before the first pair, in that pair's scale."""
        plain = self.reset(ops, sy / yy).H
        if self.shape is None:
            return plain
        yAy, sBs = ops.dot(y, ops.times(self.shape.A, y)), ops.dot(s, ops.times(self.shape.B, s))
        sharper = (yAy > 0) & (yAy * sBs < SHARPER * yy * ops.dot(s, s))
        return ops.pick(sharper, sy / ops.pick(yAy > 0, yAy, 1.0) * self.shape.A, plain)

    def prefers_K(self, better: float, clearly: float) -> Any:
        """Whether K predicts well, and clearly better than H (both in logarithms)."""
        return (self.error_K < better) & (self.error_K + clearly < self.error_H)


class Way(NamedTuple):
    """A step, its curvature s.B s and its slope g.s by the model that made it, and its length."""

    s: Any
    bent: Any
    slope: Any
    length: Any


class Room(NamedTuple):
    """How far coordinates may move from a place, from `low` to `high`, and which ones are pressed against a side.

    The host says None for the last where no coordinate is, and knows the distance to the nearest side (`least`): a
    shorter step is inside, which saves it most comparisons.
    """

    low: Any
    high: Any
    held: Any
    least: Any

    @staticmethod
    def around(ops: Any, q: Any, g: Any, lower: Any, upper: Any, slack: float) -> "Room":
        """The room at q inside a box; a coordinate within `slack` of the side to which -g points is held there."""
        low, high = lower - q, upper - q
        if ops.traced:
            least: Any = 0.0
        else:
            least = min(-ops.largest(low), ops.smallest(high))
            if least > slack:
                return Room(low, high, None, least)
        return Room(low, high, ((low >= -slack) & (g > 0)) | ((high <= slack) & (g < 0)), least)

    def free(self, ops: Any, g: Any) -> Any:
        """g without its entries of coordinates that are held."""
        return g if self.held is None else ops.where(self.held, 0.0, g)

    def contains(self, ops: Any, length: Any) -> bool:
        """Whether a step of this length is known to be inside, wherever it leads."""
        return not ops.traced and length < self.least

    def clipped(self, ops: Any, s: Any) -> Any:
        return ops.xp.minimum(ops.xp.maximum(s, self.low), self.high)

    def admits(self, ops: Any, s: Any, length: Any) -> Any:
        """Whether no coordinate is held, and this step is inside."""
        if self.held is None and length < self.least:
            return True
        outside = (s > self.high) | (s < self.low)
        return ops.no(ops.any(outside if self.held is None else outside | self.held))


def dense_way(ops: Any, A: Any, g: Any, room: Room, radius: Any) -> Way:
    """The model's step -A g from a place with some room, shortened to the radius; A is the inverse of B."""
    Ag = ops.times(A, g)
    s, share, length = shortened(ops, -Ag, radius)
    slope = ops.dot(g, s)
    way = Way(s, -share * slope, slope, length)
    inside = room.admits(ops, s, length)
    if not ops.traced and inside:
        return way
    return ops.when(ops.no(inside), lambda _: _bounded_way(ops, A, Ag, g, room, radius), way)


def _bounded_way(ops: Any, A: Any, Ag: Any, g: Any, room: Room, radius: Any) -> Way:
    """The same where sides of the box are in the way. Coordinates that would leave it are fixed on its side, those that
    the model pushes inwards from a side are released (a primal-dual active set), and the others are solved for again,

        B s + g = 0 on free coordinates, s = b on fixed ones:   s = -A (g + l),  A_cc l_c = -(b + A g)_c
    """
    xp, (low, high, held, _) = ops.xp, room
    eye, zero = identity(A.shape[0], A.dtype), xp.zeros(g.shape, g.dtype)

    def again(carry: tuple) -> tuple:
        side, b, _, _, _, _, number = carry
        fixed = side != 0
        block = ops.where(fixed[:, None] & fixed, A, eye)
        multipliers = ops.solve_positive(block, ops.where(fixed, -(b + Ag), 0.0))
        s = ops.where(fixed, b, -(Ag + ops.times(A, multipliers)))
        short, share, _ = shortened(ops, s, radius)
        over = xp.sign(xp.maximum(short - high, 0.0) + xp.minimum(short - low, 0.0))
        inward = fixed & (side * multipliers < 0)
        sides = ops.where(fixed, ops.where(inward, 0.0, side), over)
        b = ops.where(fixed, b, room.clipped(ops, s))
        return sides, b, short, multipliers, share, ops.flag(ops.any(sides != side)), number + 1

    side = zero if held is None else ops.where(held, -xp.sign(g), 0.0)
    start = (side, zero, zero, zero, ops.real(1.0, g.dtype), ops.flag(True), ops.whole(0))
    ended = ops.loop(lambda carry: carry[5] & (carry[6] < PASSES), again, start)
    s = room.clipped(ops, ended[2])
    return Way(s, -ended[4] * ops.dot(g + ended[3], s), ops.dot(g, s), ops.norm(s))


def shortened(ops: Any, s: Any, radius: Any) -> tuple[Any, Any, Any]:
    """s, not longer than the radius, by what it was multiplied, and its length; where it overflows: no step."""
    length = ops.norm(s)
    if not ops.traced and length <= radius:
        return s, 1.0, length
    long = length > radius
    share = ops.pick(long, radius / ops.pick(long, length, 1.0), 1.0)
    short = ops.cond(length < float("inf"), lambda: share * s, lambda: ops.xp.zeros_like(s))
    return short, share, ops.pick(length < float("inf"), ops.min(length, radius), 0.0)


def _mixed(ops: Any, mean: Any, error: Any) -> Any:
    return 0.5 * mean + 0.5 * ops.log(abs(error) + ERROR_FLOOR)
