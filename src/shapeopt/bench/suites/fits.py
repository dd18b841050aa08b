"""`fits`: models with boxes for their parameters, fitted to data: networks, mixtures, sums of exponentials, equations.

    networks       tanh networks with one hidden layer: mean cross-entropy or squared error, plus 1e-4 |w|^2
    mixtures       minus the mean log likelihood of Gaussian mixtures
    exponentials   mean squares of a sum of decays, or of damped waves
    equations      mean squares of the parameters and starts of an ordinary differential equation, by Runge-Kutta

Networks and mixtures learn sets that scikit-learn bundles (standardised); the curves of exponentials and equations are
made from known parameters with noise from a fixed seed. Value and gradient by JAX, in float64, 3 to 56 coordinates, 500
calls. Three starts a problem, uniform in the box, drawn from (name, seed).

Sources of the equations: Lotka (1925), Kermack and McKendrick (1927), FitzHugh (1961), Goodwin (1965), van der Pol
(1926); "steps" is a reversible reaction with a second step.

Halves: problems alternate in the order of the table within each kind; models of one data set lie in one half.
"""

from functools import partial

import numpy as np

from .base import Objective, Suite, SuiteProblem, alternate
from .compiled import Compiled
from .fits_models import MODELS

BUDGET = 500
SEEDS = (1, 2, 3)


def make(name: str, seed: int) -> Objective:
    """The loss of one model, from one start."""
    import jax

    with jax.enable_x64(True):
        loss, lower, upper = MODELS[name].build()
    x0 = np.random.default_rng([*name.encode(), seed]).uniform(lower, upper)
    return Objective(Compiled(loss), x0, lower, upper)


def _problems() -> tuple[SuiteProblem, ...]:
    halves = alternate(model.group for model in MODELS.values())
    rows = [(name, model, seed) for name, model in MODELS.items() for seed in SEEDS]
    return tuple(
        SuiteProblem(
            f"{name}/seed{seed}",
            model.group,
            halves[model.group],
            model.dimension,
            True,
            BUDGET,
            partial(make, name, seed),
            (model.kind, "bounded"),
        )
        for name, model, seed in rows
    )


FITS = Suite(
    "fits",
    "networks, mixtures, sums of exponentials and differential equations, fitted to data",
    "suites",
    _problems(),
    ("jax", "sklearn"),
)
