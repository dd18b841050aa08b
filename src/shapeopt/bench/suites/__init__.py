"""Suites of problems from other people's packages; one small file a suite, all of them in one table, `SUITES`."""

from .base import DEV, HALVES, TEST, Objective, Suite, SuiteProblem
from .bbob import BBOB
from .classic import CLASSIC
from .clusters import CLUSTERS
from .cutest import CUTEST
from .fits import FITS
from .gp import GP
from .molecules import MOLECULES
from .nist import NIST
from .trajectories import TRAJECTORIES

SUITES: dict[str, Suite] = {
    suite.name: suite for suite in (CUTEST, NIST, GP, CLUSTERS, MOLECULES, FITS, TRAJECTORIES, BBOB, CLASSIC)
}

__all__ = ["DEV", "HALVES", "SUITES", "TEST", "Objective", "Suite", "SuiteProblem"]
