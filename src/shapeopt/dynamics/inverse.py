"""Secant models of the inverse Hessian: M^-1 = H / h^2 of the refine limit, positive definite by construction.

    H+ = (I - rho s y^T) H (I - rho y s^T) + rho s s^T,   rho = 1 / s.y > 0                      (BFGS)

from H = gamma I over the last pairs, in the compact form of Byrd, Nocedal and Schnabel (1994), with each pair scaled to
s.y = 1, so that D = I:

    H v = gamma v + S^T a - gamma Y^T u,   u = R^-1 S v,   a = R^-T (u + gamma (Y Y^T u - Y v)),   R_ij = s_i . y_j

for i not younger than j. R^-1 is kept rather than R: a new pair adds a column, and dropping the oldest one deletes a
row and a column, so that the pairs stay in a ring and nothing is solved in sequence.

Departs from the paper: there M is diagonal.
"""

from typing import Any, NamedTuple


class Limited(NamedTuple):
    """The last pairs, and the small matrices made of them; rows of W are those of S, then those of Y."""

    W: Any
    R_inverse: Any
    YY: Any
    slot: Any

    @staticmethod
    def blank(ops: Any, capacity: int, d: int, dtype: Any) -> "Limited":
        zeros = lambda *shape: ops.xp.zeros(shape, dtype)  # noqa: E731
        return Limited(zeros(2 * capacity, d), zeros(capacity, capacity), zeros(capacity, capacity), ops.whole(0))

    def reset(self, ops: Any, gamma: Any = None) -> "Limited":
        """No pairs; W may stay, since without R_inverse it has no effect. `gamma` is handed to `solve`, not kept."""
        return Limited(self.W, ops.xp.zeros_like(self.R_inverse), self.YY, self.slot)

    def opened(self, ops: Any, g: Any, gamma: Any, radius: Any) -> "Limited":
        """No pairs, as a basin is entered."""
        return self.reset(ops, gamma)

    def is_blank(self, ops: Any) -> Any:
        """Whether no pair was taken in yet."""
        return ops.no(self.R_inverse.any())

    def stretched(self, ops: Any, factor: float, s: Any, bent: Any) -> "Limited":
        """The pairs stay as they are: the scale gamma is the caller's."""
        return self

    def add(self, ops: Any, s: Any, y: Any, sy: Any, yy: Any = None, curvature: Any = None) -> "Limited":
        """With the pair (s, y), s.y > 0, in place of the oldest one; `yy` and `curvature` are for dense models."""
        slot, capacity = self.slot, self.YY.shape[0]
        unit = sy**-0.5
        y = unit * y
        W = ops.put(ops.put(self.W, slot, unit * s), slot + capacity, y)
        Wy = ops.times(W, y)
        R = ops.put(self.R_inverse, slot, 0.0)
        column = ops.put(-ops.times(R, ops.put(Wy[:capacity], slot, 0.0)), slot, 1.0)
        gram = Wy[capacity:]
        YY = ops.put(ops.put_column(self.YY, slot, gram), slot, gram)
        return Limited(W, ops.put_column(R, slot, column), YY, ops.remainder(slot + 1, capacity))

    def solve(self, ops: Any, v: Any, gamma: Any) -> Any:
        """H v."""
        W, R, capacity = self.W, self.R_inverse, self.YY.shape[0]
        Wv = ops.times(W, v)
        u = ops.times(R, Wv[:capacity])
        a = ops.times(u + gamma * (ops.times(self.YY, u) - Wv[capacity:]), R)
        return gamma * v + ops.times(ops.xp.concatenate((a, -gamma * u)), W)
