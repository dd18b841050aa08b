"""SciPy's other local methods, begun again elsewhere whenever they stop."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import Bounds, OptimizeResult, minimize

from ..oracles import AbstractReader
from .base import AbstractPeer, Start, rounds
from .free import FreeCoordinates

TIGHT = 1e-10  # decrease that ends a descent, where SciPy's default would end it far above the targets of a comparison


@dataclass(frozen=True)
class Bfgs(AbstractPeer):
    """SciPy's BFGS from x0 and then from uniform points of the box.

    It takes no bounds: bounded coordinates are put through the transformations of MINUIT (`FreeCoordinates`).

    Departs from the paper: not in it.
    """

    name: str = "bfgs"
    gtol: float = 1e-8  # of the gradient's largest entry; SciPy's 1e-5 is no small number in every unit
    package: ClassVar[str] = "scipy"
    uses_gradients: ClassVar[bool] = True
    start: ClassVar[Start] = Start.READS

    def search(self, reader: AbstractReader, x0: np.ndarray, lower: np.ndarray, upper: np.ndarray, seed: int) -> None:
        free = FreeCoordinates(reader.lower, reader.upper)
        options = {"gtol": self.gtol, "maxiter": reader.budget}

        def pair(u: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = reader.value_and_gradient(free.bounded(u))
            return value, gradient * free.slope(u)

        for start, _ in rounds(reader, x0, lower, upper, seed):
            _descend(reader, pair, free.free(start), method="BFGS", jac=True, options=options)


@dataclass(frozen=True)
class Slsqp(AbstractPeer):
    """SciPy's SLSQP (Kraft 1988) from x0 and then from uniform points of the box.

    Departs from the paper: not in it.
    """

    name: str = "slsqp"
    ftol: float = TIGHT
    package: ClassVar[str] = "scipy"
    uses_gradients: ClassVar[bool] = True
    start: ClassVar[Start] = Start.READS

    def search(self, reader: AbstractReader, x0: np.ndarray, lower: np.ndarray, upper: np.ndarray, seed: int) -> None:
        options = {"ftol": self.ftol, "maxiter": reader.budget}
        bounds = Bounds(reader.lower, reader.upper)
        for start, _ in rounds(reader, x0, lower, upper, seed):
            minimize(reader.value_and_gradient, start, method="SLSQP", jac=True, bounds=bounds, options=options)


@dataclass(frozen=True)
class NelderMead(AbstractPeer):
    """SciPy's simplex search (Nelder and Mead 1965) from x0 and then from uniform points of the box; values alone.

    Departs from the paper: not in it.
    """

    name: str = "nelder_mead"
    tol: float = 1e-8  # of points and values; SciPy's 1e-4
    package: ClassVar[str] = "scipy"
    uses_gradients: ClassVar[bool] = False
    start: ClassVar[Start] = Start.READS

    def search(self, reader: AbstractReader, x0: np.ndarray, lower: np.ndarray, upper: np.ndarray, seed: int) -> None:
        options = {"xatol": self.tol, "fatol": self.tol, "maxfev": 2 * reader.budget, "maxiter": 2 * reader.budget}
        bounds = Bounds(reader.lower, reader.upper)
        for start, _ in rounds(reader, x0, lower, upper, seed):
            _descend(reader, reader.value, start, method="Nelder-Mead", bounds=bounds, options=options)


@dataclass(frozen=True)
class Cobyqa(AbstractPeer):
    """SciPy's COBYQA (Ragonneau and Zhang 2024) from x0 and then from uniform points of the box; values alone.

    Departs from the paper: not in it.
    """

    name: str = "cobyqa"
    radius: float = 1.0  # SciPy's default for the first trust region
    final_radius: float = 1e-8  # SciPy's 1e-6
    package: ClassVar[str] = "scipy"
    uses_gradients: ClassVar[bool] = False
    start: ClassVar[Start] = Start.READS

    def search(self, reader: AbstractReader, x0: np.ndarray, lower: np.ndarray, upper: np.ndarray, seed: int) -> None:
        options = {
            "initial_tr_radius": self.radius,
            "final_tr_radius": self.final_radius,
            "maxfev": 2 * reader.budget,
            "maxiter": 2 * reader.budget,
        }
        bounds = Bounds(reader.lower, reader.upper)
        for start, _ in rounds(reader, x0, lower, upper, seed):
            _descend(reader, reader.value, start, method="COBYQA", bounds=bounds, options=options)


def _descend(reader: AbstractReader, fun: Any, start: np.ndarray, **settings: Any) -> OptimizeResult:
    """One local search, whose own count is reported."""
    since = reader.asked
    result = minimize(fun, start, **settings)
    reader.report(result.nfev, since)
    return result
