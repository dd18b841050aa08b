"""The operators of one fast step: skew transport, dissipation, port (eqs. dp_skew_operator, dp_psd_operator).

All are matrix-free: O(d r) time and memory. A channel that a policy does not use is absent rather than zero (rank 0, or
None), so that nothing is computed for it.
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

    `diagonal` must not be negative (None: there is none). Compiled code can't check values, so a network's output goes
    through `from_raw`, which guarantees it for any finite input.

    Departs from the paper: nothing; the map from raw outputs to the diagonal is softplus, where the paper names none.
    """

    B: Float[Array, "d r"]
    diagonal: Float[Array, " d"] | None

    def __check_init__(self):
        if self.diagonal is not None and self.B.shape[:-1] != self.diagonal.shape:
            raise ValueError(f"`diagonal` must have the rows of `B`; got {self.diagonal.shape} and {self.B.shape}.")

    @staticmethod
    def zero(d: int, dtype: jax.typing.DTypeLike) -> "DissipationOperator":
        return DissipationOperator(jnp.zeros((d, 0), dtype), None)

    @staticmethod
    def from_raw(B: Float[Array, "d r"], raw: Float[Array, " d"]) -> "DissipationOperator":
        """Diagonal = softplus(raw) >= 0."""
        return DissipationOperator(B, jax.nn.softplus(raw))

    def __call__(self, v: Float[Array, " d"]) -> Float[Array, " d"]:
        drag = jnp.zeros_like(v) if self.diagonal is None else self.diagonal * v
        return drag if self.B.shape[-1] == 0 else self.B @ (v @ self.B) + drag  # eq. dp_psd_operator

    def power(self, v: Float[Array, " d"]) -> Float[Array, ""]:
        """v . D v as a sum of squares: never negative, not even by round-off."""
        drag = jnp.zeros((), v.dtype) if self.diagonal is None else jnp.sum(self.diagonal * v**2)
        return drag if self.B.shape[-1] == 0 else jnp.sum((v @ self.B) ** 2) + drag


class Structure(eqx.Module):
    """Everything that the fast controller chooses for one step (eq. shape_fast_controller); the port matrix G is I.

    `zeta` in [0, 1] is the share of the momentum that one step dissipates through the metric: the whole dissipation is
    alpha_R D + (zeta / h) M. At zeta = 1 nothing of p survives, and the step is a (quasi-)Newton step in the metric.
    `u_shp` and `K_d` are None where the port is not used.

    Departs from the paper: `zeta`; the paper has D alone.
    """

    metric: AbstractMetric
    skew: SkewOperator
    dissipation: DissipationOperator
    zeta: Float[Array, ""]
    alpha_J: Float[Array, ""]
    alpha_R: Float[Array, ""]
    u_shp: Float[Array, " d"] | None
    K_d: Float[Array, ""] | Float[Array, " d"] | None

    @staticmethod
    def plain(metric: AbstractMetric, zeta: Float[Array, ""], q: Float[Array, " d"]) -> "Structure":
        """Metric and zeta alone: no skew transport, no D, no port. `q` lends its size and dtype."""
        d, dtype = q.shape[-1], q.dtype
        zero = jnp.zeros((), dtype)
        skew, dissipation = SkewOperator.zero(d, dtype), DissipationOperator.zero(d, dtype)
        return Structure(metric, skew, dissipation, zeta, zero, zero, None, None)

    def port_input(self, y: Float[Array, " d"]) -> Float[Array, " d"]:
        """u_port = u_shp - K_d y  (eq. shape_port_output)."""
        u_shp = jnp.zeros_like(y) if self.u_shp is None else self.u_shp
        return u_shp if self.K_d is None else u_shp - self.K_d * y

    def port_power(self, y: Float[Array, " d"]) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """What u_shp feeds in, y . u_shp, and what the damping injection takes out, y . K_d y."""
        zero = jnp.zeros((), y.dtype)
        fed = zero if self.u_shp is None else jnp.dot(y, self.u_shp)
        return fed, zero if self.K_d is None else jnp.sum(self.K_d * y**2)
