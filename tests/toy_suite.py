"""A suite of three problems for tests, light enough to be made anywhere."""

from functools import partial

import numpy as np

from shapeopt.bench.suites.base import Objective, Suite, SuiteProblem, unbounded


def bowl(x):
    return float(np.sum((x - 1) ** 2)), 2 * (x - 1)


def ripples(x):
    z = x - 1
    return float(np.sum(z**2 + 2 * (1 - np.cos(4 * z))))


def broken(x):
    return (float("nan"), np.full(x.shape, np.nan)) if x[0] > 0 else bowl(x)


def make(kind, d):
    box = np.full(d, -4.0), np.full(d, 5.0)
    if kind == "bowl":
        residuals = {"residuals": lambda x: x - 1, "jacobian": lambda x: np.eye(d)}
        return Objective(bowl, np.full(d, -3.0), *unbounded(d), minimum=0.0, **residuals)
    if kind == "broken":
        return Objective(broken, np.full(d, -3.0), *unbounded(d))
    return Objective(ripples, np.full(d, -3.0), *box)


def problem(kind, d, half="dev", budget=60):
    return SuiteProblem(f"{kind}/d{d}", kind, half, d, kind != "ripples", budget, partial(make, kind, d))


TOY = Suite(
    "toy",
    "for tests",
    "",
    (problem("bowl", 2), problem("bowl", 3), problem("ripples", 2), problem("broken", 2), problem("bowl", 4, "test")),
)
