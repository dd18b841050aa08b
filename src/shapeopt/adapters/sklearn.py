"""`shapeopt.sklearn.gp_optimizer`: for `GaussianProcessRegressor(optimizer=...)` and its classifier."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..engines.host import whole

if TYPE_CHECKING:
    from ..optimizer import Policy

GpOptimizer = Callable[[Callable[..., Any], np.ndarray, np.ndarray], tuple[np.ndarray, float]]


def gp_optimizer(budget: int = 200, *, seed: int = 0, policy: "str | Policy" = "universal") -> GpOptimizer:
    """An optimizer of a Gaussian process's kernel, with a budget of likelihoods.

    A likelihood with its gradient is one call. The search restarts by itself, so `n_restarts_optimizer` stays 0: every
    restart of scikit-learn would spend the budget again.

    Args:
        budget: likelihoods that a fit may compute.
        seed: all randomness follows from it.
        policy: as `shapeopt.minimize` has it.

    Returns:
        A function (objective, initial theta, bounds) -> (best theta, its value), as scikit-learn calls it.

    Raises:
        ValueError: for a budget below 1.

    Example:
        from sklearn.gaussian_process import GaussianProcessRegressor
        from sklearn.gaussian_process.kernels import RBF, WhiteKernel

        kernel = 1.0 * RBF() + WhiteKernel()
        model = GaussianProcessRegressor(kernel, optimizer=shapeopt.sklearn.gp_optimizer(budget=200)).fit(X, y)
    """
    return _Search(whole("budget", budget), seed, policy)


@dataclass(frozen=True)
class _Search:
    """What scikit-learn calls; a fitted model keeps it, so that it can be pickled."""

    budget: int
    seed: int
    policy: "str | Policy"

    def __call__(
        self, obj_func: Callable[..., Any], initial_theta: np.ndarray, bounds: np.ndarray
    ) -> tuple[np.ndarray, float]:
        from ..minimizer import minimize

        lower, upper = np.asarray(bounds, float).T
        start = np.clip(np.asarray(initial_theta, float), lower, upper)

        def likelihood(theta: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = obj_func(theta, eval_gradient=True)
            return float(value), np.asarray(gradient, float)

        settings: Any = {"budget": self.budget, "seed": self.seed, "policy": self.policy}
        result = minimize(likelihood, start, bounds=(lower, upper), jac=True, **settings)
        return result.x, result.fun
