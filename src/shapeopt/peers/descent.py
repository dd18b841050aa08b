"""Local descent with SciPy's L-BFGS-B, which half of the peers use."""

import numpy as np
from scipy.optimize import Bounds, OptimizeResult, minimize

from ..oracles import AbstractReader

FTOL = 1e7 * float(np.finfo(np.float64).eps)  # SciPy's default: relative decrease of f that ends a descent


def descend(
    reader: AbstractReader, start: np.ndarray, lower: np.ndarray, upper: np.ndarray, ftol: float = FTOL
) -> OptimizeResult:
    """The local minimum that L-BFGS-B finds from `start`; value and gradient are one reading."""
    options = {"maxiter": reader.budget, "maxfun": reader.budget, "ftol": ftol}
    bounds, since = Bounds(lower, upper), reader.asked
    found = minimize(reader.value_and_gradient, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    reader.report(found.nfev, since)
    return found


class SplitReadings:
    """A reader as the two functions that some libraries ask for, value and gradient apart.

    Where value and gradient come for one call together, the value's call brings the gradient along and `gradient` at
    the same point is free. Where gradients are made of differences, they are paid only when asked for.
    """

    def __init__(self, reader: AbstractReader) -> None:
        self._reader = reader
        self._together = reader.cost == reader.value_cost
        self._x = np.full(reader.lower.shape, np.nan)
        self._gradient = self._x

    def value(self, x: np.ndarray) -> float:
        if not self._together:
            return self._reader.value(x)
        value, self._gradient = self._reader.value_and_gradient(x)
        self._x = np.array(x)
        return value

    def gradient(self, x: np.ndarray) -> np.ndarray:
        if not (self._together and np.array_equal(self._x, x)):
            _, self._gradient = self._reader.value_and_gradient(x)
            self._x = np.array(x)
        return self._gradient
