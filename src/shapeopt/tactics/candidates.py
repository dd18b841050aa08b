"""Places that may be in the best basin, where values are noisy, and which of them the next call is for.

The level at which a descent from place k would end is believed to be normal, with mean m_k and variance

    t_k^2 = e_k^2 + (S (1 - n_k / N)+)^2

m_k, e_k: the fitted value and its standard error; n_k: calls for the place; S: how far descents may fall, half of the
rise from the lowest to the median value; N: calls after which a descent is at the bottom, coarsely. With b the place of
the lowest mean, giving b back where k is lower loses L_k = s_k psi((m_k - m_b) / s_k), s_k^2 = t_k^2 + t_b^2, where psi
is the expected improvement of a standard normal. One call more takes the (n_k + 1)-th part of a variance, so it lowers
the loss, to first order, by

    gain_k = phi((m_k - m_b) / s_k) / (2 s_k) t_k^2 / (n_k + 1)
    gain_b = max_k phi((m_k - m_b) / s_k) / (2 s_k) t_b^2 / (n_b + 1) + e_b / (n_b + 1)

The last term is what the descent itself gains: its height above the bottom is about its standard error, and falls as
1 / n. The next call is for the place of the largest gain; so calls that tell places apart end by themselves.

Departs from the paper: not in it; the rule is that of optimal computing budget allocation (Chick and Inoue 2001).
"""

import math
from typing import Any, NamedTuple

from ..core.board import Board, searched

INF = float("inf")
FARTHEST = 30.0  # standard deviations at which a density is 0


class Candidates(NamedTuple):
    """The places in rows; a level of +inf: none."""

    centres: Any
    levels: Any  # m
    errors: Any  # e
    steps: Any  # n


def blank(ops: Any, count: int, d: int, dtype: Any) -> Candidates:
    xp = ops.xp
    zeros = lambda: xp.zeros(count, dtype)  # noqa: E731
    return Candidates(xp.zeros((count, d), dtype), xp.full(count, xp.inf, dtype), zeros(), zeros())


def lowest_apart(ops: Any, board: Board, points: Any, values: Any, room: int, most: Any, noise: Any) -> Candidates:
    """The lowest readings none of which is near a lower one; near as for samples of `explore`, which grow dense."""
    xp, d = ops.xp, points.shape[1]
    lower, upper = searched(ops, board)
    n = ops.real((values < INF).sum(), points.dtype)
    r = 0.5 * (upper - lower).max() * (xp.log(n + 1.0) / n) ** (1.0 / d)
    found, left = blank(ops, room, d, points.dtype), values
    centres, levels = found.centres, found.levels
    for k in range(room):
        row = left.argmin()
        level = ops.pick(k < most, left[row], INF)
        centres, levels = ops.put(centres, k, points[row]), ops.put(levels, k, level)
        left = ops.where(((points - points[row]) ** 2).sum(axis=1) < r * r, xp.inf, left)
    return found._replace(centres=centres, levels=levels, errors=found.errors + noise)


def next_one(ops: Any, candidates: Candidates, fall: Any, look: Any) -> Any:
    """The row of the place that the next call is for."""
    xp, (_, m, e, n) = ops.xp, candidates
    b = ops.whole(m.argmin())
    t2 = e**2 + (fall * xp.maximum(1.0 - n / look, 0.0)) ** 2
    s = xp.sqrt(xp.maximum(t2 + t2[b], 1e-300 if m.dtype.itemsize == 8 else 1e-30))
    apart = xp.minimum((m - m[b]) / s, FARTHEST)
    slope = ops.where(m < INF, xp.exp(-0.5 * apart**2) / (math.sqrt(8.0 * math.pi) * s), 0.0)
    best = xp.arange(m.shape[0], dtype=xp.int32) == b
    told = ops.where(best, 0.0, slope).max() * t2[b]
    gains = ops.where(best, told + e[b], slope * t2) / (n + 1.0)
    return ops.whole(gains.argmax())
