"""Minibatch gradients of a finite sum (eqs. oracle_stochastic_gradient, app:noisy_fo_oracle)."""

from collections.abc import Callable

import equinox as eqx
import jax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from .base import AbstractOracle
from .checks import real_scalar


class MinibatchOracle(AbstractOracle):
    """Value and gradient of `batch_fun(q, indices)` on `batch` of `size` terms, drawn without replacement.

    Unbiased when `batch_fun` is the mean (not the sum) of the chosen terms and the objective the mean of all terms. The
    value is that of the same batch, so value and gradient agree with each other but not with the next reading's.

    Departs from the paper: nothing.
    """

    batch_fun: Callable[[Float[Array, " d"], Int[Array, " batch"]], Float[Array, ""]]
    size: int = eqx.field(static=True)
    batch: int = eqx.field(static=True)

    def __check_init__(self):
        if not 1 <= self.batch <= self.size:
            raise ValueError(f"`batch` must lie between 1 and `size` = {self.size}; got {self.batch}.")

    @property
    def cost(self) -> int:
        return 1

    def measure(self, q: Float[Array, " d"], key: PRNGKeyArray) -> tuple[Float[Array, ""], Float[Array, " d"]]:
        indices = jax.random.choice(key, self.size, (self.batch,), replace=False)
        return jax.value_and_grad(lambda x: real_scalar(self.batch_fun(x, indices), "batch_fun", x.dtype))(q)
