"""The best point by estimated mean, where values are noisy and come with forces.

At the bottom c of each basin, and at the lowest reading, a linear field is fitted to the forces as *fit forces* does
(tactics/fit_forces.py). With its force a, its curvature H and its scale h, t = (x - c) / h, each reading tells the
value at c, and the further away the less:

    m = sum_i w_i r_i / sum_i w_i,   r_i = f_i - h t_i.(a + H t_i / 2)
    w_i = 1 / (1 + (doubt gamma h |t_i|^2)^2 / 2 e^2)
    error^2 = sum_i w_i (r_i - m)^2 / (sum_i w_i - 1) * sum_i w_i^2 / (sum_i w_i)^2

e is the noise of values. What was read at c itself takes no part where others tell enough: it was the lowest of many,
partly by luck. Of all places the one with the least m + error is given back.

Departs from the paper: not in it.
"""

from collections.abc import Iterable

import numpy as np

from ..core.board import Estimate, Spec
from ..ops import HOST
from ..tactics import FitForces

MOST = 200  # dimensions: a fit takes O(d^3)
FIT = FitForces(most=MOST)
ENOUGH = 1.0  # weight of the other readings that is enough to leave out that at the place


def best_by_mean(
    points: np.ndarray,
    values: np.ndarray,
    forces: np.ndarray,
    places: Iterable[np.ndarray],
    value_noise: float,
    noise_std: float,
) -> Estimate | None:
    """Among readings in rows of internal coordinates, those nearest to the given places and the lowest one; None where
    nothing can be said."""
    sound = np.isfinite(values) & np.isfinite(forces).all(axis=1)
    points, values, forces = points[sound], values[sound], forces[sound]
    if points.shape[1] > MOST or len(values) < 3:
        return None
    rows = {int(((points - c) ** 2).sum(axis=1).argmin()) for c in places} | {int(values.argmin())}
    with np.errstate(all="ignore"):
        made = [_at(row, points, values, forces, value_noise, noise_std) for row in sorted(rows)]
    known = [one for one in made if np.isfinite(one.mean + one.error)]
    return min(known, key=lambda one: one.mean + one.error, default=None)


def _at(
    row: int, points: np.ndarray, values: np.ndarray, forces: np.ndarray, value_noise: float, noise_std: float
) -> Estimate:
    """The estimated mean where one of the readings was made."""
    d, dtype = points.shape[1], points.dtype
    blank = FIT.blank(HOST, Spec(d, dtype))
    assert blank is not None
    memory = blank._replace(points=points, forces=forces, values=values, read=len(values))
    noise = max(noise_std**2, float(np.finfo(dtype).tiny))
    memory = memory._replace(q=points[row], f=values[row], g=forces[row], noise=noise, radius=FIT.shortest * d**0.5)
    a, H, h = FIT._fit(HOST, memory, value_noise)
    t = (points - points[row]) / h
    square = (t * t).sum(axis=1)
    told = values - h * (t * (a + 0.5 * (t @ H))).sum(axis=1)
    wrong = FIT.doubt * float(np.trace(H)) / d * h * square
    w = np.where(square <= 1.0, 1.0 / (1.0 + 0.5 * (wrong / value_noise) ** 2), 0.0)
    others = np.where(np.arange(len(w)) == row, 0.0, w)
    w = others if others.sum() > ENOUGH else w
    total = float(w.sum())
    mean = float(w @ told) / total
    variance = float(w @ (told - mean) ** 2) / (total - 1.0) if total > 1.0 + 1e-9 else value_noise**2
    return Estimate(points[row] + 0.0, float(values[row]), mean, (variance * float(w @ w)) ** 0.5 / total)
