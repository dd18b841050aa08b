"""A JAX function as an objective of NumPy points: compiled once, in float64 whatever the process is set to."""

from collections.abc import Callable
from typing import Any

import numpy as np


class Compiled:
    """x -> (value, gradient) of a JAX function of one flat array; values and gradients are NumPy's.

    Arguments:
        function: a traceable function of a flat float64 array; it is traced at the first call.
    """

    def __init__(self, function: Callable[[Any], Any]) -> None:
        import jax

        self.read = jax.jit(jax.value_and_grad(function))
        self.double = jax.enable_x64

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        with self.double(True):
            value, gradient = self.read(np.asarray(x, np.float64))
            return float(value), np.array(gradient, np.float64)
