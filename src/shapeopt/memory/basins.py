"""The archive of distinct basins: which row a bottom belongs to, and how it is written (eq. dp_memory_write_rule).

Departs from the paper: its memory holds summaries of regions only.
"""

from typing import Any

from ..core.board import Basins

CAPACITY = 16
SAME_BASIN = 0.05  # distance per root coordinate below which two bottoms are one, where the box is 10 wide


def no_basins(ops: Any, d: int, dtype: Any) -> Basins:
    xp = ops.xp
    return Basins(
        points=xp.full((CAPACITY, d), xp.inf, dtype),
        values=xp.full(CAPACITY, xp.inf, dtype),
        visits=xp.zeros(CAPACITY, xp.int32),
    )


def write_basin(ops: Any, basins: Basins, q: Any, f: Any) -> Basins:
    """With a bottom at q. Near a known one it is that basin again: one more visit, and the lower of both as its bottom.
    Else it takes the row of the worst, if it is better."""
    away = basins.points - q
    squares = (away * away).sum(axis=-1)  # infinite in rows that are empty
    nearest = squares.argmin()
    known = squares[nearest] <= SAME_BASIN**2 * q.shape[0]
    row = ops.cond(known, lambda: nearest, lambda: basins.values.argmax())
    lower = f < basins.values[row]
    visits = ops.pick(known, basins.visits[row] + 1, ops.pick(lower, 1, basins.visits[row]))
    return Basins(
        ops.put(basins.points, row, ops.pick(lower, q, basins.points[row])),
        ops.put(basins.values, row, ops.pick(lower, f, basins.values[row])),
        ops.put(basins.visits, row, visits),
    )
