"""Descend by momentum with a diagonal metric, where forces are noisy: the settle limit.

    p' = beta p - h g,   q' = q + h M^-1 p',   M^-1 = eta c (1 - beta) / (h^2 (1 - beta^t) sqrt(mean of g^2))

is Adam's step of length eta c by coordinate: a constant force moves each coordinate by that, whatever the scale of f,
and noise averages out. eta is the largest lower bound that the stage has shown of its distance to the bottom, by
coordinate: for a convex f, with sums over the readings of the stage,

    eta = max_t  sum w_i g_i.(q_0 - q_i) / |sum w_i g_i|_1,   w_i = c_i eta_i^2 / forget^(i/2)

(Prodigy; Mishchenko and Defazio 2024), so that it begins small, grows where there is a way to go, and no rate need be
tuned. c falls from 1 to 0 within a stage as half a cosine. Where values are noisy, too, no reading tells one basin from
another: the stage has the rest of the run, and its last place is the result.

    return   one placement onto the base, where the plant is elsewhere
    settle   the descent

Departs from the paper: zeta = 1 - beta dissipates through the metric; the length of steps is learned within a stage.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..core.board import NOT_NOW, Board, Draws, Estimate, Evidence, Offer, Plant, Spec
from ..core.codes import Cause, Mode
from ..dynamics.move import H_STEP, Move, Stepped
from .base import AbstractTactic, Step, bid, ends, found, goes_on

RETURN, SETTLE = range(2)


class SettleMemory(NamedTuple):
    """Second moments of the force in this stage, its weighted sum and work, the step, and how far the stage is."""

    phase: Any
    moments: Any
    pull: Any  # sum of w_i g_i, but for a factor that it shares with the work
    work: Any  # sum of w_i g_i . (q_0 - q_i)
    steps: Any
    step: Any  # eta
    length: Any  # readings of this stage
    origin: Any  # q_0
    start: Any
    last: Any  # where the last force was read, and its value
    last_f: Any
    mean: Any  # of the last values, older ones counting less, above `start`
    square: Any  # likewise of their squares
    doubtful: Any  # whether values are noisy, too


@dataclass(frozen=True)
class Settle(AbstractTactic):
    """Momentum transport for noisy forces."""

    beta: float = 0.9  # share of the momentum kept by a step (Adam's),
    forget: float = 0.98  # and of the second moment
    first_step: float = 0.1  # eta at first, where the box is 10 wide
    recent: float = 0.9  # weight of older values in their mean
    share: float = 0.3  # of the readings for a first stage, or one at the base;
    long_share: float = 0.5  # the same where they are too few to sample as well
    hop_share: float = 0.05  # of the readings, after a hop
    shortest: float = 8.0
    sampled: float = 4.0  # readings a dimension that sampling must have
    sample_share: float = 0.35
    again: int = 4  # one escape in so many goes back to the base, to settle there once more,
    least: int = 65  # dimensions, below which forces are fitted instead (fit_forces.py)
    due_work: float = 0.5  # if the last basin fell by such a share of the noise's work on the way, or more

    name: ClassVar[str] = "settle"
    mode: ClassVar[Mode] = Mode.SETTLE
    phases: ClassVar[tuple[str, ...]] = ("return", "settle")

    def blank(self, ops: Any, spec: Spec) -> SettleMemory | None:
        if spec.values_only or (spec.dimension < self.least and not spec.residuals):
            return None
        zeros, zero = (lambda: ops.xp.zeros(spec.dimension, spec.dtype)), ops.real(0.0, spec.dtype)
        no = ops.flag(False)
        sums = (zeros(), zeros(), zero, zero, zero)
        return SettleMemory(ops.whole(RETURN), *sums, zero + 1.0, zeros(), zero, zeros(), zero, zero, zero, no)

    def offer(self, ops: Any, memory: SettleMemory, board: Board) -> Offer:
        if not ops.traced and not board.noise_std > 0:
            return NOT_NOW
        fell = board.fall > self.due_work * board.noise_std * board.descent * board.base.shape[0] ** 0.5
        due = ops.no(board.scored) | ((ops.remainder(board.escapes, self.again) == 1) & fell)
        return bid(ops, board.noisy & due, 4.0, cost=self.share * board.readings)

    def open(
        self, ops: Any, memory: SettleMemory, board: Board, plant: Plant, draws: Callable[[], Draws]
    ) -> SettleMemory:
        d = plant.q.shape[0]
        samples = self.sample_share * board.readings >= self.sampled * d
        full = ops.pick(samples, self.share, self.long_share)
        sampled = board.cause == int(Cause.CONVERGED)  # the plant is at a mean that sampling led to
        near = (board.escapes == 0) | ops.no(board.fresh) | sampled
        doubtful = ops.flag(board.value_noise > 0)  # so that no basin can be told from another by a reading
        share = ops.pick(doubtful, 1.0, ops.pick(near, full, self.hop_share))
        length = ops.floor(ops.min(ops.max(share * board.readings, self.shortest), ops.max(board.left, 1.0)))
        zeros, zero = ops.xp.zeros_like(plant.q), ops.real(0.0, plant.q.dtype)
        opened = SettleMemory(
            ops.pick(board.fresh, ops.whole(SETTLE), ops.whole(RETURN)),
            zeros,
            zeros,
            zero,
            zero,
            ops.real(self.first_step, plant.q.dtype),
            ops.real(length, plant.q.dtype),
            plant.q,
            plant.f,
            plant.q,
            plant.f,
            zero,
            zero,
            doubtful,
        )
        return ops.cond(board.fresh, lambda: self._taken(ops, opened, plant), lambda: opened)

    def observe(self, ops: Any, memory: SettleMemory, board: Board, plant: Plant) -> tuple[SettleMemory, Any]:
        returned = memory.phase == RETURN
        memory = memory._replace(
            phase=ops.whole(SETTLE),
            origin=ops.pick(returned, plant.q, memory.origin),
            start=ops.pick(returned, plant.f, memory.start),
        )
        memory = self._taken(ops, memory, plant)
        over = (memory.steps > memory.length) & ops.no(memory.doubtful)  # with them it is the rest of the run
        return memory, ends(ops, over, Cause.CLOCK)

    def _taken(self, ops: Any, memory: SettleMemory, plant: Plant) -> SettleMemory:
        """With a force. The sums fade by the root of `forget`, and count in units of the root mean square force."""
        steps, kept = memory.steps + 1.0, self.forget**0.5
        moments = self.forget * memory.moments + (1.0 - self.forget) * plant.g**2
        weight = (1.0 - kept) * self._cosine(ops, memory) * memory.step**2
        pull = kept * memory.pull + weight * plant.g
        work = kept * memory.work + weight * ops.dot(plant.g, memory.origin - plant.q)
        tiny = float(np.finfo(plant.q.dtype).tiny)
        step = ops.max(memory.step, work / (abs(pull).sum() + tiny))
        above = plant.f - memory.start
        return memory._replace(
            moments=moments,
            pull=pull,
            work=work,
            steps=steps,
            step=step,
            last=plant.q,
            last_f=plant.f,
            mean=self.recent * memory.mean + (1.0 - self.recent) * above,
            square=self.recent * memory.square + (1.0 - self.recent) * above**2,
        )

    def estimate(self, ops: Any, memory: SettleMemory) -> Estimate | None:
        """The last place, where values are noisy; with the mean of the values on the last part of the way to it."""
        if not (memory.doubtful and memory.steps > 1):
            return None
        seen = 1.0 - self.recent**memory.steps
        mean = memory.mean / seen
        variance = max(memory.square / seen - mean**2, 0.0)
        count = seen * (1.0 + self.recent) / (1.0 - self.recent)
        error = (variance / max(count - 1.0, 1.0)) ** 0.5
        return Estimate(memory.last + 0.0, float(memory.last_f), float(memory.start + mean), float(error))

    def _cosine(self, ops: Any, memory: SettleMemory) -> Any:
        """c: 1 as the stage begins, 0 as it ends."""
        return 0.5 + 0.5 * ops.xp.cos(np.pi * ops.min(memory.steps / (memory.length + 1.0), 1.0))

    def propose(
        self, ops: Any, memory: SettleMemory, board: Board, plant: Plant, step: Step
    ) -> tuple[SettleMemory, Stepped, Any]:
        age = ops.max(memory.steps, 1.0)
        mean = memory.moments / (1.0 - self.forget**age)
        scale = ops.xp.sqrt(ops.where(mean > 0, mean, 1.0))
        eta = self._cosine(ops, memory) * memory.step
        inverse = eta * (1.0 - self.beta) / (1.0 - self.beta**age) / H_STEP**2 / scale
        zeta = ops.pick(memory.steps > 1, 1.0 - self.beta, 1.0)
        move = Move(board.base, memory.phase == RETURN, lambda v: inverse * v, zeta=zeta)
        return memory, step(move), goes_on(ops)

    def evidence(self, ops: Any, memory: SettleMemory, board: Board, plant: Plant) -> Evidence:
        return found(
            ops,
            plant,
            fresh=ops.flag(False),
            basin=plant.finite,
            rebase=ops.flag(True),
            descent=ops.norm(plant.q - memory.origin) / plant.q.shape[0] ** 0.5,
            fall=abs(memory.start - plant.f),
        )

    def phase(self, ops: Any, memory: SettleMemory) -> Any:
        return memory.phase
