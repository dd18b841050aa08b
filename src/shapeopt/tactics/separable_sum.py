"""Is f a sum of functions of one coordinate each? If so, sweep the box once and go where each of them is lowest.

    test     move about half of the coordinates: the forces on the others must not change
    retest   leave those where the test put them and move the others far: the forces on the first must not change
    sweep    N readings along a path through the box show the profile of every coordinate (profiles.py)
    lowest   read where all profiles are lowest

The test's figure is the change of the force on the coordinates that stayed, per change of the force on those that
moved: 0 for a sum, about 1 for a sum in turned axes. If f is a function of a sum, forces change by one common factor,
which is taken out, as is known noise. Bottoms of wells look like sums, hence the second test.

A sum with one minimum wants no sweep, since its first descent ends there. The tests come after that descent, and if no
force that they read points away from its bottom, the sweep waits until basins of two values are known.

Departs from the paper: not in it; each reading is a placement.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ..core.board import (
    COUPLED,
    NOT_NOW,
    SUM,
    SWEPT,
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
from ..core.codes import Cause, Mode
from ..dynamics.move import Move, Stepped
from .base import FOREVER, AbstractTactic, Step, bid, ends, found, goes_on
from .profiles import Sweep, lowest_place, sweep_reading, sweep_target

TEST, RETEST, SWEEP, LOWEST = range(4)
TEST_LEAST = 1e-6  # least move of a coordinate that counts as one: placements are exact to round-off only
LEAST_LEFT = 4  # coordinates that stayed from which on a common factor of their forces is told from a change
LEAST_FACTOR, LARGEST_FACTOR = 0.2, 5.0  # bounds of such a factor
NOISE_IN_MOVED = 2.0  # variances of noise that the change of force on what moved must pass to tell anything


class SeparableSumMemory(NamedTuple):
    """The script's phase, what the test read, and the sweep."""

    phase: Any
    target: Any
    tried: Any  # where the first test was made, and the force there
    tried_g: Any
    coupling: Any
    sweep: Sweep
    predicted: Any  # decrease that the lowest places predict
    wavy: Any  # whether a force pointed away from the base: there is more than one minimum
    paid: Any  # whether the last sweep was worth it
    begins: Any  # whether the next proposal begins a sweep
    eps: Any


