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
        return self._replace(R_inverse=ops.xp.zeros_like(self.R_inverse))

    def add(self, ops: Any, s: Any, y: Any, sy: Any, gamma: Any) -> "Limited":
        """With the pair (s, y), s.y > 0, in place of the oldest one."""
        xp, capacity = ops.xp, self.S.shape[0]
        unit = sy**-0.5
        y = y * unit
        S, Y = ops.put(self.S, self.slot, s * unit), ops.put(self.Y, self.slot, y)
        new = xp.arange(capacity, dtype=xp.int32) == self.slot
        kept = ops.where(new[:, None] | new, 0.0, self.R_inverse)
        column = ops.where(new, 1.0, -(kept @ (S @ y)))
        gram = Y @ y
        return Limited(
            S,
            Y,
            ops.where(new, column[:, None], kept),
            ops.where(new, gram[:, None], ops.where(new[:, None], gram, self.YY)),
            (self.slot + 1) % capacity,
        )

    def solve(self, ops: Any, v: Any, gamma: Any) -> Any:
        u = self.R_inverse @ (self.S @ v)
        a = (u + gamma * (self.YY @ u - self.Y @ v)) @ self.R_inverse
        return gamma * v + a @ self.S - gamma * (u @ self.Y)
