"""Generalised simulated annealing with local search, as SciPy has it."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import Bounds, dual_annealing

from ..oracles import AbstractReader
from .base import AbstractPeer, Start, rounds
from .descent import SplitReadings


@dataclass(frozen=True)
class DualAnnealing(AbstractPeer):
    """`scipy.optimize.dual_annealing` with SciPy's own settings; its L-BFGS-B gets the gradient.

    Departs from the paper: not in it.
    """

    name: str = "dual_annealing"
    initial_temp: float = 5230.0  # SciPy's default
    package: ClassVar[str] = "scipy"
    uses_gradients: ClassVar[bool] = True
    start: ClassVar[Start] = Start.READS

    def __post_init__(self) -> None:
        if not 0.01 < self.initial_temp <= 5e4:
            raise ValueError(f"`initial_temp` must lie in (0.01, 50000], as SciPy asks; got {self.initial_temp}.")

    def search(self, reader: AbstractReader, x0: np.ndarray, lower: np.ndarray, upper: np.ndarray, seed: int) -> None:
        bounds, split = Bounds(lower, upper), SplitReadings(reader)
        steps = int(np.clip(6 * x0.size, 100, 1000))  # SciPy's own limit where no settings are passed on
        local = {"method": "L-BFGS-B", "jac": split.gradient, "bounds": bounds, "options": {"maxiter": steps}}
        for start, number in rounds(reader, x0, lower, upper, seed):
            dual_annealing(
                split.value,
                bounds,
                maxiter=reader.budget,  # an iteration reads at least twice
                minimizer_kwargs=dict(local),  # SciPy writes into it
                initial_temp=self.initial_temp,
                x0=start,
                rng=number,
            )
