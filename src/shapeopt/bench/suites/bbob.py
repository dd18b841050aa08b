"""`bbob`: the 24 noiseless functions of COCO's BBOB test bed, by values alone, through `ioh`.

Dimensions 2, 5, 10 and 20, instances 1 to 3, the box [-5, 5]^d, and the known minimum that `ioh` gives. The start is
uniform in the box, drawn from (function, dimension, instance). A run has 100 d calls unless asked for another budget;
`budgets` lists 10 d, 20 d, 50 d, 100 d, 200 d and 500 d.

Source: Hansen, Finck, Ros and Auger (2009), "Real-parameter black-box optimization benchmarking 2009: noiseless
functions definitions"; de Nobel et al. (2024), "IOHexperimenter".

Halves: functions with odd numbers are `dev`, those with even numbers `test`; each half has members of all five kinds.
"""

from functools import partial

import numpy as np

from .base import DEV, TEST, Objective, Suite, SuiteProblem

FUNCTIONS = range(1, 25)
DIMENSIONS = (2, 5, 10, 20)
INSTANCES = (1, 2, 3)
MULTIPLES = (10, 20, 50, 100, 200, 500)  # budgets in units of d
DEFAULT = 100  # the multiple of d that a run has unless asked for another
KINDS = {5: "separable", 9: "moderate", 14: "ill-conditioned", 19: "multimodal", 24: "weak structure"}  # by the last
REACH = 5.0
SEED = 22  # of the starts


def make(function: int, dimension: int, instance: int) -> Objective:
    """One instance of one function in one dimension."""
    import ioh

    problem = ioh.get_problem(function, instance, dimension, ioh.ProblemClass.BBOB)
    box = np.full(dimension, REACH)
    x0 = np.random.default_rng([SEED, function, dimension, instance]).uniform(-box, box)
    return Objective(_Values(problem), x0, -box, box, minimum=float(problem.optimum.y))


class _Values:
    """The values of an `ioh` problem; a point that is not finite has the value NaN."""

    def __init__(self, problem: object) -> None:
        self.problem = problem

    def __call__(self, x: np.ndarray) -> float:
        return float(self.problem(np.asarray(x, float)))  # type: ignore[operator]


def _problem(function: int, dimension: int, instance: int) -> SuiteProblem:
    return SuiteProblem(
        name=f"f{function}/d{dimension}/i{instance}",
        group=f"f{function}",
        half=DEV if function % 2 else TEST,
        dimension=dimension,
        gradients=False,
        budget=DEFAULT * dimension,
        make=partial(make, function, dimension, instance),
        budgets=tuple(multiple * dimension for multiple in MULTIPLES),
        kind=KINDS[min(last for last in KINDS if function <= last)],
    )


BBOB = Suite(
    "bbob",
    "the 24 functions of COCO's BBOB, values only",
    "suites",
    tuple(_problem(f, d, i) for f in FUNCTIONS for d in DIMENSIONS for i in INSTANCES),
    ("ioh",),
)
