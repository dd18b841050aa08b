"""The operators of one fast step: skew transport, dissipation, port (eqs. dp_skew_operator, dp_psd_operator).

All are matrix-free: O(d r) time and memory, and a rank of zero leaves nothing to compute.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .metric import AbstractMetric


class SkewOperator(eqx.Module):
    """Omega v = U (V^T v) - V (U^T v), lossless for any U and V  (eq. dp_skew_operator).

    Departs from the paper: nothing.
    """

    U: Float[Array, "d r"]
    V: Float[Array, "d r"]

    def __check_init__(self):
        if self.U.shape != self.V.shape:
            raise ValueError(f"`U` and `V` must have one shape; got {self.U.shape} and {self.V.shape}.")

    @staticmethod
    def zero(d: int, dtype: jax.typing.DTypeLike) -> "SkewOperator":
        empty = jnp.zeros((d, 0), dtype)
        return SkewOperator(empty, empty)

    def __call__(self, v: Float[Array, " d"]) -> Float[Array, " d"]:
        if self.U.shape[-1] == 0:
            return jnp.zeros_like(v)
        return self.U @ (v @ self.V) - self.V @ (v @ self.U)  # eq. dp_skew_operator


class DissipationOperator(eqx.Module):
    """D v = B (B^T v) + diagonal * v, positive semidefinite  (eq. dp_psd_operator).

    `diagonal` must not be negative. Compiled code can't check values, so a network's output goes through `from_raw`,
    which guarantees it for any finite input.

    Departs from the paper: nothing; the map from raw outputs to the diagonal (softplus) is ours, the paper names none.
    """

    B: Float[Array, "d r"]
    diagonal: Float[Array, " d"]

    def __check_init__(self):
        if self.B.shape[:-1] != self.diagonal.shape:
            raise ValueError(f"`diagonal` must have the rows of `B`; got {self.diagonal.shape} and {self.B.shape}.")

    @staticmethod
    def zero(d: int, dtype: jax.typing.DTypeLike) -> "DissipationOperator":
        return DissipationOperator(jnp.zeros((d, 0), dtype), jnp.zeros(d, dtype))

    @staticmethod
    def from_raw(B: Float[Array, "d r"], raw: Float[Array, " d"]) -> "DissipationOperator":
        """Diagonal = softplus(raw) >= 0."""
        return DissipationOperator(B, jax.nn.softplus(raw))

    @property
    def low_rank(self) -> "DissipationOperator":
        """D without its diagonal."""
        return DissipationOperator(self.B, jnp.zeros_like(self.diagonal))

    def __call__(self, v: Float[Array, " d"]) -> Float[Array, " d"]:
        if self.B.shape[-1] == 0:
            return self.diagonal * v
        return self.B @ (v @ self.B) + self.diagonal * v  # eq. dp_psd_operator

    def power(self, v: Float[Array, " d"]) -> Float[Array, ""]:
        """v . D v as a sum of squares: never negative, not even by round-off."""
        return jnp.sum((v @ self.B) ** 2) + jnp.sum(self.diagonal * v**2)


class Structure(eqx.Module):
    """Everything that the fast controller chooses for one step (eq. shape_fast_controller); the port matrix G is I.

    `zeta` in [0, 1] is the share of the momentum that one step dissipates through the metric: the whole dissipation is
    alpha_R D + (zeta / h) M. At zeta = 1 nothing of p survives, and the step is a (quasi-)Newton step in the metric.

    Departs from the paper: `zeta`; the paper has D alone.
    """

    metric: AbstractMetric
    skew: SkewOperator
    dissipation: DissipationOperator
    zeta: Float[Array, ""]
    alpha_J: Float[Array, ""]
    alpha_R: Float[Array, ""]
    u_shp: Float[Array, " d"]
    K_d: Float[Array, ""] | Float[Array, " d"]

    @staticmethod
    def plain(metric: AbstractMetric, zeta: Float[Array, ""], q: Float[Array, " d"]) -> "Structure":
        """Metric and zeta alone: no skew transport, no D, no port. `q` lends its size and dtype."""
        d, dtype = q.shape[-1], q.dtype
        zero = jnp.zeros((), dtype)
        skew, dissipation = SkewOperator.zero(d, dtype), DissipationOperator.zero(d, dtype)
        return Structure(metric, skew, dissipation, zeta, zero, zero, jnp.zeros(d, dtype), zero)

    def port_input(self, y: Float[Array, " d"]) -> Float[Array, " d"]:
        """u_port = u_shp - K_d y  (eq. shape_port_output)."""
        return self.u_shp - self.K_d * y
