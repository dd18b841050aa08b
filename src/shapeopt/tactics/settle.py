"""Descend by momentum with a diagonal metric, where forces are noisy: the settle limit.

    p' = beta p - h g,   q' = q + h M^-1 p',   M^-1 = eta (1 - beta) / (h^2 sqrt(second moment of g))

A constant force moves each coordinate by about eta a step, whatever the scale of f; noise averages out. eta follows
the length of the path that forces, each of about unit length, make when added up with fading weights: longer than
that of random forces means that there is a way to go, shorter that the steps go back and forth (cumulative step-size
adaptation; Hansen and Ostermeier 2001). eta is carried from stage to stage; within a stage it falls to 0 besides.

    return   one placement onto the base, where the plant is elsewhere
    settle   the descent

Departs from the paper: zeta = 1 - beta dissipates through the metric; the adaptation of eta.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ..core.board import NOT_NOW, Board, Draws, Evidence, Offer, Plant, Spec
from ..core.codes import Cause, Mode
from ..dynamics.move import H_STEP, Move, Stepped
from .base import AbstractTactic, Step, bid, ends, found, goes_on

RETURN, SETTLE = range(2)


class SettleMemory(NamedTuple):
    """Second moments of the force and its path in this stage, how far the stage is, and the step."""

    phase: Any
    moments: Any
    path: Any
    steps: Any
    step: Any  # eta, but for its fall within a stage
    length: Any  # readings of this stage
    origin: Any
    start: Any


@dataclass(frozen=True)
class Settle(AbstractTactic):
    """Momentum transport for noisy forces."""

    beta: float = 0.8  # share of the momentum kept by a step
    forget: float = 0.95  # of the second moment
    pooled: float = 0.5  # share of the mean over coordinates in each coordinate's second moment
    first_step: float = 0.03  # eta at first, where the box is 10 wide: small, since a large one leaves a good start
    largest_step: float = 1.0
    path_rate: float = 0.15  # weight of the last force in the path
    path_age: float = 3.0  # readings before the path is trusted
    damping: float = 20.0  # of the logarithm of eta a step,
    largest_change: float = 0.3  # and its largest change
    share: float = 0.3  # of the readings for a first stage, or one at the base;
    long_share: float = 0.5  # the same where they are too few to sample as well
    hop_share: float = 0.05  # of the readings, after a hop
    shortest: float = 8.0
    sampled: float = 4.0  # readings a dimension that sampling must have
    sample_share: float = 0.35
    again: int = 4  # one escape in so many goes back to the base, to settle there once more,
    least: int = 65  # dimensions, below which forces are fitted instead (fit_forces.py)
    work: float = 0.5  # if the last basin fell by such a share of the noise's work on the way, or more

    name: ClassVar[str] = "settle"
    mode: ClassVar[Mode] = Mode.SETTLE
    phases: ClassVar[tuple[str, ...]] = ("return", "settle")

    def blank(self, ops: Any, spec: Spec) -> SettleMemory | None:
        if spec.values_only or (spec.dimension < self.least and not spec.residuals):
            return None
        zeros, zero = (lambda: ops.xp.zeros(spec.dimension, spec.dtype)), ops.real(0.0, spec.dtype)
        first = ops.real(self.first_step, spec.dtype)
        return SettleMemory(ops.whole(RETURN), zeros(), zeros(), zero, first, zero + 1.0, zeros(), zero)

    def offer(self, ops: Any, memory: SettleMemory, board: Board) -> Offer:
        if not ops.traced and not board.noise_std > 0:
            return NOT_NOW
        fell = board.fall > self.work * board.noise_std * board.descent * board.base.shape[0] ** 0.5
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
        share = ops.pick(near, full, self.hop_share)
        length = ops.floor(ops.max(share * board.readings, self.shortest))
        zeros, zero = ops.xp.zeros_like(plant.q), ops.real(0.0, plant.q.dtype)
        opened = SettleMemory(
            ops.pick(board.fresh, ops.whole(SETTLE), ops.whole(RETURN)),
            zeros,
            zeros,
            zero,
            memory.step,
            ops.real(length, plant.q.dtype),
            plant.q,
            plant.f,
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
        return memory, ends(ops, memory.steps > memory.length, Cause.CLOCK)

    def _taken(self, ops: Any, memory: SettleMemory, plant: Plant) -> SettleMemory:
        xp, d = ops.xp, plant.g.shape[0]
        steps = memory.steps + 1.0
        moments = self.forget * memory.moments + (1.0 - self.forget) * plant.g**2
        force = plant.g / self._force_scale(ops, moments, steps) / d**0.5
        rate = self.path_rate
        path = (1.0 - rate) * memory.path + (rate * (2.0 - rate)) ** 0.5 * force
        square = path.dot(path) / (1.0 - (1.0 - rate) ** (2.0 * steps))
        change = (square - 1.0) / self.damping
        limit = self.largest_change
        factor = xp.exp(ops.min(ops.max(change, -limit), limit))
        grown = ops.min(memory.step * factor, self.largest_step)
        step = ops.pick(steps > self.path_age, grown, memory.step)
        return memory._replace(moments=moments, path=path, steps=steps, step=step)

    def _force_scale(self, ops: Any, moments: Any, steps: Any) -> Any:
        """Root mean square of the force by coordinate, drawn to that of all; 1 where all forces are 0."""
        unbiased = moments / (1.0 - self.forget**steps)
        pooled = self.pooled * unbiased.mean() + (1.0 - self.pooled) * unbiased
        return ops.xp.sqrt(ops.where(pooled > 0, pooled, 1.0))

    def propose(
        self, ops: Any, memory: SettleMemory, board: Board, plant: Plant, step: Step
    ) -> tuple[SettleMemory, Stepped, Any]:
        one = 1.0
        left = ops.max(memory.length + 1.0 - memory.steps, one) / (memory.length + 1.0)
        eta = memory.step * left
        scale = self._force_scale(ops, memory.moments, ops.max(memory.steps, one))
        inverse = eta * (1.0 - self.beta) / H_STEP**2 / scale
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
