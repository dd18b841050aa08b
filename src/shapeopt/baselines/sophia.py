"""Sophia."""

from typing import NamedTuple

import jax.numpy as jnp
import optax
from jaxtyping import Array, Float

from .base import EPS, AbstractDescent, average, require_positive


class SophiaMemory(NamedTuple):
    """Means of the gradient and of the curvature estimate."""

    m: Float[Array, " d"]
    h: Float[Array, " d"]


class Sophia(AbstractDescent):
    """q' = q - lr clip(m' / (h' + eps), rho), with means m of g and h of the curvature g² (eq. app_sophia_disc).

    The curvature estimate g² is the Gauss-Newton-like one, which costs no further reading. A step is at most lr rho in
    each coordinate: with the paper's settings a thousandth, so that Sophia hardly leaves the start, as in its rows.

    Departs from the paper: nothing; it leaves the estimate open. Optax's Sophia wants Hessian products and scales the
    curvature otherwise.
    """

    lr: float
    beta1: float
    beta2: float
    rho: float
    eps: float = EPS

    def __check_init__(self):
        require_positive("rho", self.rho)

    @property
    def rule(self) -> optax.GradientTransformation:
        def init(q: Float[Array, " d"]) -> SophiaMemory:
            return SophiaMemory(jnp.zeros_like(q), jnp.zeros_like(q))

        def update(g, memory: SophiaMemory, q):
            m, h = average(self.beta1, memory.m, g), average(self.beta2, memory.h, g**2)
            return -self.lr * jnp.clip(m / (h + self.eps), -self.rho, self.rho), SophiaMemory(m, h)

        return optax.GradientTransformation(init, update)
