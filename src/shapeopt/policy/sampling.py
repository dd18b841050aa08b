"""Sampling: values alone, read around a mean that moves to where they are low; ripples average out, and no force is
needed.

A generation is lambda values f(m + s z_i), z_i ~ N(0, I). The rank-weighted mean of the better half of them estimates
the force of f smoothed over s, as eq. app:zo_oracle does with two-sided differences,

    m <- m + s y,  y = sum_i w_i z_(i),        p_s <- (1 - c) p_s + sqrt(c (2 - c) mu_w) y,

and s grows while successive moves add up (p_s longer than a random walk's) and shrinks while they cancel: the mean and
the cumulative step-size adaptation of Hansen and Ostermeier's evolution strategy, with its usual weights and rates.

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
SAMPLE_FINE = 0.3  # below it sampling ends: a basin of that width is quicker refined
LARGEST_SAMPLE_STEP = 5.0
SAMPLE_SHARE = 0.5  # of a run's readings

Scalar = Float[Array, ""]
Vector = Float[Array, " d"]


def generation(d: int) -> int:
    """lambda: values of a generation."""
    return 4 + int(3.0 * math.log(d))


class Sampler(eqx.Module):
    """The mean, its step and path, and the generation under way."""

    mean: Vector
    step: Scalar
    path: Vector
    points: Float[Array, "generation d"]
    values: Float[Array, " generation"]
    read: Int[Array, ""]  # values so far

    @staticmethod
    def blank(q: Vector) -> "Sampler":
        size = generation(q.size)
        return Sampler(
            mean=q,
            step=jnp.asarray(SAMPLE_STEP, q.dtype),
            path=jnp.zeros_like(q),
            points=jnp.zeros((size, q.size), q.dtype),
            values=jnp.full(size, jnp.inf, q.dtype),
            read=jnp.zeros((), jnp.int32),
        )

    def opened(self, mean: Vector, active: Bool[Array, ""]) -> "Sampler":
        """Sampling that begins around `mean`, where `active`."""
        return replace(self, mean=jnp.where(active, mean, self.mean))

    def target(self, normal: Vector, lower: Vector, upper: Vector) -> Vector:
        """Where the next value is read, by reflection inside [lower, upper] (finite)."""
        q = self.mean + self.step * normal
        q = jnp.where(q > upper, 2.0 * upper - q, jnp.where(q < lower, 2.0 * lower - q, q))
        return jnp.clip(q, lower, upper)

    @property
    def fine(self) -> Bool[Array, ""]:
        return self.step < SAMPLE_FINE

    def observed(self, plant: Plant, active: Bool[Array, ""]) -> "Sampler":
        """After a value, where `active`; the last of a generation moves the mean."""
        size, d = self.points.shape
        row = is_row(size, self.read % size) & active
        points = jnp.where(row[:, None], plant.q, self.points)
        values = jnp.where(row, plant.f, self.values)
        weights, rate, damping = _rates(d, size)
        ranks = jnp.sum(_before(values), axis=1)
        weight = jnp.asarray(weights, plant.q.dtype)[ranks]
        y = (weight @ points - self.mean) / self.step
        path = (1.0 - rate) * self.path + math.sqrt(rate * (2.0 - rate) / float(np.sum(weights**2))) * y
        length = jnp.linalg.norm(path) / (math.sqrt(d) * (1.0 - 1.0 / (4.0 * d) + 1.0 / (21.0 * d**2)))
        step = self.step * jnp.exp(jnp.minimum(rate / damping * (length - 1.0), 1.0))
        whole = active & (self.read % size == size - 1)
        return replace(
            self,
            mean=jnp.where(whole, self.mean + self.step * y, self.mean),
            step=jnp.where(whole, jnp.minimum(step, LARGEST_SAMPLE_STEP), self.step),
            path=jnp.where(whole, path, self.path),
            points=points,
            values=values,
            read=self.read + active.astype(jnp.int32),
        )


def _rates(d: int, size: int) -> tuple[np.ndarray, float, float]:
    """Weights by rank, rate of the path, damping of the step (Hansen's tutorial, table 1)."""
    raw = np.maximum(math.log((size + 1) / 2) - np.log(np.arange(1, size + 1)), 0.0) * (np.arange(size) < size // 2)
    weights = raw / raw.sum()
    effective = 1.0 / float(np.sum(weights**2))
    rate = (effective + 2.0) / (d + effective + 5.0)
    return weights, rate, 1.0 + rate + 2.0 * max(0.0, math.sqrt((effective - 1.0) / (d + 1.0)) - 1.0)


def _before(values: Float[Array, " n"]) -> Bool[Array, "n n"]:
    """Whether value j comes before value i when sorted; of equal ones the first that was read."""
    order = jnp.arange(values.size)
    return (values[None, :] < values[:, None]) | (
        (values[None, :] == values[:, None]) & (order[None, :] < order[:, None])
    )
