"""Suites by name, at other budgets than their own, too."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from .suites import SUITES
from .suites.base import Suite, SuiteProblem

AT = re.compile(r"(?P<suite>[a-z]+)-(?P<calls>\d+)(?P<each>d?)")


class SuiteNames(Mapping[str, Suite]):
    """The table of suites; `nist-100` is nist with 100 calls a run, `bbob-50d` is bbob with 50 a dimension."""

    def __getitem__(self, name: str) -> Suite:
        if name in SUITES:
            return SUITES[name]
        found = AT.fullmatch(name)
        if not found or found["suite"] not in SUITES or not int(found["calls"]):
            raise KeyError(name)
        one, calls = SUITES[found["suite"]], int(found["calls"])
        budget = (lambda problem: calls * problem.dimension) if found["each"] else (lambda problem: calls)
        return replace(one, name=name, problems=tuple(_at(problem, budget(problem)) for problem in one.problems))

    def __iter__(self) -> Iterator[str]:
        return iter(SUITES)

    def __len__(self) -> int:
        return len(SUITES)


def _at(problem: SuiteProblem, budget: int) -> SuiteProblem:
    return replace(problem, budget=budget, budgets=())
