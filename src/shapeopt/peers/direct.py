"""Dividing rectangles (Jones et al. 1993; locally biased: Gablonsky and Kelley 2001) as SciPy has it."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import Bounds, direct

from ..oracles import AbstractReader
from .base import AbstractPeer, Start


@dataclass(frozen=True)
class Direct(AbstractPeer):
    """`scipy.optimize.direct`: deterministic, values alone, no start; no tolerance ends it before the budget does.

    Departs from the paper: not in it.
    """

    name: str = "direct"
    locally_biased: bool = True  # SciPy's default
    package: ClassVar[str] = "scipy"
    uses_gradients: ClassVar[bool] = False
    start: ClassVar[Start] = Start.IGNORES

    def search(self, reader: AbstractReader, x0: np.ndarray, lower: np.ndarray, upper: np.ndarray, seed: int) -> None:
        direct(
            reader.value,
            Bounds(lower, upper),
            maxfun=max(2 * reader.budget, 100),  # SciPy asks before a whole round of divisions and would stop short
            maxiter=max(reader.budget, 100),
            locally_biased=self.locally_biased,
            vol_tol=0.0,
            len_tol=0.0,
        )
