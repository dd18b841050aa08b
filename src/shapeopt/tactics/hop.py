"""Leave a basin by one reading elsewhere: around the best basin, or anywhere in the box (eq. dp_subgoal).

    q_bar = base + r z,   z ~ N(0, I),   log r uniform between the nearest and the farthest radius

reflected into the box; or, in a share of the hops, uniform in the box.

Departs from the paper: its subgoal is a network's.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ..core.board import Board, Offer, Plant, Spec, searched
from ..core.codes import Cause, Mode
from ..dynamics.move import Move, Stepped
from ..ops.random import normal, uniform
from .base import AbstractTactic, Step, bid, ends, goes_on

STREAM = 1  # of the run's random numbers; each tactic has its own


class HopMemory(NamedTuple):
    """Where the hop leads, and by which law."""

    target: Any
    anywhere: Any


@dataclass(frozen=True)
class Hop(AbstractTactic):
    """One placement; always offered, so that a run never has nowhere to go."""

    nearest: float = 0.25  # radius by coordinate, where the box is 10 wide
    farthest: float = 3.0
    share_anywhere: float = 0.3

    name: ClassVar[str] = "hop"
    mode: ClassVar[Mode] = Mode.ESCAPE
    phases: ClassVar[tuple[str, ...]] = ("around the best", "anywhere")

    def blank(self, ops: Any, spec: Spec) -> HopMemory:
        return HopMemory(ops.xp.zeros(spec.dimension, spec.dtype), ops.flag(False))

    def offer(self, ops: Any, memory: HopMemory, board: Board) -> Offer:
        return bid(ops, ops.flag(True), 1.0)

    def open(self, ops: Any, memory: HopMemory, board: Board, plant: Plant) -> HopMemory:
        xp, d, dtype = ops.xp, plant.q.shape[0], plant.q.dtype
        u = uniform(ops, board.key, draw_number(board, STREAM), d + 2, dtype)
        lower, upper = searched(ops, board)
        wide = lower + (upper - lower) * u[2:]
        log_radius = math.log(self.nearest) + math.log(self.farthest / self.nearest) * u[1]
        near = board.base + xp.exp(log_radius) * normal(ops, board.key, draw_number(board, STREAM + 1), d, dtype)
        anywhere = u[0] < self.share_anywhere
        return HopMemory(ops.pick(anywhere, wide, reflect(xp, near, lower, upper)), ops.flag(anywhere))

    def observe(self, ops: Any, memory: HopMemory, board: Board, plant: Plant) -> tuple[HopMemory, Any]:
        return memory, ends(ops, ops.flag(True), Cause.DONE)

    def propose(
        self, ops: Any, memory: HopMemory, board: Board, plant: Plant, step: Step
    ) -> tuple[HopMemory, Stepped, Any]:
        return memory, step(Move(memory.target)), goes_on(ops)

    def phase(self, ops: Any, memory: HopMemory) -> Any:
        return ops.whole(memory.anywhere)


def draw_number(board: Board, stream: int) -> Any:
    """The counter of a stage's random numbers in one of sixteen streams."""
    return 16 * board.stages + stream


def reflect(xp: Any, q: Any, lower: Any, upper: Any) -> Any:
    """q mirrored at the sides of a finite box, once; then clipped."""
    q = xp.where(q > upper, 2.0 * upper - q, xp.where(q < lower, 2.0 * lower - q, q))
    return xp.minimum(xp.maximum(q, lower), upper)
