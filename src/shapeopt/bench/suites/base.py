"""What a suite is: problems taken from other people's packages, split into two halves, behind one small interface.

A `Suite` is a table of `SuiteProblem`s, and building it imports nothing heavy: names, dimensions and budgets are
written in the files of this room. `SuiteProblem.make` imports what the problem needs and returns an `Objective`: NumPy
in, NumPy out.

Search box. Local methods see the source's own bounds, infinite where it has none. Global methods need a finite box:
each coordinate takes the source's bound where it is finite, and else ten times the start's size, at least ten, from
the start:

    search_lower = lower  or  x0 - max(10, 10 |x0|)
    search_upper = upper  or  x0 + max(10, 10 |x0|)

Halves. A group (one data set, one molecule, one function) lies in one half with all its starts, instances and
dimensions. `dev` may be looked at and tuned on; `test` is run only to record a release.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

DEV, TEST = "dev", "test"
HALVES = (DEV, TEST)
REACH = 10.0  # of the search box around a start without bounds, in units of max(1, |x0|)


@dataclass(frozen=True)
class Objective:
    """A problem that is ready to be read.

    Arguments:
        fun: x -> (value, gradient) if the problem has gradients, else x -> value; float64 NumPy in and out. It does
            not raise for x within the bounds; values may be NaN or infinite.
        x0: the start.
        lower, upper: the source's bounds; -inf and +inf where there are none.
        minimum: the certified or published global minimum; None where the best value on record has to do.
        residuals: x -> (m,) with fun = residuals . residuals, where the problem is a sum of squares.
        jacobian: x -> (m, d), the derivatives of `residuals`.
        search_lower, search_upper: a finite box for global methods; made by the room's rule unless given.
    """

    fun: Callable[[np.ndarray], Any]
    x0: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    minimum: float | None = None
    residuals: Callable[[np.ndarray], np.ndarray] | None = None
    jacobian: Callable[[np.ndarray], np.ndarray] | None = None
    search_lower: np.ndarray = None  # type: ignore[assignment]
    search_upper: np.ndarray = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        lower, upper = search_box(self.x0, self.lower, self.upper)
        if self.search_lower is None:
            object.__setattr__(self, "search_lower", lower)
        if self.search_upper is None:
            object.__setattr__(self, "search_upper", upper)


@dataclass(frozen=True)
class SuiteProblem:
    """One problem of a suite with one start, and the half that it belongs to.

    Arguments:
        name: unique in its suite, such as "misra1a/start2", "cu13/seed3", "f15/d5/i2".
        group: the unit of the split and of the bootstrap, such as "misra1a", "cu13", "f15".
        half: "dev" or "test".
        dimension: the number of coordinates.
        gradients: whether a call returns (value, gradient) or a value.
        budget: the calls of a run.
        make: returns the `Objective`; what is heavy is imported here only. Can be sent to another process.
        tags: words to select by, such as "bounded" and "unbounded".
        budgets: the budgets that the suite is meant for; `budget` is the default among them.
        kind: of objective, where the source names kinds, such as "separable".
    """

    name: str
    group: str
    half: str
    dimension: int
    gradients: bool
    budget: int
    make: Callable[[], Objective]
    tags: tuple[str, ...] = ()
    budgets: tuple[int, ...] = ()
    kind: str = ""


@dataclass(frozen=True)
class Suite:
    """A table of problems of one origin.

    Arguments:
        name: what a command calls it.
        about: one line.
        extra: the extra of `pyproject.toml` that brings its packages; "" where it needs none.
        problems: all of both halves, in the order of the table.
        packages: the modules that `make` imports.
    """

    name: str
    about: str
    extra: str
    problems: tuple[SuiteProblem, ...]
    packages: tuple[str, ...] = ()

    def half(self, half: str) -> tuple[SuiteProblem, ...]:
        """The problems of one half.

        Raises:
            ValueError: if `half` is neither "dev" nor "test".
        """
        if half not in HALVES:
            raise ValueError(f"`half` must be one of {HALVES}; got {half!r}.")
        return tuple(problem for problem in self.problems if problem.half == half)

    def problem(self, name: str) -> SuiteProblem:
        """The problem of that name.

        Raises:
            ValueError: if the suite has none of that name.
        """
        for problem in self.problems:
            if problem.name == name:
                return problem
        raise ValueError(f"`name` must be a problem of suite {self.name!r}; got {name!r}.")


def alternate(groups: Iterable[str]) -> dict[str, str]:
    """The halves of groups that are given in order: the first goes to `dev`, the second to `test`, and so on.

    Example:
        alternate(["misra1a", "chwirut2"])  # {"misra1a": "dev", "chwirut2": "test"}
    """
    return {group: HALVES[index % 2] for index, group in enumerate(dict.fromkeys(groups))}


def search_box(x0: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The finite box of the rule above: the bounds where finite, else max(10, 10 |x0|) away from the start."""
    reach = REACH * np.maximum(1.0, np.abs(x0))
    return np.where(np.isfinite(lower), lower, x0 - reach), np.where(np.isfinite(upper), upper, x0 + reach)


def unbounded(dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """Bounds that exclude nothing."""
    return np.full(dimension, -np.inf), np.full(dimension, np.inf)
