"""`cutest`: unconstrained and bound-constrained problems of the CUTEst collection, in the translation of `sif2jax`.

Starts, bounds and data are the collection's; problems whose default has more than 200 coordinates get a smaller size. A
start outside the bounds is moved to the nearest point inside, and coordinates that the bounds fix are taken out. Tags:
"unbounded" and "bounded". A run has 500 calls of value and gradient.

Importing the package `sif2jax` imports some thousand modules. Here only the module of one problem is read, as a
part of a stand-in package with the same folders.

Source: Gould, Orban and Toint (2015), "CUTEst: a constrained and unconstrained testing environment with safe threads
for mathematical optimization"; sif2jax, github.com/johannahaffner/sif2jax.

Halves: groups alternate, the largest first and then by name; groups with bounded members by themselves, the others by
themselves.
"""

import sys
from collections import Counter
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from .base import Objective, Suite, SuiteProblem, alternate, unbounded
from .compiled import Compiled
from .cutest_table import BOUNDED, UNBOUNDED, Row

BUDGET = 500
FOLDERS = {"unbounded": "_unconstrained_minimisation", "bounded": "_bounded_minimisation"}
STAND_IN = "_shapeopt_sif2jax"


def make(row: Row, tag: str) -> Objective:
    """The problem of one row of the table."""
    import jax
    from jax.flatten_util import ravel_pytree

    with jax.enable_x64(True):
        problem = _load(row, tag)(**dict(row.size))
        start, unravel = ravel_pytree(problem.y0)
        x0 = np.array(start, np.float64)
        lower, upper = _bounds(problem, len(x0))
        x0, free = np.clip(x0, lower, upper), lower < upper
        arguments = problem.args
    function = _Free(problem.objective, unravel, arguments, x0, free)
    return Objective(Compiled(function), x0[free], lower[free], upper[free], minimum=row.minimum)


class _Free:
    """A problem's objective as a function of the coordinates that its bounds leave free."""

    def __init__(self, objective: Any, unravel: Any, arguments: Any, x0: np.ndarray, free: np.ndarray) -> None:
        self.objective, self.unravel, self.arguments = objective, unravel, arguments
        self.x0, self.free = x0, np.flatnonzero(free)

    def __call__(self, x: Any) -> Any:
        import jax.numpy as jnp

        whole = x if len(self.free) == len(self.x0) else jnp.asarray(self.x0).at[self.free].set(x)
        return self.objective(self.unravel(whole), self.arguments)


def _bounds(problem: Any, dimension: int) -> tuple[np.ndarray, np.ndarray]:
    from jax.flatten_util import ravel_pytree

    bounds = getattr(problem, "bounds", None)
    if bounds is None:
        return unbounded(dimension)
    lower, upper = (np.array(ravel_pytree(side)[0], np.float64) for side in bounds)
    return lower, upper


def _load(row: Row, tag: str) -> Any:
    """The class of a problem, from its own file alone."""
    folder = row.kind or FOLDERS[tag]
    for package in ("", ".cutest", f".cutest.{folder}"):
        _stand_in(package)
    module = import_module(f"{STAND_IN}.cutest.{folder}.{row.module or row.name.lower()}")
    return getattr(module, row.name)


def _stand_in(package: str) -> None:
    """Enter an empty package with the folder of `sif2jax`'s one, whose own `__init__` is never run."""
    if STAND_IN + package not in sys.modules:
        spec = find_spec("sif2jax")
        if spec is None or not spec.submodule_search_locations:
            raise ModuleNotFoundError('suite `cutest` needs sif2jax; pip install "shapeopt[suites]"', name="sif2jax")
        module = ModuleType(STAND_IN + package)
        root = Path(next(iter(spec.submodule_search_locations)))
        module.__path__ = [str(root.joinpath(*package.split(".")[1:]))]
        sys.modules[STAND_IN + package] = module


def _group(row: Row) -> str:
    return row.group or row.name.lower()


def _halves() -> dict[str, str]:
    """Alternate over groups, largest first: those with a bounded member, then the others."""
    count = Counter(_group(row) for row in (*UNBOUNDED, *BOUNDED))
    bounded = {_group(row) for row in BOUNDED}
    order = sorted(count, key=lambda group: (-count[group], group))
    first = alternate(group for group in order if group in bounded)
    return first | alternate(group for group in order if group not in bounded)


def _problem(row: Row, tag: str, half: str) -> SuiteProblem:
    return SuiteProblem(
        row.name.lower(), _group(row), half, row.dimension, True, BUDGET, partial(make, row, tag), (tag,)
    )


def _problems() -> tuple[SuiteProblem, ...]:
    halves = _halves()
    rows = [(row, tag) for tag, table in (("unbounded", UNBOUNDED), ("bounded", BOUNDED)) for row in table]
    return tuple(_problem(row, tag, halves[_group(row)]) for row, tag in rows)


CUTEST = Suite(
    "cutest",
    "unconstrained and bound-constrained problems of CUTEst",
    "suites",
    _problems(),
    ("sif2jax", "jax"),
)
