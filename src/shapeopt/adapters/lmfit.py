"""`shapeopt.lmfit`: lmfit's `minimize` and `Model.fit` with a global search before their least squares.

lmfit has a fixed list of methods, so this is a function beside it: SHAPE looks for the best basin within the bounds of
the parameters, and lmfit's own `leastsq` ends there, with its statistics and error bars.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import lmfit
import numpy as np

from ..core.result import Result

POLISH = 0.2  # share of the budget that is kept for lmfit's `leastsq`
LEAST = 10  # calls of it for each parameter and one more, at least


def minimize(
    fcn: Callable[..., Any],
    params: lmfit.Parameters,
    args: Sequence[Any] = (),
    kws: Mapping[str, Any] | None = None,
    *,
    budget: int = 1000,
    seed: int = 0,
) -> Any:
    """`lmfit.minimize` with a global search, in a budget of evaluations of `fcn`.

    Args:
        fcn: residual function `fcn(params, ...)`, as lmfit has it.
        params: their `min` and `max` bound the search; expressions and fixed ones are kept.
        args, kws: passed on to `fcn`.
        budget: evaluations in all, those of the last least squares among them.
        seed: all randomness follows from it.

    Returns:
        lmfit's `MinimizerResult`; `nfev` counts all evaluations, `shape` is what the search returned.

    Raises:
        ValueError: if no parameter varies, or the budget has no room for the least squares.

    Example:
        result = shapeopt.lmfit.minimize(residual, params, args=(x, data), budget=1000)
        lmfit.report_fit(result)
    """
    words = dict(kws or {})
    start, found, last = _search(lambda values: fcn(values, *args, **words), params, budget, seed)
    result = lmfit.Minimizer(fcn, start, fcn_args=tuple(args), fcn_kws=words, max_nfev=last).leastsq()
    result.nfev += found.nfev
    result.shape = found
    return result


def fit(
    model: lmfit.Model,
    data: Any,
    params: lmfit.Parameters,
    *,
    weights: Any = None,
    budget: int = 1000,
    seed: int = 0,
    **independent: Any,
) -> Any:
    """`model.fit` with a global search, in a budget of evaluations of the model.

    Args:
        model: an `lmfit.Model`.
        data, params, weights: as `lmfit.Model.fit` takes them; `min` and `max` of the parameters bound the search.
        budget: evaluations in all, those of the last least squares among them.
        seed: all randomness follows from it.
        **independent: the independent variables, by their names.

    Returns:
        lmfit's `ModelResult`; `nfev` counts all evaluations, `shape` is what the search returned.

    Raises:
        ValueError: if no parameter varies, or the budget has no room for the least squares.

    Example:
        result = shapeopt.lmfit.fit(lmfit.models.GaussianModel(), y, params, x=x, budget=1000)
        print(result.fit_report())
    """
    share = 1.0 if weights is None else np.asarray(weights)
    measured = np.asarray(data)
    start, found, last = _search(
        lambda values: (model.eval(values, **independent) - measured) * share, params, budget, seed
    )
    result = model.fit(data, start, weights=weights, max_nfev=last, **independent)
    result.nfev += found.nfev
    result.shape = found
    return result


def _search(
    residual: Callable[[lmfit.Parameters], Any], params: lmfit.Parameters, budget: int, seed: int
) -> tuple[lmfit.Parameters, Result, int]:
    """The parameters of the best basin, the search's result, and the calls that are left for the least squares."""
    from ..minimizer import minimize as search

    best = params.copy()
    names = [name for name, one in params.items() if one.vary and not one.expr]
    if not names:
        raise ValueError("`params` must have at least one that varies.")
    last = max(int(POLISH * budget), LEAST * (len(names) + 1))
    if budget <= last:
        raise ValueError(f"`budget` must be above {last} for {len(names)} parameters; got {budget!r}.")

    def squares(x: np.ndarray) -> float:
        for name, value in zip(names, x, strict=True):
            best[name].set(value=float(value))
        with np.errstate(all="ignore"):
            return float(np.sum(np.abs(np.asarray(residual(best))) ** 2))

    sides = np.array([(params[name].min, params[name].max) for name in names], float).T
    x0 = np.array([params[name].value for name in names], float)
    found = search(squares, x0, bounds=(sides[0], sides[1]), budget=int(budget - last), seed=seed)
    for name, value in zip(names, found.x, strict=True):
        best[name].set(value=float(value))
    return best, found, last
