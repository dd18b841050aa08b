"""Is f a sum of functions of one coordinate each in another orthogonal frame? If so, find the frame and sweep there.

If f(q) = sum_i phi_i(a_i . q) with orthonormal a_i, its Hessian is H = A^T diag(phi_i'') A everywhere. Two Hessians
of such a sum commute, and few others do.

    survey   six readings, two places and four small steps, compare H' H g with H H' g: the search stops if they differ,
             or if H' g is H g, as for a quadratic, which has one basin; then d differences of forces show H, whose
             eigenvectors are the axes
    test     half of the turned coordinates move: the forces on the others must not change (separable_sum.py)
    sweep    profiles of the turned coordinates (profiles.py), every second time narrow around the base
    lowest   read where all profiles are lowest

Departs from the paper: not in it; each reading is a placement.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from ..core.board import (
    COUPLED,
    NOT_NOW,
    SWEPT,
    TURNED_SUM,
    UNTESTED,
    Board,
    Draws,
    Evidence,
    Offer,
    Plant,
    Spec,
    after_survey,
    resolution,
    searched,
)
from ..core.box import REACH
from ..core.codes import Cause, Mode
from ..dynamics.move import Move, Stepped
from .base import AbstractTactic, Step, bid, ends, found, goes_on
from .profiles import Sweep, lowest_place, sweep_reading, sweep_target
from .separable_sum import SeparableSum, coupling_of, moved_half

SURVEY, TEST, SWEEP, LOWEST = range(4)
PRELUDE = 6  # readings that compare two Hessians
ASIDE = (1, 3, 4)  # of them, those at the second place
IDLE_SWEEPS = 2  # in a row, after which the frame is given up


class TurnedAxesMemory(NamedTuple):
    """The script's phase, what the survey has read, the frame, and the sweep in it."""

    phase: Any
    read: Any  # readings of the survey so far
    point: Any  # the places of the survey, and the forces there
    force: Any
    aside: Any
    aside_force: Any
    matrix: Any  # rows a_i of the frame; while the survey goes on, Hessians times vectors
    target: Any
    move: Any  # of the turned coordinates, in the test
    signs: Any  # which end a turned coordinate is swept to first
    coupling: Any
    sweep: Sweep
    begins: Any  # whether the next proposal begins a sweep
    sweeps: Any
    idle: Any  # sweeps in a row that did not pay
    predicted: Any
    eps: Any


