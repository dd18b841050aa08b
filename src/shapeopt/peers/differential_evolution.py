"""Differential evolution (Storn and Price 1997) as SciPy has it."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import Bounds, differential_evolution

from ..oracles import AbstractReader
from .base import AbstractPeer, Start, rounds

ROOM = 1e-12  # of the box width: SciPy refuses an x0 that its scaling rounds out of the bounds


@dataclass(frozen=True)
class DifferentialEvolution(AbstractPeer):
    """`scipy.optimize.differential_evolution` with x0 in the first population; values alone.

    `members` is the population's size; None leaves SciPy's, which is 15 a dimension and eats small budgets whole.

    Departs from the paper: not in it.
    """

    name: str = "differential_evolution"
    members: int | None = None
    tol: float = 1e-8  # SciPy's 0.01 would end a round long before its population has closed in
    package: ClassVar[str] = "scipy"
    uses_gradients: ClassVar[bool] = False
    start: ClassVar[Start] = Start.READS

    def __post_init__(self) -> None:
        if self.members is not None and self.members < 5:
            raise ValueError(f"`members` must be at least 5, as SciPy asks, or None; got {self.members}.")
        if not self.tol >= 0:
            raise ValueError(f"`tol` must not be negative; got {self.tol}.")

    def search(self, reader: AbstractReader, x0: np.ndarray, lower: np.ndarray, upper: np.ndarray, seed: int) -> None:
        room = ROOM * (upper - lower)
        for start, number in rounds(reader, x0, lower, upper, seed):
            rng, since = np.random.default_rng(number), reader.asked
            found = differential_evolution(
                reader.value,
                Bounds(lower, upper),
                maxiter=reader.budget,  # a generation reads at least five times
                tol=self.tol,
                polish=False,  # it would descend by differences
                init=self._population(lower, upper, rng),
                x0=np.clip(start, lower + room, upper - room),
                rng=rng,
            )
            reader.report(found.nfev, since)

    def _population(self, lower: np.ndarray, upper: np.ndarray, rng: np.random.Generator) -> str | np.ndarray:
        if self.members is None:
            return "latinhypercube"
        from scipy.stats import qmc  # here, as it takes longer to import than all else

        return qmc.scale(qmc.LatinHypercube(lower.size, rng=rng).random(self.members), lower, upper)
