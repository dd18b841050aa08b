"""Global methods of NLopt: multi-level single linkage, controlled random search, ISRES."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..oracles import AbstractReader
from .base import AbstractPeer, Start, rounds
from .descent import FTOL
from .nlopt_calls import NloptObjective
from .nlopt_local import local_by_values
from .packages import load


@dataclass(frozen=True)
class Mlsl(AbstractPeer):
    """Multi-level single linkage (Kucherenko and Sytsko 2005) on a low-discrepancy sequence, with NLopt's L-BFGS.

    Departs from the paper: not in it.
    """

    name: str = "mlsl"
    tol: float = FTOL  # decrease of f, relative and absolute, that ends a descent; NLopt has no default of its own
    package: ClassVar[str] = "nlopt"
    uses_gradients: ClassVar[bool] = True
    start: ClassVar[Start] = Start.READS

    def __post_init__(self) -> None:
        if not self.tol > 0:
            raise ValueError(f"`tol` must be positive; got {self.tol}.")

    def search(self, reader: AbstractReader, x0: np.ndarray, lower: np.ndarray, upper: np.ndarray, seed: int) -> None:
        nlopt = load(self.package)
        local = nlopt.opt(nlopt.LD_LBFGS, x0.size)
        local.set_ftol_rel(self.tol)
        local.set_ftol_abs(self.tol)
        method = nlopt.opt(nlopt.G_MLSL_LDS, x0.size)
        method.set_local_optimizer(local)
        _run(nlopt, method, reader, x0, lower, upper, seed)


@dataclass(frozen=True)
class MlslBobyqa(AbstractPeer):
    """The same with NLopt's BOBYQA; values alone.

    Departs from the paper: not in it.
    """

    name: str = "mlsl_bobyqa"
    package: ClassVar[str] = "nlopt"
    uses_gradients: ClassVar[bool] = False
    start: ClassVar[Start] = Start.READS

    def search(self, reader: AbstractReader, x0: np.ndarray, lower: np.ndarray, upper: np.ndarray, seed: int) -> None:
        nlopt = load(self.package)
        method = nlopt.opt(nlopt.G_MLSL_LDS, x0.size)
        method.set_local_optimizer(local_by_values(nlopt, x0.size))
        _run(nlopt, method, reader, x0, lower, upper, seed)


@dataclass(frozen=True)
class AbstractPopulation(AbstractPeer):
    """A method of NLopt with a population, of values alone; `members` None leaves NLopt's own number."""

    name: str = ""
    members: int | None = None
    package: ClassVar[str] = "nlopt"
    uses_gradients: ClassVar[bool] = False
    start: ClassVar[Start] = Start.READS
    algorithm: ClassVar[str]

    def __post_init__(self) -> None:
        if self.members is not None and self.members < 1:
            raise ValueError(f"`members` must be positive, or None; got {self.members}.")

    def fewest(self, d: int) -> int:
        """The smallest population that NLopt takes."""
        return 1

    def search(self, reader: AbstractReader, x0: np.ndarray, lower: np.ndarray, upper: np.ndarray, seed: int) -> None:
        nlopt = load(self.package)
        method = nlopt.opt(getattr(nlopt, self.algorithm), x0.size)
        if self.members is not None:
            method.set_population(max(self.members, self.fewest(x0.size)))
        _run(nlopt, method, reader, x0, lower, upper, seed)


@dataclass(frozen=True)
class ControlledRandomSearch(AbstractPopulation):
    """CRS2 with local mutation (Kaelo and Ali 2006); values alone. `members` None leaves NLopt's 10 (d + 1).

    Departs from the paper: not in it.
    """

    name: str = "crs2"
    algorithm: ClassVar[str] = "GN_CRS2_LM"

    def fewest(self, d: int) -> int:
        return d + 1


@dataclass(frozen=True)
class Isres(AbstractPopulation):
    """The evolution strategy ISRES (Runarsson and Yao 2005); values alone. `members` None leaves NLopt's 20 (d + 1).

    Departs from the paper: not in it.
    """

    name: str = "isres"
    algorithm: ClassVar[str] = "GN_ISRES"


def _run(
    nlopt: Any, method: Any, reader: AbstractReader, x0: np.ndarray, lower: np.ndarray, upper: np.ndarray, seed: int
) -> None:
    """Rounds of `method`; one that NLopt gives up for numerical reasons is followed by one from elsewhere."""
    objective = NloptObjective(reader, method)
    method.set_min_objective(objective)
    method.set_lower_bounds(lower)
    method.set_upper_bounds(upper)
    for start, number in rounds(reader, x0, lower, upper, seed):
        before, since = reader.readings, reader.asked
        nlopt.srand(number)
        try:
            method.optimize(start)
        except Exception:
            if objective.fault is None and reader.readings == before:  # refused, not given up
                raise
        objective.close(since)