@dataclass(frozen=True)
class TurnedAxes(AbstractTactic):
    """Survey, test, sweep, lowest place in turned coordinates."""

    least: int = 4  # dimensions in which axes are looked for; in fewer, hops are as quick
    most: int = 128
    inward: float = 0.5  # the places of a survey: on the way from one that was read to the middle of the box
    aside: float = 3.0  # standard deviation of the second place's move, by coordinate, where the box is 10 wide
    commuting: float = 0.03  # difference of H' H g and H H' g, as a share of both, up to which they commute
    quadratic: float = 0.01  # difference of H g and H' g, likewise, below which f is taken for a quadratic
    turned_reach: float = 1.25  # of turned coordinates that are swept, in half-widths of the box
    narrow_reach: float = 2.0  # the same of every second sweep, around the base: finer, and so exact
    coupled: float = 0.1  # figure of the test: axes are right or wrong
    share: float = 0.4  # of a run's readings that a survey may take
    sums: SeparableSum = field(default_factory=SeparableSum)  # lengths and thresholds of sweeps

    name: ClassVar[str] = "turned axes"
    mode: ClassVar[Mode] = Mode.ESCAPE
    sweeps: ClassVar[bool] = True
    phases: ClassVar[tuple[str, ...]] = ("survey", "test", "sweep", "lowest")

    def blank(self, ops: Any, spec: Spec) -> TurnedAxesMemory | None:
        d, dtype = spec.dimension, spec.dtype
        if spec.values_only or not self.least <= d <= self.most:
            return None
        zeros, zero = (lambda: ops.xp.zeros(d, dtype)), ops.real(0.0, dtype)
        whole, matrix = ops.whole(0), ops.xp.zeros((d, d), dtype)
        sweep, eps = Sweep.blank(ops, d, dtype), ops.real(spec.eps, dtype)
        places, no = (zeros(), zeros(), zeros(), zeros()), ops.flag(False)
        return TurnedAxesMemory(
            whole, whole, *places, matrix, zeros(), zeros(), zeros(), zero, sweep, no, whole, whole, zero, eps
        )

    def offer(self, ops: Any, memory: TurnedAxesMemory, board: Board) -> Offer:
        if not ops.traced and board.structure != TURNED_SUM and (board.structure != COUPLED or memory.read > 0):
            return NOT_NOW
        d = board.base.shape[0]
        length = self.sums.length(ops, board.readings)
        needed = self._survey_length(d) + self.sums.room * length
        sound = (board.noise_std <= 0) & (board.structure == COUPLED)
        fits = (board.left > needed) & (self._survey_length(d) <= self.share * board.readings)
        several = board.spread > 0  # one minimum wants no sweep
        may = sound & fits & several & (memory.read == 0)
        later = board.scored | ops.no(board.fresh)
        again = (board.structure == TURNED_SUM) & board.scored & (board.left > self.sums.room * length)
        return bid(ops, (may & later) | again, 7.0, cost=needed)

    def _survey_length(self, d: int) -> int:
        """Readings of a survey that is not stopped, with its test."""
        return PRELUDE + d + 1

    def open(
        self, ops: Any, memory: TurnedAxesMemory, board: Board, plant: Plant, draws: Callable[[], Draws]
    ) -> TurnedAxesMemory:
        return ops.cond(
            board.structure == TURNED_SUM,
            lambda: self._sweeping(ops, memory._replace(signs=_signs(ops, draws().uniform))),
            lambda: self._surveying(ops, memory, board, plant, draws()),
        )

    def _surveying(
        self, ops: Any, memory: TurnedAxesMemory, board: Board, plant: Plant, draws: Draws
    ) -> TurnedAxesMemory:
        """A survey around a place between the plant and the middle of the box, and one aside."""
        xp, (u, z) = ops.xp, draws
        lower, upper = searched(ops, board)
        middle = 0.5 * (lower + upper)
        free = xp.full_like(plant.q, 2.0 * REACH)  # turned coordinates have no bounds of their own
        sums = self.sums
        move = moved_half(ops, xp.zeros_like(z), z, u[2:], z, -free, free, sums.test_step, sums.test_spread)
        aside = xp.minimum(xp.maximum(plant.q + self.aside * z, lower), upper)
        return memory._replace(
            phase=ops.whole(SURVEY),
            point=plant.q + self.inward * (middle - plant.q),
            aside=aside + self.inward * (middle - aside),
            move=move,
            begins=ops.flag(False),
            signs=_signs(ops, u),
        )

    def _sweeping(self, ops: Any, memory: TurnedAxesMemory) -> TurnedAxesMemory:
        return memory._replace(phase=ops.whole(SWEEP), begins=ops.flag(True))

    def _begun(self, ops: Any, memory: TurnedAxesMemory, board: Board) -> TurnedAxesMemory:
        """A sweep from the base; each coordinate goes up or down first as it is drawn."""
        xp, A = ops.xp, memory.matrix
        lower, upper = searched(ops, board)
        half = 0.5 * (upper - lower)
        base, base_g, middle = A @ board.base, A @ board.base_g, A @ (0.5 * (lower + upper))
        wide = xp.minimum(abs(A) @ half, self.turned_reach * half.max())
        narrow = ops.remainder(memory.sweeps, 2) == 1
        reach = memory.signs * ops.pick(narrow, xp.full_like(wide, self.narrow_reach), wide)
        centre = ops.pick(narrow, base, middle)
        length = self.sums.length(ops, board.readings)
        sweep = Sweep.begin(ops, base, base_g, centre - reach, centre + reach, length)
        return memory._replace(begins=ops.flag(False), sweep=sweep, sweeps=memory.sweeps + 1)

    def observe(self, ops: Any, memory: TurnedAxesMemory, board: Board, plant: Plant) -> tuple[TurnedAxesMemory, Any]:
        phase = memory.phase
        memory = ops.when(phase == SURVEY, lambda m: self._surveyed(ops, m, board, plant), memory)
        stops = (phase == SURVEY) & (memory.read == PRELUDE) & self._is_refuted(ops, memory)
        memory = ops.when(phase == TEST, lambda m: self._tested(ops, m, board, plant), memory)
        stops = stops | ((phase == TEST) & ops.no(memory.coupling < self._threshold(plant.q.shape[0])))
        memory = ops.when(phase == SWEEP, lambda m: self._swept(ops, m, board, plant), memory)
        unseen = resolution(memory.eps, board.base_f)
        paid = (board.base_f - plant.f > self.sums.kept * memory.predicted + unseen) | (board.escapes == 0)
        idle = ops.pick(paid, ops.whole(0), memory.idle + 1)
        memory = memory._replace(idle=ops.pick(phase == LOWEST, idle, memory.idle))
        stops = stops | (memory.idle >= IDLE_SWEEPS)
        cause = ends(ops, phase == LOWEST, Cause.DONE)
        return memory, ops.pick(stops, ops.whole(int(Cause.REJECTED)), cause)

    def _threshold(self, d: int) -> float:
        return self.coupled * max(1.0 - d**-0.5, 0.05)

    def _surveyed(self, ops: Any, memory: TurnedAxesMemory, board: Board, plant: Plant) -> TurnedAxesMemory:
        """After a reading of the survey; the last difference leads to the axes, and to their test."""
        read, d = memory.read, plant.q.shape[0]
        row = read - ops.pick(read < PRELUDE, 2, PRELUDE)
        product = (plant.g - ops.pick(self._is_aside(read), memory.aside_force, memory.force)) / self._length(
            ops, memory
        )
        matrix = ops.cond(read > 1, lambda: ops.put(memory.matrix, row, product), lambda: memory.matrix)
        last = read == PRELUDE + d - 1
        matrix = ops.when(last, lambda A: ops.eigh(0.5 * (A + A.T))[1].T, matrix)
        memory = memory._replace(
            read=read + 1,
            force=ops.pick(read == 0, plant.g, memory.force),
            aside_force=ops.pick(read == 1, plant.g, memory.aside_force),
            matrix=matrix,
        )
        target = memory.point + memory.move @ matrix
        return memory._replace(
            phase=ops.pick(last, ops.whole(TEST), memory.phase), target=ops.pick(last, target, memory.target)
        )

    def _is_aside(self, read: Any) -> Any:
        return (read == ASIDE[0]) | (read == ASIDE[1]) | (read == ASIDE[2])

    def _along(self, ops: Any, memory: TurnedAxesMemory) -> Any:
        """What a small step leads along: g at both places, H g and H' g at the other one, then each coordinate."""
        xp, read = ops.xp, memory.read
        crossed = ops.pick(read == 4, memory.matrix[0], memory.matrix[1])
        way = ops.pick(read < 4, memory.force, crossed)
        unit = (xp.arange(way.shape[0], dtype=xp.int32) == read - PRELUDE).astype(way.dtype)
        return ops.pick(read < PRELUDE, way, unit)

    def _length(self, ops: Any, memory: TurnedAxesMemory) -> Any:
        """Length of that step, in lengths of what it leads along."""
        size = abs(self._along(ops, memory)).max()
        return memory.eps ** (1 / 3) / ops.pick(size > 0, size, 1.0)

    def _is_refuted(self, ops: Any, memory: TurnedAxesMemory) -> Any:
        """Whether two Hessians are seen not to commute, or to be the same."""
        A = memory.matrix
        same = _apart(ops, A[0], A[1]) < self.quadratic
        return same | ops.no(_apart(ops, A[2], A[3]) < self.commuting)

    def _tested(self, ops: Any, memory: TurnedAxesMemory, board: Board, plant: Plant) -> TurnedAxesMemory:
        A = memory.matrix
        turned = plant._replace(q=A @ plant.q, g=A @ plant.g)
        told = 2.0
        coupling = coupling_of(ops, A @ memory.point, A @ memory.force, turned, board.noise_std, told)
        return self._sweeping(ops, memory._replace(coupling=coupling))

    def _swept(self, ops: Any, memory: TurnedAxesMemory, board: Board, plant: Plant) -> TurnedAxesMemory:
        A = memory.matrix
        sweep = sweep_reading(ops, memory.sweep, A @ plant.q, A @ plant.g, plant.finite, split=True)
        memory = memory._replace(sweep=sweep)
        return ops.cond(sweep.steps >= sweep.length, lambda: self._finished(ops, memory, board), lambda: memory)

    def _finished(self, ops: Any, memory: TurnedAxesMemory, board: Board) -> TurnedAxesMemory:
        lowest, predicted = lowest_place(ops, memory.sweep, split=True)
        target = self._in_box(ops, lowest @ memory.matrix, board)
        return memory._replace(target=target, predicted=predicted, phase=ops.whole(LOWEST))

    def _in_box(self, ops: Any, q: Any, board: Board) -> Any:
        lower, upper = searched(ops, board)
        return ops.xp.minimum(ops.xp.maximum(q, lower), upper)

    def propose(
        self, ops: Any, memory: TurnedAxesMemory, board: Board, plant: Plant, step: Step
    ) -> tuple[TurnedAxesMemory, Stepped, Any]:
        memory = ops.when(memory.begins, lambda m: self._begun(ops, m, board), memory)
        target = ops.cond(
            memory.phase == SURVEY,
            lambda: self._survey_target(ops, memory),
            lambda: ops.cond(
                memory.phase == SWEEP,
                lambda: self._in_box(ops, sweep_target(ops, memory.sweep, split=True)[0] @ memory.matrix, board),
                lambda: memory.target,
            ),
        )
        return memory, step(Move(target)), goes_on(ops)

    def _survey_target(self, ops: Any, memory: TurnedAxesMemory) -> Any:
        place = ops.pick(self._is_aside(memory.read), memory.aside, memory.point)
        small = self._length(ops, memory) * self._along(ops, memory)
        return ops.pick(memory.read > 1, place + small, place)

    def evidence(self, ops: Any, memory: TurnedAxesMemory, board: Board, plant: Plant) -> Evidence:
        given_up = memory.idle >= IDLE_SWEEPS
        sound = (memory.phase >= SWEEP) & (memory.coupling < self._threshold(plant.q.shape[0]))
        swept = ops.pick(given_up, ops.whole(SWEPT), ops.whole(TURNED_SUM))
        known = ops.pick(board.structure == UNTESTED, ops.whole(UNTESTED), ops.whole(COUPLED))
        return found(
            ops,
            plant,
            fresh=after_survey(ops, board, plant),
            structure=ops.pick(sound, swept, known),
        )

    def phase(self, ops: Any, memory: TurnedAxesMemory) -> Any:
        return memory.phase


def _apart(ops: Any, one: Any, other: Any) -> Any:
    """The difference of two vectors as a share of both; not a number if both are 0, and so below nothing."""
    both = ops.norm(one) + ops.norm(other)
    return ops.norm(one - other) / ops.pick(both > 0, both, float("nan") + both)


def _signs(ops: Any, u: Any) -> Any:
    return ops.where(u[2:] < 0.5, -1.0, 1.0).astype(u.dtype)
