"""The difference schemes of `value_only`, for host objectives (eqs. oracle_zo_gradient, app:zo_oracle)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .checks import require, require_bounds
from .probes import coordinate_gradient, probe_pairs, reaches, sphere_gradient


@dataclass(frozen=True)
class HostDifferences:
    """How a value-only host oracle probes: `directions` random orthonormal ones, or None for all coordinates.

    `lower` and `upper` broadcast against x, whatever its shape. Directions of reading n come from (seed, n).

    Departs from the paper: as `ValueOnlyOracle`.
    """

    directions: int | None = None
    radius: float | np.ndarray | None = None
    lower: float | np.ndarray = -np.inf
    upper: float | np.ndarray = np.inf
    include_value: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        if self.directions is not None and self.directions < 1:
            raise ValueError(f"`directions` must be at least 1, or None; got {self.directions}.")
        if self.radius is not None:
            require("radius", self.radius, lambda r: (r > 0) & (r < np.inf), "finite and positive")
        require_bounds(self.lower, self.upper)

    @staticmethod
    def for_budget(lower: np.ndarray, upper: np.ndarray, budget: int, seed: int) -> "HostDifferences":
        """Coordinate differences where eight readings of them fit into the budget, else as many directions as do."""
        d = lower.size
        directions = None if 8 * (2 * d + 1) <= budget else int(np.clip(budget // 20, 1, d))
        return HostDifferences(directions, lower=lower, upper=upper, seed=seed)

    def probe_calls(self, dim: int) -> int:
        """Calls that the probes of one reading spend; the value at x is apart."""
        if self.directions is not None and self.directions > dim:
            raise ValueError(f"`directions` must be at most the dimension {dim}; got {self.directions}.")
        return 2 * (dim if self.directions is None else self.directions)

    def estimate(self, x: np.ndarray, call: Callable[[np.ndarray], float], reading: int) -> tuple[float, np.ndarray]:
        """(mean over the probes, gradient) at x; `call` is asked 2m times, at points inside the bounds."""
        q = x.ravel()
        lower, upper = (
            np.broadcast_to(np.asarray(side, x.dtype), x.shape).ravel() for side in (self.lower, self.upper)
        )
        radius = None if self.radius is None else np.broadcast_to(np.asarray(self.radius, x.dtype), x.shape).ravel()
        up, down = reaches(q, radius, lower, upper, np)
        u = self._directions(q, reading)
        plus, minus = probe_pairs(q, u, up, down, lower, upper, np)
        values = np.array([call(point.reshape(x.shape)) for point in np.concatenate([plus, minus])])
        with np.errstate(invalid="ignore", over="ignore"):  # infinities of the objective pass through
            change = values[: len(u)] - values[len(u) :]
            if self.directions is None:
                gradient = coordinate_gradient(change, plus, minus, np)
            else:
                gradient = sphere_gradient(change, u, up + down, np)
            return float(values.mean()), gradient.reshape(x.shape).astype(x.dtype)

    def probes(self, x: np.ndarray, reading: int) -> np.ndarray:
        """The points at which `estimate` asks, a row each."""
        asked: list[np.ndarray] = []

        def note(point: np.ndarray) -> float:
            asked.append(point)
            return 0.0

        self.estimate(x, note, reading)
        return np.array(asked)

    def _directions(self, q: np.ndarray, reading: int) -> np.ndarray:
        if self.directions is None:
            return np.eye(q.size, dtype=q.dtype)
        normal = np.random.default_rng([self.seed, reading]).standard_normal((q.size, self.directions))
        return np.linalg.qr(normal)[0].T.astype(q.dtype)
