"""Oracles that see values alone and estimate the force by differences (eqs. oracle_zo_gradient, app:zo_oracle)."""

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


class ValueOnlyOracle(AbstractOracle):
    """Two-sided differences along m random orthonormal directions (eqs. oracle_zo_gradient, app:zo_oracle).

        g~ = (d/m) sum_i (f(q + r u_i) - f(q - r u_i)) / (2 r) u_i

    Costs 2m calls, and one more for the value at q; without that the reading's value is the mean over the probes, an
    estimate to O(r^2). Near a bound a pair becomes one-sided (see `probes`), at the same cost.

    Departs from the paper: the factor d, which unit directions need to be unbiased and which both equations lack;
    orthonormal directions instead of independent ones, which lowers the variance and makes m = d a full gradient; a
    radius by coordinate; probes that never leave the bounds. `value_sigma` is the paper's eta.
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
        _require_probing(self.radius, self.lower, self.upper, self.value_sigma)

    @property
    def cost(self) -> int:
        return 2 * self.directions + self.include_value

    @property
    def value_alone(self) -> "ValueOracle":
        return ValueOracle(self.fun, self.value_sigma)

    def measure(self, q: Float[Array, " d"], key: PRNGKeyArray) -> tuple[Float[Array, ""], Float[Array, " d"]]:
        if self.directions > q.size:
            raise ValueError(f"`directions` must be at most the dimension {q.size}; got {self.directions}.")
        direction_key, value_key = jax.random.split(key)
        normal = jax.random.normal(direction_key, (q.size, self.directions), q.dtype)
        u = jnp.linalg.qr(normal)[0].T
        up, down = reaches(q, self.radius, self.lower, self.upper, jnp)
        plus, minus = probe_pairs(q, u, up, down, self.lower, self.upper, jnp)
        value, change = _differences(self, q, plus, minus, value_key)
        return value, sphere_gradient(change, u, up + down, jnp)


class CoordinateDifferenceOracle(AbstractOracle):
    """Two-sided differences along every coordinate: the whole gradient to O(r^2), for when 2d calls fit.

    Costs 2d calls, and one more for the value at q; otherwise as `ValueOnlyOracle`.

    Departs from the paper: it only has random directions (eq. app:zo_oracle).
    """

    fun: Objective
    dim: int = eqx.field(static=True)
    radius: Side | None = None
    lower: Side = -jnp.inf
    upper: Side = jnp.inf
    include_value: bool = eqx.field(static=True, default=True)
    value_sigma: float | Float[Array, ""] = 0.0

    def __check_init__(self):
        if self.dim < 1:
            raise ValueError(f"`dim` must be at least 1; got {self.dim}.")
        _require_probing(self.radius, self.lower, self.upper, self.value_sigma)

    @property
    def cost(self) -> int:
        return 2 * self.dim + self.include_value

    @property
    def value_alone(self) -> "ValueOracle":
        return ValueOracle(self.fun, self.value_sigma)

    def measure(self, q: Float[Array, " d"], key: PRNGKeyArray) -> tuple[Float[Array, ""], Float[Array, " d"]]:
        if q.shape != (self.dim,):
            raise ValueError(f"`q` must have shape ({self.dim},), from `dim`; got {q.shape}.")
        up, down = reaches(q, self.radius, self.lower, self.upper, jnp)
        plus, minus = probe_pairs(q, jnp.eye(self.dim, dtype=q.dtype), up, down, self.lower, self.upper, jnp)
        value, change = _differences(self, q, plus, minus, key)
        return value, coordinate_gradient(change, plus, minus, jnp)


def _differences(oracle: ValueOnlyOracle | CoordinateDifferenceOracle, q, plus, minus, key: PRNGKeyArray):
    """Value at q (or the mean over the probes) and f(q+) - f(q-), each value with its own eta."""
    points = jnp.concatenate([plus, minus] + [q[None]] * oracle.include_value)
    values = jax.vmap(lambda x: real_scalar(oracle.fun(x), "fun", x.dtype))(points)
    values = values + jnp.asarray(oracle.value_sigma, q.dtype) * jax.random.normal(key, values.shape, q.dtype)
    m = plus.shape[0]
    return values[-1] if oracle.include_value else values.mean(), values[:m] - values[m : 2 * m]


def _require_probing(radius, lower, upper, value_sigma) -> None:
    if radius is not None:
        require("radius", radius, lambda r: (r > 0) & (r < float("inf")), "finite and positive")
    require("value_sigma", value_sigma, lambda s: (s >= 0) & (s < float("inf")), "finite and not negative")
    require_bounds(lower, upper)
