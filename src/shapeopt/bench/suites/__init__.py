"""Suites of problems from other people's packages; one small file a suite, all of them in one table, `SUITES`."""

from .base import DEV, HALVES, TEST, Objective, Suite, SuiteProblem

__all__ = ["DEV", "HALVES", "TEST", "Objective", "Suite", "SuiteProblem"]
