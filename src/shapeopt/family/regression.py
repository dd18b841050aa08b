"""From a task's descriptor d_tau to where its best basin is expected: robust kernel ridge regression.

    x(u) = mean + k(u, U) alpha,   (K + lambda W^-1) alpha = X - mean,
    k(u, v) = 1 + u . v / p + a mean_j exp(-(u_j - v_j)^2 / (2 l^2)) + c exp(-|u - v|^2 / (2 l^2 p))

with descriptors standardised: a linear part, one that is a sum over the descriptor's numbers, which few instances
suffice to learn, and one of all of them together. a, c, l and lambda are those of the least error on instances left out
one at a time, which has a closed form: (K + lambda W^-1)^-1 X divided by the diagonal of the inverse. The weights W are
those of Cauchy's law, by this error: an instance whose best basin was not found, or is an equivalent one elsewhere,
counts little.

Departs from the paper: there d_tau is an input of the planner's network.
"""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

LINEAR = (0.0, 0.0, 1.0)  # a, c, l
SUMS = tuple((a, 0.0, length) for a in (1.0, 10.0, 100.0) for length in (0.7, 1.5, 3.0))
JOINT = tuple((0.0, c, length) for c in (1.0, 10.0) for length in (0.7, 1.5, 3.0, 6.0))
KERNELS = (LINEAR, *SUMS, *JOINT)
RIDGES = (1e-8, 1e-6, 1e-4, 1e-3, 1e-2, 0.1, 1.0)  # lambda
ROUNDS = 3  # of weights
USUAL = 2.0  # median errors at which an instance counts half;
LEAST_ERROR = 1e-6  # of the largest one, the least that the median is taken for


@dataclass(frozen=True, eq=False)
class Regression:
    """A fitted regression.

    Arguments:
        inputs: (n, p), standardised descriptors U.
        alpha: (n, d).
        mean: (d,).
        centre, spread: (p,), of the descriptors.
        kernel: (a, c, l).
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


def fit_regression(
    descriptors: np.ndarray,
    targets: np.ndarray,
    scale: np.ndarray | float = 1.0,
    kernels: tuple[tuple[float, float, float], ...] = KERNELS,
) -> tuple[Regression, np.ndarray]:
    """The regression with the least left-out error, and what it predicts for each instance from the others.

    Arguments:
        descriptors: (n, p).
        targets: (n, d).
        scale: (d,), units in which errors are measured.
        kernels: (a, c, l) among which is chosen.
    """
    centre, spread = descriptors.mean(axis=0), descriptors.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    U, weights = (descriptors - centre) / spread, np.ones(len(targets))
    matrices = [(np.array(kernel), _kernel(U, U, *kernel)) for kernel in kernels]
    for _ in range(1 + ROUNDS):
        mean = np.average(targets, axis=0, weights=weights)
        kernel, alpha, left_out = _best(matrices, targets - mean, weights, scale)
        weights = 1.0 / (1.0 + relative_errors(left_out / scale) ** 2)
    return Regression(U, alpha, mean, centre, spread, kernel), targets - left_out


def relative_errors(errors: np.ndarray) -> np.ndarray:
    """Sizes of rows of errors, in units of `USUAL` times their median."""
    sizes = np.sqrt(np.mean(errors**2, axis=1))
    return sizes / max(USUAL * float(np.median(sizes)), LEAST_ERROR * float(sizes.max()), 1e-300)


def _best(
    matrices: list[tuple[np.ndarray, np.ndarray]], Y: np.ndarray, weights: np.ndarray, scale: np.ndarray | float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(kernel, alpha, left-out errors) of the least weighted error."""
    best: tuple[float, tuple[np.ndarray, np.ndarray, np.ndarray]] | None = None
    for (kernel, K), ridge in itertools.product(matrices, RIDGES):
        inverse = np.linalg.inv(K + np.diag(ridge / weights))
        alpha = inverse @ Y
        left_out = alpha / np.diag(inverse)[:, None]
        error = float(np.mean(weights[:, None] * (left_out / scale) ** 2))
        if np.isfinite(error) and (best is None or error < best[0]):
            best = error, (kernel, alpha, left_out)
    assert best is not None
    return best[1]


def _kernel(u: np.ndarray, v: np.ndarray, a: float, c: float, length: float) -> np.ndarray:
    p = max(1, u.shape[1])
    gaps = (u[:, None, :] - v[None, :, :]) ** 2
    sums = np.exp(-gaps / (2.0 * length**2)).sum(axis=-1) / p
    return 1.0 + u @ v.T / p + a * sums + c * np.exp(-gaps.sum(axis=-1) / (2.0 * length**2 * p))
