"""What can be named as a method on a suite: the default policy behind `shapeopt.minimize`, peers, and a user's own."""

import ast
import functools
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .bench.peer_solver import PeerSolver
from .bench.suite_methods import FITS
from .bench.suite_run import AbstractSolver, OwnCount, Tally
from .bench.suites.base import Objective, SuiteProblem
from .core.attribute import UnknownNameError, built, load_attribute
from .core.fingerprint import describe
from .minimizer import minimize
from .optimizer import Policy
from .peers import PEERS, AbstractPeer, make_peer
from .policies import POLICIES, find_fit_policy, find_policy
from .sums_of_squares import least_squares

# What decides the points that the host engine reads; a change of any of it makes another version.
ROOMS = ("core", "ops", "dynamics", "memory", "oracles", "tactics", "planner")
FILES = (
    "engines/host.py",
    "optimizer.py",
    "values_only.py",
    "policies.py",
    "objective.py",
    "minimizer.py",
    "sums_of_squares.py",
)


@dataclass(frozen=True)
class MinimizeSolver(AbstractSolver):
    """`shapeopt.minimize` as a user calls it; another policy, or other code behind it, is another version."""

    name: str
    policy: Policy

    @property
    def version(self) -> str:
        return f"{describe(self.policy)} {code_digest()}"

    def solve(self, tally: Tally, problem: SuiteProblem, seed: int) -> OwnCount:
        jac = True if problem.gradients else None
        one = tally.objective
        result = minimize(
            tally, one.x0, bounds=bounds_of(one), jac=jac, budget=problem.budget, policy=self.policy, seed=seed
        )
        return OwnCount(result.nfev, tally.spent)


@dataclass(frozen=True)
class LeastSquaresSolver(AbstractSolver):
    """`shapeopt.least_squares` as a user calls it, on problems that have residuals: m numbers a call and their
    derivatives, where `minimize` sees one and its gradient."""

    name: str = FITS

    @property
    def version(self) -> str:
        return f"{describe(find_fit_policy(POLICIES[0]))} {code_digest()}"

    def lacks(self, problem: SuiteProblem, objective: Objective) -> str:
        return "" if objective.residuals is not None and objective.jacobian is not None else "needs residuals"

    def solve(self, tally: Tally, problem: SuiteProblem, seed: int) -> OwnCount:
        one = tally.objective

        def read(x: np.ndarray) -> tuple[Any, Any]:
            tally(x)
            return one.residuals(x), one.jacobian(x)

        result = least_squares(read, one.x0, True, bounds_of(one), budget=problem.budget, seed=seed)
        return OwnCount(result.nfev, tally.spent)


def find_solver(name: str) -> AbstractSolver:
    """The method called `name`: a shipped policy, a peer, or `package.module:Attribute`.

    The attribute is a `Policy`, a peer or a solver, or a class or function that makes one and needs no argument.

    Raises:
        UnknownNameError: for anything else.
    """
    if name in POLICIES:
        return MinimizeSolver(name, find_policy(name))
    if name == FITS:
        return LeastSquaresSolver()
    if name in PEERS:
        return PeerSolver(name, make_peer(name))
    if ":" in name:
        return _brought(name)
    known = ", ".join([*POLICIES, FITS, *PEERS])
    raise UnknownNameError(f"`methods` must be among {known}; or module:Attribute. Got {name!r}.")


def bounds_of(objective: Objective) -> list[tuple[float, float]] | None:
    """A problem's bounds as `minimize` takes them; None where there are none."""
    if not np.any(np.isfinite(objective.lower) | np.isfinite(objective.upper)):
        return None
    return list(zip(objective.lower.tolist(), objective.upper.tolist(), strict=True))


@functools.cache
def code_digest() -> str:
    """A hash of the code behind `minimize` on the host, without comments and docstrings."""
    root, total = Path(__file__).parent, hashlib.sha256()
    for part in (*ROOMS, *FILES):
        place = root / part
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            total.update(path.relative_to(root).as_posix().encode() + _bare(path.read_text(encoding="utf-8")))
    return total.hexdigest()[:16]


def _bare(source: str) -> bytes:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and _is_text(body[0]):
            del body[0]
    return ast.dump(tree).encode()


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _brought(name: str) -> AbstractSolver:
    found, label = load_attribute(name, "methods"), name.rpartition(":")[2]
    if label in (*POLICIES, FITS, *PEERS):
        raise UnknownNameError(f"`methods` must not bring a built-in method's name; rename {label!r} of {name!r}.")
    made = built(found, (AbstractSolver, AbstractPeer, Policy))
    if isinstance(made, AbstractSolver):
        return made
    if isinstance(made, AbstractPeer):
        return PeerSolver(label, made)
    if isinstance(made, Policy):
        return MinimizeSolver(label, made)
    raise UnknownNameError(f"`methods` must name a policy, a peer or a solver; {name!r} is {found!r}.")
