"""Descend where values are noisy: from several places, each by quadratics fitted to readings near it (local_fit.py).

    spread   a few places that fill the box evenly; the lowest readings of the run that are apart are the candidates
    fit      a reading for one of them, by evidence (candidates.py): its centre moves to the minimum of its quadratic
             within `radius` of h, and the reading is made beside it, at c + `aside` h z / sqrt(d), z ~ N(0, I)

So each reading tells something of the value and of the curvature, and noise averages out over all of them. Readings
crowd around a centre, so h shrinks by itself. A fit uses no more readings than were made for its candidate (or 2 d + 1
at first), and so is local from the beginning; the only candidate of a short run uses all of them.

The stage begins once noise is known, and lasts to the end of the run. The point that a run gives back is then the
reading whose fitted value is lowest, in the region of the candidate for which mean + error is least.

Departs from the paper: not in it; there a noisy force is averaged by momentum.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..core.board import Board, Draws, Estimate, Evidence, Offer, Plant, Spec, searched
from ..core.codes import Mode
from ..dynamics.move import Move, Stepped
from ..ops.random import normal
from .base import AbstractTactic, Step, bid, found, goes_on
from .candidates import Candidates, blank, lowest_apart, next_one
from .local_fit import LocalFit
from .places import spread_place
from .trust_region import in_sphere

FROM = 5 * 2**28  # counters of readings begin here
INF = float("inf")
SPREAD, FIT = range(2)


class RegressMemory(NamedTuple):
    """The last readings of the run, and the candidates."""

    points: Any
    values: Any  # +inf in rows without a finite reading
    read: Any  # readings of the run
    begun: Any  # whether the stage has begun
    places: Any  # spread places still to be read
    fall: Any  # how far a descent may fall
    candidates: Candidates


@dataclass(frozen=True)
class Regress(AbstractTactic):
    """Readings around the minima of fitted quadratics, in runs of values that are known to be noisy."""

    fit: LocalFit = field(default_factory=LocalFit)
    radius: float = 0.7  # of h, within which a centre moves
    aside: float = 0.2  # of h, from the centre, at which readings are made
    look: float = 3.0  # readings after which a descent is at the bottom, coarsely, in coefficients without products
    looks: float = 0.4  # share of the calls left that candidates may take for so many readings each
    share: float = 0.15  # of the calls left, for spread places, if there is room for another candidate
    most_candidates: int = 6
    repeats: float = 2.0  # degrees of freedom of the noise that was measured at the base
    room: int = 256  # readings that are kept, or twice those of a fit if these are more
    most: int = 64  # dimensions

    name: ClassVar[str] = "regress"
    mode: ClassVar[Mode] = Mode.ESCAPE
    phases: ClassVar[tuple[str, ...]] = ("spread", "fit")
    uses_force: ClassVar[bool] = False
    watches: ClassVar[bool] = True

    def blank(self, ops: Any, spec: Spec) -> RegressMemory | None:
        d, dtype, xp = spec.dimension, spec.dtype, ops.xp
        if not spec.values_only or d > self.most:
            return None
        room = max(self.room, 2 * self.fit.readings(d))
        return RegressMemory(
            points=xp.zeros((room, d), dtype),
            values=xp.full(room, xp.inf, dtype),
            read=ops.whole(0),
            begun=ops.flag(False),
            places=ops.whole(0),
            fall=ops.real(0.0, dtype),
            candidates=blank(ops, self.most_candidates, d, dtype),
        )

    def watch(self, ops: Any, memory: RegressMemory, board: Board, plant: Plant) -> tuple[RegressMemory, Any]:
        row = ops.remainder(memory.read, memory.values.shape[0])
        memory = memory._replace(
            points=ops.put(memory.points, row, plant.q),
            values=ops.put(memory.values, row, plant.f),
            read=memory.read + 1,
        )
        return memory, ops.flag(False)

    def offer(self, ops: Any, memory: RegressMemory, board: Board) -> Offer:
        d = board.base.shape[0]
        return bid(ops, (board.value_noise > 0) & (memory.read > 2 * d + 1), 8.0, cost=board.left)

    # ------------------------------------------------------------------------------------------- candidates

    def _look(self, d: int) -> float:
        return self.look * self.fit.few(d)

    def open(
        self, ops: Any, memory: RegressMemory, board: Board, plant: Plant, draws: Callable[[], Draws]
    ) -> RegressMemory:
        d = plant.q.shape[0]
        calls = board.left * (d + 1.0)
        several = self.looks * calls >= self._look(d)
        places = ops.pick(several, ops.whole(self.share * calls), ops.whole(0))
        memory = memory._replace(begun=ops.flag(True), places=places)
        return ops.when(places == 0, lambda old: self._chosen(ops, old, board), memory)

    def _chosen(self, ops: Any, memory: RegressMemory, board: Board) -> RegressMemory:
        """With as many candidates as there are calls for; one alone has all readings."""
        xp, d = ops.xp, memory.points.shape[1]
        most = 1.0 + self.looks * board.left * (d + 1.0) / self._look(d)
        found = lowest_apart(ops, board, memory.points, memory.values, self.most_candidates, most, board.value_noise)
        count = ops.whole((memory.values < INF).sum())
        ranked = xp.sort(memory.values)
        all_of_them = ops.pick(most < 2.0, ops.real(memory.values.shape[0], memory.values.dtype), 0.0)
        return memory._replace(
            fall=ops.real(0.5 * (ranked[count // 2] - ranked[0]), memory.values.dtype),
            candidates=found._replace(steps=found.steps + all_of_them),
        )

    def observe(self, ops: Any, memory: RegressMemory, board: Board, plant: Plant) -> tuple[RegressMemory, Any]:
        last = memory.places == 1
        memory = memory._replace(places=ops.whole(ops.pick(memory.places > 0, memory.places - 1, 0)))
        return ops.when(last, lambda old: self._chosen(ops, old, board), memory), goes_on(ops)

    # ---------------------------------------------------------------------------------------------- the next

    def propose(
        self, ops: Any, memory: RegressMemory, board: Board, plant: Plant, step: Step
    ) -> tuple[RegressMemory, Stepped, Any]:
        memory, target = ops.cond(
            memory.places > 0,
            lambda: (memory, spread_place(ops, board.key, 2, memory.places, *searched(ops, board))),
            lambda: self._fitted(ops, memory, board),
        )
        return memory, step(Move(target)), goes_on(ops)

    def _fitted(self, ops: Any, memory: RegressMemory, board: Board) -> tuple[RegressMemory, Any]:
        """With a candidate's centre moved, and a place beside it."""
        xp, d, dtype = ops.xp, memory.points.shape[1], memory.points.dtype
        lower, upper = searched(ops, board)
        inside = lambda q: xp.minimum(xp.maximum(q, lower), upper)  # noqa: E731
        old = memory.candidates
        k = next_one(ops, old, memory.fall, self._look(d))
        fit = self.fit(ops, memory.points, memory.values, old.centres[k], old.steps[k])
        g, H = self.fit.derivatives(ops, fit.b, d)
        centre = inside(old.centres[k] + fit.h * in_sphere(ops, g, H, self.radius))
        z = (centre - old.centres[k]) / fit.h
        level = fit.lowest + fit.b[0] + ops.dot(g, z) + 0.5 * ops.dot(z, ops.times(H, z))
        at_centre = xp.asarray(np.arange(fit.b.shape[0]) == 0, dtype)
        error = self.fit.error(ops, fit, at_centre, board.value_noise**2, self.repeats)
        candidates = Candidates(
            centres=ops.put(old.centres, k, centre),
            levels=ops.put(old.levels, k, level),
            errors=ops.put(old.errors, k, error),
            steps=ops.put(old.steps, k, old.steps[k] + 1.0),
        )
        beside = normal(ops, board.key, FROM + memory.read, d, dtype)
        return memory._replace(candidates=candidates), inside(centre + (self.aside / d**0.5) * fit.h * beside)

    # --------------------------------------------------------------------------------------------- the answer

    def estimate(self, ops: Any, memory: RegressMemory) -> Estimate | None:
        if not memory.begun:
            return None
        centres, levels, _, steps = memory.candidates
        rows = np.flatnonzero((levels < INF) & (steps > 0))
        made = [self._estimate(ops, memory, centres[k], steps[k]) for k in rows]
        return min(made, key=lambda one: one.mean + one.error, default=None)

    def _estimate(self, ops: Any, memory: RegressMemory, centre: np.ndarray, most: float) -> Estimate:
        """The reading whose fitted value is lowest, near a centre."""
        fit = self.fit(ops, memory.points, memory.values, centre, most)
        fitted = np.where(fit.weights > 0, fit.A @ fit.b, INF)
        i = int(fitted.argmin())
        error = self.fit.error(ops, fit, fit.A[i], 0.0, 0.0)
        row = fit.rows[i]
        return Estimate(memory.points[row] + 0.0, float(memory.values[row]), float(fit.lowest + fitted[i]), error)

    def evidence(self, ops: Any, memory: RegressMemory, board: Board, plant: Plant) -> Evidence:
        return found(ops, plant, fresh=ops.flag(False))

    def wants_force(self, ops: Any, memory: RegressMemory) -> Any:
        return ops.flag(False)

    def phase(self, ops: Any, memory: RegressMemory) -> Any:
        return ops.pick(memory.places > 0, ops.whole(SPREAD), ops.whole(FIT))
