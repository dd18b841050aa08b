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
    """The last pairs, in rows, and the small matrices made of them."""

    S: Any
    Y: Any
    R_inverse: Any
    YY: Any
    slot: Any

    @staticmethod
    def blank(ops: Any, capacity: int, d: int, dtype: Any) -> "Limited":
        wide, small = (capacity, d), (capacity, capacity)
        zeros = lambda shape: ops.xp.zeros(shape, dtype)  # noqa: E731
        return Limited(zeros(wide), zeros(wide), zeros(small), zeros(small), ops.whole(0))

    def reset(self, ops: Any) -> "Limited":
        """No pairs; S and Y may stay, since without R_inverse they have no effect."""
        return Limited(self.S, self.Y, ops.xp.zeros_like(self.R_inverse), self.YY, self.slot)

    def add(self, ops: Any, s: Any, y: Any, sy: Any) -> "Limited":
        """With the pair (s, y), s.y > 0, in place of the oldest one."""
        slot = self.slot
        unit = sy**-0.5
        y = y * unit
        S, Y = ops.put(self.S, slot, s * unit), ops.put(self.Y, slot, y)
        R = ops.put(self.R_inverse, slot, 0.0)
        column = ops.put(-(R @ ops.put(S @ y, slot, 0.0)), slot, 1.0)
        gram = Y @ y
        YY = ops.put(ops.put_column(self.YY, slot, gram), slot, gram)
        return Limited(S, Y, ops.put_column(R, slot, column), YY, (slot + 1) % self.S.shape[0])

    def solve(self, ops: Any, v: Any, gamma: Any) -> Any:
        S, Y, R = self.S, self.Y, self.R_inverse
        u = R @ (S @ v)
        a = (u + gamma * (self.YY @ u - Y @ v)) @ R
        return gamma * (v - u @ Y) + a @ S
