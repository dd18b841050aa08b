"""Descend into a basin by a quasi-Newton method, and leave it as soon as it is known or can't pay.

One reading a trial, each made from the incumbent (q, f, g) by the step of a secant model inside a radius and the box:

    s = -A g on free coordinates, |s| <= radius      A: the model's inverse Hessian (dynamics/dense.py, inverse.py)
    r = (f - f(q + s)) / (-(g.s + s.B s / 2))        decrease, as a share of what the model predicts

The trial becomes the incumbent if r > 1e-4. The radius shrinks to the minimum of the cubic through both ends where
r < 1/4, and grows to where the slope's secant vanishes, at most tenfold, where r > 3/4 and it was in the way. Along an
accepted step that met no curvature the model is lengthened. Trials that are rejected teach curvature too, unless they
are far from what was predicted. A trial that has left the basin for a plateau is rejected, too. A model that predicts
no decrease is replaced by its scale before the basin counts as converged. These are overdamped steps with M = h^2 B:
the refine limit.

    converged   no decrease is predicted that could be seen, by the model or by its scale alone; or the last step
                gained, and the next one predicts, next to none of what the steps before it gained, or of the spread
                between basins. The best basin is resumed after some others that were not lower,
                and before the run ends.
    stall       the radius is too short
    clock       values do not fit forces at all, or not well though trials were rejected in a row or the radius has
                shrunk: the stage is interrupted, so that noise can be looked for
    revisit     f fits, twice in a row, the quadratic whose bottom is the base
    hopeless    the chance to fall below the base, by what descents of this run and of others still fell, is smaller
                than half of that of a new basin

Departs from the paper: M is not diagonal; hopeless and revisit are not in it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..core.board import Board, Draws, Evidence, Offer, Plant, Spec, resolution
from ..core.box import REACH
from ..core.codes import Cause, Mode
from ..dynamics.dense import Dense, LearnedShape, Room, Way, dense_way, shortened
from ..dynamics.inverse import Limited
from ..dynamics.move import Move, Stepped
from .base import AbstractTactic, Step, eps_of, goes_on
from .cubic import cubic_minimum
from .prospect import Prospect

INF = float("inf")
NONE, CLOCK, CONVERGED = int(Cause.NONE), int(Cause.CLOCK), int(Cause.CONVERGED)
LEAST_MISFIT = 0.01  # of a value and the forces beside it: a smaller one counts as this
LONGEST = 10.0 * REACH  # of a step down the force, per root coordinate
CAUSES = tuple(map(int, (Cause.CLOCK, Cause.HOPELESS, Cause.REVISIT, Cause.STALL, Cause.CONVERGED, Cause.NONFINITE)))


class Descent(NamedTuple):
    """The incumbent of a basin, and what is known of its curvature: all that is needed to go on there."""

    q: Any
    f: Any
    g: Any
    inverse: Any  # Dense or Limited
    gamma: Any  # scale of the inverse Hessian along the last step
    radius: Any  # longest step


class RefineMemory(NamedTuple):
    """The basin being descended, the trial that is under way, and the best basin left before its end.

    What every reading writes comes first, then what every trial does: whole rows are quicker than `_replace`.
    """

    now: Descent
    accepted: Any  # was the last trial accepted
    rejections: Any  # trials rejected since one was
    fell: Any  # decrease of the last accepted trial
    gained: Any  # decrease of the last steps: the largest one, forgotten by and by
    metric: Any  # inverse Hessian by the steps that changed the force plainly; None for limited memory
    largest: Any  # square of the largest force in this basin
    age: Any  # readings in this basin
    mismatch: Any  # how far changes of f are from the work of the force: 0 for a smooth f without noise
    same: Any  # accepted trials in a row that looked like the base's own basin
    length: Any  # of the trial's step from the incumbent
    bent: Any  # its curvature s.B s, where BFGS made it
    predicted: Any  # decrease that the trial predicts
    replaced: Any  # whether the trial is made by the model's scale alone, which then takes its place
    best: Descent
    unfinished: Any  # whether the best one still predicts a decrease that could be seen
    due: Any  # basins left, of the run, after which it is resumed
    start: Any  # value where the basin was entered
    origin: Any  # that place
    suspected: Any  # whether noise was looked for in this basin
    prospect: Prospect


OF_READING, OF_TRIAL = 10, 14  # fields of a `RefineMemory` up to which a reading writes, and then a trial


@dataclass(frozen=True)
class Refine(AbstractTactic):
    """Quasi-Newton descent with one reading a trial."""

    armijo: float = 1e-4  # share of the predicted decrease that accepts a trial (Nocedal and Wright, section 4.1)
    poor: float = 0.25  # share below which the radius shrinks,
    good: float = 0.75  # and above which it may grow (likewise)
    far: float = 1.0  # a trial that rises by more than this multiple of the predicted decrease teaches nothing
    growth: float = 2.5  # of the radius at the least,
    largest_growth: float = 10.0  # and at the most
    back: float = 0.25  # of the way, after a trial that was not finite
    stretch: float = 4.0  # of the model where a step met no curvature; More and Thuente's extrapolation limit
    flat: float = 1e-3  # force, as a share of the one before, that all but vanishes,
    unexplained: float = 0.5  # share of a fall that forces do not explain: together they are a plateau
    first_radius: float = 0.3  # first step of a basin per root coordinate, where the box is 10 wide
    shortest: float = 1e-13  # a radius this short, per root coordinate, has failed
    tries: int = 5  # trials rejected in a row after which noise is suspected,
    suspicious: float = 0.12  # if values and forces do not fit by this, and of noise nothing is known;
    plainly: float = 0.25  # at once, if they do not fit by this: descents of smooth functions stay below it
    shrunk: float = 1e-3  # likewise where the radius is this share of the first one: smooth functions fit there
    curvature_floor: float = 1e-10  # a pair counts if s.y exceeds this share of |s||y|
    least_change: float = 100.0  # units in the last place of a force: a smaller change is round-off
    plain_change: float = 1e-6  # of the largest force of a basin: a smaller change does not go into its metric
    least_predicted: float = 0.1  # share of the slope: sides of the box may turn a step against the model
    well: float = -2.0  # logarithm of the relative error below which SR1 may be used,
    clearly: float = 1.0  # if it is lower than BFGS's by this
    tolerance: float = 1e-9  # predicted decrease, as a share of the spread between basins, at which a basin is left,
    tolerance_gained: float = 1e-8  # and as a share of what the last steps gained
    forgetting: float = 0.7  # of that gain, by reading,
    forgetting_first: float = 0.3  # and while no spread between basins is known: a high start says nothing of it
    patience: int = 3  # readings before a basin may be called hopeless
    prior_mean: float = (
        0.9  # of log R, and its scale: quartiles of R of 2.5 and 10, and 75 in one of ten, as descents on
    )
    prior_scale: float = 1.4  # the dev halves of five suites have it,
    prior_count: float = 2.0  # with the weight of so many descents of the run
    chance: float = 0.5  # of the chance of a new basin, below which a basin is hopeless
    same_basin: float = 0.03  # agreement of f with the quadratic that has its bottom at the base
    reserve: float = 0.1  # share of the run that may be kept to resume the best basin
    others: int = 4  # basins after which the best one is resumed, if none of them was lower; then after twice as many
    dense: int = 200  # dimensions up to which the model is a matrix
    pairs: int = 24  # of the limited-memory model beyond
    opening_radius: float = INF  # the same in a run's first basin, where a family's memory has placed it: the smaller
    shape: tuple[tuple[float, ...], ...] | None = None  # inverse Hessian of a family's basins, of any scale

    name: ClassVar[str] = "refine"
    mode: ClassVar[Mode] = Mode.REFINE
    interruptible: ClassVar[bool] = True

    def blank(self, ops: Any, spec: Spec) -> RefineMemory | None:
        if spec.residuals:  # gauss_newton stands in for it
            return None
        d, dtype, xp = spec.dimension, spec.dtype, ops.xp
        zeros = lambda: xp.zeros(d, dtype)  # noqa: E731
        zero, infinite = ops.real(0.0, dtype), ops.real(INF, dtype)
        no = ops.flag(False)
        inverse = lambda: (  # noqa: E731
            Dense.blank(ops, d, dtype, self._shape(ops, dtype))
            if d <= self.dense
            else Limited.blank(ops, self.pairs, d, dtype)
        )
        descent = lambda: Descent(zeros(), infinite, zeros(), inverse(), zero, zero)  # noqa: E731
        return RefineMemory(
            now=descent(),
            best=descent(),
            unfinished=no,
            due=ops.whole(0),
            length=zero,
            bent=zero,
            predicted=infinite,
            metric=ops.xp.zeros((d, d), dtype) if d <= self.dense else None,
            largest=zero,
            replaced=no,
            accepted=no,
            rejections=ops.whole(0),
            fell=infinite,
            gained=zero,
            age=ops.whole(0),
            start=infinite,
            origin=zeros(),
            suspected=no,
            mismatch=ops.real(LEAST_MISFIT, dtype),
            same=ops.whole(0),
            prospect=Prospect(
                ops.real(self.prior_mean, dtype),
                ops.real(self.prior_scale, dtype),
                ops.real(self.prior_count, dtype),
                infinite,
                zero,
            ),
        )

    def _shape(self, ops: Any, dtype: Any) -> LearnedShape | None:
        if self.shape is None:
            return None
        A = np.array(self.shape, float)
        return LearnedShape(ops.xp.asarray(A, dtype), ops.xp.asarray(np.linalg.inv(A), dtype))

    # ---------------------------------------------------------------------------------------------- stages

    def offer(self, ops: Any, memory: RefineMemory, board: Board) -> Offer:
        d, quiet = board.base.shape[0], ops.no(board.noisy)
        opens = quiet & (board.fresh | board.interrupted)
        late = board.left <= ops.max(6.0, ops.min(self.reserve * board.readings, d + 6.0))
        resumes = quiet & memory.unfinished & ops.no(board.fresh)
        bid = ops.pick(opens, 4.0, ops.pick(resumes & (board.escapes >= memory.due), 1.5, -INF))
        return Offer(ops.pick(resumes & late, 9.0, bid), 2.0 * d, INF)

    def open(
        self, ops: Any, memory: RefineMemory, board: Board, plant: Plant, draws: Callable[[], Draws]
    ) -> RefineMemory:
        """A new basin at the plant, or at the base where none was entered before an interruption; else go on with the
        basin that was interrupted, or with the best one."""
        base = plant._replace(q=board.base, f=board.base_f, g=board.base_g)
        at = ops.pick(board.fresh, plant, base)
        known = ops.pick(board.interrupted, memory.now, memory.best)
        begun = board.interrupted & (memory.now.f < INF)
        resumed = memory._replace(
            now=known,
            accepted=ops.flag(False),
            rejections=ops.whole(0),
            metric=None if memory.metric is None else ops.pick(begun, memory.metric, board.metric),
            gained=ops.pick(begun, memory.gained, 0.0),
            same=ops.pick(begun, memory.same, ops.whole(0)),
            age=ops.pick(begun, memory.age, ops.whole(0)),
            start=ops.pick(begun, memory.start, known.f),
            origin=ops.pick(begun, memory.origin, known.q),
        )
        enters = board.fresh | ops.no(known.f < INF)
        return ops.cond(enters, lambda: self.entered(ops, memory, at, board), lambda: resumed)

    def entered(self, ops: Any, memory: RefineMemory, plant: Plant, board: Board) -> RefineMemory:
        """A new basin, with a first step of the radius; where `board.fresh` the plant stands at its start."""
        q, f, g = plant.q, plant.f, plant.g
        first = ops.pick(board.escapes > 0, self.first_radius, min(self.first_radius, self.opening_radius))
        radius = ops.real(first * q.shape[0] ** 0.5, q.dtype)
        steepest = ops.max(ops.norm(g), 1e-300 if q.dtype.itemsize == 8 else 1e-36)
        gamma = radius / steepest
        model = memory.now.inverse.opened(ops, g, gamma, radius)
        return memory._replace(
            now=Descent(q, f, g, model, gamma, radius),
            metric=None if memory.metric is None else model.H,
            largest=ops.real(0.0, q.dtype),
            accepted=ops.flag(board.fresh),
            rejections=ops.whole(0),
            fell=ops.real(INF, q.dtype),
            gained=ops.real(0.0, q.dtype),
            age=ops.whole(0),
            start=f,
            origin=q,
            suspected=ops.flag(False),
            mismatch=ops.real(LEAST_MISFIT, q.dtype),
            predicted=ops.real(INF, q.dtype),
            same=ops.whole(0),
        )

    def tells_metric(self, spec: Spec) -> bool:
        return spec.dimension <= self.dense and not spec.residuals

    def evidence(self, ops: Any, memory: RefineMemory, board: Board, plant: Plant) -> Evidence:
        now = memory.now
        return Evidence(
            q=now.q,
            f=now.f,
            g=now.g,
            basin=ops.flag(True),
            rebase=ops.flag(True),
            fresh=ops.flag(False),
            descent=ops.norm(now.q - memory.origin) / plant.q.shape[0] ** 0.5,
            fall=abs(memory.start - now.f),
            mismatch=memory.mismatch,
            predicted=memory.predicted,
            noise_std=-1.0,
            structure=ops.whole(0),
            metric=memory.metric,
        )

    # --------------------------------------------------------------------------------------------- readings

    def observe(self, ops: Any, memory: RefineMemory, board: Board, plant: Plant) -> tuple[RefineMemory, Any]:
        """A trial that was not finite (f is infinite then) is rejected, and the next one goes a quarter of the way."""
        now, metric, dtype = memory.now, memory.metric, plant.q.dtype
        inverse, gamma = now.inverse, now.gamma
        steep, end = ops.dot(now.g, now.g), ops.dot(plant.g, plant.g)
        if ops.traced or end < self.flat**2 * steep:
            plant, end = self._unless_flat(ops, now, plant, steep, end)
        if ops.traced or memory.replaced:
            inverse = ops.pick(memory.replaced, inverse.reset(ops, gamma), inverse)
        s, y = plant.q - now.q, plant.g - now.g
        slope, slope_end, fall = ops.dot(now.g, s), ops.dot(plant.g, s), now.f - plant.f
        ss, yy, sy = ops.dot(s, s), ops.dot(y, y), slope_end - slope
        share = ops.over(fall, memory.predicted)
        accepted = (fall > 0) & (share > self.armijo)
        radius = self._radius(ops, now.radius, ops.sqrt(ss), share, fall, slope, slope_end)
        steepest = ops.max(end, steep)
        largest = ops.max(memory.largest, steepest)
        changed = yy > (self.least_change * eps_of(dtype)) ** 2 * steepest
        curved = changed & (share > -self.far) & (sy > self.curvature_floor * ops.sqrt(ss * yy))
        if ops.traced or curved:
            sound, square = ops.pick(curved, sy, 1.0), ops.pick(curved, yy, 1.0)
            more = inverse.add(ops, s, y, sound, square, memory.bent)
            inverse, gamma = ops.pick(curved, (more, sound / square), (inverse, gamma))
            if metric is not None:
                metric = ops.pick(curved & (yy > self.plain_change**2 * largest), inverse.H, metric)
        short = inverse.is_blank(ops) | (memory.length < 0.8 * now.radius)
        straight = accepted & ops.no(changed & (sy > 0)) & short  # no curvature along it: a longer step
        if ops.traced or straight:
            inverse, gamma, radius = ops.pick(
                straight,
                (
                    inverse.stretched(ops, self.stretch, s, ops.pick(straight, -slope, 1.0)),
                    self.stretch * gamma,
                    ops.max(radius, self.stretch * ops.pick(inverse.is_blank(ops), now.radius, memory.length)),
                ),
                (inverse, gamma, radius),
            )
        if ops.traced or not accepted:  # nothing is known beyond the radius
            tried = radius / ops.max(ops.sqrt(steep), 1e-300 if dtype.itemsize == 8 else 1e-36)
            gamma = ops.pick(accepted, gamma, ops.min(gamma, tried))
        work = ops.sqrt(ss * steepest / (2.0 * plant.q.shape[0]))
        error = ops.min(abs(fall + 0.5 * (slope + slope_end)) / ops.pick(work > 0, work, 1.0), 1.0)
        radius = ops.pick(plant.finite, radius, self.back * memory.length)
        forgetting = ops.pick(board.spread > 0, self.forgetting, self.forgetting_first)
        like = self._like_base(ops, memory.same, board, plant) if ops.traced or accepted else memory.same
        q, f, g, rejections, fell, gain, same = ops.pick(
            accepted,
            (plant.q, plant.f, plant.g, 0, fall, fall, like),
            (now.q, now.f, now.g, memory.rejections + 1, memory.fell, 0.0, memory.same),
        )
        now, gained = Descent(q, f, g, inverse, gamma, radius), ops.max(forgetting * memory.gained, gain)
        mismatch = ops.pick(plant.finite, mixed_misfit(memory.mismatch, error), memory.mismatch)
        parts: tuple[Any, ...] = memory
        first = now, accepted, rejections, fell, gained, metric, largest, memory.age + 1, mismatch, same
        return RefineMemory(*first, *parts[OF_READING:]), goes_on(ops)

    def _unless_flat(self, ops: Any, now: Descent, plant: Plant, steep: Any, end: Any) -> tuple[Plant, Any]:
        """The reading, and the square of its force; as one that was not finite where the force all but vanishes after a
        fall that the forces at both ends do not explain: the trial has left the basin for a plateau."""
        work = -0.5 * ops.dot(now.g, plant.q - now.q)
        beyond = (now.f > plant.f) & (abs(now.f - plant.f - work) > self.unexplained * abs(work))
        beyond = beyond & (end < self.flat**2 * steep)
        blind = plant._replace(f=ops.real(INF, plant.q.dtype), g=0.0 * plant.g, finite=ops.flag(False))
        return ops.pick(beyond, (blind, 0.0), (plant, end))

    def _radius(self, ops: Any, radius: Any, length: Any, share: Any, fall: Any, slope: Any, slope_end: Any) -> Any:
        """The radius after a trial of this length."""
        grows = (share > self.good) & (length > 0.8 * radius)
        if not ops.traced and share >= self.poor and not grows:
            return radius
        return ops.cond(
            share < self.poor,
            lambda: length * ops.min(ops.max(cubic_minimum(ops, slope, -fall, slope_end), 0.1), 0.5),
            lambda: ops.cond(
                grows, lambda: ops.max(radius, length * self._growth(ops, slope, slope_end)), lambda: radius
            ),
        )

    def _growth(self, ops: Any, slope: Any, slope_end: Any) -> Any:
        """To where the secant of the slopes vanishes, within limits."""
        bends = (slope_end > slope) & (slope_end < 0)
        secant = ops.pick(bends, slope / ops.pick(bends, slope - slope_end, 1.0), ops.pick(slope_end < 0, INF, 1.0))
        return ops.min(ops.max(secant, self.growth), self.largest_growth)

    def _like_base(self, ops: Any, same: Any, board: Board, plant: Plant) -> Any:
        """How often in a row f has fitted the quadratic that has its bottom at the base."""
        gap = plant.f - board.base_f
        quadratic = -0.5 * ops.dot(plant.g, board.base - plant.q)
        return ops.pick(abs(gap - quadratic) <= self.same_basin * abs(gap), same + 1, ops.whole(0))

    # ---------------------------------------------------------------------------------------------- moves

    def propose(
        self, ops: Any, memory: RefineMemory, board: Board, plant: Plant, step: Step
    ) -> tuple[RefineMemory, Stepped, Any]:
        now, slack = memory.now, 64.0 * REACH * eps_of(plant.q.dtype)  # a placement is exact to round-off only
        room = Room.around(ops, now.q, now.g, board.lower, board.upper, slack)
        start = now
        down = ops.lazy(lambda: self._steepest(ops, start, room))
        way, by_H = self._way(ops, now, room, down)
        predicted = self._predicted(ops, way)
        unseen = resolution(eps_of(now.q.dtype), now.f)
        seen = predicted > unseen  # else a fresh model, since this one predicts no decrease that could be
        if ops.traced or not seen:
            way, predicted, now = ops.pick(seen, (way, predicted, now), self._fresh(ops, now, down()))
        bent = ops.pick(seen & by_H, way.bent, 0.0)
        parts: tuple[Any, ...] = memory
        trial: tuple[Any, ...] = (way.length, bent, predicted, ops.no(seen))
        memory = RefineMemory(now, *parts[1:OF_READING], *trial, *parts[OF_TRIAL:])
        placed, inside = ops.no(memory.accepted), room.contains(ops, way.length)
        made = step(Move(now.q + way.s, placed, None, None, None, None, way.s, way.slope, inside))
        cause = self._verdict(ops, memory, board, unseen)
        if ops.traced or cause == CLOCK:
            memory = memory._replace(suspected=ops.flag(memory.suspected | (cause == CLOCK)))
        return self._kept(ops, memory, board, cause, unseen), made, cause

    def _fresh(self, ops: Any, now: Descent, way: Way) -> tuple[Way, Any, Descent]:
        """The step that the model's scale makes, and the decrease that it predicts."""
        return way, -0.5 * way.slope, now._replace(radius=way.length)

    def _way(self, ops: Any, now: Descent, room: Room, down: Callable[[], Way]) -> tuple[Way, Any]:
        """The model's step, and whether BFGS made it."""
        if isinstance(now.inverse, Limited):
            return self._limited_way(ops, now, room, down), ops.flag(False)
        model = now.inverse
        preferred = model.prefers_K(self.well, self.clearly)
        if not ops.traced and not preferred:
            return self._way_by_H(ops, now, room, down), True
        way = ops.lazy(lambda: self._way_by_H(ops, now, room, down))
        s, share, length = shortened(ops, -ops.times(model.K, now.g), now.radius)
        slope = ops.dot(now.g, s)
        usable = preferred & (slope < 0) & room.admits(ops, s, length)
        return ops.cond(usable, lambda: Way(s, -share * slope, slope, length), way), ops.no(usable)

    def _way_by_H(self, ops: Any, now: Descent, room: Room, down: Callable[[], Way]) -> Way:
        way = dense_way(ops, now.inverse.H, now.g, room, now.radius)
        if not ops.traced and way.slope < 0:
            return way
        return ops.cond(way.slope < 0, lambda: way, down)

    def _limited_way(self, ops: Any, now: Descent, room: Room, down: Callable[[], Way]) -> Way:
        """The same by limited memory: coordinates that would leave the box stop on its side."""
        g = room.free(ops, now.g)
        s, share, _ = shortened(ops, room.free(ops, -now.inverse.solve(ops, g, now.gamma)), now.radius)
        s = room.clipped(ops, s)
        slope = ops.dot(g, s)
        return ops.cond(slope < 0, lambda: Way(s, -share * slope, slope, ops.norm(s)), down)

    def _steepest(self, ops: Any, now: Descent, room: Room) -> Way:
        """Down the force, by the scale of the inverse Hessian alone."""
        g = room.free(ops, now.g)
        s, share, _ = shortened(ops, -now.gamma * g, LONGEST * g.shape[0] ** 0.5)
        s = room.clipped(ops, s)
        slope = ops.dot(g, s)
        return Way(s, -share * slope, slope, ops.norm(s))

    def _predicted(self, ops: Any, way: Way) -> Any:
        """The decrease that the model predicts."""
        return ops.max(-way.slope - 0.5 * way.bent, -self.least_predicted * way.slope)

    def _verdict(self, ops: Any, memory: RefineMemory, board: Board, unseen: Any) -> Any:
        now, length, root = memory.now, memory.length, memory.now.q.shape[0] ** 0.5
        f, radius, predicted, accepted = now.f, now.radius, memory.predicted, memory.accepted
        nothing = predicted <= unseen
        enough = ops.max(self.tolerance * board.spread, self.tolerance_gained * memory.gained)
        little = (memory.age > 0) & (length < 0.9 * radius) & (ops.max(predicted, memory.fell) <= enough)
        converged = nothing | little | (length <= 8.0 * eps_of(now.q.dtype) * root)
        misfit = ops.no(memory.suspected) & (memory.mismatch > self.suspicious) & (board.noise_std < 0)
        failing = (memory.rejections >= self.tries) | (radius < self.shrunk * self.first_radius * root)
        drowned = misfit & (failing | (memory.mismatch > self.plainly))
        failed = ops.no(accepted) & ((radius <= self.shortest * root) | nothing)
        revisit = (board.escapes > 0) & (f + unseen >= board.base_f) & (memory.same >= 2)
        hopeless = ops.cond(
            (memory.age >= self.patience) & (f > board.base_f),
            lambda: f - self._reach(ops, memory, board) > board.base_f,
            lambda: False,
        )
        flags = (drowned, hopeless, revisit, failed | board.noisy, accepted & converged, ops.no(f < INF))
        return ops.last(flags, CAUSES)

    def _reach(self, ops: Any, memory: RefineMemory, board: Board) -> Any:
        """The decrease exceeded with a part of the chance 1 / (n + 2) that a new basin is the best after n + 1 others,
        if log R is logistic."""
        odds = (ops.real(board.escapes, memory.now.q.dtype) + 2.0) / self.chance - 1.0
        return memory.prospect.exceeded(ops, odds) * _next(ops, memory)

    def _learned(self, ops: Any, memory: RefineMemory, cause: Any) -> Prospect:
        """R of a descent is noted when it is `patience` readings old, and known when it has converged."""
        f, age = memory.now.f, memory.age
        known = memory.prospect.learned(ops, f, cause == CONVERGED)
        return known.noted(ops, f, _next(ops, memory), age < self.patience, age == self.patience)

    def _kept(self, ops: Any, memory: RefineMemory, board: Board, cause: Any, unseen: Any) -> RefineMemory:
        """The best basin, kept to be resumed, as a descent that is not above the base ends."""
        if not ops.traced and cause == NONE and memory.age > self.patience:  # nothing of this changes
            return memory
        best = (cause != NONE) & (memory.now.f <= board.base_f) & (memory.now.f < INF)
        unfinished = ops.pick(best, ops.flag(memory.predicted > unseen), memory.unfinished)
        return memory._replace(
            best=ops.pick(best, memory.now, memory.best),
            unfinished=ops.flag(unfinished),
            due=ops.pick(best, 2 * board.escapes + self.others, memory.due),
            prospect=self._learned(ops, memory, cause),
        )


def _next(ops: Any, memory: RefineMemory) -> Any:
    """The larger of the last decrease and the predicted one."""
    return ops.max(memory.predicted, ops.pick(memory.fell < INF, memory.fell, 0.0))


def mixed_misfit(mean: Any, error: Any) -> Any:
    """A running geometric mean: noise shows at every reading, while a long step of a smooth f misfits by itself."""
    return mean * ((error + LEAST_MISFIT) / mean) ** 0.2
