"""Nonlinear least squares as SciPy has it: a specialist that sees the residuals."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import least_squares

from ..oracles import AbstractReader, FunctionReader
from .base import AbstractPeer, Start, rounds

TOL = 1e-12  # SciPy's 1e-8 ends far above the targets of a comparison


@dataclass(frozen=True)
class LeastSquares(AbstractPeer):
    """`scipy.optimize.least_squares` (trust region reflective, scaled by the Jacobian) with restarts.

    Residuals with their Jacobian are one call, as a value with its gradient is. It is a specialist: it sees m numbers
    a call where others see one and a gradient.

    Departs from the paper: not in it.
    """

    name: str = "least_squares"
    package: ClassVar[str] = "scipy"
    uses_gradients: ClassVar[bool] = True
    start: ClassVar[Start] = Start.READS
    specialist: ClassVar[bool] = True
    needs_residuals: ClassVar[bool] = True

    def search(self, reader: AbstractReader, x0: np.ndarray, lower: np.ndarray, upper: np.ndarray, seed: int) -> None:
        if not isinstance(reader, FunctionReader) or reader.residuals is None or reader.jacobian is None:
            raise ValueError("`reader` must have residuals and their Jacobian; this one reads a plain function.")
        residuals, jacobian = reader.residuals, reader.jacobian

        def read(x: np.ndarray) -> np.ndarray:
            reader.value(x)
            return residuals(x)

        tolerances = {"ftol": TOL, "xtol": TOL, "gtol": TOL, "max_nfev": 2 * reader.budget}
        for start, _ in rounds(reader, x0, lower, upper, seed):
            try:
                least_squares(read, start, jacobian, (reader.lower, reader.upper), x_scale="jac", **tolerances)
            except (ValueError, np.linalg.LinAlgError):  # residuals that are not finite where it begins or ends
                if reader.exhausted:
                    raise
