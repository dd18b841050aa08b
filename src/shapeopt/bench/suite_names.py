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


def parts_of(name: str) -> dict[str, set[str]]:
    """Problems of a suite that are looked at apart: with gradients and by values, or else with and without bounds."""
    problems = SuiteNames()[name].problems if name in SuiteNames() else ()
    for kind in (lambda one: "gradients" if one.gradients else "values", _bounds):
        parts: dict[str, set[str]] = {}
        for problem in problems:
            parts.setdefault(kind(problem), set()).add(problem.name)
        if len(parts) > 1:
            return {part: names for part, names in sorted(parts.items()) if part}
    return {}


def _bounds(problem: SuiteProblem) -> str:
    return next((tag for tag in problem.tags if tag in ("bounded", "unbounded")), "")


def _at(problem: SuiteProblem, budget: int) -> SuiteProblem:
    return replace(problem, budget=budget, budgets=())
