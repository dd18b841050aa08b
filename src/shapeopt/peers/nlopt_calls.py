"""A reader as NLopt calls it."""

from typing import Any

import numpy as np

from ..oracles import AbstractReader


class NloptObjective:
    """The function that NLopt is given.

    An exception must not pass through NLopt, which would go on calling with it pending: it is kept in `fault`, and
    NLopt is asked to stop.
    """

    def __init__(self, reader: AbstractReader, method: Any) -> None:
        self.reader, self.method = reader, method
        self.fault: Exception | None = None

    def __call__(self, x: np.ndarray, gradient: np.ndarray) -> float:
        """The value; the gradient is written into `gradient` where that has room."""
        if self.fault is not None:
            return np.inf
        try:
            if not gradient.size:
                return self.reader.value(x)
            value, gradient[:] = self.reader.value_and_gradient(x)
            return value
        except Exception as fault:
            self.fault = fault
            self.method.force_stop()
            return np.inf

    def close(self, since: int) -> None:
        """Report NLopt's own count, or raise what was kept."""
        if self.fault is not None:
            raise self.fault
        self.reader.report(self.method.get_numevals(), since)
