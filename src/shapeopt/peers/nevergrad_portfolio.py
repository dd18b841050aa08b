"""Nevergrad's NGOpt, which picks a method by dimension and budget."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..oracles import AbstractReader
from .base import AbstractPeer, Start
from .packages import load
from .seeding import numpy_seed


@dataclass(frozen=True)
class NGOpt(AbstractPeer):
    """`nevergrad.optimizers.NGOpt`, told the bounds and the budget; values alone.

    Departs from the paper: not in it.
    """

    name: str = "ngopt"
    package: ClassVar[str] = "nevergrad"
    uses_gradients: ClassVar[bool] = False
    start: ClassVar[Start] = Start.READS

    def search(self, reader: AbstractReader, x0: np.ndarray, lower: np.ndarray, upper: np.ndarray, seed: int) -> None:
        nevergrad = load(self.package)
        with numpy_seed(seed):  # methods that it wraps draw from there
            space = nevergrad.p.Array(init=x0, lower=lower, upper=upper)
            space.random_state.seed(seed % 2**32)
            method = nevergrad.optimizers.NGOpt(parametrization=space, budget=reader.budget, num_workers=1)
            method.suggest(x0)
            while True:
                candidate = method.ask()
                method.tell(candidate, reader.value(candidate.value))
