"""Descend by values alone: a quadratic through past values, minimised in a trust region, one value a step.

The points are x = c + T z. A stage reads its start and two points along each coordinate, from the lowest point so far:
these readings are a coordinate search already, and the model goes through them as through a cross around the start.
Then each trial is the model's minimum within `radius` (in z, where 1 is the resolution of the stage). The trial joins
the points, as one more or for one that is far away or of little use, and the model changes least (quadratic_model.py).

    spread   two points along each coordinate, the second where the first makes it likely to be lower
    step     a trial; `radius` grows and shrinks by how much of the predicted decrease came
    repair   a point for one that is far away, where the model would be told most

Where the points are near and neither trials nor repairs help, the region contracts: T <- T R with R = V tau V^T, V the
eigenvectors of the Hessian in z, tau = `shrink` along the stiffest and up to `limit` times as much along soft ones. So
the region takes the shape of the level sets, and narrow valleys are followed. A value that is not finite counts as a
high one: the trust region shrinks away from a hole.

    converged   contractions bring no decrease, or the region is below the resolution of x; where nothing was lower than
                the start of the stage and values still rise around it, the region goes on contracting
    hopeless    even `hope` times the predicted decrease would not reach the base
    revisit     a basin of the archive, and next to nothing lower than its bottom
    stall       the points lie so badly that no model goes through their values
    clock       most trials failed, or a contraction brought little, or the model's errors may be noise, in the best
                basin: other tactics may have a say.
                The stage then goes on with its model; a lower point that they found near it joins the points

Departs from the paper: every move is a placement; the paper's forces come from differences of a fixed radius.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ..core.board import Board, Draws, Evidence, Offer, Plant, Spec, resolution
from ..core.codes import Cause, Mode
from ..dynamics.move import Move, Stepped
from ..memory.basins import SAME_BASIN
from . import quadratic_model as quadratic
from .base import AbstractTactic, Step, bid, ends, eps_of, goes_on
from .quadratic_model import Quadratic
from .trust_region import in_box
from .value_precision import Printed, taken_in, unit, unread

INF = float("inf")
TINY = 1e-30
SPREAD, STEP, REPAIR = range(3)
UNDECIDED, MOVES, OVER = range(3)


class InterpolateMemory(NamedTuple):
    """The model and its region, and the reading under way."""

    phase: Any
    model: Quadratic
    centre: Any  # c
    axes: Any  # T
    radius: Any  # in z
    first: Any  # of a coordinate's two points the first, in z
    trial: Any  # z of the reading under way
    row: Any  # of the point that a repair replaces
    predicted: Any  # decrease that the model predicts for the trial
    errors: Any  # of the last three predictions
    suspects: Any  # whether the model's errors look like noise
    rests: Any  # whether other tactics may be asked before the next trial
    tried: Any  # trials since they were asked,
    failed: Any  # and how many of them failed
    contracts: Any  # whether the region is to contract before the next trial
    idle: Any  # contractions in a row that brought next to no decrease
    last_f: Any  # lowest value at the last contraction
    since: Any  # readings since then
    start: Any  # value where the basin was entered
    origin: Any  # that place
    printed: Printed  # digits of all values so far


@dataclass(frozen=True)
class Interpolate(AbstractTactic):
    """Trust-region descent on interpolated quadratics, in runs whose readings are values."""

    first_radius: float = 1.0  # of a run's first stage, where the box is 10 wide
    later_radius: float = 0.5  # of the others
    shrink: float = 0.1  # of the stiffest direction, at a contraction (Powell)
    limit: float = 3.0  # times as much is left along soft directions
    reopened: float = 5.0  # radius after a contraction
    poor: float = 0.1  # share of the predicted decrease below which a trial failed (Powell),
    good: float = 0.7  # and above which the radius grows
    blur: float = 1.0  # points whose values are rounded to more than so many predicted decreases do so, too
    keep: float = 4.0  # points beyond so many radii make room for new ones
    slow_share: float = 1e-3  # of all that a stage has gained: a contraction that gained less since the last one
    patience: int = 2  # comes after so many readings a dimension, even if points are far away
    resting: float = 0.1  # of all that a stage has gained: a contraction that gained less lets other tactics have a say
    doubtful: float = 0.2  # trials a dimension after which they have, too,
    mostly: float = 0.7  # if such a share of the trials failed,
    asks: int = 4  # from so many dimensions on
    hope: float = 4.0  # multiple of the predicted decrease that is believed possible
    misfit: float = 0.02  # error of a prediction, in rises of the model along its stiffest axis, that may be noise
    idle_share: float = 1e-9  # of all that a stage has gained, below which a contraction brought nothing;
    idle_most: int = 2  # so many in a row end the stage
    coarse: float = 0.02  # extent of the region, where the box is 10 wide, above which it always goes on
    standstill: float = 1e-9  # extent of the region, where the box is 10 wide, at which a basin is done
    most_points: int = 150  # unless 2 d + 1 are more
    most: int = 64  # dimensions

    name: ClassVar[str] = "interpolate"
    mode: ClassVar[Mode] = Mode.REFINE
    phases: ClassVar[tuple[str, ...]] = ("spread", "step", "repair")
    uneven: ClassVar[bool] = True
    interruptible: ClassVar[bool] = True
    opens_by_value: ClassVar[bool] = True

    def blank(self, ops: Any, spec: Spec) -> InterpolateMemory | None:
        d, dtype, xp = spec.dimension, spec.dtype, ops.xp
        if not spec.values_only or d > self.most:
            return None
        room = max(2 * d + 1, min((d + 1) * (d + 2) // 2, self.most_points))
        zeros = lambda: xp.zeros(d, dtype)  # noqa: E731
        return InterpolateMemory(
            phase=ops.whole(SPREAD),
            model=quadratic.blank(ops, room, d, dtype),
            centre=zeros(),
            axes=xp.eye(d, dtype=dtype),
            radius=ops.real(1.0, dtype),
            first=zeros(),
            trial=zeros(),
            row=ops.whole(0),
            predicted=ops.real(INF, dtype),
            errors=xp.full(3, xp.inf, dtype),
            suspects=ops.flag(False),
            rests=ops.flag(False),
            tried=ops.whole(0),
            failed=ops.whole(0),
            contracts=ops.flag(False),
            idle=ops.whole(0),
            last_f=ops.real(INF, dtype),
            since=ops.whole(0),
            start=ops.real(INF, dtype),
            origin=zeros(),
            printed=unread(ops, dtype),
        )

    def offer(self, ops: Any, memory: InterpolateMemory, board: Board) -> Offer:
        d = board.base.shape[0]
        return bid(ops, board.fresh | board.interrupted, 5.0, cost=(4.0 * d + 2.0) / (d + 1.0))

    def open(
        self, ops: Any, memory: InterpolateMemory, board: Board, plant: Plant, draws: Callable[[], Draws]
    ) -> InterpolateMemory:
        if not ops.traced and memory.model.count <= 2 * board.base.shape[0]:
            return self._entered(ops, memory, board)
        paused = (memory.model.count > 2 * board.base.shape[0]) & board.interrupted
        resumes = paused & ops.no(board.fresh) & (memory.model.at_best()[1] == board.base_f)
        asked = memory._replace(
            suspects=ops.flag(False), rests=ops.flag(False), tried=ops.whole(0), failed=ops.whole(0)
        )
        z = ops.solve(memory.axes, board.entry - memory.centre)
        joins = paused & board.fresh & self._is_near(ops, memory, z) & (board.entry_f < memory.model.at_best()[1])
        return ops.cond(
            joins,
            lambda: self._joined(ops, asked, z, board.entry_f),
            lambda: ops.cond(resumes, lambda: asked, lambda: self._entered(ops, memory, board)),
        )

    def _is_near(self, ops: Any, memory: InterpolateMemory, z: Any) -> Any:
        """Whether a point that another tactic found is one of this model's."""
        return ops.norm(z - memory.model.at_best()[0]) <= self.keep * ops.max(memory.radius, 1.0)

    def _joined(self, ops: Any, memory: InterpolateMemory, z: Any, f: Any) -> InterpolateMemory:
        """The memory with a lower point that another tactic found near the model's."""
        length = ops.norm(z - memory.model.at_best()[0])
        memory = memory._replace(trial=z)
        row = self._least_useful(ops, memory, ops.flag(True), length)
        model = quadratic.replace(ops, memory.model, row, z, f, ops.max(memory.radius, length))
        return memory._replace(model=model, radius=ops.max(memory.radius, length), phase=ops.whole(STEP))

    def _entered(self, ops: Any, memory: InterpolateMemory, board: Board) -> InterpolateMemory:
        """The memory at the start of a basin."""
        xp = ops.xp
        q, f = ops.pick(board.fresh, board.entry, board.base), ops.pick(board.fresh, board.entry_f, board.base_f)
        d, dtype = q.shape[0], q.dtype
        radius = ops.pick(board.escapes > 0, self.later_radius, self.first_radius)
        up, down = (board.upper - q) / radius, (q - board.lower) / radius
        first = ops.where(up >= xp.minimum(1.0, down), xp.minimum(1.0, up), -xp.minimum(1.0, down))
        model = memory.model._replace(count=ops.whole(0))
        return memory._replace(
            phase=ops.whole(SPREAD),
            model=quadratic.add(ops, model, xp.zeros(d, dtype), f),
            centre=q + 0.0,
            axes=xp.eye(d, dtype=dtype) * radius,
            radius=ops.real(1.0, dtype),
            first=ops.where(first == 0, 1.0, first),  # a coordinate without room is read as if it had some
            predicted=ops.real(INF, dtype),
            errors=xp.full(3, xp.inf, dtype),
            suspects=ops.flag(False),
            rests=ops.flag(False),
            tried=ops.whole(0),
            failed=ops.whole(0),
            contracts=ops.flag(False),
            idle=ops.whole(0),
            last_f=f,
            since=ops.whole(0),
            start=f,
            origin=q + 0.0,
        )

    # ---------------------------------------------------------------------------------------------- a reading

    def observe(self, ops: Any, memory: InterpolateMemory, board: Board, plant: Plant) -> tuple[InterpolateMemory, Any]:
        f = ops.cond(plant.finite, lambda: plant.f, lambda: self._wall(ops, memory.model))
        printed = taken_in(ops, memory.printed, plant.f, plant.q.dtype)
        memory = memory._replace(printed=printed, since=memory.since + 1)
        if not ops.traced:
            take = (self._spread, self._step, self._repair)[memory.phase]
            return take(ops, memory, f), goes_on(ops)
        phase = memory.phase
        memory = ops.when(phase == SPREAD, lambda m: self._spread(ops, m, f), memory)
        memory = ops.when(phase == STEP, lambda m: self._step(ops, m, f), memory)
        return ops.when(phase == REPAIR, lambda m: self._repair(ops, m, f), memory), goes_on(ops)

    def _wall(self, ops: Any, model: Quadratic) -> Any:
        """What a value that is not finite counts as: higher than all of the model's."""
        lowest = model.values[model.best]
        highest = ops.where(quadratic.filled(ops, model), model.values, lowest).max()
        rise = highest - lowest
        return highest + ops.pick(rise > 0, rise, abs(highest) + 1.0)

    def _spread(self, ops: Any, memory: InterpolateMemory, f: Any) -> InterpolateMemory:
        d = memory.centre.shape[0]
        model = quadratic.add(ops, memory.model, memory.trial, f)
        full = model.count == 2 * d + 1
        model = ops.when(full, lambda m: quadratic.first_fit(ops, m), model)
        return memory._replace(model=model, phase=ops.whole(ops.pick(full, STEP, SPREAD)))

    def _repair(self, ops: Any, memory: InterpolateMemory, f: Any) -> InterpolateMemory:
        best, lowest = memory.model.at_best()
        error = abs(f - lowest - quadratic.predict(ops, memory.model, memory.trial - best))
        model = quadratic.replace(ops, memory.model, memory.row, memory.trial, f, memory.radius)
        return memory._replace(model=model, phase=ops.whole(STEP), errors=_appended(ops, memory.errors, error))

    def _step(self, ops: Any, memory: InterpolateMemory, f: Any) -> InterpolateMemory:
        model = memory.model
        best, lowest = model.at_best()
        length = ops.norm(memory.trial - best)
        share = ops.over(lowest - f, memory.predicted)
        row = self._least_useful(ops, memory, f < lowest, length)
        shorter = ops.min(0.5 * memory.radius, length)
        usual = ops.max(0.5 * memory.radius, ops.pick(share < self.good, length, 2.0 * length))
        radius = ops.pick(share < self.poor, shorter, usual)
        radius = ops.pick(radius <= 1.5, 1.0, radius)
        error = abs(f - lowest + memory.predicted)
        model = quadratic.replace(ops, model, row, memory.trial, f, ops.max(radius, length))
        away = quadratic.distances(ops, model, model.points[model.best])
        farthest = ops.whole(away.argmax())
        widest = away[farthest]
        failed = share < self.poor
        repairs = failed & ((widest > ops.max(2.0 * radius, 10.0)) | ((widest > 2.0 * radius) & (radius <= 1.0)))
        contracts = ops.no(repairs) & ops.no(share > 0) & (ops.max(radius, length) <= 1.0 + 1e-9)
        return memory._replace(
            model=model,
            radius=radius,
            errors=_appended(ops, memory.errors, error),
            phase=ops.whole(ops.pick(repairs, REPAIR, STEP)),
            row=ops.pick(repairs, farthest, memory.row),
            contracts=ops.flag(contracts),
            tried=memory.tried + 1,
            failed=memory.failed + ops.whole(failed),
        )

    def _least_useful(self, ops: Any, memory: InterpolateMemory, lower: Any, length: Any) -> Any:
        """The row that a trial takes: an empty one while all points are near, else the one that is far away, or whose
        loss leaves W well-conditioned."""
        xp, model = ops.xp, memory.model
        determinants = quadratic.replacement_determinants(ops, model, memory.trial)
        centre = ops.pick(lower, memory.trial, model.points[model.best])
        away = quadratic.distances(ops, model, centre)
        blurred = unit(ops, memory.printed, model.values) / ops.max(self.blur * memory.predicted, TINY)
        weights = xp.sqrt(determinants) * xp.maximum(1.0, (away / ops.max(memory.radius, 1.0)) ** 2) ** 2
        weights = weights * xp.maximum(1.0, blurred)
        rows = xp.arange(model.room, dtype=xp.int32)
        protected = (rows == model.best) & ops.no(lower)
        row = ops.whole(ops.where(protected | ops.xp.logical_not(weights > 0), -1.0, weights).argmax())
        near = (away[row] <= self.keep * ops.max(memory.radius, length)) & (blurred[row] <= 1.0)
        return ops.whole(ops.pick((model.count < model.room) & near, model.count, row))

    def _unit(self, ops: Any, memory: InterpolateMemory) -> Any:
        """The unit of the last digit of the lowest value."""
        best = memory.model.best
        return unit(ops, memory.printed, memory.model.values)[best]

    # ------------------------------------------------------------------------------------------- the next one

    def propose(
        self, ops: Any, memory: InterpolateMemory, board: Board, plant: Plant, step: Step
    ) -> tuple[InterpolateMemory, Stepped, Any]:
        spreads = memory.phase == SPREAD
        memory, status = ops.cond(
            spreads,
            lambda: (memory._replace(trial=self._spread_point(ops, memory, board)), ops.whole(MOVES)),
            lambda: self._planned(ops, memory, board),
        )
        target = ops.xp.asarray(memory.centre + ops.times(memory.axes, memory.trial), plant.q.dtype)
        lost = ops.no((abs(target) < INF).all())  # the model is beyond repair
        made = step(Move(ops.pick(lost, plant.q, target)))
        there = lambda: ops.solve(memory.axes, made.q - memory.centre)  # noqa: E731
        memory = memory._replace(trial=ops.cond(spreads, lambda: memory.trial, there))
        cause = self._verdict(ops, memory, board, spreads, status)
        return memory, made, ops.pick(lost, ops.whole(int(Cause.STALL)), cause)

    def _spread_point(self, ops: Any, memory: InterpolateMemory, board: Board) -> Any:
        """The next of the two points along each coordinate from the lowest point so far, in z."""
        xp, d, model = ops.xp, memory.centre.shape[0], memory.model
        size = memory.axes[0, 0]
        i = ops.whole((model.count - 1) // 2)
        one = memory.first[i]
        up, down = (board.upper[i] - memory.centre[i]) / size, (memory.centre[i] - board.lower[i]) / size
        ahead, behind = ops.pick(one > 0, up, down), ops.pick(one > 0, down, up)
        length = abs(one)
        lower = model.best == model.count - 1
        back = ops.pick(behind >= 0.5 * length, -one * ops.min(1.0, behind / length), 0.5 * one)
        on = ops.pick(ahead >= 2.0 * length, 2.0 * one, ops.pick(behind >= length, -one, 0.5 * one))
        second = ops.pick(lower, on, back)
        along = ops.pick(ops.remainder(model.count, 2) == 1, one, second)
        return ops.where(xp.arange(d, dtype=xp.int32) == i, ops.real(along, memory.centre.dtype), model.at_best()[0])

    def _planned(self, ops: Any, memory: InterpolateMemory, board: Board) -> tuple[InterpolateMemory, Any]:
        """The memory with the next trial, or the news that there is none."""
        body = lambda held: self._decide(ops, held[0], board)  # noqa: E731
        return ops.loop(lambda held: held[1] == UNDECIDED, body, (memory, ops.whole(UNDECIDED)))

    def _decide(self, ops: Any, memory: InterpolateMemory, board: Board) -> tuple[InterpolateMemory, Any]:
        """A trial, a repair, a contraction, or the end; one of them."""
        memory = ops.when(memory.contracts, lambda m: self._contracted(ops, m), memory)
        extent = abs(memory.axes).max()
        over = (memory.idle >= self.idle_most) | (extent <= max(self.standstill, 8.0 * eps_of(memory.trial.dtype)))
        if not ops.traced:
            if over:
                return memory, OVER
            return self._repaired(ops, memory, board) if memory.phase == REPAIR else self._stepped(ops, memory, board)
        repairs = memory.phase == REPAIR
        chosen = (memory, ops.whole(OVER))
        chosen = ops.when(ops.no(over) & repairs, lambda held: self._repaired(ops, held[0], board), chosen)
        return ops.when(ops.no(over) & ops.no(repairs), lambda held: self._stepped(ops, held[0], board), chosen)

    def _sides(self, ops: Any, memory: InterpolateMemory, board: Board) -> tuple[Any, Any]:
        """How far the bounds are from the best point, in x."""
        best, _ = memory.model.at_best()
        x = memory.centre + ops.times(memory.axes, best)
        return ops.xp.minimum(board.lower - x, 0.0), ops.xp.maximum(board.upper - x, 0.0)

    def _repaired(self, ops: Any, memory: InterpolateMemory, board: Board) -> tuple[InterpolateMemory, Any]:
        """Near the best point, where the Lagrange function of the row is largest."""
        model = memory.model
        best, _ = model.at_best()
        g, H = quadratic.lagrange_function(ops, model, memory.row)
        away = ops.norm(model.points[memory.row] - best)
        radius = ops.max(ops.min(0.1 * away, memory.radius), 1.0)
        lower, upper = self._sides(ops, memory, board)
        down = in_box(ops, g, H, memory.axes, lower, upper, radius)
        up = in_box(ops, -g, -H, memory.axes, lower, upper, radius)
        size = lambda z: abs(ops.dot(g, z) + 0.5 * ops.dot(z, ops.times(H, z)))  # noqa: E731
        way = ops.pick(size(down) >= size(up), down, up)
        return memory._replace(trial=best + way, predicted=ops.real(0.0, best.dtype)), ops.whole(MOVES)

    def _stepped(self, ops: Any, memory: InterpolateMemory, board: Board) -> tuple[InterpolateMemory, Any]:
        """To the model's minimum; where that is too near to tell anything, a repair or a contraction instead."""
        model = memory.model
        best, f = model.at_best()
        lower, upper = self._sides(ops, memory, board)
        way = in_box(ops, model.g, model.H, memory.axes, lower, upper, memory.radius)
        predicted = -quadratic.predict(ops, model, way)
        unseen = ops.max(resolution(0.1 * eps_of(best.dtype), f), 0.5 * self._unit(ops, memory))
        moves = (ops.norm(way) >= 0.5) & (predicted > unseen)
        away = quadratic.distances(ops, model, best)
        farthest = ops.whole(away.argmax())
        radius = ops.pick(memory.radius > 1.5, ops.max(0.1 * memory.radius, 1.0), 1.0)
        accurate = ops.cond(
            ops.no(moves) & (memory.errors.max() < INF),
            lambda: memory.errors.max() <= 0.125 * ops.max(ops.eigh(model.H)[0][0], 0.0),
            lambda: ops.flag(False),
        )
        slow = memory.last_f - f <= self.slow_share * (memory.start - f)
        repaired = slow & (memory.since >= self.patience * best.shape[0])
        contracts = ops.no(moves) & (accurate | repaired | (away[farthest] <= 2.0 * radius))
        phase = ops.pick(moves | contracts, STEP, REPAIR)
        memory = memory._replace(
            trial=best + way,
            predicted=predicted,
            radius=ops.pick(moves, memory.radius, radius),
            phase=ops.whole(phase),
            row=ops.pick(phase == REPAIR, farthest, memory.row),
            contracts=ops.flag(contracts),
        )
        return memory, ops.whole(ops.pick(moves, MOVES, UNDECIDED))

    def _contracted(self, ops: Any, memory: InterpolateMemory) -> InterpolateMemory:
        """The region in its new shape, around the best point."""
        xp, model = ops.xp, memory.model
        best, f = model.at_best()
        w, V = ops.eigh(model.H)
        stiffest = ops.max(w[-1], 1e-30)
        soft = xp.sqrt(stiffest / xp.maximum(w, 1e-12 * stiffest))
        tau = self.shrink * xp.minimum(soft, self.limit)
        gained, all_gained = memory.last_f - f, memory.start - f
        unseen = ops.max(resolution(eps_of(best.dtype), f), self._unit(ops, memory))
        small = abs(memory.axes).max() <= self.coarse
        rises = 0.5 * stiffest + ops.norm(model.g) > unseen  # as where all that was read is far above a narrow basin
        narrow = (all_gained <= unseen) & rises
        idle = small & ops.no(narrow) & (gained <= ops.max(self.idle_share * all_gained, unseen))
        return memory._replace(
            model=quadratic.turned(ops, model, (V * tau) @ V.T, (V / tau) @ V.T),
            centre=memory.centre + ops.times(memory.axes, best),
            axes=memory.axes @ ((V * tau) @ V.T),
            radius=ops.real(self.reopened, best.dtype),
            errors=xp.full_like(memory.errors, xp.inf),
            contracts=ops.flag(False),
            idle=ops.pick(idle, memory.idle + 1, ops.whole(0)),
            suspects=ops.flag(ops.where(memory.errors < INF, memory.errors, 0.0).max() > 0.5 * self.misfit * stiffest),
            rests=ops.flag(gained <= self.resting * all_gained),
            last_f=f,
            since=ops.whole(0),
        )

    def _verdict(self, ops: Any, memory: InterpolateMemory, board: Board, spreads: Any, status: Any) -> Any:
        model, d = memory.model, memory.centre.shape[0]
        best, f = model.at_best()
        behind = ops.no(spreads) & (f > board.base_f)
        hopeless = behind & (memory.phase == STEP) & (f - self.hope * memory.predicted > board.base_f)
        x = memory.centre + ops.times(memory.axes, best)
        squares = ((board.basins.points - x) ** 2).sum(axis=1)
        little = self.idle_share * ops.max(board.spread, memory.start - f)
        again = ops.no(spreads) & (f + little >= board.base_f)
        known = again & ((squares < SAME_BASIN**2 * d) & (board.basins.values <= f + little)).any()
        cause = ops.pick(hopeless, ops.whole(int(Cause.HOPELESS)), goes_on(ops))
        cause = ops.pick(known, ops.whole(int(Cause.REVISIT)), cause)
        tried, failed = ops.real(memory.tried, x.dtype), ops.real(memory.failed, x.dtype)
        doubts = (tried >= self.doubtful * d) & (failed >= self.mostly * tried)
        suspects = memory.suspects & (board.value_noise < 0)
        rests = (((memory.rests | doubts) & (d >= self.asks)) | suspects) & (f <= board.base_f)
        cause = ops.pick(rests & (cause == int(Cause.NONE)), ops.whole(int(Cause.CLOCK)), cause)
        return ops.pick(ops.no(spreads) & (status == OVER), ends(ops, ops.flag(True), Cause.CONVERGED), cause)

    def _mismatch(self, ops: Any, memory: InterpolateMemory) -> Any:
        """1 where errors may be noise, else half of the share of trials that failed, if there were some."""
        dtype = memory.centre.dtype
        tried, failed = ops.real(memory.tried, dtype), ops.real(memory.failed, dtype)
        many = tried >= self.doubtful * memory.centre.shape[0]
        return ops.pick(memory.suspects, 1.0, ops.pick(many, 0.5 * failed / ops.max(tried, 1.0), 0.0))

    def evidence(self, ops: Any, memory: InterpolateMemory, board: Board, plant: Plant) -> Evidence:
        model, zero = memory.model, ops.real(0.0, plant.q.dtype)
        best, f = model.at_best()
        x = memory.centre + ops.times(memory.axes, best)
        q = ops.xp.minimum(ops.xp.maximum(x, board.lower), board.upper)
        g = ops.solve(memory.axes.T, model.g)
        lowest = ops.xp.zeros(1, q.dtype) + ops.min(f, board.base_f)
        return Evidence(
            q=q,
            f=f,
            g=ops.where(abs(g) < INF, g, 0.0),
            basin=ops.flag(True),
            rebase=ops.flag(True),
            fresh=ops.flag(False),
            descent=ops.norm(q - memory.origin) / q.shape[0] ** 0.5,
            fall=abs(memory.start - f),
            mismatch=ops.real(self._mismatch(ops, memory), q.dtype),
            predicted=zero,
            noise_std=-1.0,
            structure=ops.whole(0),
            value_precision=ops.real(unit(ops, memory.printed, lowest)[0], q.dtype),
        )

    def phase(self, ops: Any, memory: InterpolateMemory) -> Any:
        return memory.phase

    def wants_force(self, ops: Any, memory: InterpolateMemory) -> Any:
        return ops.flag(False)


def _appended(ops: Any, errors: Any, error: Any) -> Any:
    """The last errors with one more."""
    return ops.xp.concatenate([errors[1:], ops.xp.zeros(1, errors.dtype) + error])
