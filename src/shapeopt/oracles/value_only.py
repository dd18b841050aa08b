"""Oracles that see values alone and estimate the force by differences (eqs. oracle_zo_gradient, app:zo_oracle)."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from .base import AbstractOracle, Objective
from .checks import real_scalar, require, require_bounds
from .probes import coordinate_gradient, probe_pairs, reaches, sphere_gradient

Side = float | Float[Array, " d"]


class ValueOracle(AbstractOracle):
    """The value at q and no force, for one call: what a method without gradients reads.

    Departs from the paper: every oracle there has a force.
    """

    fun: Objective
    value_sigma: float | Float[Array, ""] = 0.0

    @property
    def cost(self) -> int:
        return 1

    def measure(self, q: Float[Array, " d"], key: PRNGKeyArray) -> tuple[Float[Array, ""], Float[Array, " d"]]:
        eta = jnp.asarray(self.value_sigma, q.dtype) * jax.random.normal(key, (), q.dtype)
        return real_scalar(self.fun(q), "fun", q.dtype) + eta, jnp.zeros_like(q)


class AbstractDifferences(AbstractOracle):
    """Two-sided differences along `directions` unit vectors: 2 calls each, and one more for the value at q.

    Without that one the reading's value is the mean over the probes, an estimate to O(r^2). Near a bound a pair becomes
    one-sided (see `probes`), at the same cost.
    """

    fun: Objective
    directions: int = eqx.field(static=True)
    radius: Side | None = None
    lower: Side = -jnp.inf
    upper: Side = jnp.inf
    include_value: bool = eqx.field(static=True, default=True)
    value_sigma: float | Float[Array, ""] = 0.0

    def __check_init__(self):
        if self.directions < 1:
            raise ValueError(f"`directions` must be at least 1; got {self.directions}.")
        if self.radius is not None:
            require("radius", self.radius, lambda r: (r > 0) & (r < float("inf")), "finite and positive")
        require("value_sigma", self.value_sigma, lambda s: (s >= 0) & (s < float("inf")), "finite and not negative")
        require_bounds(self.lower, self.upper)

    @property
    def cost(self) -> int:
        return 2 * self.directions + self.include_value

    @property
    def value_alone(self) -> ValueOracle:
        return ValueOracle(self.fun, self.value_sigma)

    @abc.abstractmethod
    def draw(self, q: Float[Array, " d"], key: PRNGKeyArray) -> Float[Array, "m d"]:
        """The unit vectors, a row each."""

    @abc.abstractmethod
    def slope(self, change, u, span, plus, minus) -> Float[Array, " d"]:
        """The force, of change = f(q+) - f(q-) along the rows of u."""

    def measure(self, q: Float[Array, " d"], key: PRNGKeyArray) -> tuple[Float[Array, ""], Float[Array, " d"]]:
        direction_key, value_key = jax.random.split(key)
        u = self.draw(q, direction_key)
        up, down = reaches(q, self.radius, self.lower, self.upper, jnp)
        plus, minus = probe_pairs(q, u, up, down, self.lower, self.upper, jnp)
        points = jnp.concatenate([plus, minus] + [q[None]] * self.include_value)
        values = jax.vmap(lambda x: real_scalar(self.fun(x), "fun", x.dtype))(points)
        values = values + jnp.asarray(self.value_sigma, q.dtype) * jax.random.normal(value_key, values.shape, q.dtype)
        m = self.directions
        value = values[-1] if self.include_value else values.mean()
        return value, self.slope(values[:m] - values[m : 2 * m], u, up + down, plus, minus)


class ValueOnlyOracle(AbstractDifferences):
    """Two-sided differences along m random orthonormal directions (eqs. oracle_zo_gradient, app:zo_oracle).

        g~ = (d/m) sum_i (f(q + r u_i) - f(q - r u_i)) / (2 r) u_i

    Departs from the paper: the factor d, which unit directions need to be unbiased and which both equations lack;
    orthonormal directions instead of independent ones, which lowers the variance and makes m = d a full gradient; a
    radius by coordinate; probes that never leave the bounds. `value_sigma` is the paper's eta.
    """

    def draw(self, q: Float[Array, " d"], key: PRNGKeyArray) -> Float[Array, "m d"]:
        if self.directions > q.size:
            raise ValueError(f"`directions` must be at most the dimension {q.size}; got {self.directions}.")
        return jnp.linalg.qr(jax.random.normal(key, (q.size, self.directions), q.dtype))[0].T

    def slope(self, change, u, span, plus, minus) -> Float[Array, " d"]:
        return sphere_gradient(change, u, span, jnp)


class CoordinateDifferenceOracle(AbstractDifferences):
    """Two-sided differences along every coordinate: the whole gradient to O(r^2), for when 2d calls fit.

    Departs from the paper: it only has random directions (eq. app:zo_oracle).
    """

    def draw(self, q: Float[Array, " d"], key: PRNGKeyArray) -> Float[Array, "m d"]:
        if q.shape != (self.directions,):
            raise ValueError(f"`directions` must be the dimension {q.size}; got {self.directions}.")
        return jnp.eye(self.directions, dtype=q.dtype)

    def slope(self, change, u, span, plus, minus) -> Float[Array, " d"]:
        return coordinate_gradient(change, plus, minus, jnp)
