"""Multi-start: descend, begin again elsewhere."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..oracles import AbstractReader
from .base import AbstractPeer, Start, rounds
from .descent import descend


@dataclass(frozen=True)
class MultiStart(AbstractPeer):
    """SciPy's L-BFGS-B from x0 and then from uniform points of the box, one after another.

    Departs from the paper: not in it.
    """

    name: str = "multistart"
    package: ClassVar[str] = "scipy"
    uses_gradients: ClassVar[bool] = True
    start: ClassVar[Start] = Start.READS

    def search(self, reader: AbstractReader, x0: np.ndarray, lower: np.ndarray, upper: np.ndarray, seed: int) -> None:
        for start, _ in rounds(reader, x0, lower, upper, seed):
            descend(reader, start, reader.lower, reader.upper)
