"""The forms in which SciPy's users say things: bounds, gradients, arguments, callbacks."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import Bounds

from ..core.result import Result

Jacobian = bool | str | Callable[..., Any] | None


def unwrapped(fun: Callable[..., Any], jac: Jacobian) -> tuple[Callable[..., Any], Jacobian]:
    """The user's own function where SciPy has wrapped one that returns (value, gradient): its memory of the last point
    can't be compiled, and we ask for both at once."""
    wrapper = getattr(jac, "__self__", None)
    return (fun.fun, True) if wrapper is fun and hasattr(fun, "fun") else (fun, jac)


def with_arguments(fun: Callable[..., Any], jac: Jacobian, args: Any) -> tuple[Callable[..., Any], Jacobian]:
    """`fun` and `jac` as functions of x alone."""
    args = args if isinstance(args, tuple) else (args,)
    if not args:
        return fun, jac
    bound = (lambda x: jac(x, *args)) if callable(jac) else jac
    return lambda x: fun(x, *args), bound


def read_bounds(bounds: Any, dimension: int) -> Bounds:
    """SciPy's `Bounds`, or its pairs (lower, upper) with None for no bound, with a side for every coordinate."""
    if bounds is None:
        sides = [-np.inf, np.inf]
    elif hasattr(bounds, "lb") and hasattr(bounds, "ub"):
        sides = [bounds.lb, bounds.ub]
    else:
        try:
            pairs = [(low, high) for low, high in bounds]
            sides = [
                [empty if pair[i] is None else float(pair[i]) for pair in pairs]
                for i, empty in enumerate((-np.inf, np.inf))
            ]
        except (TypeError, ValueError):
            raise ValueError(f"`bounds` must be a Bounds or pairs (lower, upper); got {bounds!r}.") from None
    try:
        lower, upper = (np.broadcast_to(np.asarray(side, float), (dimension,)) for side in sides)
    except ValueError:
        raise ValueError(f"`bounds` must have {dimension} pairs, as `x0`; got {bounds!r}.") from None
    return Bounds(lower, upper)


def read_callback(callback: Callable[..., Any] | None) -> Callable[[Result], None] | None:
    """Either of SciPy's signatures, callback(xk) and callback(intermediate_result=...), as `minimize` calls it.

    What it returns is not looked at, as in SciPy; StopIteration passes, and ends the run.
    """
    if callback is None:
        return None
    whole = set(inspect.signature(callback).parameters) == {"intermediate_result"}

    def told(progress: Result) -> None:
        callback(intermediate_result=progress) if whole else callback(np.copy(progress.x))

    return told
