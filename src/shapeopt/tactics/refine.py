"""Descend into a basin by a quasi-Newton method, and leave it as soon as it is known or can't pay.

Overdamped steps with M = h^2 B, B the secant Hessian: the refine limit. One reading a trial. A trial that decreases f
enough (Armijo) becomes the incumbent, and the next step goes from there; one that does not is taken back towards the
incumbent, by a placement, to the minimum of the cubic through both ends. A trial that shows negative curvature is
accepted too and lengthens the next step. Where a trial is accepted before a kink that the one before it was rejected
behind, the change of force between those two is the curvature that counts: along the way to the kink there is none.

    converged   the step predicts no decrease that could be seen, or next to none of the spread between basins
    stall       the line is too short, or noise drowns the force
    revisit     f fits the quadratic whose bottom is the base
    hopeless    even four times the predicted decrease would not reach the base

Departs from the paper: M is not diagonal; hopeless and revisit are not in it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ..core.board import Board, Draws, Evidence, Offer, Plant, Spec, is_noisy, resolution
from ..core.box import REACH
from ..core.codes import Cause, Mode
from ..dynamics.inverse import Limited
from ..dynamics.move import H_STEP, Move, Stepped
from .base import AbstractTactic, Step, bid, eps_of, goes_on

INF = float("inf")
NONE = int(Cause.NONE)
CAUSES = tuple(map(int, (Cause.HOPELESS, Cause.REVISIT, Cause.STALL, Cause.CONVERGED, Cause.NONFINITE)))


class RefineMemory(NamedTuple):
    """The incumbent (q, f, g), the move being tried from it, and the curvature of this basin."""

    q: Any
    f: Any
    g: Any
    move: Any  # the whole step from the incumbent; trials are at q + t move
    t: Any
    stretch: Any
    accepted: Any  # was the last trial accepted
    inverse: Any  # secant model of the inverse Hessian
    gamma: Any  # its scale
    beyond: Any  # the last trial, if that was rejected: the bottom of the line lies before it
    beyond_g: Any
    bracketed: Any  # whether it was
    radius: Any  # longest step, per root coordinate
    age: Any  # readings in this basin
    start: Any  # value where the basin was entered
    origin: Any  # that place
    mismatch: Any  # how far changes of f are from the work of the force: 0 for a smooth f without noise
    predicted: Any  # decrease that the next trial predicts
    same: Any  # whether the last accepted trial looked like the base's own basin


@dataclass(frozen=True)
class Refine(AbstractTactic):
    """Quasi-Newton descent with one reading a trial."""

    armijo: float = 1e-4  # Nocedal and Wright, section 3.1
    wolfe: float = 0.9  # weak Wolfe condition: share of the slope that may be left after a rejected trial
    growth: float = 4.0  # of the step on negative curvature; More and Thuente's extrapolation limit
    first_step: float = 1.0  # length of a run's first step per root coordinate, where the box is 10 wide
    first_radius: float = 1.0  # longest first step of a basin, likewise
    radius_growth: float = 2.5
    largest_radius: float = 10.0
    shortest: float = 1e-4  # a line this short has failed
    curvature_floor: float = 1e-10  # a pair counts if s.y exceeds this share of |s||y|
    least_change: float = 100.0  # units in the last place of a force: a smaller change is round-off
    tolerance: float = 1e-9  # predicted decrease, as a share of the spread between basins, at which a basin is done
    standstill: float = 1e-9  # step per root coordinate at which a basin is done whatever the spread
    hope: float = 4.0  # multiple of the predicted decrease that is believed possible
    patience: int = 3  # readings before that prediction is trusted
    same_basin: float = 0.03  # agreement of f with the quadratic that has its bottom at the base
    pairs: int = 24  # of the secant model, and at most two more than coordinates

    name: ClassVar[str] = "refine"
    mode: ClassVar[Mode] = Mode.REFINE
    interruptible: ClassVar[bool] = True

    def blank(self, ops: Any, spec: Spec) -> RefineMemory:
        d, dtype, xp = spec.dimension, spec.dtype, ops.xp
        zeros = lambda: xp.zeros(d, dtype)  # noqa: E731
        zero, one, infinite = (ops.real(x, dtype) for x in (0.0, 1.0, INF))
        no = ops.flag(False)
        return RefineMemory(
            q=zeros(),
            f=infinite,
            g=zeros(),
            move=zeros(),
            t=one,
            stretch=one,
            accepted=no,
            inverse=Limited.blank(ops, min(self.pairs, d + 2), d, dtype),
            gamma=zero,
            beyond=zeros(),
            beyond_g=zeros(),
            bracketed=no,
            radius=zero,
            age=ops.whole(0),
            start=infinite,
            origin=zeros(),
            mismatch=zero,
            predicted=infinite,
            same=no,
        )

    def offer(self, ops: Any, memory: RefineMemory, board: Board) -> Offer:
        here = board.fresh & ops.no(is_noisy(ops, board))
        resumes = board.interrupted & ops.no(board.fresh) & ops.no(is_noisy(ops, board))
        return bid(ops, here | resumes, 4.0, cost=2.0 * board.base.shape[0])

    def open(
        self, ops: Any, memory: RefineMemory, board: Board, plant: Plant, draws: Callable[[], Draws]
    ) -> RefineMemory:
        return ops.cond(
            board.fresh, lambda: self._entered(ops, memory, plant), lambda: self._resumed(ops, memory, board, plant)
        )

    def _entered(self, ops: Any, memory: RefineMemory, plant: Plant) -> RefineMemory:
        """A new basin at the plant; the last basin's curvature scale is the first guess of its own."""
        q, f, g, one = plant.q, plant.f, plant.g, ops.real(1.0, plant.q.dtype)
        steepest = ops.max(ops.norm(g), 1e-300 if q.dtype.itemsize == 8 else 1e-36)
        first = self.first_step * q.shape[0] ** 0.5 / steepest
        guess = ops.min(ops.max(memory.gamma, 1e-3 * first), 10.0 * first)
        no = ops.flag(False)
        return RefineMemory(
            q=q,
            f=f,
            g=g,
            move=memory.move,
            t=one,
            stretch=one,
            accepted=ops.flag(True),
            inverse=memory.inverse.reset(ops),
            gamma=ops.pick(memory.gamma > 0, guess, first),
            beyond=memory.beyond,
            beyond_g=memory.beyond_g,
            bracketed=no,
            radius=self.first_radius * one,
            age=ops.whole(0),
            start=f,
            origin=q,
            mismatch=ops.real(0.0, q.dtype),
            predicted=ops.real(INF, q.dtype),
            same=no,
        )

    def _resumed(self, ops: Any, memory: RefineMemory, board: Board, plant: Plant) -> RefineMemory:
        """The plant was elsewhere: the next trial is placed on the line down the incumbent's force, or down the base's
        where no basin was entered yet."""
        base = plant._replace(q=board.base, f=board.base_f, g=board.base_g)
        memory = ops.cond(memory.f < INF, lambda: memory, lambda: self._entered(ops, memory, base))
        length = memory.gamma * ops.norm(memory.g)
        longest = memory.radius * memory.q.shape[0] ** 0.5
        factor = ops.pick(length > longest, longest / ops.pick(length > 0, length, 1.0), 1.0)
        no = ops.flag(False)
        return memory._replace(move=-(memory.gamma * factor) * memory.g, t=1.0, accepted=no, bracketed=no)

    def observe(self, ops: Any, memory: RefineMemory, board: Board, plant: Plant) -> tuple[RefineMemory, Any]:
        return ops.cond(
            plant.finite,
            lambda: self._read(ops, memory, board, plant),
            lambda: self._failed(ops, memory),
        ), goes_on(ops)

    def _failed(self, ops: Any, memory: RefineMemory) -> RefineMemory:
        """The trial was not finite: a tenth of the way instead."""
        t = 0.1 * memory.t
        return memory._replace(
            t=t,
            accepted=ops.flag(False),
            bracketed=ops.flag(False),
            radius=t * ops.norm(memory.move) / memory.q.shape[0] ** 0.5,
            stretch=1.0,
            age=memory.age + 1,
        )

    def _read(self, ops: Any, memory: RefineMemory, board: Board, plant: Plant) -> RefineMemory:
        s = plant.q - memory.q
        slope, slope_end = ops.dot(memory.g, s), ops.dot(plant.g, s)
        rise, ss = plant.f - memory.f, ops.dot(s, s)
        steepest = ops.max(ops.dot(plant.g, plant.g), ops.dot(memory.g, memory.g))
        work = ops.sqrt(ss * steepest / (2.0 * s.shape[0]))
        error = abs(rise - 0.5 * (slope + slope_end)) / ops.pick(work > 0, work, 1.0)
        mismatch = 0.7 * memory.mismatch + 0.3 * ops.min(error, 1.0)
        return ops.cond(
            rise <= self.armijo * slope,
            lambda: self._accepted(ops, memory, board, plant, Trial(s, slope, slope_end, ss, steepest, mismatch)),
            lambda: self._rejected(ops, memory, plant, slope, rise, slope_end, mismatch),
        )

    def _accepted(self, ops: Any, memory: RefineMemory, board: Board, plant: Plant, trial: "Trial") -> RefineMemory:
        """The trial is the new incumbent; its pair joins the curvature, or the step grows."""
        across = memory.bracketed & (trial.slope_end < self.wolfe * trial.slope)
        s, y, sy, ss = ops.cond(
            across,
            lambda: _pair(ops, memory.beyond - plant.q, memory.beyond_g - plant.g),
            lambda: (trial.s, plant.g - memory.g, trial.slope_end - trial.slope, trial.ss),
        )
        yy = ops.dot(y, y)
        changed = yy > (self.least_change * eps_of(plant.q.dtype)) ** 2 * trial.steepest
        curved = changed & (sy > self.curvature_floor * ops.sqrt(ss * yy))
        inverse = ops.cond(
            curved, lambda: memory.inverse.add(ops, s, y, ops.pick(curved, sy, 1.0)), lambda: memory.inverse
        )
        gap = plant.f - board.base_f
        quadratic = -0.5 * ops.dot(plant.g, board.base - plant.q)  # f - f(bottom) of a quadratic with its bottom there
        return RefineMemory(
            q=plant.q,
            f=plant.f,
            g=plant.g,
            move=memory.move,
            t=1.0,
            stretch=ops.pick(curved, 1.0, self.growth),
            accepted=ops.flag(True),
            inverse=inverse,
            gamma=ops.pick(curved, sy / ops.pick(curved, yy, 1.0), self.growth * memory.gamma),
            beyond=memory.beyond,
            beyond_g=memory.beyond_g,
            bracketed=ops.flag(False),
            radius=ops.min(self.radius_growth * memory.radius, self.largest_radius),
            age=memory.age + 1,
            start=memory.start,
            origin=memory.origin,
            mismatch=trial.mismatch,
            predicted=memory.predicted,
            same=ops.flag(abs(gap - quadratic) <= self.same_basin * abs(gap)),
        )

    def _rejected(
        self,
        ops: Any,
        memory: RefineMemory,
        plant: Plant,
        slope: Any,
        rise: Any,
        slope_end: Any,
        mismatch: Any,
    ) -> RefineMemory:
        """The line gets shorter."""
        share = cubic_minimum(ops, slope, rise, slope_end)
        t = memory.t * ops.min(ops.max(share, 0.1), 0.5)
        return memory._replace(
            t=t,
            stretch=1.0,
            accepted=ops.flag(False),
            beyond=plant.q,
            beyond_g=plant.g,
            bracketed=ops.flag(True),
            radius=t * ops.norm(memory.move) / plant.q.shape[0] ** 0.5,
            age=memory.age + 1,
            mismatch=mismatch,
        )

    def propose(
        self, ops: Any, memory: RefineMemory, board: Board, plant: Plant, step: Step
    ) -> tuple[RefineMemory, Stepped, Any]:
        d, inverse, gamma = plant.q.shape[0], memory.inverse, memory.gamma
        held = self._held(ops, board, plant)
        factor = memory.stretch * H_STEP**-2

        def solve(v: Any) -> Any:
            if held is None:
                return factor * inverse.solve(ops, v, gamma)
            free = inverse.solve(ops, ops.where(held, 0.0, v), gamma)
            return factor * ops.where(held, gamma * v, free)

        back = memory.q + memory.t * memory.move
        move = Move(back, ops.no(memory.accepted), solve, radius=memory.radius * d**0.5)
        made = step(move)
        way = made.q - plant.q
        along = ops.pick(memory.accepted, way, memory.move)
        predicted = -memory.t * ops.dot(memory.g, along)
        memory = memory._replace(move=along, predicted=predicted)
        return memory, made, self._verdict(ops, memory, board, ops.norm(way) / d**0.5)

    def _held(self, ops: Any, board: Board, plant: Plant) -> Any:
        """Which coordinates are pushed against a bound; None where the plant is seen to touch none."""
        q, slack = plant.q, 64.0 * REACH * eps_of(plant.q.dtype)  # a placement is exact to round-off only
        if not ops.traced and abs(q).max() < REACH - slack:
            return None
        return ((q <= board.lower + slack) & (plant.g > 0)) | ((q >= board.upper - slack) & (plant.g < 0))

    def _verdict(self, ops: Any, memory: RefineMemory, board: Board, length: Any) -> Any:
        eps = eps_of(memory.q.dtype)
        unseen = resolution(eps, memory.f)
        least = max(self.standstill, 8.0 * eps)
        nothing = memory.predicted <= unseen
        little = (memory.age > 0) & (memory.predicted <= self.tolerance * board.spread)
        converged = memory.accepted & ((length <= least) | nothing | little)
        failed = ops.no(memory.accepted) & ((memory.t < self.shortest) | nothing)
        revisit = (board.escapes > 0) & (memory.f + unseen >= board.base_f) & memory.same
        reachable = memory.f - self.hope * memory.predicted
        hopeless = (memory.age >= self.patience) & (reachable > board.base_f)
        flags = (hopeless, revisit, failed | is_noisy(ops, board), converged, ops.no(memory.f < INF))
        cause = NONE
        for flag, code in zip(flags, CAUSES, strict=True):  # the last that holds is the one
            cause = ops.pick(flag, code, cause)
        return ops.whole(cause)

    def evidence(self, ops: Any, memory: RefineMemory, board: Board, plant: Plant) -> Evidence:
        return Evidence(
            q=memory.q,
            f=memory.f,
            g=memory.g,
            basin=ops.flag(True),
            rebase=ops.flag(True),
            fresh=ops.flag(False),
            descent=ops.norm(memory.q - memory.origin) / plant.q.shape[0] ** 0.5,
            fall=abs(memory.start - memory.f),
            mismatch=memory.mismatch,
            predicted=memory.predicted,
            noise_std=-1.0,
            structure=ops.whole(0),
        )


class Trial(NamedTuple):
    """What a reading says of the line to it from the incumbent."""

    s: Any
    slope: Any
    slope_end: Any
    ss: Any
    steepest: Any  # the larger square of the forces at both ends
    mismatch: Any


def _pair(ops: Any, s: Any, y: Any) -> tuple[Any, Any, Any, Any]:
    return s, y, ops.dot(s, y), ops.dot(s, s)


def cubic_minimum(ops: Any, slope: Any, rise: Any, slope_end: Any) -> Any:
    """Minimum in t of the cubic with value 0 and `slope` at t = 0, `rise` and `slope_end` at t = 1; else 1/4."""
    z = slope + slope_end - 3.0 * rise
    square = z * z - slope * slope_end
    root = ops.sqrt(square)
    bottom = slope_end - slope + 2.0 * root
    sound = (square >= 0) & (bottom != 0)
    t = 1.0 - (slope_end + root - z) / ops.pick(sound, bottom, 1.0)
    return ops.pick(sound & (abs(t) < INF), t, 0.25)
