"""Sampling: readings around a mean that moves to where values are low; ripples average out.

A generation is lambda readings at m + s z_i, z_i ~ N(0, I). The rank-weighted mean of the better half of them estimates
the force of f smoothed over s, as eq. app:zo_oracle does with two-sided differences; so does the mean of the forces
that were read, whose errors do not grow with d. Where forces are read, the two have equal say:

    y = sum_i w_i z_(i),   u = -|y| g / |g| (|y|: of random z),   m <- m + s (y + u) / sqrt(2),
    p_s <- (1 - c) p_s + sqrt(c (2 - c) mu_w) (y + u) / sqrt(2),

and s grows while successive moves add up (p_s longer than a random walk's) and shrinks while they cancel: the mean and
the cumulative step-size adaptation of Hansen and Ostermeier's evolution strategy, with its usual weights. Values alone
have its usual lambda and rates too; with forces, half of lambda, and a path that forgets as if d were at most 5.
Where values differ by magnitudes within the first generation (atoms that overlap), a mean tells nothing: it ends there.

Departs from the paper: its zero-order oracle has a fixed radius; each sample is a placement (the escape limit).
"""

import math
from dataclasses import replace

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from ..core import is_row
from .base import Plant

SAMPLE_STEP = 2.0  # standard deviation of the first generation, by coordinate, where the box is 10 wide
NOISY_STEP = 1.4  # the same where forces are noisy
SETTLED_STEP = 0.5  # the same where noise has been settled in before
SAMPLE_FINE = 0.25  # of the first one, below which sampling ends: a basin of that width is quicker refined
VALUES_FINE = 0.15  # the same of values alone
LARGEST_SAMPLE_STEP = 5.0
SAMPLE_SHARE = 0.35  # of a run's readings
VALUES_SHARE = 0.5  # the same of values alone
FORCES_DIMENSION = 5  # the path forgets as fast as it would in this dimension
ROUGH = 30.0  # highest value of the first generation, in lowest, both above the base's, from which on sampling ends

Scalar = Float[Array, ""]
Vector = Float[Array, " d"]


def generation(d: int, forces: bool = True) -> int:
    """lambda: readings of a generation."""
    usual = 4 + int(3.0 * math.log(d))
    return max(usual // 2, 4) if forces else usual


class Sampler(eqx.Module):
    """The mean, its step and path, and the generation under way."""

    mean: Vector
    step: Scalar
    fine: Scalar  # step below which sampling ends
    path: Vector
    points: Float[Array, "generation d"]
    values: Float[Array, " generation"]
    force: Vector | None  # mean of the generation's so far; None where readings are values alone
    read: Int[Array, ""]  # readings so far

    @staticmethod
    def blank(q: Vector, forces: bool) -> "Sampler":
        size = generation(q.size, forces)
        step = jnp.asarray(SAMPLE_STEP, q.dtype)
        return Sampler(
            mean=q,
            step=step,
            fine=step * (SAMPLE_FINE if forces else VALUES_FINE),
            path=jnp.zeros_like(q),
            points=jnp.zeros((size, q.size), q.dtype),
            values=jnp.full(size, jnp.inf, q.dtype),
            force=jnp.zeros_like(q) if forces else None,
            read=jnp.zeros((), jnp.int32),
        )

    def opened(self, mean: Vector, step: Scalar, active: Bool[Array, ""]) -> "Sampler":
        """Sampling with forces that begins around `mean`, where `active`."""
        keep = lambda new, old: jnp.where(active, new, old)  # noqa: E731
        return replace(
            self, mean=keep(mean, self.mean), step=keep(step, self.step), fine=keep(SAMPLE_FINE * step, self.fine)
        )

    def target(self, normal: Vector, lower: Vector, upper: Vector) -> Vector:
        """Where the next reading is, by reflection inside [lower, upper] (finite)."""
        q = self.mean + self.step * normal
        q = jnp.where(q > upper, 2.0 * upper - q, jnp.where(q < lower, 2.0 * lower - q, q))
        return jnp.clip(q, lower, upper)

    @property
    def done(self) -> Bool[Array, ""]:
        return self.step < self.fine

    def observed(self, plant: Plant, base_f: Scalar) -> "Sampler":
        """After a reading; the last of a generation moves the mean. Roughness is above `base_f`."""
        size, d = self.points.shape
        row = is_row(size, self.read % size)
        points = jnp.where(row[:, None], plant.q, self.points)
        values = jnp.where(row, plant.f, self.values)
        weights, rate, damping = _rates(d, size, d if self.force is None else min(d, FORCES_DIMENSION))
        mass = 1.0 / float(np.sum(weights**2))
        ranks = jnp.sum(_before(values), axis=1)
        weight = jnp.asarray(weights, plant.q.dtype)[ranks]
        y = (weight @ points - self.mean) / self.step
        force = self.force
        if force is not None:
            force = jnp.where(self.read % size == 0, 0.0, force) + plant.g / size
            norm = jnp.linalg.norm(force)
            y = (y - force * (math.sqrt(d / mass) / jnp.where(norm > 0, norm, 1.0))) / math.sqrt(2.0)
        path = (1.0 - rate) * self.path + math.sqrt(rate * (2.0 - rate) * mass) * y
        length = jnp.linalg.norm(path) / (math.sqrt(d) * (1.0 - 1.0 / (4.0 * d) + 1.0 / (21.0 * d**2)))
        step = self.step * jnp.exp(jnp.minimum(rate / damping * (length - 1.0), 1.0))
        whole = self.read % size == size - 1
        rough = whole & (self.read == size - 1) & _is_rough(values - base_f)
        return replace(
            self,
            mean=jnp.where(whole & ~rough, self.mean + self.step * y, self.mean),
            step=jnp.where(rough, 0.0, jnp.where(whole, jnp.minimum(step, LARGEST_SAMPLE_STEP), self.step)),
            path=jnp.where(whole, path, self.path),
            points=points,
            values=values,
            force=force,
            read=self.read + 1,
        )


def _rates(d: int, size: int, forgetting: int) -> tuple[np.ndarray, float, float]:
    """Weights by rank, rate of the path, damping of the step (Hansen's tutorial, table 1)."""
    raw = np.maximum(math.log((size + 1) / 2) - np.log(np.arange(1, size + 1)), 0.0) * (np.arange(size) < size // 2)
    weights = raw / raw.sum()
    effective = 1.0 / float(np.sum(weights**2))
    rate = (effective + 2.0) / (forgetting + effective + 5.0)
    return weights, rate, 1.0 + rate + 2.0 * max(0.0, math.sqrt((effective - 1.0) / (d + 1.0)) - 1.0)


def _is_rough(lift: Float[Array, " n"]) -> Bool[Array, ""]:
    """Whether finite lifts above the base differ by magnitudes."""
    lowest = jnp.min(lift)
    return (lowest > 0) & (jnp.max(jnp.where(jnp.isfinite(lift), lift, -jnp.inf)) > ROUGH * lowest)


def _before(values: Float[Array, " n"]) -> Bool[Array, "n n"]:
    """Whether value j comes before value i when sorted; of equal ones the first that was read."""
    order = jnp.arange(values.size)
    return (values[None, :] < values[:, None]) | (
        (values[None, :] == values[:, None]) & (order[None, :] < order[:, None])
    )
