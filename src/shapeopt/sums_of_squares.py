"""The front door for sums of squares: `shapeopt.least_squares`."""

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any, Literal, NamedTuple

import numpy as np

from .core import Reading, Status
from .core.fingerprint import describe, digest, environment
from .core.problem import Problem, read_problem, require_callable, require_path, seeded
from .core.result import Result
from .core.stopping import Stopping
from .engines.ends import Callback, Ends
from .engines.host import HostRun
from .optimizer import Policy
from .oracles import Journal, JournalError, ResidualOracle, find_loss, refers_to_jax, weighed
from .policies import find_fit_policy


def least_squares(
    residuals: Callable[..., Any],
    x0: Any = None,
    jac: bool | str | Callable[..., Any] | None = None,
    bounds: Any = None,
    *,
    budget: int = 500,
    x_scale: Any = "jac",
    loss: str | Callable[[np.ndarray], Any] = "linear",
    f_scale: float = 1.0,
    args: tuple[Any, ...] = (),
    kwargs: Mapping[str, Any] | None = None,
    policy: str | Policy = "universal",
    num_starts: int = 1,
    target: float | None = None,
    tol: float | None = None,
    confidence: float | None = None,
    seed: int = 0,
    callback: Callback | None = None,
    journal: str | os.PathLike[str] | None = None,
    on_error: Literal["raise", "skip"] = "raise",
) -> Result:
    """The best fit that `budget` calls can buy: the lowest sum of squares, over basins, not the nearest one.

        cost(x) = sum_i residuals(x)_i^2 / 2,   or with a robust loss  f_scale^2 / 2 sum_i loss((residuals(x)_i /
        f_scale)^2)

    It is `minimize` with the tactic `gauss_newton` in the place of `refine`, and has SciPy's names where they fit.

    Args:
        residuals: x -> (m,), called as `residuals(x, *args, **kwargs)`. NaN and infinities cost their call, and the run
            goes on.
        x0: where to start, a flat array or a number. None: drawn uniformly inside `bounds`.
        jac: None (by JAX if `residuals` computes with it, else "2-point"), a callable with the same arguments that
            returns the Jacobian, (m, d), True (`residuals` returns both), or "2-point" or "3-point".
        bounds: (lower, upper), two numbers or arrays, as SciPy's `least_squares` has them; or a list of pairs, or a
            `scipy.optimize.Bounds`. No query leaves them.
        budget: the hard cap on calls. Residuals with their Jacobian are one call; by differences each evaluation of the
            residuals is one, so that a reading takes 1 + d ("2-point") or 1 + 2 d calls ("3-point").
        x_scale: "jac": the units of coordinates without bounds are found from x0 and the first reading; or an array of
            them. Steps inside a basin are measured in units of the Jacobian's columns in any case.
        loss: "linear", "soft_l1", "huber", "cauchy", "arctan", or a callable z -> (3, m), as SciPy has them.
        f_scale: the residual from which on a robust loss departs from the square.
        args, kwargs: passed on to `residuals` and `jac`.
        policy, num_starts, seed, callback, journal, on_error: as `minimize` has them; a callback sees the cost as `fun`
            and as `cost`.
        target, tol, confidence: end the run early, as `minimize` has them, by the cost.

    Returns:
        SciPy's fields (x, cost, fun: the residuals at x, jac, grad, optimality: the largest gradient of a coordinate
        that is not pressed against a bound, active_mask, nfev: calls, njev: readings, status, message, success), where
        `status` is that of `minimize`, and `minima` (x, cost, visits), `events`, `trace` and `energy` as `minimize` has
        them. By differences, points that were evaluated for the Jacobian alone do not count as found.

    Raises:
        ValueError: for a wrong argument; what `residuals` raises passes through, with the result so far in its
            attribute `shapeopt_result`.

    Example:
        t, y = np.arange(8.0), 2.5 * np.exp(-0.4 * np.arange(8.0))
        fit = shapeopt.least_squares(lambda b: b[0] * np.exp(-b[1] * t) - y, [1.0, 1.0], budget=60)
    """
    if on_error not in ("raise", "skip"):
        raise ValueError(f"`on_error` must be 'raise' or 'skip'; got {on_error!r}.")
    require_callable("callback", callback)
    require_path("journal", journal)
    limits = Stopping(target, tol, confidence)
    if not (isinstance(f_scale, int | float | np.number) and f_scale > 0):
        raise ValueError(f"`f_scale` must be a positive number; got {f_scale!r}.")
    problem = read_problem(x0, _sides(bounds), seeded(seed))
    if not problem.layout.flat:
        raise ValueError("`x0` must be a flat array or a number.")
    found, units = find_fit_policy(policy), _units(x_scale, problem)
    run = HostRun(found, problem, budget, int(seed), num_starts, residuals=True, units=units)
    run.judges_gradients = jac is True or callable(jac)
    fun, slopes = (_bound(one, args, kwargs) for one in (residuals, jac))
    ends = {"lower": problem.lower, "upper": problem.upper}
    host = ResidualOracle(
        fun, problem.x0, slopes, **ends, rho=find_loss(loss), f_scale=float(f_scale), limit=run.budget
    )
    settings = _Settings(_costed(callback), limits, on_error)
    with ExitStack() as opened:
        if journal is not None:
            given = {
                "loss": loss if isinstance(loss, str) else describe(loss),
                "f_scale": f_scale,
                "on_error": on_error,
            }
            given |= {name: float(limit) for name, limit in vars(limits).items() if limit is not None}
            given |= {"x_scale": "jac" if units is None else digest(units), "arguments": _told(args, kwargs)}
            host.journal = opened.enter_context(_journal(journal, residuals, jac, found, run, given))
        try:
            status = _drive(residuals, run, host, settings)
            if host.journal is not None and status == Status.BUDGET_SPENT:
                host.journal.finish()
        except BaseException as error:
            object.__setattr__(error, "shapeopt_result", _result(run, host, Status.FAILED))
            raise
    return _result(run, host, status)


