"""`gp`: hyperparameters of Gaussian processes, by scikit-learn's log marginal likelihood on its own data.

The objective is minus `GaussianProcessRegressor.log_marginal_likelihood(theta, eval_gradient=True)`; theta is the
logarithm of the kernel's hyperparameters, and the bounds are scikit-learn's default of the kernel, (1e-5, 1e5) for
each. Kernels have one length scale for each feature (ARD), an amplitude and a noise level:

    rbf      amplitude * RBF(lengths) + noise
    matern   amplitude * Matern(lengths, nu = 3/2) + noise
    seasons  sums of smooth and periodic kernels on a series of one variable

Features and responses are standardised; of large sets every k-th row is taken, 20 to 90 in all. Three starts a
problem, uniform in the bounds as scikit-learn's own restarts are, drawn from (data, kernel, seed) until the value is
finite. 4 to 14 coordinates, 500 calls.

Source: Rasmussen and Williams (2006), "Gaussian processes for machine learning", algorithm 2.1; scikit-learn.

Halves: data sets alternate in the order of the table; all kernels on one set lie in one half, and sets that the suite
`fits` has, too, lie in the same half there.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .base import Objective, Suite, SuiteProblem, alternate

BUDGET = 500
SEEDS = (1, 2, 3)
ROWS = 70  # about so many of each set

Data = tuple[np.ndarray, np.ndarray]


def _bundled(name: str, features: slice, response: int | None) -> Data:
    """A set that scikit-learn bundles: some of its features, and its target or another feature as the response."""
    import sklearn.datasets as datasets

    table = getattr(datasets, f"load_{name}")()
    y = np.ravel(table.target if response is None else table.data[:, response])
    every = max(1, len(y) // ROWS)
    return table.data[::every, features][: ROWS + 20], y[::every][: ROWS + 20]


def _linnerud() -> Data:
    from sklearn.datasets import load_linnerud

    table = load_linnerud()
    return table.data, table.target[:, 1]


def _generated(name: str, options: tuple[tuple[str, float], ...] = ()) -> Data:
    import sklearn.datasets as datasets

    return getattr(datasets, f"make_{name}")(ROWS, random_state=0, **dict(options))


def _seasons() -> Data:
    """A trend with two seasons and noise, fifteen years by every second month."""
    t = np.arange(0, 15, 1 / 6)[:ROWS]
    wave = np.sin(2 * np.pi * t) + 0.4 * np.cos(4 * np.pi * t) + 0.5 * np.sin(2 * np.pi * t / 5.3)
    return t[:, None], 0.05 * t**2 + wave + 0.1 * np.random.default_rng(0).normal(size=len(t))


DATA: dict[str, tuple[int, Callable[[], Data]]] = {  # features, and how to get them with the response
    "friedman1": (5, partial(_generated, "friedman1", (("n_features", 5), ("noise", 0.5)))),
    "diabetes": (10, partial(_bundled, "diabetes", slice(0, 10), None)),
    "iris": (3, partial(_bundled, "iris", slice(0, 3), 3)),
    "friedman2": (4, partial(_generated, "friedman2", (("noise", 1.0),))),
    "wine": (12, partial(_bundled, "wine", slice(0, 12), 12)),
    "cancer": (8, partial(_bundled, "breast_cancer", slice(1, 9), 0)),
    "friedman3": (4, partial(_generated, "friedman3", (("noise", 0.1),))),
    "linnerud": (3, _linnerud),
    "s_curve": (3, partial(_generated, "s_curve", (("noise", 0.05),))),
    "seasons": (1, _seasons),
    "sparse": (10, partial(_generated, "sparse_uncorrelated")),
    "swiss_roll": (3, partial(_generated, "swiss_roll", (("noise", 0.2),))),
}


def _ard(kind: str, features: int) -> Any:
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

    lengths = np.ones(features)
    shape = RBF(lengths) if kind == "rbf" else Matern(lengths, nu=1.5)
    return ConstantKernel() * shape + WhiteKernel()


def _season(kind: str) -> Any:
    """Kernels for a series: one season; a trend and a season that fades; those and a rough part."""
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, ExpSineSquared, RationalQuadratic, WhiteKernel

    season = ConstantKernel() * ExpSineSquared()
    if kind == "season":
        return season + WhiteKernel()
    both = ConstantKernel() * RBF() + season * RBF()
    return both + WhiteKernel() if kind == "trend" else both + ConstantKernel() * RationalQuadratic() + WhiteKernel()


SEASON_KERNELS = {"season": 4, "trend": 7, "rough": 10}  # coordinates


class _Likelihood:
    """Minus the log marginal likelihood and its gradient."""

    def __init__(self, kernel: Any, x: np.ndarray, y: np.ndarray) -> None:
        from sklearn.gaussian_process import GaussianProcessRegressor

        self.process = GaussianProcessRegressor(kernel, optimizer=None).fit(x, y)

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        point = np.asarray(theta, float)
        with np.errstate(all="ignore"):
            value, gradient = self.process.log_marginal_likelihood(point, eval_gradient=True, clone_kernel=False)
        return -float(value), -np.array(gradient, float)


def _standard(values: np.ndarray) -> np.ndarray:
    return (values - values.mean(axis=0)) / values.std(axis=0)


def make(data: str, kind: str, seed: int) -> Objective:
    """The likelihood of one kernel on one data set, from one start."""
    features, read = DATA[data]
    x, y = read()
    kernel = _season(kind) if data == "seasons" else _ard(kind, features)
    fun = _Likelihood(kernel, x if data == "seasons" else _standard(x), _standard(y))
    lower, upper = np.array(kernel.bounds, float).T
    rng = np.random.default_rng([*data.encode(), *kind.encode(), seed])
    x0 = rng.uniform(lower, upper)
    while not np.isfinite(fun(x0)[0]):
        x0 = rng.uniform(lower, upper)
    return Objective(fun, x0, lower, upper)


def _kinds(data: str) -> dict[str, int]:
    """The kernels of a data set, with their numbers of coordinates."""
    return SEASON_KERNELS if data == "seasons" else dict.fromkeys(("rbf", "matern"), DATA[data][0] + 2)


def _problems() -> tuple[SuiteProblem, ...]:
    halves = alternate(DATA)
    rows = [(data, kind, size, seed) for data in DATA for kind, size in _kinds(data).items() for seed in SEEDS]
    return tuple(
        SuiteProblem(
            f"{data}/{kind}/seed{seed}", data, halves[data], size, True, BUDGET, partial(make, data, kind, seed)
        )
        for data, kind, size, seed in rows
    )


GP = Suite(
    "gp",
    "log marginal likelihoods of scikit-learn's Gaussian processes",
    "suites",
    _problems(),
    ("sklearn",),
)
