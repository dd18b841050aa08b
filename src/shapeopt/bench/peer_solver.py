"""A peer as it is run on a problem of a suite."""

from dataclasses import dataclass

from ..core.fingerprint import describe, installed
from ..oracles import FunctionReader
from ..peers import AbstractPeer, run_peer
from .suite_run import AbstractSolver, OwnCount, Tally
from .suites.base import Objective, SuiteProblem

SECONDS = 120.0  # of the processor, after which a run is cut: a method in a dimension that it was not made for


class OutOfTime(RuntimeError):
    """A run was cut because of its time, not because of its calls."""


@dataclass(frozen=True)
class PeerSolver(AbstractSolver):
    """A peer under a reader that stops it hard at the budget.

    Local methods have the problem's own bounds, infinite or not; restarts and global methods have its search box.
    """

    name: str
    peer: AbstractPeer

    @property
    def version(self) -> str:
        package = installed([self.peer.package])
        return f"{describe(self.peer)} {package.get(self.peer.package, '')}"

    def lacks(self, problem: SuiteProblem, objective: Objective) -> str:
        if self.peer.needs_residuals and objective.residuals is None:
            return "needs residuals"
        if problem.dimension > self.peer.largest:
            return f"not run beyond {self.peer.largest} dimensions"
        return ""

    def solve(self, tally: Tally, problem: SuiteProblem, seed: int) -> OwnCount:
        one = tally.objective
        reader = FunctionReader(tally, problem.gradients, one.lower, one.upper, problem.budget, SECONDS)
        reader.residuals, reader.jacobian = one.residuals, one.jacobian
        run_peer(self.peer, reader, one.x0, one.search_lower, one.search_upper, seed)
        if reader.late:
            raise OutOfTime(f"cut after {SECONDS:g} s and {reader.calls} calls")
        return OwnCount(reader.reported, reader.reported_asked, reader.outside)
