"""Losses of sums of squares, with the names and the meaning that SciPy's `least_squares` gives them.

    cost = C^2 / 2 sum_i rho(z_i),   z_i = (r_i / C)^2

C is `f_scale`. A loss returns rho and its first two derivatives by z. For the model, residuals and Jacobian are weighed
(Triggs et al. 2000), so that J^T r is the gradient of the cost and J^T J a positive part of its Hessian:

    w = rho' + 2 z rho'',   J <- sqrt(w) J,   r <- rho' / sqrt(w) r
"""

from collections.abc import Callable
from typing import Any

import numpy as np

Rho = Callable[[np.ndarray], Any]  # z -> (rho, rho', rho''), rows of a (3, m)


def soft_l1(z: np.ndarray) -> Any:
    root = (1.0 + z) ** 0.5
    return 2.0 * (root - 1.0), 1.0 / root, -0.5 / root**3


def huber(z: np.ndarray) -> Any:
    far = z > 1.0
    root = np.where(far, z, 1.0) ** 0.5
    return np.where(far, 2.0 * root - 1.0, z), 1.0 / root, np.where(far, -0.5 / root**3, 0.0)


def cauchy(z: np.ndarray) -> Any:
    return np.log1p(z), 1.0 / (1.0 + z), -1.0 / (1.0 + z) ** 2


def arctan(z: np.ndarray) -> Any:
    square = 1.0 + z * z
    return np.arctan(z), 1.0 / square, -2.0 * z / square**2


LOSSES: dict[str, Rho | None] = {
    "linear": None,
    "soft_l1": soft_l1,
    "huber": huber,
    "cauchy": cauchy,
    "arctan": arctan,
}


def find_loss(loss: Any) -> Rho | None:
    """The loss of a name, or the callable itself; None: plain squares.

    Raises:
        ValueError: for anything else.
    """
    if callable(loss):
        return loss
    if loss not in LOSSES:
        raise ValueError(f"`loss` must be one of {', '.join(LOSSES)} or a callable; got {loss!r}.")
    return LOSSES[loss]


def weighed(r: np.ndarray, J: np.ndarray, rho: Rho | None, f_scale: float) -> tuple[float, np.ndarray, np.ndarray]:
    """(cost, r, J) with the residuals and the Jacobian as the model takes them."""
    if rho is None:
        return 0.5 * float(r @ r), r, J
    z = (r / f_scale) ** 2
    value, first, second = (np.asarray(row, r.dtype) for row in rho(z))
    weight = np.maximum(first + 2.0 * z * second, np.finfo(r.dtype).eps) ** 0.5
    return 0.5 * f_scale**2 * float(value.sum()), r * (first / weight), J * weight[:, None]
