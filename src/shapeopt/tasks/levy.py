"""Lévy functions in the shifted form (eqs. levy_def, ackley_levy_rastrigin_task): ridges across a shallow bowl."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from .shifted import AbstractLandscape, AbstractShiftedFamily, ShiftedTask, multiplier, place


class LevyLandscape(AbstractLandscape):
    """scale (sin^2(π w_1) + sum_{i<n} (w_i - 1)^2 (1 + ridge sin^2(π w_i + 1)) + (w_n - 1)^2 (1 + sin^2(2π w_n))).

    With y = w - 1 = x / 4, sin^2(π w) = sin^2(π y), so every term is >= 0 and vanishes at x = 0 (eq. levy_def).

    Departs from the paper: `frequency` multiplies y inside the sines and leaves their phase at x = 0 alone, so that 0
    stays the minimiser; at frequency 1 the formula is the paper's.
    """

    scale: Float[Array, ""]
    ridge: Float[Array, ""]
    frequency: Float[Array, ""]

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        y = x / 4  # w - 1
        angle = jnp.pi * self.frequency * y
        first = jnp.sin(angle[0]) ** 2
        middle = jnp.sum(y[:-1] ** 2 * (1 + self.ridge * jnp.sin(angle[:-1] + 1) ** 2))
        last = y[-1] ** 2 * (1 + jnp.sin(2 * angle[-1]) ** 2)
        return self.scale * (first + middle + last)  # eq. levy_def


class Levy(AbstractShiftedFamily):
    """Shifted, optionally rotated Lévy functions; `varied` draws per-task scale, ridge height and sine frequency.

    Departs from the paper: the multipliers are measured, not stated there.
    """

    varied: bool = eqx.field(static=True, default=False)

    @property
    def name(self) -> str:
        return "levy"

    def sample(self, key: PRNGKeyArray) -> ShiftedTask:
        key_place, key_scale, key_ridge, key_frequency = jax.random.split(key, 4)
        landscape = LevyLandscape(
            scale=multiplier(key_scale, self.varied, 0.6, 1.5),
            ridge=10 * multiplier(key_ridge, self.varied, 0.6, 1.2),
            frequency=multiplier(key_frequency, self.varied, 0.75, 1.35),
        )
        return place(key_place, landscape, self.dimension, self.law, self.rotated)
