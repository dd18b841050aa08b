"""Simplicial homology global optimisation (Endres et al. 2018) as SciPy has it."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import Bounds, shgo

from ..oracles import AbstractReader
from .base import AbstractPeer, Start
from .descent import SplitReadings


@dataclass(frozen=True)
class Shgo(AbstractPeer):
    """`scipy.optimize.shgo`, refined by `points` vertices a round until the budget ends; L-BFGS-B gets the gradient.

    Deterministic, and takes no start. A first whole triangulation, SciPy's default, has 2^d + 1 vertices; adding a
    fixed number instead keeps it usable in many dimensions.

    Departs from the paper: not in it.
    """

    name: str = "shgo"
    points: int = 60
    package: ClassVar[str] = "scipy"
    uses_gradients: ClassVar[bool] = True
    start: ClassVar[Start] = Start.IGNORES

    def __post_init__(self) -> None:
        if self.points < 1 or self.points == 100:  # SciPy reads 100 as "not given"
            raise ValueError(f"`points` must be positive and not 100; got {self.points}.")

    def search(self, reader: AbstractReader, x0: np.ndarray, lower: np.ndarray, upper: np.ndarray, seed: int) -> None:
        split = SplitReadings(reader)
        shgo(
            split.value,
            Bounds(lower, upper),
            n=self.points,
            iters=reader.budget,  # a round reads at least once
            minimizer_kwargs={"method": "L-BFGS-B", "jac": split.gradient},
            sampling_method="simplicial",
        )
