"""Several trajectories of one run whose calls are under way at the same time; timing has no part in what comes out.

Calls are numbered by rounds: call n is reading n // P of trajectory n % P. A trajectory goes on as soon as its own
reading is there, and knows of the others what they had found `lead` readings before:

    reading t of a trajectory is taken in once all others have taken in reading t - lead
    before it, the board takes over what they reported up to there: the best basin, basins to archive, facts

So a slow call delays its own trajectory alone until the others are `lead` readings ahead of it, and the same seed and
number of trajectories give the same run, whatever calls it and however long that takes. Readings join the record in the
order of their numbers, and what ends a run early is looked at in that order.

Departs from the paper: it has one trajectory.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..core.board import COUPLED, UNTESTED, Board
from ..core.codes import Status
from ..core.reading import Reading
from ..memory import no_basins, write_basin
from ..ops import HOST
from ..oracles.calls import Call, Calls
from ..oracles.journal import WITH_NUMBERS, Kept
from .host import Advance, HostRun

LEAST_LEAD = 16  # readings that a trajectory may be ahead of another,
LEAD_SHARE = 4  # and as a part of its own readings (one in so many)
OPEN = ("start", "hop", "refine", "interpolate")  # tactics in whose stages the base may change


class Facts(NamedTuple):
    """What a trajectory reports when a stage ends."""

    step: int  # reading after which it does
    board: Board
    basin: tuple[np.ndarray, float] | None  # that was archived, if one was
    left: int  # basins left in all


class Trajectories:
    """The trajectories of a run that has no reading yet; `calls` of its budget are left to them."""

    def __init__(self, run: HostRun, lead: int | None = None) -> None:
        count, dimension = run.particles, run.problem.x0.size
        self.run = run
        self.lead = max(LEAST_LEAD, run.budget // (LEAD_SHARE * count)) if lead is None else lead
        self._arrived: list[Reading | None] = [None] * count
        self._steps = [0] * count  # readings taken in
        self._waiting: list[deque[Advance]] = [deque() for _ in range(count)]  # to join the record
        self._facts: list[list[Facts]] = [[] for _ in range(count)]
        self._known = [[0] * count for _ in range(count)]  # reports of each that each has taken over
        self._logged = 0
        self._shown = [0] * count  # reports of each that are in the run's archive
        self._archive = run.archive = no_basins(HOST, dimension, run.problem.x0.dtype)
        run.separate_basins()

    def number(self, i: int) -> int:
        """The number, from 0, of the next call of trajectory i."""
        return self._steps[i] * self.run.particles + i

    def point(self, i: int) -> np.ndarray:
        """Where it is made."""
        return self.run.next_point(i)

    def arrive(self, i: int, reading: Reading) -> None:
        """The reading of the call of trajectory i that was under way."""
        self._arrived[i] = reading

    def advance(self, share: int) -> list[int]:
        """Take in readings that have arrived, as far as `lead` allows in runs of `share` calls; whose they were."""
        moved: list[int] = []
        while True:
            ready = [i for i in range(self.run.particles) if self._may_advance(i, share)]
            if not ready:
                return moved
            for i in ready:
                self._advance(i)
            moved += ready

    def log(self, calls: int) -> bool:
        """Move the next reading, in the order of numbers, to the record; False where it is not there yet. `calls` were
        made before the first one."""
        i = self._logged % self.run.particles
        if not self._waiting[i]:
            return False
        self.run.keep(self._waiting[i].popleft(), calls + self._logged + 1)
        step = self._logged // self.run.particles + 1
        for facts in self._facts[i][self._shown[i] :]:
            if facts.step > step:
                break
            self._shown[i] += 1
            if facts.basin is not None:
                write_basin(HOST, self._archive, *facts.basin)
        self._logged += 1
        return True

    def _may_advance(self, i: int, share: int) -> bool:
        if self._arrived[i] is None:
            return False
        due, count = self._steps[i] - self.lead, self.run.particles
        return all(self._steps[j] >= due or self._steps[j] * count + j >= share for j in range(count))

    def _advance(self, i: int) -> None:
        run, reading = self.run, self._arrived[i]
        assert reading is not None
        self._take_over(i)
        before, values, visits = run.state(i).board, *_copied(run.state(i).board)
        x = run.next_point(i)
        info = run.advance(i, float(reading.value), reading)
        self._arrived[i] = None
        self._steps[i] += 1
        board = run.state(i).board
        noisy = float(board.noise_std) > 0
        self._waiting[i].append(Advance(x, float(reading.value), info, run.next_point(i), reading.gradient, noisy))
        if info[2]:
            changed = np.flatnonzero((board.basins.values != values) | (board.basins.visits != visits))
            rows = [(board.basins.points[row].copy(), float(board.basins.values[row])) for row in changed[:1]]
            left = int(board.escapes) - int(before.escapes)
            self._facts[i].append(Facts(self._steps[i], board, rows[0] if rows else None, left))

    def _take_over(self, i: int) -> None:
        """What the others reported up to `lead` readings ago, where the stage under way allows it."""
        run, due = self.run, self._steps[i] - self.lead
        if run.active(i) not in OPEN:
            return
        for j in range(run.particles):
            while j != i and self._known[i][j] < len(self._facts[j]):
                facts = self._facts[j][self._known[i][j]]
                if facts.step > due:
                    break
                self._known[i][j] += 1
                run.replace_board(i, merged(run.state(i).board, facts))


def merged(board: Board, facts: Facts) -> Board:
    """The board of a trajectory that hears what another one reported."""
    other = facts.board
    if facts.basin is not None:
        write_basin(HOST, board.basins, *facts.basin)
    lower = bool(other.base_f < board.base_f)
    return board._replace(
        base=other.base if lower else board.base,
        base_f=other.base_f if lower else board.base_f,
        base_g=other.base_g if lower else board.base_g,
        left_f=min(board.left_f, other.base_f) if board.escapes > 0 else board.left_f,
        escapes=board.escapes + facts.left,
        spread=other.spread if board.spread == 0 else board.spread,
        noise_std=other.noise_std if board.noise_std < 0 else board.noise_std,
        structure=COUPLED if board.structure == UNTESTED and other.structure == COUPLED else board.structure,
        small_basins=bool(board.small_basins or other.small_basins),
        reach=max(board.reach, other.reach),
    )


def _copied(board: Board) -> tuple[np.ndarray, np.ndarray]:
    return board.basins.values.copy(), board.basins.visits.copy()


def spend(tracks: Trajectories, calls: Calls, first: Reading, made: int, look: Callable[[], Status | None]) -> Status:
    """Spend the budget: `first` is the reading of the first trajectory, for which `made` calls were made."""
    run = tracks.run
    before = made - 1  # calls that are no reading's
    share = run.budget - before
    tracks.arrive(0, first)
    for i in range(1, run.particles):
        _submit(tracks, calls, i, before, share)
    while True:
        for i in tracks.advance(share):
            _submit(tracks, calls, i, before, share)
        while tracks.log(before):
            if (status := look()) is not None:
                return status
        if not calls:
            return Status.BUDGET_SPENT
        for call, kept in calls.ended():
            tracks.arrive(call.particle, reading_of(kept, call.x))


def _submit(tracks: Trajectories, calls: Calls, i: int, before: int, share: int) -> None:
    number = tracks.number(i)
    if number < share:
        calls.submit(Call(before + number + 1, i, tracks.point(i)))


def reading_of(kept: Kept, x: np.ndarray) -> Reading:
    """A call's outcome as a reading; nothing finite where it failed."""
    failed = kept.kind not in WITH_NUMBERS
    gradient = np.zeros_like(x) if kept.gradient is None else kept.gradient
    numbers: Any = (x.dtype.type(kept.value), np.full_like(x, np.nan) if failed else gradient, np.int32(1))
    return Reading(*numbers)
