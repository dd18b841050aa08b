"""A peer in coordinates that are scaled to the box: what its users do where parameters have units of their own."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..oracles import AbstractReader
from .base import AbstractPeer, Start

HALF = 5.0  # the box is [-5, 5]^d, so that SciPy's default steps of 0.5 and 1 are a twentieth and a tenth of it


@dataclass(frozen=True)
class Scaled(AbstractPeer):
    """Another peer in coordinates scaled to the box; u = 5 (x - middle) / half width, with gradients in u.

    Bounds that are infinite stay so.

    Departs from the paper: not in it.
    """

    name: str
    inner: AbstractPeer

    @property
    def package(self) -> str:
        return self.inner.package

    @property
    def uses_gradients(self) -> bool:
        return self.inner.uses_gradients

    @property
    def start(self) -> Start:
        return self.inner.start

    @property
    def largest(self) -> int:
        return self.inner.largest

    def search(self, reader: AbstractReader, x0: np.ndarray, lower: np.ndarray, upper: np.ndarray, seed: int) -> None:
        scaled = ScaledReader(reader, lower, upper)
        side = np.full(x0.size, HALF)
        self.inner.search(scaled, np.clip(scaled.scale(x0), -side, side), -side, side, seed)


class ScaledReader(AbstractReader):
    """A reader in scaled coordinates; the reader behind it counts, keeps to the bounds and stops."""

    def __init__(self, reader: AbstractReader, lower: np.ndarray, upper: np.ndarray) -> None:
        self._reader = reader
        self._middle, self._unit = (lower + upper) / 2, (upper - lower) / (2 * HALF)
        super().__init__(
            self.scale(reader.lower), self.scale(reader.upper), reader.budget, reader.cost, reader.value_cost
        )

    def scale(self, x: np.ndarray) -> np.ndarray:
        return (x - self._middle) / self._unit

    def value(self, x: Any) -> float:
        try:
            return self._reader.value(self._unscaled(x))
        finally:
            self._follow(x)

    def value_and_gradient(self, x: Any) -> tuple[float, np.ndarray]:
        try:
            value, gradient = self._reader.value_and_gradient(self._unscaled(x))
            return value, gradient * self._unit
        finally:
            self._follow(x)

    def report(self, count: int, since: int) -> None:
        self._reader.report(count, since)

    def _unscaled(self, u: Any) -> np.ndarray:
        """x at u; what only round-off moves out of the bounds is put on them."""
        u = np.asarray(u, np.float64)
        x = self._middle + self._unit * u
        inside = (u >= self.lower) & (u <= self.upper)
        return np.where(inside, np.clip(x, self._reader.lower, self._reader.upper), x)

    def _follow(self, u: Any) -> None:
        """Take over what the reader behind has counted."""
        behind = self._reader
        self.calls, self.asked, self.exhausted, self.outside = (
            behind.calls,
            behind.asked,
            behind.exhausted,
            behind.outside,
        )
        if behind.readings > self.readings:
            missing = behind.readings - self.readings
            for value in behind.values[-missing:]:
                self._keep(np.array(u, np.float64), float(value))
