"""Unbiased noise on first-order readings (eqs. oracle_stochastic_gradient, app:noisy_fo_oracle)."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from .base import AbstractOracle, Objective
from .checks import require
from .exact import ExactOracle


class AdditiveNoise(eqx.Module):
    """g~ = g + sigma xi, xi ~ N(0, I): the perturbation of the paper's synthetic experiments.

    Departs from the paper: nothing; sigma is per coordinate, as in its experiments (eq. app:noisy_fo_oracle bounds the
    whole norm by one sigma_g instead).
    """

    sigma: float | Float[Array, ""]

    def __check_init__(self):
        _require_scale("sigma", self.sigma)

    def __call__(self, g: Float[Array, " d"], key: PRNGKeyArray) -> Float[Array, " d"]:
        return g + jnp.asarray(self.sigma, g.dtype) * jax.random.normal(key, g.shape, g.dtype)


def _as_oracle(inner: AbstractOracle | Objective) -> AbstractOracle:
    return inner if isinstance(inner, AbstractOracle) else ExactOracle(inner)


class NoisyOracle(AbstractOracle):
    """An oracle whose gradient passes through a noise law, and whose value gets N(0, value_sigma^2) on top.

    Departs from the paper: noise on the value, off by default, is added here for first-order oracles.
    """

    inner: AbstractOracle = eqx.field(converter=_as_oracle)
    noise: AdditiveNoise
    value_sigma: float | Float[Array, ""] = 0.0

    def __check_init__(self):
        _require_scale("value_sigma", self.value_sigma)

    @property
    def cost(self) -> int:
        return self.inner.cost

    @property
    def value_alone(self) -> "NoisyOracle":
        return NoisyOracle(self.inner.value_alone, self.noise, self.value_sigma)

    def measure(self, q: Float[Array, " d"], key: PRNGKeyArray) -> tuple[Float[Array, ""], Float[Array, " d"]]:
        inner_key, gradient_key, value_key = jax.random.split(key, 3)
        value, g = self.inner.measure(q, inner_key)
        eta = jnp.asarray(self.value_sigma, value.dtype) * jax.random.normal(value_key, (), value.dtype)
        return value + eta, self.noise(g, gradient_key)  # eq. oracle_stochastic_gradient


def _require_scale(name: str, value: float | Float[Array, ""]) -> None:
    require(name, value, lambda scale: (scale >= 0) & (scale < float("inf")), "finite and not negative")