@dataclass(frozen=True)
class SeparableSum(AbstractTactic):
    """Test, retest, sweep, lowest place."""

    test_step: float = 0.9  # median move of a coordinate that is tested, where the box is 10 wide
    test_spread: float = 0.4  # standard deviation of its logarithm
    far: float = 0.382  # move of the others in the second test, in widths of the box, round it by the golden section
    coupled: float = 0.35  # figure of the test above which f is no sum of many functions; less of few
    tested_run: float = 44.0  # least readings of a run in which the test is made,
    retested_run: float = 100.0  # and both tests
    early: int = 5  # dimensions from which on it is made after the first basin; in fewer, two are found first
    share: float = 0.12  # of the readings for a sweep, within
    shortest: float = 64.0
    longest: float = 128.0
    fine: float = 32.0  # readings below which ripples of a tenth of the box are lost
    most: float = 0.45  # share of a short run that a sweep may take, if that is not below the line above
    room: float = 1.3  # a later sweep needs so many times its own readings before the end
    kept: float = 0.3  # share of the predicted decrease that must come true

    name: ClassVar[str] = "separable sum"
    mode: ClassVar[Mode] = Mode.ESCAPE
    sweeps: ClassVar[bool] = True
    phases: ClassVar[tuple[str, ...]] = ("test", "retest", "sweep", "lowest")

    def blank(self, ops: Any, spec: Spec) -> SeparableSumMemory | None:
        if spec.values_only or spec.dimension < 2:
            return None
        d, dtype = spec.dimension, spec.dtype
        zeros, zero = (lambda: ops.xp.zeros(d, dtype)), ops.real(0.0, dtype)
        sweep = Sweep.blank(ops, d, dtype)
        eps, no = ops.real(spec.eps, dtype), ops.flag(False)
        return SeparableSumMemory(
            ops.whole(TEST), zeros(), zeros(), zeros(), zero, sweep, zero, no, ops.flag(True), no, eps
        )

    def offer(self, ops: Any, memory: SeparableSumMemory, board: Board) -> Offer:
        if not ops.traced and board.structure != UNTESTED and not (board.structure == SUM and board.scored):
            return NOT_NOW
        d = board.base.shape[0]
        length = self.length(ops, board.readings)
        untested = (board.structure == UNTESTED) & (board.readings >= self.tested_run) & (board.base_f < FOREVER)
        fits, several = board.left > self.room * length, board.spread > 0
        basin = board.scored if d >= self.early else board.scored & several
        again = (board.structure == SUM) & board.scored & several & fits
        if d <= self.tested_run:
            return bid(ops, (untested & basin & fits) | again, 8.0, cost=length)
        # Where one descent is most of the run, it is interrupted.
        short = board.readings < min(self.retested_run, d)
        granted = board.readings - 1.0 - self.room * length
        begun = board.interrupted & (board.predicted > 0)  # else only a family's memory was read so far
        opened = ops.pick(board.fresh, granted < 1.0, begun)
        ready = untested & ops.pick(short, opened, basin & fits)
        wake = ops.pick(untested & short & ops.no(opened), granted, FOREVER)
        return bid(ops, ready | again, 8.0, cost=length)._replace(wake=wake)

    def length(self, ops: Any, readings: Any) -> Any:
        """Readings of a sweep in a run of so many."""
        usual = ops.min(ops.max(self.share * readings, self.shortest), self.longest)
        return ops.floor(ops.min(usual, ops.max(self.most * readings, self.fine)))

    def threshold(self, d: int) -> float:
        """Chance decides more often where there are few coordinates."""
        return self.coupled * max(1.0 - d**-0.5, 0.05)

    def open(
        self, ops: Any, memory: SeparableSumMemory, board: Board, plant: Plant, draws: Callable[[], Draws]
    ) -> SeparableSumMemory:
        u, z = draws()
        lower, upper = searched(ops, board)
        target = moved_half(ops, board.base, board.base_g, u[2:], z, lower, upper, self.test_step, self.test_spread)
        known = board.structure == SUM
        phase = ops.pick(known, ops.whole(SWEEP), ops.whole(TEST))
        return memory._replace(phase=phase, target=target, paid=ops.flag(True), begins=ops.flag(known))

    def _begun(self, ops: Any, memory: SeparableSumMemory, board: Board) -> SeparableSumMemory:
        """A sweep from the base."""
        length = self.length(ops, board.readings)
        sweep = Sweep.begin(ops, board.base, board.base_g, *searched(ops, board), length)
        return memory._replace(sweep=sweep, begins=ops.flag(False))

    def observe(
        self, ops: Any, memory: SeparableSumMemory, board: Board, plant: Plant
    ) -> tuple[SeparableSumMemory, Any]:
        phase = memory.phase
        memory = ops.when(phase <= RETEST, lambda m: self._tested(ops, m, board, plant), memory)
        memory = ops.when(phase == SWEEP, lambda m: self._swept(ops, m, board, plant), memory)
        sound = memory.coupling < self.threshold(plant.q.shape[0])
        unseen = resolution(memory.eps, board.base_f)
        paid = board.base_f - plant.f > self.kept * memory.predicted + unseen
        paid = paid | (board.escapes == 0)  # the first sweep may start too high to be exact
        memory = memory._replace(paid=ops.flag(ops.no(phase == LOWEST) | paid))
        refuted = ops.pick(phase <= RETEST, ops.no(sound), (phase == LOWEST) & ops.no(paid))
        one = ops.no(memory.wavy | (board.spread > 0)) & board.scored  # minimum is known, and there is no sign of more
        cause = ends(ops, (phase == LOWEST) | ((memory.phase == SWEEP) & one), Cause.DONE)
        return memory, ops.pick(refuted, ops.whole(int(Cause.REJECTED)), cause)

    def _tested(self, ops: Any, memory: SeparableSumMemory, board: Board, plant: Plant) -> SeparableSumMemory:
        again = memory.phase == RETEST
        place, force = ops.pick(again, (memory.tried, memory.tried_g), (board.base, board.base_g))
        told = ops.pick(again, 1.0, 2.0)
        coupling = coupling_of(ops, place, force, plant, board.noise_std, told)
        coupling = ops.pick(again, ops.max(coupling, memory.coupling), coupling)
        enough = again | (board.readings < self.retested_run)
        return memory._replace(
            coupling=coupling,
            wavy=ops.flag(memory.wavy | points_away(ops, place, plant)),
            tried=ops.pick(again, memory.tried, plant.q),
            tried_g=ops.pick(again, memory.tried_g, plant.g),
            phase=ops.pick(enough, ops.whole(SWEEP), ops.whole(RETEST)),
            target=self._retest_place(ops, board, plant.q),
            begins=ops.flag(enough),
        )

    def _retest_place(self, ops: Any, board: Board, tried: Any) -> Any:
        """What the first test moved stays as it is there; the others go far."""
        lower, upper = searched(ops, board)
        ahead = board.base + self.far * (upper - lower)
        away = ops.where(ahead > upper, ahead - (upper - lower), ahead)
        return ops.where(has_moved(board.base, tried), tried, away)

    def _swept(self, ops: Any, memory: SeparableSumMemory, board: Board, plant: Plant) -> SeparableSumMemory:
        sweep = sweep_reading(ops, memory.sweep, plant.q, plant.g, plant.finite, split=False)
        memory = memory._replace(sweep=sweep)
        return ops.cond(sweep.steps >= sweep.length, lambda: self._finished(ops, memory), lambda: memory)

    def _finished(self, ops: Any, memory: SeparableSumMemory) -> SeparableSumMemory:
        lowest, predicted = lowest_place(ops, memory.sweep, split=False)
        return memory._replace(target=lowest, predicted=predicted, phase=ops.whole(LOWEST))

    def propose(
        self, ops: Any, memory: SeparableSumMemory, board: Board, plant: Plant, step: Step
    ) -> tuple[SeparableSumMemory, Stepped, Any]:
        memory = ops.when(memory.begins, lambda m: self._begun(ops, m, board), memory)
        target = ops.cond(
            memory.phase == SWEEP, lambda: sweep_target(ops, memory.sweep, split=False)[0], lambda: memory.target
        )
        return memory, step(Move(target)), goes_on(ops)

    def evidence(self, ops: Any, memory: SeparableSumMemory, board: Board, plant: Plant) -> Evidence:
        sound = memory.coupling < self.threshold(plant.q.shape[0])
        swept = ops.pick(memory.paid, ops.whole(SUM), ops.whole(SWEPT))
        return found(
            ops,
            plant,
            fresh=after_survey(ops, board, plant),
            structure=ops.pick(sound, swept, ops.whole(COUPLED)),
        )

    def phase(self, ops: Any, memory: SeparableSumMemory) -> Any:
        return memory.phase


