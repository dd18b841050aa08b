"""Leave a basin by one reading elsewhere: around the best basin, or anywhere in the box (eq. dp_subgoal).

    q_bar = base + r z,   z ~ N(0, I),   log r uniform within `spread` of the logarithm of the radius

reflected into the box; or, in a share of the hops, uniform in the box. The radius grows when a hop falls back into the
basin that it left, and shrinks when it leads to a worse one, as the step of SciPy's basinhopping does.

Departs from the paper: its subgoal is a network's.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ..core.board import KNOWN, NEW, Board, Draws, Offer, Plant, Spec, searched
from ..core.codes import Cause, Mode
from ..dynamics.move import Move, Stepped
from .base import AbstractTactic, Step, bid, ends, goes_on


class HopMemory(NamedTuple):
    """Where the hop leads, by which law, and the logarithm of what the radius is multiplied by."""

    target: Any
    anywhere: Any
    hopped: Any  # whether the last stage but one was a hop around the best
    log_factor: Any


@dataclass(frozen=True)
class Hop(AbstractTactic):
    """One placement; always offered, so that a run never has nowhere to go."""

    radius: float = 0.7  # by coordinate, where the box is 10 wide
    spread: float = 1.6  # of its logarithm, to either side
    wider: float = 0.3  # change of its logarithm after a hop that fell back,
    narrower: float = 0.1  # and after one that led to a worse basin
    widest: float = 3.0  # largest change in all
    share_anywhere: float = 0.2

    name: ClassVar[str] = "hop"
    mode: ClassVar[Mode] = Mode.ESCAPE
    uses_force: ClassVar[bool] = False
    phases: ClassVar[tuple[str, ...]] = ("around the best", "anywhere")

    def blank(self, ops: Any, spec: Spec) -> HopMemory:
        no = ops.flag(False)
        return HopMemory(ops.xp.zeros(spec.dimension, spec.dtype), no, no, ops.real(0.0, spec.dtype))

    def offer(self, ops: Any, memory: HopMemory, board: Board) -> Offer:
        return bid(ops, ops.flag(True), 1.0)

    def open(self, ops: Any, memory: HopMemory, board: Board, plant: Plant, draws: Callable[[], Draws]) -> HopMemory:
        xp, (u, z) = ops.xp, draws()
        lower, upper = searched(ops, board)
        change = ops.pick(board.outcome == KNOWN, self.wider, ops.pick(board.outcome == NEW, -self.narrower, 0.0))
        factor = memory.log_factor + ops.pick(memory.hopped & board.scored, change, 0.0)
        factor = ops.min(ops.max(factor, -self.widest), self.widest)
        radius = self.radius * xp.exp(factor + self.spread * (2.0 * u[0] - 1.0))
        anywhere = u[1] < self.share_anywhere
        wide = lower + (upper - lower) * u[2:]
        near = reflect(ops, board.base + radius * z, lower, upper)
        return HopMemory(ops.pick(anywhere, wide, near), ops.flag(anywhere), ops.no(anywhere), factor)

    def observe(self, ops: Any, memory: HopMemory, board: Board, plant: Plant) -> tuple[HopMemory, Any]:
        return memory, ends(ops, ops.flag(True), Cause.DONE)

    def propose(
        self, ops: Any, memory: HopMemory, board: Board, plant: Plant, step: Step
    ) -> tuple[HopMemory, Stepped, Any]:
        return memory, step(Move(memory.target)), goes_on(ops)

    def phase(self, ops: Any, memory: HopMemory) -> Any:
        return ops.whole(memory.anywhere)


def reflect(ops: Any, q: Any, lower: Any, upper: Any) -> Any:
    """q mirrored at the sides of a finite box, once; then clipped."""
    q = ops.where(q > upper, 2.0 * upper - q, ops.where(q < lower, 2.0 * lower - q, q))
    return ops.xp.minimum(ops.xp.maximum(q, lower), upper)
