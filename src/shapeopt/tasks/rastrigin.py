"""Rastrigin functions (eqs. rastrigin_def, ackley_levy_rastrigin_task): a regular lattice of wells in a bowl."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from .base import AbstractFamily, StartLaw, require_dimension, require_law
from .shifted import ZERO_BY_CONSTRUCTION, AbstractLandscape, ShiftedTask, multiplier, place


class RastriginLandscape(AbstractLandscape):
    """sum_i (bowl x_i^2 + A (1 - cos(omega x_i))) (eq. rastrigin_def).

    Departs from the paper: 1 - cos is written as 2 sin^2 of the half angle, which is equal and loses no digits near 0.
    """

    bowl: Float[Array, ""]
    A: Float[Array, ""]
    omega: Float[Array, ""]

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        return jnp.sum(self.bowl * x**2 + 2 * self.A * jnp.sin(0.5 * self.omega * x) ** 2)  # eq. rastrigin_def


class Rastrigin(AbstractFamily):
    """Shifted, optionally rotated Rastrigin functions; `varied` draws per-task bowl, A and frequency.

    Departs from the paper: the multipliers are measured, not stated there.
    """

    dimension: int = eqx.field(static=True)
    law: StartLaw = eqx.field(static=True, default=StartLaw.BOX)
    rotated: bool = eqx.field(static=True, default=False)
    varied: bool = eqx.field(static=True, default=False)

    def __check_init__(self) -> None:
        require_dimension(self.dimension)
        require_law(self.law)

    @property
    def name(self) -> str:
        return "rastrigin"

    @property
    def minimum_source(self) -> str:
        return ZERO_BY_CONSTRUCTION

    def sample(self, key: PRNGKeyArray) -> ShiftedTask:
        key_place, key_bowl, key_height, key_omega = jax.random.split(key, 4)
        landscape = RastriginLandscape(
            bowl=multiplier(key_bowl, self.varied, 0.85, 1.2),
            A=10 * multiplier(key_height, self.varied, 1.05, 1.45),
            omega=2 * jnp.pi * multiplier(key_omega, self.varied, 0.92, 1.2),
        )
        return place(key_place, landscape, self.dimension, self.law, self.rotated)
