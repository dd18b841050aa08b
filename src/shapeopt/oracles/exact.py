"""First-order oracles without noise (eqs. oracle_clean_gradient, app:fo_oracle)."""

from collections.abc import Callable
from typing import Any

import jax
from jaxtyping import Array, Float, PRNGKeyArray

from .base import AbstractOracle, Objective
from .checks import real_gradient, real_scalar, split_pair


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


class AdjointOracle(AbstractOracle):
    """g~ = grad f(q) from a callable that returns (value, gradient) itself, such as a discrete adjoint of a rollout.

    One full adjoint gradient is one call (eq. app:fo_oracle and the adjoint paragraph that follows it).

    Departs from the paper: nothing.
    """

    value_and_gradient: Callable[[Float[Array, " d"]], Any]

    @property
    def cost(self) -> int:
        return 1

    def measure(self, q: Float[Array, " d"], key: PRNGKeyArray) -> tuple[Float[Array, ""], Float[Array, " d"]]:
        name = "value_and_gradient"
        value, gradient = split_pair(self.value_and_gradient(q), name)
        return real_scalar(value, name, q.dtype), real_gradient(gradient, name, q)
