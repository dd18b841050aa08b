"""Shampoo, for a vector."""

from typing import NamedTuple

import jax.numpy as jnp
import optax
from jaxtyping import Array, Float

from .base import EPS, AbstractDescent


class ShampooMemory(NamedTuple):
    """The diagonal of the left statistic, and the right one, which for a vector is a number."""

    L: Float[Array, " d"]
    R: Float[Array, ""]


class Shampoo(AbstractDescent):
    """L' = L + diag(g gᵀ), R' = R + gᵀg, q' = q - lr L'^(-1/4) g R'^(-1/4) (eq. app_shampoo_disc).

    The vector is taken for a d × 1 matrix.

    Departs from the paper: only the diagonal of L, so that a step stays O(d); eps is added to both statistics. The
    paper does not say what it did with vectors. Its Ackley rows, where Shampoo is a shade behind RMSProp, fit this form
    about as well as that with the whole of L.
    """

    lr: float
    eps: float = EPS

    @property
    def rule(self) -> optax.GradientTransformation:
        def init(q: Float[Array, " d"]) -> ShampooMemory:
            return ShampooMemory(jnp.zeros_like(q), jnp.zeros((), q.dtype))

        def update(g, memory: ShampooMemory, q):
            L, R = memory.L + g**2, memory.R + jnp.sum(g**2)
            u = -self.lr * (L + self.eps) ** -0.25 * g * (R + self.eps) ** -0.25
            return u, ShampooMemory(L, R)

        return optax.GradientTransformation(init, update)
