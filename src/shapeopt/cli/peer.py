"""SciPy's basinhopping under the same counter, to compare with."""

import contextlib
import functools
from collections.abc import Callable
from typing import Any


class _Spent(Exception):
    """The calls are spent."""


@functools.cache
def _compiled_pair() -> Callable[..., Any]:
    """(task, x) -> (value, gradient); the task's numbers are arguments, so that all tasks share one program."""
    import jax

    return jax.jit(lambda task, x: jax.value_and_grad(task)(x))


def basinhopping_best(task: Any, x0: Any, bounds: Any, budget: int, seed: int) -> tuple[float, int]:
    """(best value seen, calls) of basinhopping with L-BFGS-B and exact gradients, stopped hard after `budget` calls.

    A value with its gradient is one call. SciPy's own settings are left as they are.
    """
    import jax
    import numpy as np
    from scipy.optimize import basinhopping

    pair = _compiled_pair()
    best, calls = np.inf, 0

    def counted(x: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal best, calls
        if calls == budget:
            raise _Spent
        calls += 1
        value, gradient = pair(task, x)
        best = min(best, float(value))
        return float(value), np.asarray(gradient)

    options = {"method": "L-BFGS-B", "jac": True, "bounds": list(zip(*bounds, strict=True))}
    with jax.enable_x64(True), contextlib.suppress(_Spent):
        basinhopping(counted, x0, niter=budget, minimizer_kwargs=options, rng=seed)
    return best, calls
