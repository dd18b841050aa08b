"""Coordinates that are periodic, with bounds one turn apart, and where a box for the family had better open.

A coordinate is periodic if in all instances that are tried values and slopes at its two bounds are the same, the others
being those of the best place. A minimum near a bound then has its other half at the other bound, where a descent can't
go; so boxes open at a `seam`, in the middle of the longest part of the turn where no instance has its best place.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .instance import Instance
from .run import values_at

TRIED = 3  # instances
EQUAL = 1e-6  # of the values seen, the difference between two that are the same
STEP = 0.003  # of a width, over which slopes are measured,
ALIKE = 0.05  # and their difference, as a share of the largest slope along the coordinate,
SAMPLES = 17  # which is that between so many points


@dataclass(frozen=True, eq=False)
class Seam:
    """Where turned boxes open (NaN: a coordinate that is not periodic), between bounds."""

    at: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    def _moved(self, x: np.ndarray, start: np.ndarray) -> np.ndarray:
        return np.where(np.isnan(self.at), x, start + np.mod(x - start, self.upper - self.lower))

    def unrolled(self, x: np.ndarray) -> np.ndarray:
        """x within a turn from the seam on, where places that are near are near."""
        return self._moved(x, self.at)

    def inside(self, x: np.ndarray) -> np.ndarray:
        """x within the bounds."""
        return self._moved(x, self.lower)

    @property
    def setting(self) -> tuple[float | None, ...] | None:
        """As a policy has it."""
        if np.isnan(self.at).all():
            return None
        return tuple(None if np.isnan(one) else float(one) for one in self.at)


def find_seam(instances: Sequence[Instance], x: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> Seam:
    """The seam of a family.

    Arguments:
        instances: of training,
        x: (n, d), and their best places.
        lower, upper: (d,), the bounds of all of them.
    """
    at = np.full(x.shape[1], np.nan)
    for i in range(x.shape[1]):
        pairs = list(zip(instances, x, strict=True))[:TRIED]
        if upper[i] > lower[i] and all(_same(one, place, i, lower[i], upper[i]) for one, place in pairs):
            at[i] = _widest_gap(x[:, i], lower[i], upper[i] - lower[i])
    return Seam(at, lower, upper)


def _same(one: Instance, place: np.ndarray, i: int, low: float, high: float) -> bool:
    """Whether values and slopes of an instance are the same at both bounds of coordinate i."""
    h = STEP * (high - low)
    along = np.concatenate([low + h * np.arange(3), high - h * np.arange(3), np.linspace(low, high, SAMPLES)])
    points = np.repeat(place[None, :], len(along), axis=0)
    points[:, i] = along
    values = values_at(one, points)
    span = float(np.ptp(values)) if np.isfinite(values).all() else 0.0
    if not span > 0:
        return False
    (v0, v1, v2), (w0, w1, w2) = values[:3], values[3:6]
    slopes = np.array([-3.0 * v0 + 4.0 * v1 - v2, 3.0 * w0 - 4.0 * w1 + w2]) / (2.0 * h)
    steepest = abs(np.diff(values[6:])).max() * (SAMPLES - 1) / (high - low)
    level = float(abs(values).max()) * 1e-12
    return bool(abs(v0 - w0) <= EQUAL * span + level and abs(slopes[0] - slopes[1]) <= ALIKE * steepest)


def _widest_gap(column: np.ndarray, low: float, turn: float) -> float:
    """The middle of the longest part of the turn without a value."""
    values = np.sort(np.mod(column - low, turn))
    gaps = np.diff(np.append(values, values[0] + turn))
    widest = int(np.argmax(gaps))
    return float(low + np.mod(values[widest] + 0.5 * gaps[widest], turn))
