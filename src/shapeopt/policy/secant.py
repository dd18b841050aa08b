"""A limited-memory secant metric: M^-1 is the BFGS inverse Hessian of the last few moves (design: the refine limit).

The compact form of Byrd, Nocedal and Schnabel (1994), with each pair scaled to s.y = 1 so that D = I:

    H v = gamma v + S^T a + Y^T b,   u = R^-1 (S v),   b = -gamma u,   a = R^-T (u + gamma (Y Y^T u - Y v))

R is upper triangular in the order of age, R_ij = s_i . y_j. Its inverse is kept rather than R: a new pair adds one
column, and dropping the oldest pair deletes a row and a column, so the pairs can stay in a ring with no reordering and
nothing is solved in sequence. Time and memory are O(d) for a fixed number of pairs.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ..core import is_row, put_row
from ..paper.dynamics import AbstractMetric

CURVATURE_FLOOR = 1e-10  # a pair is kept if s.y exceeds this share of |s||y|, so that H stays positive definite


class SecantPairs(eqx.Module):
    """The last moves s = q' - q and force changes y = g' - g, with s.y > 0, and the small matrices made of them."""

    S: Float[Array, "k d"]
    Y: Float[Array, "k d"]
    R_inverse: Float[Array, "k k"]
    YY: Float[Array, "k k"]
    slot: Int[Array, ""]

    @staticmethod
    def empty(capacity: int, d: int, dtype: jax.typing.DTypeLike) -> "SecantPairs":
        wide, small = jnp.zeros((capacity, d), dtype), jnp.zeros((capacity, capacity), dtype)
        return SecantPairs(wide, wide, small, small, jnp.zeros((), jnp.int32))

    def forget(self, active: Bool[Array, ""]) -> "SecantPairs":
        """No pairs where `active`. S and Y may stay: without R_inverse they have no effect."""
        return eqx.tree_at(lambda m: m.R_inverse, self, jnp.where(active, 0.0, self.R_inverse))

    def add(self, s: Float[Array, " d"], y: Float[Array, " d"], active: Bool[Array, ""]) -> "SecantPairs":
        """The pair (s, y) in place of the oldest one; nothing changes where not `active` (then s.y may be anything)."""
        sy = jnp.dot(s, y)
        unit = jnp.where(active, jax.lax.rsqrt(jnp.where(active, sy, 1.0)), 0.0)
        y_unit = y * unit
        S, Y = put_row(self.S, self.slot, s * unit, active), put_row(self.Y, self.slot, y_unit, active)
        new = is_row(len(self.S), self.slot) & active
        kept = jnp.where(new[:, None] | new, 0.0, self.R_inverse)
        column = jnp.where(new, 1.0, -(kept @ rows_dot(S, y_unit)))
        gram = rows_dot(Y, y_unit)
        return SecantPairs(
            S,
            Y,
            R_inverse=jnp.where(new, column[:, None], kept),
            YY=jnp.where(new, gram[:, None], jnp.where(new[:, None], gram, self.YY)),
            slot=jnp.where(active, (self.slot + 1) % len(self.S), self.slot),
        )

    def solve(self, v: Float[Array, " d"], gamma: Float[Array, ""]) -> Float[Array, " d"]:
        """H v with H_0 = gamma I."""
        u = self.R_inverse @ rows_dot(self.S, v)
        a = (u + gamma * (self.YY @ u - rows_dot(self.Y, v))) @ self.R_inverse
        return gamma * v + combine(a, self.S) - gamma * combine(u, self.Y)


class SecantMetric(AbstractMetric):
    """M = (h^2 / scale) B with B the secant Hessian on the free coordinates, I / gamma on the held ones.

        M^-1 = (scale / h^2) (P H P + gamma (I - P)),   P = diag(free)

    A coordinate is held where it sits on a bound and the force pushes it outward; the step's clip keeps it there.

    Departs from the paper: there M is diagonal.
    """

    pairs: SecantPairs
    gamma: Float[Array, ""]
    free: Bool[Array, " d"]
    scale: Float[Array, ""]

    def solve(self, v: Float[Array, " d"]) -> Float[Array, " d"]:
        inside = self.pairs.solve(jnp.where(self.free, v, 0.0), self.gamma)
        return self.scale * jnp.where(self.free, inside, self.gamma * v)


SMALL = 64  # below it a product and a sum, which compile into one loop, beat a call of the matrix library


def rows_dot(rows: Float[Array, "k d"], v: Float[Array, " d"]) -> Float[Array, " k"]:
    return jnp.sum(rows * v, axis=-1) if rows.shape[-1] < SMALL else rows @ v


def combine(weights: Float[Array, " k"], rows: Float[Array, "k d"]) -> Float[Array, " d"]:
    return jnp.sum(weights[:, None] * rows, axis=0) if rows.shape[-1] < SMALL else weights @ rows
