"""Sharpness-aware minimisation."""

from typing import NamedTuple

import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float

from .base import EPS, AbstractDescent, require_positive


class SAMMemory(NamedTuple):
    """Where the step began, and whether the next reading is the one at the perturbed point."""

    origin: Float[Array, " d"]
    perturbed: Bool[Array, ""]


class SAM(AbstractDescent):
    """q~ = q + rho g / (|g| + eps), then q' = q - lr grad f(q~) (eq. app_sam_disc): two readings an update.

    Readings alternate between q and q~. The default rho is that of Foret et al. (2021). Written here, since
    Optax's divides by a zero gradient; the trajectories are the same.

    Departs from the paper: q~ is clipped to the box too.
    """

    lr: float
    rho: float = 0.05
    eps: float = EPS

    def __check_init__(self):
        require_positive("rho", self.rho)

    @property
    def rule(self) -> optax.GradientTransformation:
        def init(q: Float[Array, " d"]) -> SAMMemory:
            return SAMMemory(q, jnp.zeros((), bool))

        def update(g, memory: SAMMemory, q):
            climb = self.rho * g / (jnp.linalg.norm(g) + self.eps)
            descend = memory.origin - self.lr * g - q
            origin = jnp.where(memory.perturbed, memory.origin, q)
            return jnp.where(memory.perturbed, descend, climb), SAMMemory(origin, ~memory.perturbed)

        return optax.GradientTransformation(init, update)
