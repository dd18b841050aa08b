"""SciPy's names for finite differences, for host objectives: every value that they need is a call."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from ..core.box import unit_at
from .probes import coordinate_gradient, probe_pairs, reaches

Scheme = Literal["2-point", "3-point", "cs"]
SCHEMES: tuple[str, ...] = get_args(Scheme)
COMPLEX_STEP = 1e-20  # far below round-off of x: a complex step subtracts nothing


@dataclass(frozen=True)
class FiniteDifferences:
    """Gradients along the coordinates from one more value each ("2-point"), two ("3-point"), or a complex one ("cs").

        2-point: (f(x + h e_i) - f(x)) / h,    cs: Im f(x + i h e_i) / h,    3-point: (f(x+) - f(x-)) / (x+ - x-)_i

    with x+ and x- as `probes` has them.

    Asks for the value at x itself, so a reading costs d + 1, 2 d + 1 or d + 1 calls. A step that would leave the bounds
    goes the other way.

    Departs from the paper: it has random two-sided directions only (eq. app:zo_oracle).
    """

    scheme: Scheme
    lower: float | np.ndarray = -np.inf
    upper: float | np.ndarray = np.inf

    def __post_init__(self) -> None:
        if self.scheme not in SCHEMES:
            raise ValueError(f"`scheme` must be one of {', '.join(SCHEMES)}; got {self.scheme!r}.")

    def calls(self, dim: int) -> int:
        """Calls that one reading spends."""
        return (2 * dim if self.scheme == "3-point" else dim) + 1

    def estimate(self, x: np.ndarray, call: Callable[[np.ndarray], Any]) -> tuple[float, np.ndarray]:
        """(value, gradient) at x."""
        value = call(x)
        if self.scheme == "3-point":
            return value, self._two_sided(x, call)
        if self.scheme == "cs":
            steps = COMPLEX_STEP * 1j * np.eye(x.size)
            gradient = np.array([call(x + step.reshape(x.shape)).imag / COMPLEX_STEP for step in steps])
            return value, gradient.reshape(x.shape).astype(x.dtype)
        eps = precision(np.asarray(value), x.dtype)
        forward = [step_ahead(x, i, self.lower, self.upper, eps) for i in range(x.size)]
        with np.errstate(invalid="ignore", over="ignore"):  # infinities of the objective pass through
            slopes = [(call(point) - value) / h if h else 0.0 for point, h in forward]
            return value, np.array(slopes, x.dtype).reshape(x.shape)

    def _two_sided(self, x: np.ndarray, call: Callable[[np.ndarray], Any]) -> np.ndarray:
        q = x.ravel()
        lower, upper = (np.broadcast_to(side, x.shape).ravel() for side in (self.lower, self.upper))
        up, down = reaches(q, None, lower, upper, np)
        plus, minus = probe_pairs(q, np.eye(q.size, dtype=q.dtype), up, down, lower, upper, np)
        ahead, behind = (np.array([call(point.reshape(x.shape)) for point in probes]) for probes in (plus, minus))
        with np.errstate(invalid="ignore", over="ignore"):  # infinities of the objective pass through
            return coordinate_gradient(ahead - behind, plus, minus, np).reshape(x.shape).astype(x.dtype)


def precision(values: np.ndarray, dtype: Any) -> float:
    """The relative round-off of values that were answered to a point of this dtype: coarser than the point's where they
    were computed in single precision. It is seen in the numbers, which a journal keeps: all are single-precision
    numbers, and one at least has more digits than half precision holds and is no whole number."""
    known = np.asarray(values)[np.isfinite(values)]
    with np.errstate(over="ignore"):
        single, half = known.astype(np.float32), known.astype(np.float16)
    coarse = bool((single == known).all() and ((half != known) & (known % 1 != 0)).any())
    return float(np.finfo(np.float32 if coarse else dtype).eps)


def step_ahead(x: np.ndarray, i: int, lower: Any, upper: Any, eps: float | None = None) -> tuple[np.ndarray, float]:
    """x moved along coordinate i, and by how much it moved, as rounded; 0 where the bounds hold it fixed. `eps` is the
    relative round-off of the values; None: that of x. It is SciPy's step, or less where the bounds are near."""
    low, high = (float(np.broadcast_to(side, x.shape).flat[i]) for side in (lower, upper))
    size, unit = abs(float(x.flat[i])), float(unit_at(np, x.flat[i], low, high))
    h = (np.finfo(x.dtype).eps if eps is None else eps) ** 0.5 * min(max(1.0, size), max(size, unit))
    if x.flat[i] + h > high:
        h = -h if x.flat[i] - h >= low else (high if high - x.flat[i] > x.flat[i] - low else low) - float(x.flat[i])
    point = x.copy()
    point.flat[i] = np.clip(point.flat[i] + h, low, high)  # which takes away an ulp of round-off
    return point, float(point.flat[i]) - float(x.flat[i])
