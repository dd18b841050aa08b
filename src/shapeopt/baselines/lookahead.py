"""Lookahead: k steps forward, one step back."""

from typing import NamedTuple

import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PyTree

from ..oracles.checks import require
from .base import AbstractDescent, require_count


class LookaheadMemory(NamedTuple):
    """The inner rule's memory, where this cycle began, and how many steps it has made."""

    inner: PyTree
    slow: Float[Array, " d"]
    steps: Int[Array, ""]


class Lookahead(AbstractDescent):
    """After every `period` steps of `inner` the point goes back to slow + alpha (q - slow) (eq. app_lookahead_disc).

    `slow` is where the cycle began. The defaults are the usual ones of Zhang et al. (2019). Written here, since
    Optax's needs parameters in pairs; the trajectories are the same.

    Departs from the paper: nothing.
    """

    inner: AbstractDescent
    period: int = 5
    alpha: float = 0.5

    def __check_init__(self):
        require_count("period", self.period)
        require("alpha", self.alpha, lambda a: (a > 0) & (a <= 1), "above 0 and at most 1")

    @property
    def rule(self) -> optax.GradientTransformation:
        inner = self.inner.rule

        def init(q: Float[Array, " d"]) -> LookaheadMemory:
            return LookaheadMemory(inner.init(q), q, jnp.zeros((), jnp.int32))

        def update(g, memory: LookaheadMemory, q):
            u, inner_memory = inner.update(g, memory.inner, q)
            slow = jnp.where(memory.steps == 0, q, memory.slow)  # q, not the unclipped sum: it is in the box
            steps = (memory.steps + 1) % self.period
            back = slow + self.alpha * (q + u - slow) - q
            return jnp.where(steps == 0, back, u), LookaheadMemory(inner_memory, slow, steps)

        return optax.GradientTransformation(init, update)
