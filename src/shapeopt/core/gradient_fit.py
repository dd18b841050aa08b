"""Whether the gradients of a run are those of its values, judged from the readings that were made anyway.

Between two readings the change of the value is the mean of both slopes along the move, up to the third order:

    f(x') - f(x) = r * 1/2 (g(x) + g(x')) . (x' - x),   r = 1 for a gradient that belongs to f.

The median of r over the shortest quarter of the moves is 1 to a few hundredths, for landscapes with ripples or kinks
and for forces with moderate noise too; with a wrong sign it is -1, with a factor of 2 one half, with no gradient
infinite. Moves along which both slopes cancel, or whose change of value is round-off, say nothing. A coordinate in
which no move was made can't be judged.

Departs from the paper: it takes its oracles at their word.
"""

import numpy as np

from .result import Result

AGREES = (0.75, 1.33)  # where r counts as 1
FEWEST = 4  # moves that a verdict needs
ROUND_OFF = 1e4  # units in the last place of a value below which its change is not believed


def fit_gradients(points: np.ndarray, values: np.ndarray, gradients: np.ndarray, particles: int) -> Result | None:
    """(ratio r, over how many moves, whether it agrees), of readings in rows, in rounds of all particles; None if too
    few moves tell anything. Where no gradient was finite no move tells anything, and they don't agree."""
    n = particles
    if len(values) >= FEWEST and np.isfinite(values).any() and not np.isfinite(gradients).all(axis=1).any():
        return Result(ratio=np.nan, moves=0, agrees=False)
    moves = points[n:] - points[:-n]
    with np.errstate(all="ignore"):
        change = values[n:] - values[:-n]
        before, after = (np.sum(part * moves, axis=1) for part in (gradients[:-n], gradients[n:]))
        expected, steepest = 0.5 * (before + after), np.maximum(np.abs(before), np.abs(after))
        noise = ROUND_OFF * np.finfo(points.dtype).eps * np.maximum(np.abs(values[n:]), np.abs(values[:-n]))
        told = np.isfinite(change) & np.isfinite(expected) & (np.maximum(np.abs(change), steepest) > noise)
        rows = np.flatnonzero(told)
        shortest = np.argsort(np.linalg.norm(moves[rows], axis=1), kind="stable")
        rows = rows[shortest[: max(FEWEST, len(rows) // 4)]]
        rows = rows[np.abs(expected[rows]) >= 0.25 * steepest[rows]]
        if len(rows) < FEWEST:
            return None
        ratio = float(np.median(change[rows] / expected[rows]))
    return Result(ratio=ratio, moves=len(rows), agrees=AGREES[0] < ratio < AGREES[1])
