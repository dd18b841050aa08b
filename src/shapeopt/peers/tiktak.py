"""TikTak (Arnoud, Guvenen and Kleineberg 2019): many starts, each pulled towards the best minimum so far."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..oracles import AbstractReader
from .base import AbstractPeer, Start
from .descent import descend
from .nlopt_local import bobyqa_descent


@dataclass(frozen=True)
class AbstractTikTak(AbstractPeer):
    """Reads x0 and `sampled` of the budget at Sobol points, and descends from the best tenth of them, best first.

        start_i = (1 - w_i) s_i + w_i x_best,  w_i = min(max(0.1, sqrt(i / n)), 0.995)

    With calls left after the n descents it goes on with further Sobol points.
    """

    name: str = ""
    sampled: float = 0.2  # of the budget; the authors leave the number of points to the user
    kept: float = 0.1  # the authors' share of points from which descents begin
    start: ClassVar[Start] = Start.READS

    def __post_init__(self) -> None:
        for name, value in (("sampled", self.sampled), ("kept", self.kept)):
            if not 0 < value <= 1:
                raise ValueError(f"`{name}` must lie in (0, 1]; got {value}.")

    def descend(self, reader: AbstractReader, start: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> None:
        """One local search."""
        raise NotImplementedError

    def search(self, reader: AbstractReader, x0: np.ndarray, lower: np.ndarray, upper: np.ndarray, seed: int) -> None:
        from scipy.stats import qmc  # here, as it takes longer to import than all else

        sobol = qmc.Sobol(x0.size, rng=np.random.default_rng(seed))
        count = max(4, int(self.sampled * reader.budget))
        first: list[np.ndarray] = [x0]
        while True:
            points = [*first, *qmc.scale(sobol.random(count), lower, upper)]
            values = np.array([reader.value(point) for point in points])
            order = np.argsort(np.where(np.isnan(values), np.inf, values), kind="stable")
            chosen = [points[i] for i in order[: max(1, int(self.kept * len(points)))]]
            self._descents(reader, chosen, lower, upper)
            first = []

    def _descents(self, reader: AbstractReader, starts: list[np.ndarray], lower: np.ndarray, upper: np.ndarray) -> None:
        for i, start in enumerate(starts):
            weight = 0.0 if i == 0 else min(max(0.1, (i / len(starts)) ** 0.5), 0.995)
            best = start if reader.best_x is None else reader.best_x
            self.descend(reader, np.clip((1 - weight) * start + weight * best, lower, upper), lower, upper)


@dataclass(frozen=True)
class TikTak(AbstractTikTak):
    """TikTak with SciPy's L-BFGS-B.

    Departs from the paper: not in it.
    """

    name: str = "tiktak"
    package: ClassVar[str] = "scipy"
    uses_gradients: ClassVar[bool] = True

    def descend(self, reader: AbstractReader, start: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> None:
        descend(reader, start, reader.lower, reader.upper)


@dataclass(frozen=True)
class TikTakBobyqa(AbstractTikTak):
    """TikTak with NLopt's BOBYQA; values alone.

    Departs from the paper: not in it.
    """

    name: str = "tiktak_bobyqa"
    package: ClassVar[str] = "nlopt"
    uses_gradients: ClassVar[bool] = False

    def descend(self, reader: AbstractReader, start: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> None:
        bobyqa_descent(reader, start, lower, upper)
