"""Rastrigin functions (eqs. rastrigin_def, ackley_levy_rastrigin_task): a regular lattice of wells in a bowl."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from .shifted import AbstractLandscape, AbstractShiftedFamily, ShiftedTask, multiplier, place


class RastriginLandscape(AbstractLandscape):
    """sum_i (bowl x_i^2 + A (1 - cos(omega x_i))) (eq. rastrigin_def).

    Departs from the paper: 1 - cos is written as 2 sin^2 of the half angle, which is equal and loses no digits near 0.
    """

    bowl: Float[Array, ""]
    A: Float[Array, ""]
    omega: Float[Array, ""]

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        return jnp.sum(self.bowl * x**2 + 2 * self.A * jnp.sin(0.5 * self.omega * x) ** 2)  # eq. rastrigin_def


class Rastrigin(AbstractShiftedFamily):
    """Shifted, optionally rotated Rastrigin functions; `varied` draws per-task bowl, A and frequency.

    Departs from the paper: the multipliers are measured, not stated there.
    """

    varied: bool = eqx.field(static=True, default=False)

    @property
    def name(self) -> str:
        return "rastrigin"

    def sample(self, key: PRNGKeyArray) -> ShiftedTask:
        key_place, key_bowl, key_height, key_omega = jax.random.split(key, 4)
        landscape = RastriginLandscape(
            bowl=multiplier(key_bowl, self.varied, 0.85, 1.2),
            A=10 * multiplier(key_height, self.varied, 1.05, 1.45),
            omega=2 * jnp.pi * multiplier(key_omega, self.varied, 0.92, 1.2),
        )
        return place(key_place, landscape, self.dimension, self.law, self.rotated)
