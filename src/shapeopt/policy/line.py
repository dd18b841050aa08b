"""The refine stage's working memory: incumbent, line, curvature, and what the basin promises.

One reading a trial. A trial that decreases enough (Armijo) becomes the incumbent and the next step goes from there; one
that does not is taken back toward the incumbent to the minimum of the cubic through both ends. A trial that shows
negative curvature is accepted too and lengthens the next step, which stands in for a separate expansion phase. Where a
trial is accepted before a kink that the one before it was rejected behind, the change of force between those two is the
curvature that counts: along the way to the kink there is none.
"""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ..core import REACH
from .base import Plant
from .secant import CURVATURE_FLOOR, SecantMetric, SecantPairs

ARMIJO = 1e-4  # Nocedal and Wright, section 3.1
WOLFE = 0.9  # share of the slope that may be left where a trial after a rejected one is accepted; weak Wolfe condition
STRETCH = 4.0  # growth of the step on negative curvature; More and Thuente's extrapolation limit
FIRST_STEP = 1.0  # length of a run's first step per sqrt(d), where the box is 10 wide
RADIUS = 1.0  # the same for the longest first step of a basin; doubled or more by each accepted trial
RADIUS_GROWTH = 2.5
RADIUS_MAX = 10.0
SHORTEST = 1e-4  # a line this short has failed
LEAST_CHANGE = 100.0  # ulps of a force: less is round-off, as between two readings on one flat face, and no curvature
ON_BOUND = 64.0  # ulps of a bound within which a coordinate is on it: placements are exact to round-off only

Scalar = Float[Array, ""]
Vector = Float[Array, " d"]


