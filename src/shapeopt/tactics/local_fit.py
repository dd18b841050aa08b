"""A quadratic around a centre, fitted to noisy readings near it by weighted least squares.

With z = (x - c) / h, h the distance of the n-th nearest reading, n = `crowd` times the number of coefficients,

    min_b  sum_i w_i (f_i - b . a(z_i))^2 + b . L b,   w_i = 1 - (|z_i| / 1.05)^2,   a(z) = (1, z, z^2 / 2, z_i z_j)

Products of two coordinates take part where there are readings enough for them, and in up to `most_products` dimensions.
The standard error of a fitted value follows from the variance v of a value, and that from the residuals r:

    error^2 = v a . S A^T W^2 A S a,   S = (A^T W A + L)^-1
    v = (u v_0 + sum_i w_i r_i^2) / (u + sum_i w_i - p),   p = tr(S A^T W A)

where v_0 is a variance that is known beforehand from u + 1 readings, and u = 0 if nobody says one.

Departs from the paper: not in it; there a noisy force is averaged by momentum.
"""

import functools
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

INF = float("inf")
EDGE = 1.05  # distance, in h, at which a weight would be 0
NEVER_USED = 1e9  # penalty of products where there are too few readings for them


class Fit(NamedTuple):
    """The quadratic, and the readings that told it."""

    rows: Any  # of these readings, in the table that was given
    A: Any  # their features,
    y: Any  # values, above the lowest one of all,
    weights: Any  # and weights: 0 beyond h
    told: Any  # S A^T W: what each value adds to the coefficients
    b: Any
    h: Any
    lowest: Any  # value that was subtracted from all


@dataclass(frozen=True)
class LocalFit:
    """The settings of a fit."""

    crowd: float = 4.0  # readings of a fit, in coefficients
    ridge: float = 1e-3  # penalty of a coefficient, in weights of a reading
    most_products: int = 10  # dimensions

    def few(self, d: int) -> int:
        """Coefficients without products."""
        return 2 * d + 1

    def coefficients(self, d: int) -> int:
        return (d + 1) * (d + 2) // 2 if d <= self.most_products else self.few(d)

    def readings(self, d: int) -> int:
        """The most that a fit uses."""
        return int(self.crowd * self.coefficients(d))

    def __call__(self, ops: Any, points: Any, values: Any, centre: Any, most: Any) -> Fit:
        """The fit to the readings nearest to a centre, at most so many; values are +inf in empty rows."""
        xp, d, dtype = ops.xp, points.shape[1], points.dtype
        few, all_ = self.few(d), self.coefficients(d)
        squares = ops.where(values < INF, ((points - centre) ** 2).sum(axis=1), xp.inf)
        rows = xp.argsort(squares)[: self.readings(d)]
        away, lowest = xp.sqrt(squares[rows]), values.min()
        count = ops.min(ops.real((values < INF).sum(), dtype), ops.max(ops.real(most, dtype), float(few)))
        whole = count >= self.crowd * all_
        wanted = ops.min(count, self.crowd * ops.pick(whole, float(all_), float(few)))
        h = away[ops.whole(wanted) - 1]
        h = ops.pick(h > 0, h, 1.0)
        near = away <= h
        w = ops.where(near, 1.0 - (ops.where(near, away, 0.0) / (EDGE * h)) ** 2, 0.0)
        A = self._features(ops, ops.where(near[:, None], (points[rows] - centre) / h, 0.0))
        y = ops.where(near, values[rows] - lowest, 0.0)
        products = xp.asarray(np.arange(all_) >= few, dtype) * ops.pick(whole, 0.0, NEVER_USED)
        penalty = products + xp.asarray(np.where(np.arange(all_) > 0, self.ridge, 1e-6 * self.ridge), dtype)
        normal = (A.T * w) @ A + xp.eye(all_, dtype=dtype) * penalty
        told = ops.solve(normal, A.T * w)
        return Fit(rows, A, y, w, told, ops.times(told, y), h, lowest)

    def error(self, ops: Any, fit: Fit, a: Any, variance: Any, known: float) -> Any:
        """The standard error of the value fitted where the features are a."""
        used = (fit.told * fit.A.T).sum()
        residuals = fit.y - fit.A @ fit.b
        free = ops.max(fit.weights.sum() - used, 0.0)
        v = (known * variance + ops.dot(fit.weights, residuals**2)) / ops.max(known + free, 1.0)
        shares = ops.times(fit.told.T, a)
        return ops.sqrt(v * ops.dot(shares, shares))

    def derivatives(self, ops: Any, b: Any, d: int) -> tuple[Any, Any]:
        """Gradient and Hessian at the centre, in z."""
        few, H = self.few(d), ops.xp.eye(d, dtype=b.dtype) * b[d + 1 : self.few(d)]
        if 1 < d <= self.most_products:
            places = np.zeros((d, d), int)
            places[_pairs(d)] = np.arange(b.shape[0] - few)
            H = H + ops.where(np.eye(d, dtype=bool), 0.0, b[few:][places + places.T])
        return b[1 : d + 1], H

    def _features(self, ops: Any, Z: Any) -> Any:
        """Rows (1, z, z^2 / 2, z_i z_j)."""
        xp, d = ops.xp, Z.shape[1]
        columns = [xp.ones((Z.shape[0], 1), Z.dtype), Z, 0.5 * Z * Z]
        if 1 < d <= self.most_products:
            i, j = _pairs(d)
            columns.append(Z[:, i] * Z[:, j])
        return xp.concatenate(columns, axis=1)


@functools.cache
def _pairs(d: int) -> tuple[np.ndarray, np.ndarray]:
    return np.triu_indices(d, 1)
