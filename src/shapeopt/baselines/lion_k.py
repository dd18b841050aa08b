"""LionK: Lion with periodic kicks."""

from typing import NamedTuple

import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int

from .base import AbstractDescent, average, require_count, require_positive


class LionKMemory(NamedTuple):
    """Mean of the gradient, and steps since the last kick."""

    m: Float[Array, " d"]
    steps: Int[Array, ""]


class LionK(AbstractDescent):
    """Lion (eq. app_lion_disc) in which every `kick_period`-th step is `kick_scale` long in each coordinate, not lr.

    Departs from the paper: the kick. Its text only names period and scale; the scales, 1.05 to 1.15, are about the
    distance between neighbouring wells. Of five forms of a kick that were tried, this one came nearest to its Ackley
    rows (far nearer to the minimiser than Adam, many minima, few hits), but it does not meet them.
    """

    lr: float
    beta1: float
    beta2: float
    kick_period: int
    kick_scale: float

    def __check_init__(self):
        require_count("kick_period", self.kick_period)
        require_positive("kick_scale", self.kick_scale)

    @property
    def rule(self) -> optax.GradientTransformation:
        def init(q: Float[Array, " d"]) -> LionKMemory:
            return LionKMemory(jnp.zeros_like(q), jnp.zeros((), jnp.int32))

        def update(g, memory: LionKMemory, q):
            steps = (memory.steps + 1) % self.kick_period
            length = jnp.where(steps == 0, self.kick_scale, self.lr).astype(q.dtype)
            u = -length * jnp.sign(average(self.beta1, memory.m, g))
            return u, LionKMemory(average(self.beta2, memory.m, g), steps)

        return optax.GradientTransformation(init, update)
