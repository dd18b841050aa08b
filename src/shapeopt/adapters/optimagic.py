"""`shapeopt.optimagic`: algorithms for `optimagic.minimize` and `maximize`."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from optimagic import mark
from optimagic.optimization.algorithm import Algorithm, InternalOptimizeResult
from optimagic.typing import AggregationLevel, PositiveInt

from ..core.result import Result

KINDS: dict[str, Any] = {  # what optimagic asks of an algorithm, but for its name, its values and its derivatives
    "is_available": True,
    "is_global": True,
    "needs_hess": False,
    "needs_bounds": False,
    "supports_parallelism": False,
    "supports_bounds": True,
    "supports_infinite_bounds": True,
    "supports_linear_constraints": False,
    "supports_nonlinear_constraints": False,
}


@mark.minimizer(name="shape", solver_type=AggregationLevel.SCALAR, needs_jac=True, **KINDS)
@dataclass(frozen=True)
class Shape(Algorithm):
    """Global search with gradients. Where `jac` or `fun_and_jac` is not given, optimagic makes them of differences,
    which the budget does not count: take `ShapeValues` then.

    Args:
        stopping_maxfun: the budget; a value with its gradient is one call.
        seed: all randomness follows from it.

    Example:
        algorithm = shapeopt.optimagic.Shape(stopping_maxfun=300)
        result = om.minimize(fun, x0, algorithm, bounds=om.Bounds(lower, upper), jac=gradient)
    """

    stopping_maxfun: PositiveInt = 500
    seed: int = 0

    def _solve_internal_problem(self, problem: Any, x0: np.ndarray) -> InternalOptimizeResult:
        from ..minimizer import minimize

        settings: dict[str, Any] = {"budget": self.stopping_maxfun, "seed": self.seed}
        return _as_theirs(minimize(problem.fun_and_jac, x0, bounds=_bounds(problem), jac=True, **settings))


@mark.minimizer(name="shape_values", solver_type=AggregationLevel.SCALAR, needs_jac=False, **KINDS)
@dataclass(frozen=True)
class ShapeValues(Algorithm):
    """Global search by values alone.

    Args:
        stopping_maxfun: the budget, in values.
        seed: all randomness follows from it.

    Example:
        result = om.minimize(fun, x0, shapeopt.optimagic.ShapeValues, bounds=om.Bounds(lower, upper))
    """

    stopping_maxfun: PositiveInt = 500
    seed: int = 0

    def _solve_internal_problem(self, problem: Any, x0: np.ndarray) -> InternalOptimizeResult:
        from ..minimizer import minimize

        settings: dict[str, Any] = {"budget": self.stopping_maxfun, "seed": self.seed}
        return _as_theirs(minimize(lambda x: float(problem.fun(x)), x0, bounds=_bounds(problem), **settings))


@mark.minimizer(name="shape_ls", solver_type=AggregationLevel.LEAST_SQUARES, needs_jac=True, **KINDS)
@dataclass(frozen=True)
class ShapeLeastSquares(Algorithm):
    """Global search for sums of squares, by `shapeopt.least_squares`. The objective is marked with
    `om.mark.least_squares` and returns residuals.

    Args:
        stopping_maxfun: the budget; residuals with their Jacobian are one call, which optimagic makes of differences
            where `jac` is not given.
        seed: all randomness follows from it.

    Example:
        residuals = om.mark.least_squares(lambda b: b[0] * np.exp(-b[1] * t) - y)
        result = om.minimize(residuals, [1.0, 1.0], shapeopt.optimagic.ShapeLeastSquares(stopping_maxfun=100))
    """

    stopping_maxfun: PositiveInt = 500
    seed: int = 0

    def _solve_internal_problem(self, problem: Any, x0: np.ndarray) -> InternalOptimizeResult:
        from ..sums_of_squares import least_squares

        settings: dict[str, Any] = {"budget": self.stopping_maxfun, "seed": self.seed}
        return _as_theirs(least_squares(problem.fun_and_jac, x0, True, _bounds(problem), **settings))


def _bounds(problem: Any) -> tuple[np.ndarray, np.ndarray] | None:
    lower, upper = problem.bounds.lower, problem.bounds.upper
    if lower is None and upper is None:
        return None
    like = upper if lower is None else lower
    return np.full_like(like, -np.inf) if lower is None else lower, np.full_like(
        like, np.inf
    ) if upper is None else upper


def _as_theirs(result: Result) -> InternalOptimizeResult:
    """The result in optimagic's form; the other minima and the events are in `info`."""
    return InternalOptimizeResult(
        x=np.asarray(result.x),
        fun=result.fun,
        success=bool(result.success),
        message=str(result.message),
        n_fun_evals=int(result.nfev),
        n_jac_evals=int(result.njev),
        info={"minima": result.minima, "events": result.events},
    )
