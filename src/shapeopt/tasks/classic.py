"""Three smooth classics for local search: convex quadratics, Rosenbrock's valley and Dixon-Price.

None is in the paper. Each is written around its minimiser, so that a shift places it as eq. ackley_levy_rastrigin_task
does. Sources of the formulas: Rosenbrock (1960); Dixon and Price (1989).
"""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from .shifted import AbstractLandscape, AbstractShiftedFamily, ShiftedTask, place


class QuadraticLandscape(AbstractLandscape):
    """1/2 sum_i lambda_i x_i^2 with lambda spaced geometrically from 1 to the condition number.

    Departs from the paper: not in it.
    """

    condition: float = eqx.field(static=True)

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        return 0.5 * jnp.sum(jnp.geomspace(1.0, self.condition, x.shape[0], dtype=x.dtype) * x**2)


class RosenbrockLandscape(AbstractLandscape):
    """sum_i 100 (y_{i+1} - y_i^2)^2 + (1 - y_i)^2 at y = 1 + x.

    Departs from the paper: not in it.
    """

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        bend = x[1:] - 2 * x[:-1] - x[:-1] ** 2  # y_{i+1} - y_i^2, without cancellation near the minimiser
        return jnp.sum(100 * bend**2 + x[:-1] ** 2)


class DixonPriceLandscape(AbstractLandscape):
    """(y_1 - 1)^2 + sum_{i>1} i (2 y_i^2 - y_{i-1})^2 at y = y* + x, y*_i = 2^(2^(1-i) - 1).

    The last y enters only squared: y_n -> -y_n is a symmetry, and the function has two global minimisers.

    Departs from the paper: not in it.
    """

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        y_star = jnp.asarray(dixon_price_minimiser(x.shape[0]), x.dtype)
        link = 4 * y_star[1:] * x[1:] + 2 * x[1:] ** 2 - x[:-1]  # 2 y_i^2 - y_{i-1}
        weight = jnp.arange(2, x.shape[0] + 1, dtype=x.dtype)
        return x[0] ** 2 + jnp.sum(weight * link**2)


def dixon_price_minimiser(dimension: int) -> np.ndarray:
    """y*, the Dixon-Price minimiser with a positive last coordinate."""
    return 2.0 ** (2.0 ** -np.arange(dimension) - 1)


class Quadratic(AbstractShiftedFamily):
    """Shifted convex quadratics of a given condition number, turned by a random rotation unless told otherwise.

    Departs from the paper: not in it.
    """

    rotated: bool = eqx.field(static=True, default=True)
    condition: float = eqx.field(static=True, default=100.0)

    def __check_init__(self) -> None:
        if not self.condition >= 1:
            raise ValueError(f"`condition` must be at least 1; got {self.condition}.")

    @property
    def name(self) -> str:
        return "quadratic"

    def sample(self, key: PRNGKeyArray) -> ShiftedTask:
        return place(key, QuadraticLandscape(self.condition), self.dimension, self.law, self.rotated)


class Rosenbrock(AbstractShiftedFamily):
    """Shifted, optionally rotated Rosenbrock functions.

    Departs from the paper: not in it.
    """

    least: ClassVar[int] = 2

    @property
    def name(self) -> str:
        return "rosenbrock"

    def sample(self, key: PRNGKeyArray) -> ShiftedTask:
        return place(key, RosenbrockLandscape(), self.dimension, self.law, self.rotated)


class DixonPrice(AbstractShiftedFamily):
    """Shifted, optionally rotated Dixon-Price functions; distance is to the nearer of the two minimisers.

    Departs from the paper: not in it.
    """

    least: ClassVar[int] = 2

    @property
    def name(self) -> str:
        return "dixon_price"

    def sample(self, key: PRNGKeyArray) -> ShiftedTask:
        dtype = jax.dtypes.canonicalize_dtype(float)
        last = -2 * dixon_price_minimiser(self.dimension)[-1]
        twin = jnp.zeros(self.dimension, dtype).at[-1].set(last)
        return place(key, DixonPriceLandscape(), self.dimension, self.law, self.rotated, twin)
