"""Basin hopping (Wales and Doye 1997) as SciPy has it."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import Bounds, basinhopping

from ..oracles import AbstractReader
from .base import AbstractPeer, Start


@dataclass(frozen=True)
class BasinHopping(AbstractPeer):
    """`scipy.optimize.basinhopping` with L-BFGS-B and SciPy's own settings; hops go on until the budget ends.

    Departs from the paper: its basin hopping (fig. ackley:with:search:algo) comes without settings.
    """

    name: str = "basinhopping"
    stepsize: float = 0.5  # SciPy's default, in the user's units; SciPy adapts it every 50 hops
    temperature: float = 1.0  # SciPy's default, in units of the objective
    package: ClassVar[str] = "scipy"
    uses_gradients: ClassVar[bool] = True
    start: ClassVar[Start] = Start.READS

    def __post_init__(self) -> None:
        if not self.stepsize > 0:
            raise ValueError(f"`stepsize` must be positive; got {self.stepsize}.")
        if not self.temperature >= 0:
            raise ValueError(f"`temperature` must not be negative; got {self.temperature}.")

    def search(self, reader: AbstractReader, x0: np.ndarray, lower: np.ndarray, upper: np.ndarray, seed: int) -> None:
        local = {"method": "L-BFGS-B", "jac": True, "bounds": Bounds(reader.lower, reader.upper)}
        basinhopping(
            reader.value_and_gradient,
            x0,
            niter=reader.budget,  # a hop reads at least once
            T=self.temperature,
            stepsize=self.stepsize,
            minimizer_kwargs=local,
            rng=seed,
        )
