"""Stochastic-gradient Hamiltonian Monte Carlo, used as an optimizer."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..core import Box, Reading
from ..oracles.checks import require
from .base import AbstractBaseline, inside, require_not_negative, require_positive, usable_gradient


class SGHMCState(eqx.Module):
    """Position, momentum, and the key of the noise to come."""

    x: Float[Array, " d"]
    p: Float[Array, " d"]
    key: PRNGKeyArray
    box: Box


class SGHMC(AbstractBaseline):
    """p' = (1 - gamma eta) p - eta g + sqrt(2 gamma eta T) xi, q' = q + eta p', xi ~ N(0, I) (eq. app_sghmc_disc).

    Departs from the paper: M = I, and a temperature T, which is 1 there.
    """

    eta: float
    gamma: float
    temperature: float = 1.0

    def __check_init__(self):
        require_positive("eta", self.eta)
        require("gamma", self.gamma, lambda c: (c > 0) & (c * self.eta <= 1), f"positive and at most {1 / self.eta}")
        require_not_negative("temperature", self.temperature)

    def init(self, x0: Float[Array, " d"], box: Box, budget: int, key: PRNGKeyArray) -> SGHMCState:
        return SGHMCState(x0, jnp.zeros_like(x0), key, box)

    def ask(self, state: SGHMCState) -> Float[Array, " d"]:
        return state.x

    def tell(self, state: SGHMCState, reading: Reading) -> SGHMCState:
        key, noise_key = jax.random.split(state.key)
        g = usable_gradient(reading, state.x)
        damping = self.gamma * self.eta
        noise = (2 * damping * self.temperature) ** 0.5 * jax.random.normal(noise_key, g.shape, g.dtype)
        p = (1 - damping) * state.p - self.eta * g + noise  # eq. app_sghmc_disc
        return SGHMCState(inside(state.x + self.eta * p, state.box), p, key, state.box)
