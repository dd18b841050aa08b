"""A loss that gives two values at one point is no function of its parameters: most often a stream of minibatches."""

import warnings

import numpy as np

SAME_VALUE = 1e-5  # relative difference of two values that single precision and an order of sums explain
WARNING = (
    "{0} got two values at one point: the loss looks like a stream of minibatches. It descends once, then, and looks "
    "for no other minima. Use the whole data in every call if you can; noise=1.0 says that a stream is meant."
)


class MinibatchWarning(UserWarning):
    """The loss is not a function of its parameters alone."""


class SamePoint:
    """Remembers the value at every point, and warns once where a point has another value than before.

    Args:
        name: what the warning says was called.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._values: dict[int, float] = {}
        self._warned = False

    def look(self, x: np.ndarray, value: float) -> None:
        """Compare a reading with the earlier ones."""
        if self._warned or not np.isfinite(value):
            return
        before = self._values.setdefault(hash(x.tobytes()), value)
        if abs(value - before) > SAME_VALUE * max(abs(value), abs(before)):
            self._warned = True
            warn(self._name, stacklevel=7)  # look, _take, step, two wrappers of PyTorch's, the user's loop


def warn(name: str, stacklevel: int = 2) -> None:
    """The warning, at the caller so many frames up."""
    warnings.warn(WARNING.format(name), MinibatchWarning, stacklevel=stacklevel)
