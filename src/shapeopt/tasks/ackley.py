"""Ackley functions (eqs. ackley_def, ackley_levy_rastrigin_task): a funnel whose floor ripples."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from .shifted import AbstractLandscape, AbstractShiftedFamily, ShiftedTask, multiplier, place

B = 0.2  # eq. ackley_def


class AckleyLandscape(AbstractLandscape):
    """a (e^-b√eps - e^-b r) + ripple (e - exp mean cos(c x)), r = sqrt(mean x^2 + eps) (eq. ackley_def).

    Departs from the paper: written with expm1, and with the constant that makes f(0) = 0 for every multiplier; with
    eps = 0 the gradient at the kink x = 0 is 0, not undefined.
    """

    a: Float[Array, ""]
    ripple: Float[Array, ""]
    c: Float[Array, ""]
    eps: float = eqx.field(static=True)

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        square = jnp.mean(x**2)
        root = jnp.sqrt(jnp.where(square + self.eps > 0, square + self.eps, 1.0))
        rise = square / (root + self.eps**0.5)  # sqrt(square + eps) - sqrt(eps), without cancellation
        a = self.a * math.exp(-B * self.eps**0.5)
        dip = -2 * jnp.mean(jnp.sin(0.5 * self.c * x) ** 2)  # mean cos(c x) - 1
        return -a * jnp.expm1(-B * rise) - self.ripple * jnp.e * jnp.expm1(dip)  # eq. ackley_def


class Ackley(AbstractShiftedFamily):
    """Shifted, optionally rotated Ackley functions.

    `varied` draws per-task a, ripple height and frequency, and rounds the kink off with eps = 1e-6: the law under
    which the paper's baseline rows were reproduced.

    Departs from the paper: the multipliers are measured, not stated there.
    """

    varied: bool = eqx.field(static=True, default=False)

    @property
    def name(self) -> str:
        return "ackley"

    def sample(self, key: PRNGKeyArray) -> ShiftedTask:
        key_place, key_a, key_ripple, key_c = jax.random.split(key, 4)
        c_range = (1.05, 1.6) if self.dimension == 2 else (0.84, 1.16)
        landscape = AckleyLandscape(
            a=20 * multiplier(key_a, self.varied, 0.82, 1.25),
            ripple=multiplier(key_ripple, self.varied, 0.9, 1.3),
            c=2 * jnp.pi * multiplier(key_c, self.varied, *c_range),
            eps=1e-6 if self.varied else 0.0,
        )
        return place(key_place, landscape, self.dimension, self.law, self.rotated)
