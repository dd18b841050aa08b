"""Read places where runs on other problems of a family found their best basins (eq. dp_subgoal).

    opening   after x0, the first `opening` places, one reading each; the lowest of them and x0 is descended from
    later     if `later`, after a basin, one more place: the next of the list, then draws from the kernel density
              around the first `centres` of them, q_bar = place + width z, z ~ N(0, I)

With `profiles`, the values that instances of training have at all places, an order of places is found within the run.
A new instance is nearly a linear combination of those: with Z the profiles, R the places read and y their values above
that of the first one, none counted above their median,

    a = argmin |y - Z_R^T a|^2 + lambda |a|^2,      the next place is the lowest of Z^T a among those not read.

This is the posterior mean of a Gaussian process over the places whose covariance is the family's second moment. It
needs neither the scale nor the level of f.

The memory must pay within the run. It is dropped at once, and the opening ends, if the place is not what places of the
family are: if it is not lower than x0 by as much as there (`fall`),

    f(x0) - f(place) < fall |g(x0)| |x0 - place|,

or if the force is not as small against that at x0 (`calm`). With profiles and readings of values alone, it is
judged by the values of the first three places: if

    f(x0) - middle < fall (highest - lowest).

A later place whose basin is not lower than the base is a
failure, and a success makes up for two; where failures are too many, the memory is dropped, too. While it is
believed it bids, if only less than any other tactic; when it is dropped it bids no more, which the family's planner
looks at (planner/family.py). A run on another family is then an untrained one, less the readings made here.

Departs from the paper: its subgoal is a network's, made from the memory of the run itself.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..core.board import Board, Draws, Evidence, Offer, Plant, Spec, searched
from ..core.codes import Cause, Mode
from ..dynamics.move import Move, Stepped
from .base import AbstractTactic, Step, bid, ends, found, goes_on
from .hop import reflect

INF = float("inf")
OPENING, LATER = range(2)
BELIEVED = 0.5  # bid of a memory that has nothing to read now: below a hop's, which is always there
RIDGE = 1e-3  # lambda, in mean squares of a profile's values, times instances
JUDGED = 3  # places by whose values a memory with profiles is judged
Places = tuple[tuple[float, ...], ...]


class RecallMemory(NamedTuple):
    """How far the list was read, the lowest place of the opening, and how the memory has paid."""

    phase: Any
    read: Any  # places so far
    target: Any
    q: Any  # lowest place of the opening, its value and force
    f: Any
    g: Any
    failures: Any
    successes: Any
    tried: Any  # whether a later place was read, and is to be judged
    escapes: Any  # basins left when it was,
    base_f: Any  # and the base's value then
    values: Any  # of all places, as far as they were read; infinite: not read
    row: Any  # the place that is read next


@dataclass(frozen=True)
class Recall(AbstractTactic):
    """Anchors from a family's memory; `training` makes the places, in internal coordinates, the best first."""

    places: Places = ()
    width: tuple[float, ...] = ()  # of the kernel, by coordinate
    opening: int = 1  # places that are read before the first descent
    centres: int = 1  # places around which later ones are drawn
    calm: float = INF  # largest force after the opening, as a share of that at x0, with which the memory is believed
    fall: float = 0.0  # least fall from x0 to the opening, as a share of force times distance, likewise
    later: bool = False  # whether places are read after basins, too
    profiles: Places = ()  # values of training instances at all places, above that of the first place; or none
    patience: int = 2  # failures after which it bids no more; a success makes up for two

    name: ClassVar[str] = "recall"
    mode: ClassVar[Mode] = Mode.ESCAPE
    phases: ClassVar[tuple[str, ...]] = ("opening", "later")
    uses_force: ClassVar[bool] = False

    def __post_init__(self) -> None:
        sizes = {len(place) for place in (*self.places, self.width)}
        if not self.places or len(sizes) > 1:
            raise ValueError(f"`places` and `width` must have the same coordinates; got {len(self.places)} of {sizes}.")
        wrong = {len(row) for row in self.profiles} - {len(self.places)}
        if wrong:
            raise ValueError(f"`profiles` must have values at {len(self.places)} places; got {sorted(wrong)}.")
        for name, value in (("opening", self.opening), ("centres", self.centres)):
            if not 1 <= value <= len(self.places):
                raise ValueError(f"`{name}` must be from 1 to the {len(self.places)} places; got {value}.")

    def blank(self, ops: Any, spec: Spec) -> RecallMemory | None:
        if spec.dimension != len(self.width):
            raise ValueError(f"`places` must have {spec.dimension} coordinates; got {len(self.width)}.")
        zeros = lambda: ops.xp.zeros(spec.dimension, spec.dtype)  # noqa: E731
        no, none, infinite = ops.flag(False), ops.whole(0), ops.real(INF, spec.dtype)
        values = ops.xp.full(len(self.places), ops.xp.inf, spec.dtype)
        return RecallMemory(
            ops.whole(OPENING), none, zeros(), zeros(), infinite, zeros(), none, none, no, none, infinite, values, none
        )

    def offer(self, ops: Any, memory: RecallMemory, board: Board) -> Offer:
        opens = (memory.read == 0) & (board.escapes == 0)
        failures, successes = self._judged(ops, memory, board)
        believed = failures < self.patience + 2 * successes
        reads = board.scored & (memory.read > 0) & self.later
        amount = ops.pick(opens, 9.5, ops.pick(reads, 3.0, BELIEVED))
        return bid(ops, opens | believed, amount, cost=ops.pick(opens, float(self.opening), 1.0))

    def _judged(self, ops: Any, memory: RecallMemory, board: Board) -> tuple[Any, Any]:
        """(failures, successes) with the last later place, of which the basin after it tells."""
        lower = (board.escapes == memory.escapes + 1) & (board.base_f < memory.base_f)
        paid, failed = memory.tried & lower, memory.tried & ops.no(lower)
        one, none = ops.whole(1), ops.whole(0)
        return memory.failures + ops.pick(failed, one, none), memory.successes + ops.pick(paid, one, none)

    def open(
        self, ops: Any, memory: RecallMemory, board: Board, plant: Plant, draws: Callable[[], Draws]
    ) -> RecallMemory:
        failures, successes = self._judged(ops, memory, board)
        opens = memory.read == 0
        memory = memory._replace(row=self._next(ops, memory))
        return memory._replace(
            phase=ops.whole(ops.pick(opens, OPENING, LATER)),
            target=self._place(ops, memory, board, draws),
            failures=failures,
            successes=successes,
            tried=ops.no(opens),
            escapes=board.escapes,
            base_f=board.base_f,
        )

    def _place(self, ops: Any, memory: RecallMemory, board: Board, draws: Callable[[], Draws]) -> Any:
        """The next place of the list; after its end a draw from the density."""
        xp, (u, z), count = ops.xp, draws(), len(self.places)
        listed = memory.read < count
        drawn = ops.whole(u[0] * self.centres)
        row = ops.pick(listed, memory.row, ops.pick(drawn < self.centres, drawn, ops.whole(self.centres - 1)))
        dtype = memory.target.dtype
        width = ops.pick(listed, 0.0, 1.0) * xp.asarray(np.array(self.width), dtype)
        lower, upper = searched(ops, board)
        return reflect(ops, self._rows(ops, dtype)[row] + width * z, lower, upper)

    def _next(self, ops: Any, memory: RecallMemory) -> Any:
        """The row of the next place of the list."""
        listed = memory.read < len(self.places)
        row = ops.whole(ops.pick(listed, memory.read, 0))
        if not self.profiles:
            return row
        return ops.cond(listed & (memory.read >= JUDGED), lambda: self._expected(ops, memory), lambda: row)

    def _expected(self, ops: Any, memory: RecallMemory) -> Any:
        """The place that is expected to be the lowest of those not read."""
        xp = ops.xp
        profiles = np.array(self.profiles)
        read = memory.values < INF
        Z = xp.asarray(profiles, memory.values.dtype)
        middle = xp.sort(memory.values)[(memory.read - 1) // 2]
        y = ops.where(read, xp.minimum(memory.values, ops.max(middle, memory.values[0])) - memory.values[0], 0.0)
        Z_R = ops.where(read[None, :], Z, 0.0)
        ridge = RIDGE * float((profiles**2).mean()) * len(profiles)
        combined = ops.solve(Z_R @ Z_R.T + ridge * xp.eye(len(profiles), dtype=Z.dtype), ops.times(Z_R, y))
        return ops.whole(ops.where(read, INF, ops.times(Z.T, combined)).argmin())

    def _rows(self, ops: Any, dtype: Any) -> Any:
        return ops.xp.asarray(np.array(self.places), dtype)

    def observe(self, ops: Any, memory: RecallMemory, board: Board, plant: Plant) -> tuple[RecallMemory, Any]:
        lowest = plant.finite & (plant.f < memory.f)
        q, f, g = ops.pick(lowest, (plant.q, plant.f, plant.g), (memory.q, memory.f, memory.g))
        read, values = memory.read + 1, memory.values
        if self.profiles:
            values = ops.put(values, memory.row, ops.pick(plant.finite, plant.f, board.base_f))
        strange = self._is_strange(ops, board, values, read, q, f, g)
        dropped = (memory.phase == OPENING) & strange
        over = (memory.phase == LATER) | dropped | (read >= self.opening)
        memory = memory._replace(
            q=q,
            f=f,
            g=g,
            read=read,
            failures=memory.failures + ops.pick(dropped, ops.whole(self.patience), ops.whole(0)),
            values=values,
        )
        row = self._next(ops, memory)
        return memory._replace(row=row, target=self._rows(ops, q.dtype)[row]), ends(ops, over, Cause.DONE)

    def _is_strange(self, ops: Any, board: Board, values: Any, read: Any, q: Any, f: Any, g: Any) -> Any:
        """Whether what was read is not what places of the family are."""
        if self.profiles and not self.calm < INF:  # readings are values alone
            first = values[:JUDGED]
            low, middle, high = first.min(), ops.xp.sort(first)[JUDGED // 2], first.max()
            return (read == JUDGED) & ops.no(board.base_f - middle > self.fall * (high - low))
        steep = ops.norm(board.base_g)
        least = self.fall * steep * ops.norm(q - board.base)
        return ops.no(board.base_f - f > least) | (ops.norm(g) > self.calm * steep)

    def propose(
        self, ops: Any, memory: RecallMemory, board: Board, plant: Plant, step: Step
    ) -> tuple[RecallMemory, Stepped, Any]:
        return memory, step(Move(memory.target)), goes_on(ops)

    def evidence(self, ops: Any, memory: RecallMemory, board: Board, plant: Plant) -> Evidence:
        """After the opening its lowest place may be the new base, from which the first descent begins."""
        opened = memory.phase == OPENING
        q, f, g = ops.pick(opened, (memory.q, memory.f, memory.g), (plant.q, plant.f, plant.g))
        fresh = ops.flag(ops.no(opened) & plant.finite)
        return found(ops, plant, fresh=fresh, rebase=ops.flag(opened))._replace(q=q, f=f, g=g)

    def phase(self, ops: Any, memory: RecallMemory) -> Any:
        return memory.phase
