"""What a kind is made of."""

from collections.abc import Callable
from typing import Any

import numpy as np

Value = Callable[[np.ndarray], float]
Made = tuple[Value, Any, Any]  # the function, lower and upper bounds


def rk4(rate: Callable[[np.ndarray], np.ndarray], y: np.ndarray, step: float, count: int) -> np.ndarray:
    """States at `count` steps of a rate of change."""
    states = [y]
    with np.errstate(all="ignore"):
        for _ in range(count):
            k1 = rate(y)
            k2 = rate(y + 0.5 * step * k1)
            k3 = rate(y + 0.5 * step * k2)
            y = y + step / 6 * (k1 + 2 * k2 + 2 * k3 + rate(y + step * k3))
            states.append(y)
    return np.array(states)
