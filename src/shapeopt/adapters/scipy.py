"""`shapeopt.scipy_method`: a `method` for `scipy.optimize.minimize`."""

import functools
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import OptimizeWarning

from ..core import Status
from ..core.result import Result
from .lagrangian import minimize_constrained
from .scipy_forms import read_bounds, read_callback, unwrapped, with_arguments

if TYPE_CHECKING:
    from ..optimizer import Policy


def scipy_method(
    fun: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    *,
    jac: bool | str | Callable[..., Any] | None = None,
    hess: Any = None,
    hessp: Any = None,
    bounds: Any = None,
    constraints: Any = (),
    callback: Callable[..., Any] | None = None,
    tol: float | None = None,
    budget: int = 500,
    noise: float | None = None,
    policy: "str | Policy" = "universal",
    num_starts: int = 1,
    seed: int = 0,
    disp: bool = False,
    **unknown: Any,
) -> Result:
    """`scipy.optimize.minimize(fun, x0, method=shapeopt.scipy_method, options={"budget": 500, "seed": 0})`.

    Args:
        fun, x0, args, jac, bounds, constraints, callback: as SciPy's. SciPy itself replaces a string `jac` by None
            before a method like this one sees it; the run then has values alone, each a call. x0 is moved into the
            bounds. Constraints are met by an augmented Lagrangian (see `lagrangian.minimize_constrained`).
        hess, hessp: not used; SciPy's usual warning says so.
        tol: the run ends early when the best value fell by no more than `tol` (relative, where the value is above 1) in
            the second half of its calls, in which a descent began and ended. None: the whole budget is spent.
        budget, noise, policy, num_starts, seed: as `shapeopt.minimize` has them; given in SciPy's `options`.
        disp: print how it ended.

    Returns:
        What `shapeopt.minimize` returns; with constraints also `constr_violation`.

    Raises:
        ValueError: if an argument is wrong; the message names it. Exceptions of `fun` pass as they are.

    Example:
        from scipy.optimize import minimize, rosen, rosen_der

        result = minimize(rosen, [0.5, 0], jac=rosen_der, method=shapeopt.scipy_method, options={"budget": 300})
    """
    from ..minimizer import minimize

    if unknown:
        names = ", ".join(unknown)
        warnings.warn(f"Unknown solver options: {names}. A run is ruled by `budget`.", OptimizeWarning, stacklevel=3)
    for name, given in (("hess", hess), ("hessp", hessp)):
        if given is not None:
            warnings.warn(f"Method scipy_method does not use `{name}`.", RuntimeWarning, stacklevel=3)
    fun, jac = with_arguments(*unwrapped(fun, jac or None), args)
    start = np.atleast_1d(np.asarray(x0))
    start = start if start.dtype == np.float32 else start.astype(float)
    box, told = read_bounds(bounds, start.size), read_callback(callback)
    start = np.clip(start, box.lb.astype(start.dtype), box.ub.astype(start.dtype))
    solve = functools.partial(minimize, noise=noise, policy=policy, num_starts=num_starts)
    if constraints is None or (isinstance(constraints, list | tuple) and not constraints):
        result = solve(fun, start, bounds=box, jac=jac, budget=budget, seed=seed, callback=told, tol=tol)
        if result.status == Status.SETTLED:
            result.update(status=int(Status.BUDGET_SPENT))  # 0, as SciPy's methods say of a run that went well
    else:
        result = minimize_constrained(solve, fun, start, constraints, jac, budget, seed, told, tol, box)
    if disp:
        print(f"{result.message}\n  best value {result.fun:.8g} after {result.nfev} calls")
    return result
