"""The settle stage's working memory: momentum transport with a diagonal metric that cools (design, the settle limit).

    p' = beta p - h g,   q' = q + h M^-1 p',   M^-1 = eta (1 - beta) / (h^2 sqrt(second moment of g))

A constant force moves each coordinate by about eta a step, whatever the scale of f; forces that change sign along the
way, be it by ripples or by noise, average out. eta falls geometrically over the stage, so that it ends in one basin.
"""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ..dynamics import DiagonalMetric
from .base import Plant

BETA = 0.9  # share of the momentum kept by a step; heavy-ball's usual value
FORGET = 0.9  # of the second moment, as RMSProp
POOLED = 0.5  # share of the mean over coordinates in each coordinate's second moment
STEP = 0.5  # eta at the start of a stage, in internal units (the box is 10 wide)
COOLED = 0.05  # eta at the end of a stage, as a share of its start

Scalar = Float[Array, ""]


class Drift(eqx.Module):
    """Second moments of the force in this stage, and how far the stage is."""

    moments: Float[Array, " d"]
    steps: Scalar
    step: Scalar  # eta at the start of this stage
    length: Scalar  # horizon of this stage

    @staticmethod
    def blank(q: Float[Array, " d"]) -> "Drift":
        one = jnp.ones((), q.dtype)
        return Drift(jnp.zeros_like(q), jnp.zeros((), q.dtype), STEP * one, one)

    def opened(self, step: Scalar, length: Scalar, active: Bool[Array, ""]) -> "Drift":
        """A new stage, where `active`."""
        keep = lambda new, old: jnp.where(active, new, old)  # noqa: E731
        return Drift(keep(0.0, self.moments), keep(0.0, self.steps), keep(step, self.step), keep(length, self.length))

    def observed(self, plant: Plant, active: Bool[Array, ""]) -> "Drift":
        moments = FORGET * self.moments + (1.0 - FORGET) * plant.g**2
        steps = self.steps + active.astype(self.steps.dtype)
        return Drift(jnp.where(active, moments, self.moments), steps, self.step, self.length)

    def metric(self, h: float) -> DiagonalMetric:
        unbiased = self.moments / jnp.maximum(1.0 - FORGET ** jnp.maximum(self.steps, 1.0), 1e-6)
        spread = POOLED * jnp.mean(unbiased) + (1.0 - POOLED) * unbiased
        eta = self.step * COOLED ** jnp.minimum(self.steps / self.length, 1.0)
        known = spread > 0
        return DiagonalMetric(eta * (1.0 - BETA) / h**2 / jnp.sqrt(jnp.where(known, spread, 1.0)))

    @property
    def zeta(self) -> Scalar:
        """All momentum is dissipated as the stage opens, a little at each later step."""
        return jnp.where(self.steps > 1, 1.0 - BETA, 1.0).astype(self.steps.dtype)
