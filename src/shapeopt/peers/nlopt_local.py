"""NLopt's BOBYQA (Powell 2009), begun again elsewhere whenever it stops."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..oracles import AbstractReader
from .base import AbstractPeer, Start, rounds
from .descent import FTOL
from .nlopt_calls import NloptObjective
from .packages import load


@dataclass(frozen=True)
class Bobyqa(AbstractPeer):
    """BOBYQA in the box from x0 and then from uniform points of it; values alone, first step as NLopt chooses it.

    Departs from the paper: not in it.
    """

    name: str = "bobyqa"
    package: ClassVar[str] = "nlopt"
    uses_gradients: ClassVar[bool] = False
    start: ClassVar[Start] = Start.READS

    def search(self, reader: AbstractReader, x0: np.ndarray, lower: np.ndarray, upper: np.ndarray, seed: int) -> None:
        for start, _ in rounds(reader, x0, lower, upper, seed):
            bobyqa_descent(reader, start, lower, upper)


def local_by_values(nlopt: Any, d: int) -> Any:
    """NLopt's local method for values alone: BOBYQA, which wants two dimensions at least, else COBYLA."""
    local = nlopt.opt(nlopt.LN_BOBYQA if d > 1 else nlopt.LN_COBYLA, d)
    local.set_ftol_rel(FTOL)
    local.set_ftol_abs(FTOL)
    return local


def bobyqa_descent(reader: AbstractReader, start: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> None:
    """One search in the box; what NLopt gives up for numerical reasons ends it."""
    nlopt = load("nlopt")
    method, since, before = local_by_values(nlopt, start.size), reader.asked, reader.readings
    objective = NloptObjective(reader, method)
    method.set_min_objective(objective)
    method.set_lower_bounds(lower)
    method.set_upper_bounds(upper)
    try:
        method.optimize(start)
    except Exception:
        if objective.fault is None and reader.readings == before:  # refused, not given up
            raise
    objective.close(since)