class Line(eqx.Module):
    """The incumbent (q, f, g), the move being tried from it, and the secant pairs of this basin."""

    q: Vector
    f: Scalar
    g: Vector
    move: Vector  # the whole step from the incumbent; trials are at q + t move
    t: Scalar
    stretch: Scalar
    accepted: Bool[Array, ""]  # was the last trial accepted
    pairs: SecantPairs
    beyond: Vector  # the last trial, if that was rejected: the bottom of the line lies before it
    beyond_g: Vector
    bracketed: Bool[Array, ""]  # whether it was
    gamma: Scalar
    radius: Scalar
    age: Int[Array, ""]
    start: Scalar  # value where the basin was entered
    origin: Vector  # that place
    judged: Scalar  # value when a promise was last heard
    least: Scalar  # least promise so far
    ratio: Scalar  # how much farther f has fallen since, as a multiple of the least promise of the time
    mismatch: Scalar  # how far the change of f is from the work of g along the move: 0 for a smooth, noiseless f

    @staticmethod
    def blank(q: Vector, capacity: int) -> "Line":
        zero, one, infinite = (jnp.asarray(x, q.dtype) for x in (0.0, 1.0, jnp.inf))
        nought = jnp.zeros_like(q)
        return Line(
            q=q,
            f=infinite,
            g=nought,
            move=nought,
            t=one,
            stretch=one,
            accepted=jnp.zeros((), bool),
            pairs=SecantPairs.empty(capacity, q.size, q.dtype),
            beyond=q,
            beyond_g=nought,
            bracketed=jnp.zeros((), bool),
            gamma=zero,
            radius=zero,
            age=jnp.zeros((), jnp.int32),
            start=infinite,
            origin=q,
            judged=infinite,
            least=infinite,
            ratio=zero,
            mismatch=zero,
        )

    def opened(self, plant: Plant, active: Bool[Array, ""]) -> "Line":
        """A new basin at the plant, where `active`; the last basin's curvature scale is the first guess of its own."""
        dtype = plant.q.dtype
        size = jnp.sqrt(jnp.asarray(plant.q.size, dtype))
        first = FIRST_STEP * size / jnp.maximum(jnp.linalg.norm(plant.g), 100.0 * jnp.finfo(dtype).tiny)
        pick = lambda new, old: jnp.where(active, new, old)  # noqa: E731
        return replace(
            self,
            q=pick(plant.q, self.q),
            f=pick(plant.f, self.f),
            g=pick(plant.g, self.g),
            stretch=pick(1.0, self.stretch),
            accepted=active | self.accepted,
            pairs=self.pairs.forget(active),
            bracketed=self.bracketed & ~active,
            gamma=pick(jnp.where(self.gamma > 0, jnp.clip(self.gamma, 1e-3 * first, 10.0 * first), first), self.gamma),
            radius=pick(RADIUS, self.radius),
            age=pick(0, self.age),
            start=pick(plant.f, self.start),
            origin=pick(plant.q, self.origin),
            judged=pick(plant.f, self.judged),
            least=pick(jnp.inf, self.least),
            ratio=pick(0.0, self.ratio),
            mismatch=pick(0.0, self.mismatch),
        )

    def resumed(self, active: Bool[Array, ""]) -> "Line":
        """The plant was elsewhere: where `active`, the next trial is placed on the line down the incumbent's force."""
        length = self.gamma * jnp.linalg.norm(self.g)
        longest = self.radius * jnp.sqrt(jnp.asarray(self.q.size, self.q.dtype))
        move = -self.gamma * jnp.minimum(1.0, longest / jnp.where(length > 0, length, 1.0)) * self.g
        return replace(
            self,
            move=jnp.where(active, move, self.move),
            t=jnp.where(active, 1.0, self.t),
            accepted=self.accepted & ~active,
            bracketed=self.bracketed & ~active,
        )

    def observed(self, plant: Plant, active: Bool[Array, ""]) -> "Line":
        """After a reading at a trial, where `active`."""
        s, y = plant.q - self.q, plant.g - self.g
        slope, slope_end = jnp.dot(self.g, s), jnp.dot(plant.g, s)
        accepted = plant.finite & (plant.f <= self.f + ARMIJO * slope)
        steep = accepted & self.bracketed & (slope_end < WOLFE * slope)
        past, turn = jnp.where(steep, self.beyond - plant.q, s), jnp.where(steep, self.beyond_g - plant.g, y)
        sy, ss, yy = jnp.dot(past, turn), jnp.dot(past, past), jnp.dot(turn, turn)
        largest = jnp.maximum(jnp.dot(plant.g, plant.g), jnp.dot(self.g, self.g))
        changed = yy > (LEAST_CHANGE * jnp.finfo(s.dtype).eps) ** 2 * largest
        curved = accepted & changed & (sy > CURVATURE_FLOOR * jnp.sqrt(ss * yy))
        concave = accepted & ~curved
        gamma = jnp.where(curved, sy / jnp.where(yy > 0, yy, 1.0), jnp.where(concave, STRETCH, 1.0) * self.gamma)
        shorter = _cubic_minimum(slope, plant.f - self.f, slope_end)
        t = self.t * jnp.where(plant.finite, jnp.clip(shorter, 0.1, 0.5), 0.1)
        reach = jnp.linalg.norm(self.move) / jnp.sqrt(jnp.asarray(s.size, s.dtype))
        radius = jnp.where(accepted, jnp.minimum(RADIUS_GROWTH * self.radius, RADIUS_MAX), t * reach)
        work = 0.5 * (slope + slope_end)
        force = jnp.sqrt(jnp.dot(s, s) * largest / (2.0 * s.size))
        error = jnp.abs(plant.f - self.f - work) / jnp.where(force > 0, force, 1.0)
        mismatch = jnp.where(plant.finite, 0.7 * self.mismatch + 0.3 * jnp.minimum(error, 1.0), self.mismatch)
        pairs = self.pairs.add(past, turn, active & curved)
        new = replace(
            self,
            q=jnp.where(accepted, plant.q, self.q),
            f=jnp.where(accepted, plant.f, self.f),
            g=jnp.where(accepted, plant.g, self.g),
            t=jnp.where(accepted, 1.0, t),
            stretch=jnp.where(concave, STRETCH, 1.0).astype(s.dtype),
            accepted=accepted,
            pairs=pairs,
            beyond=jnp.where(accepted, self.beyond, plant.q),
            beyond_g=jnp.where(accepted, self.beyond_g, plant.g),
            bracketed=~accepted & plant.finite,
            gamma=gamma,
            radius=radius,
            age=self.age + 1,
            mismatch=mismatch,
        )
        keep = replace(self, pairs=pairs)
        return jax.tree.map(lambda a, b: a if a is b else jnp.where(active, a, b), new, keep)

    def metric(self, lower: Vector, upper: Vector, h: float) -> SecantMetric:
        """M = h^2 B / stretch on the coordinates that are free to move (design, the refine limit)."""
        slack = ON_BOUND * REACH * jnp.finfo(self.q.dtype).eps
        held = ((self.q <= lower + slack) & (self.g > 0)) | ((self.q >= upper - slack) & (self.g < 0))
        return SecantMetric(self.pairs, self.gamma, ~held, self.stretch / h**2)

    def followed(self, move: Vector, active: Bool[Array, ""]) -> "Line":
        """The step that the metric made is the line of the next trials."""
        return replace(self, move=jnp.where(active, move, self.move), t=jnp.where(active, 1.0, self.t))

    def promised(self, promise: Scalar, active: Bool[Array, ""]) -> "Line":
        """The step from here promises so much; what fell since the last one is held against the least of them."""
        fallen = jnp.where(jnp.isfinite(self.judged) & (self.least > 0), (self.judged - self.f) / self.least, 0.0)
        return replace(
            self,
            judged=jnp.where(active, self.f, self.judged),
            least=jnp.where(active, jnp.minimum(self.least, promise), self.least),
            ratio=self.ratio + jnp.where(active, fallen, 0.0),
        )

    @property
    def target(self) -> Vector:
        return self.q + self.t * self.move

    @property
    def promise(self) -> Scalar:
        """Decrease that the incumbent's force expects of the next trial on the line."""
        return -self.t * jnp.dot(self.g, self.move)


def _cubic_minimum(slope: Scalar, rise: Scalar, slope_end: Scalar) -> Scalar:
    """Minimum in t of the cubic with value 0 and `slope` at t = 0, `rise` and `slope_end` at t = 1; else 1/4."""
    z = slope + slope_end - 3.0 * rise
    square = z * z - slope * slope_end
    root = jnp.sqrt(jnp.maximum(square, 0.0))
    bottom = slope_end - slope + 2.0 * root
    t = 1.0 - (slope_end + root - z) / jnp.where(bottom != 0, bottom, 1.0)
    return jnp.where((square >= 0) & (bottom != 0) & jnp.isfinite(t), t, 0.25)
