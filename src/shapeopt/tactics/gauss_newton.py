"""Descend into a basin of a sum of squares by damped Gauss-Newton steps, and leave it as refine does.

For runs whose readings bring residuals and their Jacobian (`shapeopt.least_squares`), where it stands in for refine.
One reading a trial, each made from the incumbent by the step of the model inside a radius and the box
(dynamics/least_squares.py). With r the decrease as a share of what the model predicts, the trial becomes the incumbent
if r > 1e-4, and the next radius is such that 1 - r would be 1/4, if that grows with the square of the length:

    radius = |E s| sqrt(1/4 / (1 - r)),   between a tenth and three times the length; not shorter than before if r > 3/4

    converged   no decrease is predicted that could be seen; or the last step gained, and the next one predicts, next to
                none of what the steps before it gained, or of the spread between basins
    stall       the radius is too short, or trials are rejected in a row and values do not fit forces; or most of the
    run
                was spent here and steps hardly gain
    revisit, hopeless, and the best basin resumed: as refine has them

It runs on the host engine alone.

Departs from the paper: M is not diagonal; it has no sums of squares.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ..core.board import Board, Draws, Evidence, Offer, Plant, Spec, resolution
from ..core.box import REACH
from ..core.codes import Cause, Mode
from ..dynamics.dense import Room
from ..dynamics.least_squares import SMALLEST, Squares, damped_way
from ..dynamics.move import Move, Stepped
from .base import AbstractTactic, Step, eps_of, goes_on
from .refine import LEAST_MISFIT, Descent, Refine, RefineMemory, mixed_misfit

INF = float("inf")


@dataclass(frozen=True)
class GaussNewton(AbstractTactic):
    """Levenberg-Marquardt descent with one reading a trial."""

    armijo: float = 1e-4  # share of the predicted decrease that accepts a trial (Moré 1978)
    wrong: float = 0.25  # 1 - r that the radius aims at
    shrinking: float = 0.1  # of the radius below the step at the most,
    growth: float = 3.0  # and above it
    first_radius: float = 3.0  # of a basin, by coordinate, where the box is 10 wide
    shortest: float = 1e-13  # a radius this short has failed
    tolerance: float = 1e-12  # predicted decrease, as a share of the spread between basins or of what the last steps
    # gained, at which a basin is left
    crawl: float = 1e-6  # of the fall in this basin: steps that gain less are left to the end of the run,
    crawl_share: float = 0.6  # once the basin has taken this share of the run's readings
    leaving: Refine = field(default_factory=Refine)  # when a basin can't pay, and when the best one is resumed

    name: ClassVar[str] = "gauss_newton"
    mode: ClassVar[Mode] = Mode.REFINE
    interruptible: ClassVar[bool] = True

    def blank(self, ops: Any, spec: Spec) -> RefineMemory | None:
        if not spec.residuals:
            return None
        memory: Any = self.leaving.blank(ops, Spec(spec.dimension, spec.dtype))
        unknown = memory.now._replace(inverse=None)
        return memory._replace(now=unknown, best=unknown, metric=None)

    # ---------------------------------------------------------------------------------------------- stages

    def offer(self, ops: Any, memory: RefineMemory, board: Board) -> Offer:
        return self.leaving.offer(ops, memory, board)

    def open(
        self, ops: Any, memory: RefineMemory, board: Board, plant: Plant, draws: Callable[[], Draws]
    ) -> RefineMemory:
        """A new basin at the plant; else go on with the basin that was interrupted, or with the best one. Where neither
        was entered, the base is read again, since its residuals are not known."""
        if board.fresh:
            return self._entered(ops, memory, plant)
        known = memory.now if board.interrupted else memory.best
        memory = memory._replace(now=known, accepted=False, rejections=0)
        if board.interrupted and known.f < INF:
            return memory
        return memory._replace(age=0, start=known.f, origin=known.q)

    def _entered(self, ops: Any, memory: RefineMemory, plant: Plant) -> RefineMemory:
        """A new basin at the plant, with a first step of at most the radius."""
        q, f, g, fit = plant.q, plant.f, plant.g, plant.fit
        model = Squares.at(ops, *fit)
        return memory._replace(
            now=Descent(q, f, g, model, 1.0, self.first_radius * ops.norm(model.E)),
            accepted=True,
            rejections=0,
            fell=INF,
            gained=0.0,
            age=0,
            start=f,
            origin=q,
            mismatch=LEAST_MISFIT,
            predicted=INF,
            same=0,
        )

    def evidence(self, ops: Any, memory: RefineMemory, board: Board, plant: Plant) -> Evidence:
        return self.leaving.evidence(ops, memory, board, plant)

    # --------------------------------------------------------------------------------------------- readings

    def observe(self, ops: Any, memory: RefineMemory, board: Board, plant: Plant) -> tuple[RefineMemory, Any]:
        """A trial that was not finite is rejected, and the next one goes a tenth of the way."""
        if memory.now.inverse is None:  # the base was read again
            if not plant.finite:
                return memory, int(Cause.NONFINITE)
            return self._entered(ops, memory, plant), goes_on(ops)
        memory = memory._replace(age=memory.age + 1)
        if plant.finite:
            return self._read(ops, memory, board, plant), goes_on(ops)
        now = memory.now._replace(radius=max(self.shrinking * memory.length, SMALLEST))
        return memory._replace(now=now, accepted=False, rejections=memory.rejections + 1), goes_on(ops)

    def _read(self, ops: Any, memory: RefineMemory, board: Board, plant: Plant) -> RefineMemory:
        now, s = memory.now, plant.q - memory.now.q
        slope, slope_end, fall = ops.dot(now.g, s), ops.dot(plant.g, s), now.f - plant.f
        share = fall / memory.predicted if memory.predicted > 0 else -1.0
        accepted = fall > 0 and share > self.armijo
        length = ops.norm(now.inverse.E * s)
        factor = min(max((self.wrong / max(1.0 - share, 1e-9)) ** 0.5, self.shrinking), self.growth)
        radius = max(length * factor, SMALLEST if factor < 1 else now.radius)
        work = ops.norm(s) * max(ops.norm(plant.g), ops.norm(now.g)) / (2.0 * s.size) ** 0.5
        error = abs(fall + 0.5 * (slope + slope_end)) / work if work > 0 else 0.0
        memory = memory._replace(mismatch=mixed_misfit(memory.mismatch, min(error, 1.0)))
        if not accepted:
            now = now._replace(radius=radius, inverse=now.inverse._replace(beside=(s, plant.fit[0])))
            return memory._replace(now=now, accepted=False, rejections=memory.rejections + 1)
        model = now.inverse.moved(ops, *plant.fit, s, plant.g - now.g, self._prefers_full(ops, now, s, fall))
        return memory._replace(
            now=Descent(plant.q, plant.f, plant.g, model, 1.0, radius),
            accepted=True,
            rejections=0,
            fell=fall,
            gained=max(self.leaving.forgetting * memory.gained, fall),
            same=self.leaving._like_base(ops, memory.same, board, plant),
        )

    def _prefers_full(self, ops: Any, now: Descent, s: Any, fall: Any) -> bool:
        """Whether the model with the secant part predicted the decrease better than Gauss and Newton's."""
        slope = ops.dot(now.g, s)
        plain, full = (abs(fall + slope + 0.5 * bent) for bent in now.inverse.curvatures(ops, s))
        return full < plain or (now.inverse.full and full <= plain)

    # ---------------------------------------------------------------------------------------------- moves

    def propose(
        self, ops: Any, memory: RefineMemory, board: Board, plant: Plant, step: Step
    ) -> tuple[RefineMemory, Stepped, Any]:
        now = memory.now
        if now.inverse is None:
            return memory, step(Move(board.base)), goes_on(ops)
        slack = 64.0 * REACH * eps_of(now.q.dtype)  # a placement is exact to round-off only
        room = Room.around(ops, now.q, now.g, board.lower, board.upper, slack)
        way, bent = damped_way(ops, now.inverse, now.g, room, now.radius)
        unseen = resolution(eps_of(now.q.dtype), now.f)
        predicted = self.leaving._predicted(ops, way)
        memory = memory._replace(length=way.length, predicted=predicted)
        made = step(Move(now.q + bent, not memory.accepted, way=bent, slope=ops.dot(plant.g, bent)))
        cause = self._verdict(ops, memory, board, unseen, way.s)
        return self.leaving._kept(ops, memory, board, cause, unseen), made, cause

    def _verdict(self, ops: Any, memory: RefineMemory, board: Board, unseen: Any, s: Any) -> int:
        now, leaving = memory.now, self.leaving
        if not now.f < INF:
            return int(Cause.NONFINITE)
        nothing = memory.predicted <= unseen
        enough = self.tolerance * max(board.spread, memory.gained)
        gain = max(memory.predicted, memory.fell)
        little = memory.age > 0 and memory.length < 0.9 * now.radius and gain <= enough
        if memory.accepted and (nothing or little):
            return int(Cause.CONVERGED)
        drowned = memory.rejections >= leaving.tries and memory.mismatch > leaving.suspicious and board.noise_std != 0
        short = not abs(s).max() > self.shortest
        if memory.age > self.crawl_share * board.readings and gain <= self.crawl * (memory.start - now.f):
            return int(Cause.STALL)
        if short or board.noisy or (not memory.accepted and (nothing or drowned)):
            return int(Cause.STALL)
        if board.escapes > 0 and now.f + unseen >= board.base_f and memory.same >= 2:
            return int(Cause.REVISIT)
        hopeless = memory.age >= leaving.patience and now.f - leaving._reach(ops, memory, board) > board.base_f
        return int(Cause.HOPELESS if hopeless else Cause.NONE)
