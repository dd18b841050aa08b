"""Read the base again, where values alone are read and do not fit a model: are they noisy?

One reading that is the same says that there is no noise: kinks, ripples and rounded values repeat exactly. If it
differs, the base is read `repeats` times in all:

    value_noise = standard deviation of these readings

The first value of the base was the lowest of many, partly by luck, so it takes no part. The base stays as it was, and
an interrupted descent goes on.

Departs from the paper: not in it; there noise is known.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

from ..core.board import UNKNOWN, Board, Draws, Evidence, Offer, Plant, Spec
from ..core.codes import Cause, Mode
from ..dynamics.move import Move, Stepped
from .base import AbstractTactic, Step, bid, ends, eps_of, found, goes_on


class ValueCheckMemory(NamedTuple):
    """The value of the base as it was read first, and the readings since, as differences from it."""

    f: Any
    count: Any
    total: Any
    squares: Any


@dataclass(frozen=True)
class ValueCheck(AbstractTactic):
    """Placements onto the base: one, or `repeats` where values are noisy."""

    repeats: int = 3
    round_off: float = 100.0  # units in the last place by which values differ without noise
    told: bool = False  # the user says that there is noise: measure it at once

    name: ClassVar[str] = "value check"
    mode: ClassVar[Mode] = Mode.ESCAPE
    uses_force: ClassVar[bool] = False

    def told_of_noise(self) -> "ValueCheck":
        return replace(self, told=True)

    def blank(self, ops: Any, spec: Spec) -> ValueCheckMemory | None:
        if not spec.values_only:
            return None
        zero = ops.real(0.0, spec.dtype)
        return ValueCheckMemory(zero, zero, zero, zero)

    def offer(self, ops: Any, memory: ValueCheckMemory, board: Board) -> Offer:
        unknown = (board.value_noise < 0) & (board.base_f < float("inf"))
        suspected = board.fresh if self.told else board.interrupted & (board.mismatch >= 1) & ops.no(board.fresh)
        return bid(ops, unknown & suspected, 10.0)

    def open(
        self, ops: Any, memory: ValueCheckMemory, board: Board, plant: Plant, draws: Callable[[], Draws]
    ) -> ValueCheckMemory:
        zero = ops.real(0.0, plant.q.dtype)
        return ValueCheckMemory(board.base_f, zero, zero, zero)

    def observe(self, ops: Any, memory: ValueCheckMemory, board: Board, plant: Plant) -> tuple[ValueCheckMemory, Any]:
        change = ops.pick(plant.finite, plant.f - memory.f, 0.0)
        memory = memory._replace(
            count=memory.count + 1.0, total=memory.total + change, squares=memory.squares + change * change
        )
        same = abs(change) <= self.round_off * eps_of(plant.q.dtype) * abs(memory.f)
        over = ((memory.count == 1) & same) | (memory.count >= self.repeats)
        return memory, ends(ops, over, Cause.DONE)

    def propose(
        self, ops: Any, memory: ValueCheckMemory, board: Board, plant: Plant, step: Step
    ) -> tuple[ValueCheckMemory, Stepped, Any]:
        return memory, step(Move(board.base)), goes_on(ops)

    def evidence(self, ops: Any, memory: ValueCheckMemory, board: Board, plant: Plant) -> Evidence:
        count = memory.count
        mean = memory.total / ops.max(count, 1.0)
        spread = ops.sqrt(ops.max(memory.squares - count * mean * mean, 0.0) / ops.max(count - 1.0, 1.0))
        told = ops.pick(count > 1, spread, ops.pick(count == 1, 0.0, UNKNOWN))
        return found(
            ops,
            plant,
            fresh=board.fresh,
            q=board.base,
            f=memory.f,
            g=board.base_g,
            value_noise=told,
        )

    def wants_force(self, ops: Any, memory: ValueCheckMemory) -> Any:
        return ops.flag(False)
