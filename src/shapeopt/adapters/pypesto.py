"""`shapeopt.pypesto.ShapeOptimizer`: an optimizer for `pypesto.optimize.minimize`."""

from typing import Any

import numpy as np
from pypesto import Problem
from pypesto.optimize.optimizer import Optimizer, minimize_decorator_collection
from pypesto.result import OptimizerResult

from ..engines.host import whole


class ShapeOptimizer(Optimizer):
    """Global search within the bounds of a pyPESTO problem.

    With gradients where the objective has them, else by values. A run restarts by itself, so one start with the whole
    budget does what many short ones do; pyPESTO's history, options and storage work as with its own optimizers.

    Args:
        budget: calls of one start; a value with its gradient is one call.
        seed: all randomness follows from it.

    Raises:
        ValueError: for a budget that is no whole number of at least 1.

    Example:
        problem = pypesto.Problem(objective, lb=lower, ub=upper)
        optimizer = shapeopt.pypesto.ShapeOptimizer(budget=500)
        result = pypesto.optimize.minimize(problem, optimizer, n_starts=2)
    """

    def __init__(self, budget: int = 500, seed: int = 0) -> None:
        super().__init__()
        self.budget, self.seed = whole("budget", budget), seed

    def __repr__(self) -> str:
        return f"<ShapeOptimizer budget={self.budget} seed={self.seed}>"

    @minimize_decorator_collection
    def minimize(
        self,
        problem: Problem,
        x0: np.ndarray | None = None,
        id: str | None = None,
        history_options: Any = None,
        optimize_options: Any = None,
    ) -> OptimizerResult:
        """Run one start; `pypesto.optimize.minimize` calls it.

        Args:
            problem: the objective and its bounds.
            x0: where to start.
            id: of the start.
            history_options: as pyPESTO has them.
            optimize_options: as pyPESTO has them.

        Returns:
            pyPESTO's result of one start.
        """
        from ..minimizer import minimize

        objective, steep = problem.objective, bool(problem.objective.has_grad)
        fun = (lambda x: objective(x, sensi_orders=(0, 1))) if steep else objective.get_fval
        bounds = (np.asarray(problem.lb, float), np.asarray(problem.ub, float))
        found = minimize(fun, x0, bounds=bounds, jac=steep or None, budget=self.budget, seed=self.seed)
        return OptimizerResult(
            x=np.asarray(found.x), fval=found.fun, exitflag=found.status, message=found.message, optimizer=str(self)
        )

    def is_least_squares(self) -> bool:
        """Whether residuals are minimised; here it is always the objective."""
        return False
