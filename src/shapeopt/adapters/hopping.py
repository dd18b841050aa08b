"""`shapeopt.basinhopping`: for calls that were written for `scipy.optimize.basinhopping`."""

import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import OptimizeWarning

from ..core import Status
from ..core.result import Result
from .scipy_forms import read_bounds, unwrapped, with_arguments

if TYPE_CHECKING:
    from ..optimizer import Policy

READINGS_PER_HOP = 20  # about what L-BFGS-B reads in a basin of the benchmark's families
UNDERSTOOD = ("args", "jac", "bounds")  # of `minimizer_kwargs`
OF_THE_LOCAL_METHOD = ("method", "options", "tol", "hess", "hessp", "callback")
HOPS_DONE = "requested number of basinhopping iterations completed successfully"
NO_BETTER = "success condition satisfied"


def basinhopping(
    func: Callable[..., Any],
    x0: Any,
    niter: int = 100,
    T: float = 1.0,
    stepsize: float = 0.5,
    minimizer_kwargs: Mapping[str, Any] | None = None,
    take_step: Any = None,
    accept_test: Any = None,
    callback: Callable[[np.ndarray, float, bool], Any] | None = None,
    interval: int = 50,
    disp: bool = False,
    niter_success: int | None = None,
    rng: Any = None,
    *,
    budget: int | None = None,
    policy: "str | Policy" = "universal",
) -> Result:
    """SciPy's call, SHAPE's search: ends when `niter` basins were left, or earlier with the budget.

    Args:
        func: the objective, called as `func(x, *args)`.
        x0: where to start.
        niter: the run ends when one more basin than this was left.
        minimizer_kwargs: `args`, `jac` and `bounds` are used; what belongs to a local method (its name, options, tol)
            has no meaning here.
        T, stepsize, take_step, accept_test, interval: of SciPy's random walk, and not used: where to go is SHAPE's own
            decision. A warning says so where they were set.
        callback: callback(x, f, accept) at every basin that is left, `accept` where it is the best so far; returning
            True ends the run.
        disp: print a line for every basin.
        niter_success: end when the best value stayed the same for so many basins.
        rng: a seed or a `numpy.random.Generator`.
        budget: the hard cap on calls; None: 20 readings for each basin.
        policy: as `shapeopt.minimize` has it.

    Returns:
        What `shapeopt.minimize` returns, with the fields of SciPy's `basinhopping`: `message` is a list, `nit` the
        number of basins, `lowest_optimization_result` the best of them.

    Raises:
        ValueError: if an argument is wrong; the message names it. Exceptions of `func` pass as they are.

    Example:
        options = {"jac": True, "bounds": [(-5, 5)] * 3}
        result = shapeopt.basinhopping(lambda x: (x @ x, 2 * x), np.ones(3), niter=10, minimizer_kwargs=options)
    """
    from ..minimizer import minimize

    walk = {"T": T != 1.0, "stepsize": stepsize != 0.5, "take_step": take_step is not None}
    walk |= {"accept_test": accept_test is not None, "interval": interval != 50}
    unused = [name for name, given in walk.items() if given]
    if unused:
        warnings.warn(f"Not used: {', '.join(unused)}; SHAPE chooses its own moves.", OptimizeWarning, stacklevel=2)
    local = dict(minimizer_kwargs or {})
    wrong = [name for name in local if name not in UNDERSTOOD + OF_THE_LOCAL_METHOD]
    if wrong:
        raise ValueError(f"`minimizer_kwargs` may have {', '.join(UNDERSTOOD)}; got {', '.join(wrong)}.")
    if not niter >= 0:
        raise ValueError(f"`niter` must not be negative; got {niter!r}.")
    fun, jac = with_arguments(*unwrapped(func, local.get("jac") or None), local.get("args", ()))
    start = np.atleast_1d(np.asarray(x0, float))
    box = read_bounds(local.get("bounds"), start.size)
    start = np.clip(start, box.lb, box.ub)
    cost = 1 if jac is True or callable(jac) else 2 * start.size + 1
    hops = Hops(niter + 1, niter_success, callback, disp)
    seed = int(np.random.default_rng(rng).integers(2**31))
    budget = READINGS_PER_HOP * cost * (niter + 1) if budget is None else budget
    result = minimize(fun, start, bounds=box, jac=jac, budget=budget, policy=policy, seed=seed, callback=hops)
    status, message = Status(result.status), hops.message or result.message
    status = Status.BUDGET_SPENT if message in (HOPS_DONE, NO_BETTER) else status
    lowest = Result(x=result.x, fun=result.fun, success=result.success, status=int(status), message=message)
    result.update(status=int(status), message=[message], nit=hops.basins, minimization_failures=0)
    result.update(lowest_optimization_result=lowest)
    return result


class Hops:
    """The front door's callback that counts basins: a stage's end that wrote memory closes one."""

    def __init__(self, most: int, unchanged: int | None, callback: Any, disp: bool) -> None:
        self.most, self.unchanged, self.callback, self.disp = most, unchanged, callback, disp
        self.basins, self.same = 0, 0
        self.message: str | None = None
        self._best = np.inf

    def __call__(self, progress: Result) -> bool:
        return any(event.wrote and self._closed(event) for event in progress.events)

    def _closed(self, event: Result) -> bool:
        self.basins += 1
        better = bool(event.best < self._best)
        self.same = 0 if better else self.same + 1
        self._best = min(self._best, event.best)
        if self.disp:
            print(f"basin {self.basins}: f {event.value:g} lowest_f {self._best:g}")
        if self.callback is not None and self.callback(np.copy(event.x), float(event.value), better) is True:
            self.message = "callback function requested stop early by returning True"
        elif self.unchanged is not None and self.same >= self.unchanged:
            self.message = NO_BETTER
        elif self.basins >= self.most:
            self.message = HOPS_DONE
        return self.message is not None