class _Settings(NamedTuple):
    callback: Callback | None
    limits: Stopping
    on_error: str


def _sides(bounds: Any) -> Any:
    """Bounds as `minimize` reads them: two things in a tuple are the two sides, as SciPy's `least_squares` has it."""
    if not (isinstance(bounds, tuple) and len(bounds) == 2):
        return bounds
    sides = (np.asarray(side, float) for side in bounds)
    lower, upper = np.broadcast_arrays(*sides)
    return Result(lb=lower, ub=upper) if lower.ndim else (float(lower), float(upper))


def _units(x_scale: Any, problem: Problem) -> np.ndarray | None:
    if isinstance(x_scale, str) and x_scale == "jac":
        return None
    try:
        units = np.broadcast_to(np.asarray(x_scale, problem.x0.dtype), problem.x0.shape)
    except (TypeError, ValueError):
        units = np.zeros(1)
    if not (np.isfinite(units).all() and (units > 0).all()):
        raise ValueError(f"`x_scale` must be 'jac' or positive numbers, one for each coordinate; got {x_scale!r}.")
    return units


def _bound(fun: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None) -> Any:
    """The function of x alone; what is no function passes."""
    if not callable(fun) or not (args or kwargs):
        return fun
    return lambda x: fun(x, *args, **(kwargs or {}))


def _told(args: tuple[Any, ...], kwargs: Mapping[str, Any] | None) -> str:
    """What the journal knows of further arguments."""
    words = [(str(i), arg) for i, arg in enumerate(args)] + sorted((kwargs or {}).items())
    parts = [part for name, arg in words for part in (name, describe(arg) if _is_opaque(arg) else arg)]
    return digest(*parts)


def _is_opaque(arg: Any) -> bool:
    return not isinstance(arg, int | float | str | np.ndarray | list | tuple)


def _journal(
    path: str | os.PathLike[str], fun: Any, jac: Any, policy: Policy, run: HostRun, settings: dict[str, Any]
) -> Journal:
    problem = run.problem
    header = {
        "objective": describe(fun),
        "kind": "least squares",
        "jacobian": describe(jac) if callable(jac) else str(jac),
        "x0": digest(problem.x0),
        "bounds": digest(problem.lower, problem.upper),
        "dimension": problem.x0.size,
        "dtype": str(problem.x0.dtype),
        "budget": run.budget,
        "seed": run.seed,
        "policy": describe(policy),
        "num_starts": run.particles,
        "environment": environment(),
    }
    return Journal(path, header | settings, problem.x0, run.budget, vectors=True)


def _drive(residuals: Any, run: HostRun, host: ResidualOracle, settings: _Settings) -> Status:
    """Learn how the Jacobian is to be had, then read until the budget is spent."""
    _attempt(lambda: host.begin(run.x, refers_to_jax(residuals), lambda: _traced(host)), host, settings)
    ends = Ends(run, settings.callback, settings.limits, run.x.size if host.cost > 1 else 0)
    while host.fits(run.x):
        reading = _attempt(lambda: host.read(run.x), host, settings)
        run.tell(_nothing(run) if reading is None else reading, host.calls)
        if (status := ends.look()) is not None:
            return status
    alone = host.look(run.x) if host.readings == 0 else np.inf  # the budget is smaller than a reading
    run.saw(run.x, alone, host.calls)
    return Status.BUDGET_SPENT


def _traced(host: ResidualOracle) -> Any:
    from .oracles.traced_residuals import traced_residuals

    return traced_residuals(host.fun, host.dtype.itemsize == 8)


def _attempt(call: Callable[[], Any], host: ResidualOracle, settings: _Settings) -> Any:
    """The call's answer, or None where it failed and failures are to be skipped."""
    try:
        return call()
    except JournalError:
        raise
    except Exception:
        if settings.on_error == "raise":
            raise
        host.forgo()
        return None


def _nothing(run: HostRun) -> Reading:
    """The reading of a call that failed."""
    return Reading(np.nan, np.full_like(run.x, np.nan), np.int32(1))


def _costed(callback: Callback | None) -> Callback | None:
    """The callback, which sees the value as `cost`, too."""
    if callback is None:
        return None
    return lambda progress: callback(Result(progress, cost=progress.fun))


def _result(run: HostRun, host: ResidualOracle, status: Status) -> Result:
    """The run's result with SciPy's fields of a fit."""
    result, problem = run.result(status), run.problem
    result.cost = result.fun
    result.minima = [Result(x=basin.x, cost=basin.fun, visits=basin.visits) for basin in result.minima]
    x, fit = np.asarray(result.x), host.best_fit
    result.active_mask = (x >= problem.upper).astype(int) - (x <= problem.lower).astype(int)
    result.fun = result.jac = result.grad = None
    result.optimality = np.nan
    if fit is not None:
        with np.errstate(all="ignore"):
            if fit[1] is not None:
                _, r, J = weighed(fit[0], fit[1], host.rho, host.f_scale)
                result.jac, result.grad = fit[1], r @ J
                pressed = result.active_mask * result.grad < 0
                result.optimality = float(np.abs(np.where(pressed, 0.0, result.grad)).max())
        result.fun = fit[0]
    return result
