"""Monotonic basin hopping (Leary 2000): hop from the best minimum, keep only what is better."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..oracles import AbstractReader
from .base import AbstractPeer, Start
from .descent import FTOL, descend


@dataclass(frozen=True)
class MonotonicHopping(AbstractPeer):
    """L-BFGS-B from the best minimum so far, moved uniformly within `step` box widths; only better minima are kept.

    A hop moves each coordinate with probability `share`, one at least. A large `ftol` leaves basins half refined, which
    saves calls for more of them.

    Departs from the paper: not in it.
    """

    name: str = "monotonic_hopping"
    step: float = 0.1  # of the box width; one period of Rastrigin's function on [-5, 5]
    share: float = 1.0
    ftol: float = FTOL
    package: ClassVar[str] = "scipy"
    uses_gradients: ClassVar[bool] = True
    start: ClassVar[Start] = Start.READS

    def __post_init__(self) -> None:
        if not 0 < self.step <= 1:
            raise ValueError(f"`step` must lie in (0, 1]; got {self.step}.")
        if not 0 < self.share <= 1:
            raise ValueError(f"`share` must lie in (0, 1]; got {self.share}.")
        if not self.ftol >= 0:
            raise ValueError(f"`ftol` must not be negative; got {self.ftol}.")

    def search(self, reader: AbstractReader, x0: np.ndarray, lower: np.ndarray, upper: np.ndarray, seed: int) -> None:
        rng = np.random.default_rng(seed)
        best = descend(reader, x0, reader.lower, reader.upper, self.ftol)
        while True:
            start = self._hop(np.clip(best.x, lower, upper), lower, upper, rng)
            found = descend(reader, start, reader.lower, reader.upper, self.ftol)
            if found.fun < best.fun or not np.isfinite(best.fun):
                best = found

    def _hop(self, x: np.ndarray, lower: np.ndarray, upper: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Uniform in the part of the box that lies within the step, so that hops do not heap up on the bounds."""
        reach = self.step * (upper - lower)
        moved = rng.random(x.size) < self.share
        moved[rng.integers(x.size)] = True
        return np.where(moved, rng.uniform(np.maximum(lower, x - reach), np.minimum(upper, x + reach)), x)