def has_moved(base: Any, q: Any) -> Any:
    return abs(q - base) > TEST_LEAST


def points_away(ops: Any, bottom: Any, plant: Plant) -> Any:
    """Whether the force on a coordinate that was moved from a bottom drives it further away."""
    return ops.any(plant.g * (bottom - plant.q) > TEST_LEAST * abs(plant.g))


def moved_half(
    ops: Any, base: Any, force: Any, u: Any, z: Any, lower: Any, upper: Any, median: float, spread: float
) -> Any:
    """About half of the coordinates moved down `force`, or up where that leaves the box."""
    xp = ops.xp
    order = xp.arange(base.shape[0])
    chosen = ((u < 0.5) & (order != u.argmax())) | (order == u.argmin())
    length = median * xp.exp(spread * z)
    move = ops.where(chosen, ops.where(force > 0, -length, length), 0.0)
    inside = (base + move >= lower) & (base + move <= upper)
    return xp.minimum(xp.maximum(ops.where(inside, base + move, base - move), lower), upper)


def coupling_of(ops: Any, base: Any, base_g: Any, plant: Plant, noise_std: Any, base_readings: Any) -> Any:
    """Change of the force on coordinates that stayed, per change of the force on those that moved; +inf if nothing can
    be told. The base's force is the mean of `base_readings`."""
    stayed = ops.where(has_moved(base, plant.q), 0.0, 1.0).astype(base.dtype)
    count = stayed.sum()
    along, before = (stayed * plant.g).dot(base_g), (stayed * base_g).dot(base_g)
    common = (count >= LEAST_LEFT) & (before > 0)
    ratio = along / ops.pick(before > 0, before, 1.0)
    factor = ops.pick(common, ops.min(ops.max(ratio, LEAST_FACTOR), LARGEST_FACTOR), 1.0)
    noise = ops.max(noise_std, 0.0) ** 2
    change = stayed * (plant.g - factor * base_g)
    others = change.dot(change) / ops.max(count - ops.pick(common, 1.0, 0.0), 1.0)
    others = ops.max(others - (1.0 + factor**2 / base_readings) * noise, 0.0)
    change = (1.0 - stayed) * (plant.g - base_g)
    own = change.dot(change) / ops.max(base.shape[0] - count, 1.0) - NOISE_IN_MOVED * noise
    tells = plant.finite & (count > 0) & (own > 0)
    return ops.pick(tells, ops.sqrt(others / ops.pick(tells, own, 1.0)), FOREVER)
