"""Muon, for a vector."""

import jax.numpy as jnp
import optax
from jaxtyping import Array, Float

from .base import EPS, AbstractDescent, require_decay


class Muon(AbstractDescent):
    """B' = mu B + g, q' = q - lr sqrt(d) B' / (|B'| + eps) (eq. app_muon_disc).

    The vector is taken for a d × 1 matrix, whose polar factor is the vector at length 1. The factor sqrt(d) makes the
    root mean square of a step lr, whatever d is: it is the width factor sqrt(rows / columns) of the method's own code,
    whose mu is the default.

    Departs from the paper: that factor, and the exact polar factor in place of five Newton-Schulz iterations.
    """

    lr: float
    mu: float = 0.95
    eps: float = EPS

    def __check_init__(self):
        require_decay("mu", self.mu)

    @property
    def rule(self) -> optax.GradientTransformation:
        def update(g, B: Float[Array, " d"], q):
            B = self.mu * B + g
            return -self.lr * g.size**0.5 * B / (jnp.linalg.norm(B) + self.eps), B

        return optax.GradientTransformation(jnp.zeros_like, update)
