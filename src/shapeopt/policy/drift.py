"""The settle stage's working memory: momentum transport with a diagonal metric (design, the settle limit).

    p' = beta p - h g,   q' = q + h M^-1 p',   M^-1 = eta (1 - beta) / (h^2 sqrt(second moment of g))

A constant force moves each coordinate by about eta a step, whatever the scale of f; noise averages out. eta follows the
length of the path that forces, each of about unit length, make when added up with fading weights: longer than that of
random forces means that there is a way to go, shorter that the steps go back and forth (cumulative step-size
adaptation; Hansen and Ostermeier 2001). eta is carried from stage to stage; within a stage it falls to 0 besides.
"""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ..paper.dynamics import DiagonalMetric
from .base import Plant

BETA = 0.8  # share of the momentum kept by a step
FORGET = 0.95  # of the second moment
POOLED = 0.5  # share of the mean over coordinates in each coordinate's second moment
STEP = 0.03  # eta at first, in internal units (the box is 10 wide): small, since a large one leaves a good start
LARGEST_STEP = 1.0
PATH = 0.15  # weight of the last force in the path
PATH_AGE = 3  # readings before the path is trusted
DAMPING, LARGEST_CHANGE = 20.0, 0.3  # of the logarithm of eta a step

Scalar = Float[Array, ""]


class Drift(eqx.Module):
    """Second moments of the force and its path in this stage, how far the stage is, and the step."""

    moments: Float[Array, " d"]
    path: Float[Array, " d"]
    steps: Scalar
    step: Scalar  # eta, but for its fall within a stage
    length: Scalar  # horizon of this stage

    @staticmethod
    def blank(q: Float[Array, " d"]) -> "Drift":
        one, nought = jnp.ones((), q.dtype), jnp.zeros_like(q)
        return Drift(nought, nought, jnp.zeros((), q.dtype), STEP * one, one)

    def opened(self, length: Scalar, active: Bool[Array, ""]) -> "Drift":
        """A new stage, where `active`."""
        keep = lambda new, old: jnp.where(active, new, old)  # noqa: E731
        moments, path, steps = (keep(0.0, old) for old in (self.moments, self.path, self.steps))
        return Drift(moments, path, steps, self.step, keep(length, self.length))

    def observed(self, plant: Plant, active: Bool[Array, ""]) -> "Drift":
        moments = FORGET * self.moments + (1.0 - FORGET) * plant.g**2
        steps = self.steps + active.astype(self.steps.dtype)
        force = plant.g / _force_scale(moments, steps) / jnp.sqrt(jnp.asarray(plant.g.size, plant.g.dtype))
        path = (1.0 - PATH) * self.path + (PATH * (2.0 - PATH)) ** 0.5 * force
        square = jnp.dot(path, path) / (1.0 - (1.0 - PATH) ** (2.0 * jnp.maximum(steps, 1.0)))
        change = jnp.exp(jnp.clip((square - 1.0) / DAMPING, -LARGEST_CHANGE, LARGEST_CHANGE))
        step = jnp.where(steps > PATH_AGE, jnp.minimum(self.step * change, LARGEST_STEP), self.step)
        keep = lambda new, old: jnp.where(active, new, old)  # noqa: E731
        return Drift(keep(moments, self.moments), keep(path, self.path), steps, keep(step, self.step), self.length)

    def metric(self, h: float, log_step: Scalar) -> DiagonalMetric:
        """`log_step` is the planner's say in eta."""
        left = jnp.maximum(self.length + 1.0 - self.steps, 1.0) / (self.length + 1.0)
        eta = self.step * jnp.exp(log_step) * left
        return DiagonalMetric(eta * (1.0 - BETA) / h**2 / _force_scale(self.moments, self.steps))

    @property
    def zeta(self) -> Scalar:
        """All momentum is dissipated as the stage opens, a part of it at each later step."""
        return jnp.where(self.steps > 1, 1.0 - BETA, 1.0).astype(self.steps.dtype)


def _force_scale(moments: Float[Array, " d"], steps: Scalar) -> Float[Array, " d"]:
    """Root mean square of the force by coordinate, drawn to that of all; 1 where all forces are 0."""
    unbiased = moments / (1.0 - FORGET ** jnp.maximum(steps, 1.0))
    pooled = POOLED * jnp.mean(unbiased) + (1.0 - POOLED) * unbiased
    return jnp.sqrt(jnp.where(pooled > 0, pooled, 1.0))
