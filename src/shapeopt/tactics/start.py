"""The first reading of a run, at the start that was given."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ..core.board import NOT_NOW, Board, Draws, Evidence, Offer, Plant, Spec
from ..core.codes import Cause, Mode
from ..dynamics.move import Move, Stepped
from .base import AbstractTactic, Step, ends, found, goes_on


class StartMemory(NamedTuple):
    """Nothing to remember."""


@dataclass(frozen=True)
class Start(AbstractTactic):
    """Reads x0; the optimizer begins every run with it.

    Departs from the paper: nothing.
    """

    name: ClassVar[str] = "start"
    mode: ClassVar[Mode] = Mode.ESCAPE
    uses_force: ClassVar[bool] = False

    def blank(self, ops: Any, spec: Spec) -> StartMemory:
        return StartMemory()

    def offer(self, ops: Any, memory: StartMemory, board: Board) -> Offer:
        return NOT_NOW

    def open(
        self, ops: Any, memory: StartMemory, board: Board, plant: Plant, draws: Callable[[], Draws]
    ) -> StartMemory:
        return memory

    def observe(self, ops: Any, memory: StartMemory, board: Board, plant: Plant) -> tuple[StartMemory, Any]:
        return memory, ends(ops, ops.flag(True), Cause.DONE)

    def propose(
        self, ops: Any, memory: StartMemory, board: Board, plant: Plant, step: Step
    ) -> tuple[StartMemory, Stepped, Any]:
        return memory, step(Move(plant.q)), goes_on(ops)

    def evidence(self, ops: Any, memory: StartMemory, board: Board, plant: Plant) -> Evidence:
        return found(ops, plant, rebase=ops.flag(True))
