"""The first-order oracle without noise (eqs. oracle_clean_gradient, app:fo_oracle)."""

import jax
from jaxtyping import Array, Float, PRNGKeyArray

from .base import AbstractOracle, Objective
from .checks import real_scalar


class ExactOracle(AbstractOracle):
    """g~ = grad f(q) by reverse-mode differentiation of a traceable objective (eq. oracle_clean_gradient).

    Departs from the paper: nothing.
    """

    fun: Objective

    @property
    def cost(self) -> int:
        return 1

    def measure(self, q: Float[Array, " d"], key: PRNGKeyArray) -> tuple[Float[Array, ""], Float[Array, " d"]]:
        return jax.value_and_grad(lambda x: real_scalar(self.fun(x), "fun", x.dtype))(q)
