"""Residuals that compute with JAX, traced: x -> (residuals, Jacobian), differentiated and compiled.

This file imports JAX. It is imported once residuals are known to compute with JAX.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .traced import all_of_jax, untraceable_named


def traced_residuals(fun: Callable[[Any], Any], double: bool) -> Callable[[np.ndarray], tuple[Any, Any]]:
    """x -> (residuals, Jacobian) in NumPy arrays, uncounted; forward mode, or reverse mode where residuals are fewer.

    Raises:
        Untraceable: by the function, at its first call, if `fun` can't be called with a tracer or does not answer one
            with JAX arrays.
    """

    def residuals(x: Any) -> Any:
        return jnp.atleast_1d(all_of_jax(fun(x))).astype(x.dtype)

    def measure(x: Any) -> tuple[Any, Any]:
        r = residuals(x)
        derivative = jax.jacfwd if r.size >= x.size else jax.jacrev
        return r, derivative(residuals)(x)

    compiled = jax.jit(measure)

    def read(x: np.ndarray) -> tuple[Any, Any]:
        with jax.enable_x64(double), untraceable_named():
            r, J = compiled(x)
            return np.asarray(r), np.asarray(J)

    return read
