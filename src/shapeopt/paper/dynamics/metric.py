"""The kinetic metric M of the local Hamiltonian (eqs. shape_local_hamiltonian, dp_stage_hamiltonian).

A metric is known only through its inverse applied to a vector, so that a diagonal and a limited-memory one look alike.
"""

import abc

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

LOG_MASS_MAX = 40.0  # exp(+-40) is far inside the range of float32, so a mass is neither 0 nor infinite


class AbstractMetric(eqx.Module):
    """A symmetric positive definite M. Subclasses must keep `solve` linear and symmetric; the ledger relies on both."""

    @abc.abstractmethod
    def solve(self, v: Float[Array, " d"]) -> Float[Array, " d"]:
        """M^-1 v."""

    def kinetic(self, p: Float[Array, " d"]) -> Float[Array, ""]:
        """1/2 p . M^-1 p."""
        return 0.5 * jnp.dot(p, self.solve(p))


class DiagonalMetric(AbstractMetric):
    """M = diag(1 / inverse), as in eq. dp_stage_potential_discrete.

    `inverse` must be positive; compiled code can't check it, and `from_log` guarantees it for any finite input.

    Departs from the paper: nothing.
    """

    inverse: Float[Array, " d"]

    @staticmethod
    def from_log(log_mass: Float[Array, " d"]) -> "DiagonalMetric":
        """M = diag(exp(log_mass)), the exponent kept within +-LOG_MASS_MAX."""
        return DiagonalMetric(jnp.exp(-jnp.clip(log_mass, -LOG_MASS_MAX, LOG_MASS_MAX)))

    def solve(self, v: Float[Array, " d"]) -> Float[Array, " d"]:
        return self.inverse * v
