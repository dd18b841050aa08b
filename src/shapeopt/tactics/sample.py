"""Sample around a mean that moves to where values are low, so that ripples average out.

A generation is lambda readings at m + s z_i, z_i ~ N(0, I). The rank-weighted mean of the better half of them
estimates the force of f smoothed over s, as eq. app:zo_oracle does with two-sided differences; so does the mean of
the forces that were read, whose errors do not grow with d. Where forces are read, the two have equal say:

    y = sum_i w_i z_(i),   u = -|y| g / |g| (|y|: of random z),   m <- m + s (y + u) / sqrt(2),
    p_s <- (1 - c) p_s + sqrt(c (2 - c) mu_w) (y + u) / sqrt(2),

and s grows while successive moves add up (p_s longer than a random walk's) and shrinks while they cancel: the mean
and the cumulative step-size adaptation of Hansen and Ostermeier's evolution strategy, with its usual weights. Values
alone have its usual lambda and rates too; with forces, half of lambda, and a path that forgets as if d were at most
5. Where values differ by magnitudes within the first generation (atoms that overlap), a mean tells nothing: sampling
ends there.

    sample   the generations
    mean     read the mean that they led to

Departs from the paper: its zero-order oracle has a fixed radius; each sample is a placement.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..core.board import COUPLED, NOT_NOW, SWEPT, Board, Draws, Offer, Plant, Spec, searched
from ..core.codes import Cause, Mode
from ..dynamics.move import Move, Stepped
from ..ops.random import normal
from .base import FOREVER, AbstractTactic, Step, bid, ends, goes_on
from .hop import reflect

SAMPLE, MEAN = range(2)
INF = float("inf")
FROM = 2**30  # counters of samples begin here; those of stages stay below


class SampleMemory(NamedTuple):
    """The mean, its step and path, and the generation under way."""

    phase: Any
    mean: Any
    step: Any
    fine: Any  # step below which sampling ends
    path: Any
    points: Any
    values: Any
    force: Any  # mean of the generation's so far
    read: Any  # readings so far
    length: Any  # readings that sampling may take


@dataclass(frozen=True)
class Sample(AbstractTactic):
    """An evolution strategy of a part of the run, once; with values alone it opens the run.

    Offered after a basin that was small for the box, and where forces are noisy.
    """

    step: float = 2.0  # standard deviation of the first generation, by coordinate, where the box is 10 wide
    noisy_step: float = 1.4  # the same where forces are noisy
    settled_step: float = 0.5  # the same where noise has been settled in before
    fine: float = 0.25  # of the first step, below which sampling ends: a basin of that width is quicker refined
    values_fine: float = 0.15  # the same of values alone
    largest_step: float = 5.0
    share: float = 0.35  # of a run's readings
    values_share: float = 0.5  # of the values that are left, the same of values alone,
    values_escapes: int = 2  # after so many basins, one of them small for the box
    values_step: float = 1.0  # as `step`, of values alone
    forgetting: int = 5  # the path forgets as fast as it would in this dimension, where forces are read
    rough: float = 30.0  # highest value of the first generation, in lowest, both above the base's
    least: int = 8  # dimensions from which on it is offered where forces are read,
    values_least: int = 5  # and where values are
    noisy_readings: float = 4.0  # a dimension, that sampling must have where forces are noisy
    basins: int = 2  # that must have been left before, where forces are exact
    generations: int = 4  # that it must have
    room: float = 1.3  # it needs so many times its own readings before the end
    noisy_descent: float = 3.0  # of a basin, where forces are noisy, below which basins are small
    plain: float = 1.5  # fall of f into a basin, in noise of the work on the way, for sampling to come before settling

    name: ClassVar[str] = "sample"
    mode: ClassVar[Mode] = Mode.ESCAPE
    phases: ClassVar[tuple[str, ...]] = ("sample", "mean")

    def blank(self, ops: Any, spec: Spec) -> SampleMemory | None:
        d, dtype, xp = spec.dimension, spec.dtype, ops.xp
        if d < (self.values_least if spec.values_only else self.least):
            return None
        size = self._generation(d, spec.values_only)
        zeros, zero = (lambda: xp.zeros(d, dtype)), ops.real(0.0, dtype)
        return SampleMemory(
            phase=ops.whole(SAMPLE),
            mean=zeros(),
            step=zero,
            fine=zero,
            path=zeros(),
            points=xp.zeros((size, d), dtype),
            values=xp.full(size, xp.inf, dtype),
            force=None if spec.values_only else zeros(),
            read=ops.whole(0),
            length=zero,
        )

    def _generation(self, d: int, values_only: bool) -> int:
        """lambda: readings of a generation."""
        usual = 4 + int(3.0 * math.log(d))
        return usual if values_only else max(usual // 2, 4)

    def offer(self, ops: Any, memory: SampleMemory, board: Board) -> Offer:
        d = board.base.shape[0]
        if memory.force is None:
            rugged = board.scored & board.small_basins & (board.escapes >= self.values_escapes) & (memory.read == 0)
            length = self.values_share * board.left
            return bid(
                ops, rugged & (length * (d + 1) >= self.generations * self._generation(d, True)), 6.0, cost=length
            )
        length = self.share * board.readings
        noisy = board.noisy
        if not ops.traced and (
            memory.read > 0 or board.left <= self.room * length or not (noisy or board.small_basins)
        ):
            return NOT_NOW
        coupled = (board.structure == COUPLED) | (board.structure == SWEPT)
        room = (board.left > self.room * length) & (memory.read == 0)
        boxed = ((board.lower > -INF) & (board.upper < INF)).all()  # without sides there is nothing to sample
        rippled = boxed & board.small_basins & coupled & (length >= self.generations * self._generation(d, False))
        enough = length >= self.noisy_readings * d
        small = (board.descent < self.noisy_descent) & coupled
        falls = board.fall > self.plain * board.noise_std * board.descent * d**0.5
        refuted = board.cause == int(Cause.REJECTED)
        early = ops.no(board.scored) & (refuted | ops.no(board.fresh)) & small & falls
        exact_case = rippled & (board.escapes > self.basins) & (board.scored | refuted)
        due = ops.pick(noisy, enough & (early | board.scored), exact_case)
        return bid(ops, room & due, 6.0, cost=length)

    def open(
        self, ops: Any, memory: SampleMemory, board: Board, plant: Plant, draws: Callable[[], Draws]
    ) -> SampleMemory:
        settled = ops.pick(board.scored, self.settled_step, self.noisy_step)
        step = ops.pick(board.noisy, settled, self.step)
        fine, length = self.fine, self.share * board.readings
        if memory.force is None:
            step, fine, length = self.values_step, self.values_fine, self.values_share * board.left * board.unit
        return memory._replace(
            phase=ops.whole(SAMPLE),
            mean=board.base,
            step=ops.real(step, plant.q.dtype),
            fine=ops.real(fine * step, plant.q.dtype),
            length=ops.floor(length),
        )

    def observe(self, ops: Any, memory: SampleMemory, board: Board, plant: Plant) -> tuple[SampleMemory, Any]:
        sampling = memory.phase == SAMPLE
        floor = ops.pick(board.noisy, FOREVER, board.base_f)  # noise makes values differ by itself
        memory = ops.when(sampling, lambda m: self._read(ops, m, plant, floor), memory)
        over = (memory.step < memory.fine) | (ops.real(memory.read, plant.q.dtype) >= memory.length)
        memory = memory._replace(phase=ops.pick(over, ops.whole(MEAN), memory.phase))
        return memory, ends(ops, ops.no(sampling), Cause.CONVERGED)

    def _read(self, ops: Any, memory: SampleMemory, plant: Plant, floor: Any) -> SampleMemory:
        """After a sample; the last of a generation moves the mean."""
        size = memory.points.shape[0]
        row = ops.remainder(memory.read, size)
        memory = memory._replace(
            points=ops.put(memory.points, row, plant.q),
            values=ops.put(memory.values, row, plant.f),
            read=memory.read + 1,
        )
        if memory.force is not None:
            before = ops.pick(row == 0, ops.xp.zeros_like(plant.g), memory.force)
            memory = memory._replace(force=before + plant.g / size)
        return ops.when(row == size - 1, lambda m: self._moved(ops, m, floor), memory)

    def _moved(self, ops: Any, memory: SampleMemory, floor: Any) -> SampleMemory:
        xp, (size, d) = ops.xp, memory.points.shape
        weights, rate, damping = _rates(d, size, d if memory.force is None else min(d, self.forgetting))
        mass = 1.0 / float(np.sum(weights**2))
        best = xp.argsort(memory.values, stable=True)[: size // 2]
        mean = xp.asarray(weights[: size // 2], memory.mean.dtype) @ memory.points[best]
        y = (mean - memory.mean) / memory.step
        if memory.force is not None:
            norm = ops.norm(memory.force)
            y = (y - memory.force * (math.sqrt(d / mass) / ops.pick(norm > 0, norm, 1.0))) / math.sqrt(2.0)
        path = (1.0 - rate) * memory.path + math.sqrt(rate * (2.0 - rate) * mass) * y
        length = ops.norm(path) / (math.sqrt(d) * (1.0 - 1.0 / (4.0 * d) + 1.0 / (21.0 * d**2)))
        change = xp.exp(ops.min(rate / damping * (length - 1.0), 1.0))
        step = ops.min(memory.step * change, self.largest_step)
        rough = (memory.read == size) & self._is_rough(ops, memory.values - floor)
        return memory._replace(
            mean=ops.pick(rough, memory.mean, memory.mean + memory.step * y),
            step=ops.pick(rough, 0.0, step),
            path=path,
        )

    def _is_rough(self, ops: Any, lift: Any) -> Any:
        """Whether finite values above the base differ by magnitudes."""
        xp = ops.xp
        lowest = lift.min()
        return (lowest > 0) & (ops.where(lift < xp.inf, lift, -xp.inf).max() > self.rough * lowest)

    def propose(
        self, ops: Any, memory: SampleMemory, board: Board, plant: Plant, step: Step
    ) -> tuple[SampleMemory, Stepped, Any]:
        target = ops.cond(memory.phase == SAMPLE, lambda: self._sample(ops, memory, board, plant), lambda: memory.mean)
        return memory, step(Move(target)), goes_on(ops)

    def _sample(self, ops: Any, memory: SampleMemory, board: Board, plant: Plant) -> Any:
        z = normal(ops, board.key, FROM + memory.read, plant.q.shape[0], plant.q.dtype)
        return reflect(ops, memory.mean + memory.step * z, *searched(ops, board))

    def phase(self, ops: Any, memory: SampleMemory) -> Any:
        return memory.phase

    def wants_force(self, ops: Any, memory: SampleMemory) -> Any:
        return ops.flag(False)


@functools.cache
def _rates(d: int, size: int, forgetting: int) -> tuple[np.ndarray, float, float]:
    """Weights by rank, rate of the path, damping of the step (Hansen's tutorial, table 1)."""
    raw = np.maximum(math.log((size + 1) / 2) - np.log(np.arange(1, size + 1)), 0.0) * (np.arange(size) < size // 2)
    weights = raw / raw.sum()
    effective = 1.0 / float(np.sum(weights**2))
    rate = (effective + 2.0) / (forgetting + effective + 5.0)
    return weights, rate, 1.0 + rate + 2.0 * max(0.0, math.sqrt((effective - 1.0) / (d + 1.0)) - 1.0)
