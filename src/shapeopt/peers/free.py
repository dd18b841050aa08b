"""Coordinates without bounds for methods that take none: the transformations of MINUIT (James and Roos 1975)."""

import numpy as np

EDGE = 1e-3  # radians that a start on a bound is moved inwards: there the slope is zero, and no descent would leave


class FreeCoordinates:
    """x = bounded(u), with u free and x within the bounds; a coordinate without bounds is itself.

        both bounds    x = middle + half sin(u)
        lower alone    x = lower - 1 + sqrt(1 + u^2)
        upper alone    x = upper + 1 - sqrt(1 + u^2)

    Departs from the paper: not in it.
    """

    def __init__(self, lower: np.ndarray, upper: np.ndarray) -> None:
        self._both = np.isfinite(lower) & np.isfinite(upper)
        self._low, self._high = np.isfinite(lower) & ~self._both, np.isfinite(upper) & ~self._both
        self._lower, self._upper = (np.where(np.isfinite(side), side, 0.0) for side in (lower, upper))
        self._middle, self._half = (self._lower + self._upper) / 2, (self._upper - self._lower) / 2

    def bounded(self, u: np.ndarray) -> np.ndarray:
        away = np.sqrt(1 + u**2) - 1
        x = np.where(self._both, np.clip(self._middle + self._half * np.sin(u), self._lower, self._upper), u)
        return np.where(self._low, self._lower + away, np.where(self._high, self._upper - away, x))

    def free(self, x: np.ndarray) -> np.ndarray:
        """The u of x, a little inside where x is on a bound."""
        share = np.divide(x - self._middle, self._half, out=np.zeros_like(x), where=self._both)
        angle = np.clip(np.arcsin(np.clip(share, -1, 1)), EDGE - np.pi / 2, np.pi / 2 - EDGE)
        away = np.where(self._low, x - self._lower, np.where(self._high, self._upper - x, 0.0))
        one_sided = np.maximum(np.sqrt(np.maximum((1 + away) ** 2 - 1, 0.0)), EDGE)
        return np.where(self._both, angle, np.where(self._low | self._high, one_sided, x))

    def slope(self, u: np.ndarray) -> np.ndarray:
        """dx/du."""
        away = u / np.sqrt(1 + u**2)
        one_sided = np.where(self._low, away, np.where(self._high, -away, 1.0))
        return np.where(self._both, self._half * np.cos(u), one_sided)
