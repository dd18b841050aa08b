"""From a task's descriptor d_tau to where its best basin is expected: kernel ridge regression.

    x(u) = mean + k(u, U) alpha,   (K + lambda I) alpha = X - mean,
    k(u, v) = 1 + u . v / p + c exp(-|u - v|^2 / (2 l^2 p))

with descriptors standardised. c, l and lambda are those of the least error on instances left out one at a time, which
has a closed form: (K + lambda I)^-1 X divided by the diagonal of the inverse.

Departs from the paper: there d_tau is an input of the planner's network.
"""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

CURVED = (1.0, 10.0)  # c; 0, a linear regression, competes, too
LENGTHS = (0.7, 1.5, 3.0, 6.0)  # l
RIDGES = (1e-8, 1e-6, 1e-4, 1e-3, 1e-2, 0.1, 1.0)  # lambda


@dataclass(frozen=True, eq=False)
class Regression:
    """A fitted regression.

    Arguments:
        inputs: (n, p), standardised descriptors U.
        alpha: (n, d).
        mean: (d,).
        centre, spread: (p,), of the descriptors.
        kernel: (c, l).
    """

    inputs: np.ndarray
    alpha: np.ndarray
    mean: np.ndarray
    centre: np.ndarray
    spread: np.ndarray
    kernel: np.ndarray

    def predict(self, descriptor: Any) -> np.ndarray:
        """Where the best basin of the task with this descriptor is expected.

        Raises:
            ValueError: the descriptor has another size, or is not finite.
        """
        given = np.asarray(descriptor, float).ravel()
        if given.size != self.centre.size or not np.isfinite(given).all():
            raise ValueError(f"`descriptor` must be {self.centre.size} finite numbers; got {descriptor!r}.")
        u = (given - self.centre) / self.spread
        return self.mean + (_kernel(u[None, :], self.inputs, *self.kernel) @ self.alpha)[0]


def fit_regression(descriptors: np.ndarray, targets: np.ndarray) -> tuple[Regression, np.ndarray]:
    """The regression with the least left-out error, and what it predicts for each instance from the others.

    Arguments:
        descriptors: (n, p).
        targets: (n, d).
    """
    centre, spread = descriptors.mean(axis=0), descriptors.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    U, mean = (descriptors - centre) / spread, targets.mean(axis=0)
    Y, best = targets - mean, None
    shapes = [(0.0, 1.0), *itertools.product(CURVED, LENGTHS)]
    for (c, length), ridge in itertools.product(shapes, RIDGES):
        inverse = np.linalg.inv(_kernel(U, U, c, length) + ridge * np.eye(len(U)))
        left_out = inverse @ Y / np.diag(inverse)[:, None]
        error = float(np.mean(left_out**2))
        if np.isfinite(error) and (best is None or error < best[0]):
            best = error, left_out, inverse @ Y, np.array([c, length])
    assert best is not None
    _, left_out, alpha, kernel = best
    return Regression(U, alpha, mean, centre, spread, kernel), targets - left_out


def _kernel(u: np.ndarray, v: np.ndarray, c: float, length: float) -> np.ndarray:
    p = max(1, u.shape[1])
    gaps = ((u[:, None, :] - v[None, :, :]) ** 2).sum(axis=-1)
    return 1.0 + u @ v.T / p + c * np.exp(-gaps / (2.0 * length**2 * p))
