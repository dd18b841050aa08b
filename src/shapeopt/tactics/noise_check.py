"""Read the base a second time, where changes of value do not fit the forces: is the force noisy?

    noise_std = sqrt(mean (g' - g)^2 / 2),   value_noise = |f' - f| / sqrt(2)

Departs from the paper: not in it; there noise is known.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

from ..core.board import NOT_NOW, UNKNOWN, Board, Draws, Evidence, Offer, Plant, Spec, after_survey, resolution
from ..core.box import REACH
from ..core.codes import Cause, Mode
from ..dynamics.move import Move, Stepped
from .base import AbstractTactic, Step, bid, ends, found, goes_on

INF = float("inf")


class NoiseCheckMemory(NamedTuple):
    """The base as it was read first."""

    f: Any
    g: Any
    eps: Any


@dataclass(frozen=True)
class NoiseCheck(AbstractTactic):
    """One placement onto the base."""

    suspicious: float = 0.12  # mismatch of values and forces at a stall,
    doubtful: float = 0.08  # and where a descent is interrupted
    visible: float = 100.0  # decrease predicted at a stall, in units of the value's resolution
    same_force: float = 1e3  # units in the last place of f that forces differing by round-off do as work along the box
    first: float = 20.0  # readings after which the first descent is interrupted, so that doubts can be had
    told: bool = False  # the user says that there is noise: measure it at once

    name: ClassVar[str] = "noise check"
    mode: ClassVar[Mode] = Mode.ESCAPE

    def told_of_noise(self) -> "NoiseCheck":
        return replace(self, told=True)

    def blank(self, ops: Any, spec: Spec) -> NoiseCheckMemory | None:
        if spec.values_only:
            return None
        zero = ops.xp.zeros(spec.dimension, spec.dtype)
        return NoiseCheckMemory(ops.real(0.0, spec.dtype), zero, ops.real(spec.eps, spec.dtype))

    def offer(self, ops: Any, memory: NoiseCheckMemory, board: Board) -> Offer:
        unknown = (board.noise_std < 0) & (board.base_f < float("inf"))
        if self.told:
            return bid(ops, unknown & board.fresh, 10.0)
        wake = ops.pick(unknown & (board.escapes == 0), self.first, INF)
        if not ops.traced and (board.fresh or board.mismatch <= self.doubtful):
            return NOT_NOW._replace(wake=wake)
        seen = self.visible * resolution(memory.eps, board.base_f)
        stalled = (board.cause == int(Cause.STALL)) & (board.predicted > seen)
        suspected = (stalled & (board.mismatch > self.suspicious)) | (
            board.interrupted & (board.mismatch > self.doubtful)
        )
        return bid(ops, unknown & suspected & ops.no(board.fresh), 10.0, wake=wake)

    def open(
        self, ops: Any, memory: NoiseCheckMemory, board: Board, plant: Plant, draws: Callable[[], Draws]
    ) -> NoiseCheckMemory:
        return memory._replace(f=board.base_f, g=board.base_g)

    def observe(self, ops: Any, memory: NoiseCheckMemory, board: Board, plant: Plant) -> tuple[NoiseCheckMemory, Any]:
        return memory, ends(ops, ops.flag(True), Cause.DONE)

    def propose(
        self, ops: Any, memory: NoiseCheckMemory, board: Board, plant: Plant, step: Step
    ) -> tuple[NoiseCheckMemory, Stepped, Any]:
        return memory, step(Move(board.base)), goes_on(ops)

    def evidence(self, ops: Any, memory: NoiseCheckMemory, board: Board, plant: Plant) -> Evidence:
        """The noise, and the mean of both forces."""
        d = plant.q.shape[0]
        noise_std = ops.norm(plant.g - memory.g) / (2.0 * d) ** 0.5
        height = ops.max(ops.max(board.spread, board.fall), abs(memory.f))
        noisy = noise_std * REACH > self.same_force * memory.eps * height
        measured = ops.pick(noisy, noise_std, 0.0)
        return found(
            ops,
            plant,
            fresh=after_survey(ops, board, plant),
            rebase=ops.flag(True),
            q=board.base,
            f=memory.f,
            g=ops.pick(plant.finite, 0.5 * (plant.g + memory.g), memory.g),
            noise_std=ops.pick(plant.finite, measured, UNKNOWN),
            value_noise=ops.pick(plant.finite, abs(plant.f - memory.f) / 2.0**0.5, UNKNOWN),
        )
