"""Finish a descent of values in many dimensions by forward differences: quasi-Newton steps, d + 1 values a force.

Interpolation (interpolate.py) descends from its first value on; but its quadratic has some 2 d + 1 points for
(d + 1)(d + 2) / 2 coefficients, so that in many dimensions it learns curvature slowly. A quasi-Newton method has a
whole force at each step, and ends superlinearly. So where an interpolation was interrupted, and the run has spent the
values of `after` forces, the descent goes on here, from the best point so far, by the rules of `refine`.

    first force   the best point is read again, with its force
    descent       one force a trial, as in refine.py, whose causes end the stage; or

    clock         that force is beyond all proportion to the interpolated one: values are noisy, interpolation goes on

Differences need exact values: where these are known to be rounded or noisy, the tactic makes no offer.

Departs from the paper: not in it; its differences are two-sided and along random directions (eq. app:zo_oracle).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from ..core.board import Board, Draws, Evidence, Offer, Plant, Spec
from ..core.codes import Cause, Mode
from ..dynamics.move import Move, Stepped
from .base import AbstractTactic, Step, bid, ends, goes_on
from .refine import Refine

INF = float("inf")
NONE, CLOCK = int(Cause.NONE), int(Cause.CLOCK)
SUSPECT = 1.0  # the board's mismatch where the errors of an interpolation may be noise


class DifferencesMemory(NamedTuple):
    """The descent, whether its first force is still to be read, whether forces are noise, and how low it led last."""

    descent: Any  # RefineMemory
    opens: Any
    noisy: Any
    done_f: Any


@dataclass(frozen=True)
class Differences(AbstractTactic):
    """Quasi-Newton descent by forward differences, in runs whose readings are values."""

    after: float = 4.0  # calls of the run before the first descent, and of an interpolation, in forces
    room: float = 4.0  # forces that the rest of the run must have
    beyond: float = 1e3  # times the model's force: noise, as short differences make it of values
    least: int = 16  # dimensions: in fewer ones a quadratic soon has all its points
    most: int = 64  # beyond, there is no interpolation, and every descent is one by differences
    refine: Refine = field(default_factory=Refine)  # settings of the descent

    name: ClassVar[str] = "differences"
    mode: ClassVar[Mode] = Mode.REFINE
    phases: ClassVar[tuple[str, ...]] = ("first force", "descent")
    interruptible: ClassVar[bool] = True

    def blank(self, ops: Any, spec: Spec) -> DifferencesMemory | None:
        if not spec.values_only or not self.least <= spec.dimension <= self.most:
            return None
        no = ops.flag(False)
        return DifferencesMemory(self.refine.blank(ops, spec), no, no, ops.real(INF, spec.dtype))

    def offer(self, ops: Any, memory: DifferencesMemory, board: Board) -> Offer:
        exact = (board.value_precision <= 0) & (board.value_noise <= 0) & (board.mismatch < SUSPECT)
        exact = exact & ops.no(memory.noisy)
        lower = board.base_f < memory.done_f
        waited = (board.cause == CLOCK) & (board.readings - board.left >= self.after)
        opens = waited & board.interrupted & ops.no(board.fresh) & exact & lower & (board.left >= self.room)
        wake = ops.pick(opens, INF, self.after * (board.base.shape[0] + 1.0))
        return bid(ops, opens, 5.5, cost=board.left, wake=wake)

    def open(
        self, ops: Any, memory: DifferencesMemory, board: Board, plant: Plant, draws: Callable[[], Draws]
    ) -> DifferencesMemory:
        return memory._replace(opens=ops.flag(True))

    def observe(self, ops: Any, memory: DifferencesMemory, board: Board, plant: Plant) -> tuple[DifferencesMemory, Any]:
        here = board._replace(fresh=ops.flag(True))
        noisy = memory.opens & self._is_noise(ops, board, plant)
        descent, cause = ops.cond(
            memory.opens,
            lambda: (self.refine.entered(ops, memory.descent, plant, here), ends(ops, noisy, Cause.CLOCK)),
            lambda: self.refine.observe(ops, memory.descent, board, plant),
        )
        noisy = ops.flag(memory.noisy | noisy)
        return memory._replace(descent=descent, opens=ops.flag(False), noisy=noisy), cause

    def _is_noise(self, ops: Any, board: Board, plant: Plant) -> Any:
        """Whether a force is beyond all proportion to that of the interpolated model."""
        model = ops.norm(board.base_g)
        return ops.flag((model > 0) & (ops.norm(plant.g) > self.beyond * model))

    def propose(
        self, ops: Any, memory: DifferencesMemory, board: Board, plant: Plant, step: Step
    ) -> tuple[DifferencesMemory, Stepped, Any]:
        return ops.cond(
            memory.opens,
            lambda: (memory, step(Move(board.base)), goes_on(ops)),
            lambda: self._descended(ops, memory, board, plant, step),
        )

    def _descended(
        self, ops: Any, memory: DifferencesMemory, board: Board, plant: Plant, step: Step
    ) -> tuple[DifferencesMemory, Stepped, Any]:
        descent, made, cause = self.refine.propose(ops, memory.descent, board, plant, step)
        done_f = ops.pick(cause == NONE, memory.done_f, descent.now.f)
        return memory._replace(descent=descent, done_f=done_f), made, cause

    def evidence(self, ops: Any, memory: DifferencesMemory, board: Board, plant: Plant) -> Evidence:
        return self.refine.evidence(ops, memory.descent, board, plant)

    def phase(self, ops: Any, memory: DifferencesMemory) -> Any:
        return ops.whole(ops.pick(memory.opens, 0, 1))
