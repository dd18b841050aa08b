"""Descend where forces are noisy: a linear field fitted to the forces near the incumbent, by weighted least squares.

With t = (x - c) / h, c the incumbent, h the distance of the n-th nearest reading, n = `crowd` times d + 1,

    min_{a, J}  sum_i w_i |g_i - a - (gamma I + J) t_i|^2 + lambda |J|^2
    w_i = (1 + |t_i|^2)^-2 / (|g_c|^2 + `steep` |g_i|^2)       long forces are far from the bottom, and often noisier
    gamma: mean curvature of the readings,   lambda = (noise / gamma)^2: the prior of J has gamma's size

so that noise averages out over many readings, a few of them already tell curvature along the way, and where little is
known the field is gamma I. The next trial is made at the minimum of the field's quadratic a.t + t.(gamma I + sym J) t/2
within a radius. A trial becomes the incumbent if it is lower, and the radius follows from how much lower:

    r = (f - f(q + s) + e) / (predicted + e)       e: noise of values, 0 where they are exact (Sun and Nocedal 2023)

These are overdamped steps with M = h^2 H where the force that was read points down the step, placements elsewhere. All
readings of the run are watched, so the descent that was interrupted to look for noise is not forgotten, nor is a basin
that is resumed.

    converged   the radius is short, or the steps gained next to nothing of what the stage has gained
    hopeless    the value is above the base's by many times what the last steps gained

Departs from the paper: not in it; there a noisy force is averaged by momentum (settle.py, beyond `most` dimensions).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ..core.board import NOT_NOW, Board, Draws, Evidence, Offer, Plant, Spec
from ..core.codes import Cause, Mode
from ..dynamics.move import Move, Stepped
from .base import AbstractTactic, Step, bid, found, goes_on
from .trust_region import in_sphere

INF = float("inf")
CAUSES = (int(Cause.HOPELESS), int(Cause.CONVERGED))
TINY = 1e-30


class FitForcesMemory(NamedTuple):
    """The last readings of the run, the incumbent, and the trial that is under way."""

    points: Any
    forces: Any
    values: Any  # +inf in rows without a finite reading
    read: Any  # readings of the run
    q: Any
    f: Any
    g: Any
    radius: Any
    length: Any  # of the trial's step
    predicted: Any  # its decrease
    noise: Any  # standard deviation of a force's coordinate, as fits have left it
    gained: Any  # decrease of the last steps: the largest one, forgotten by and by
    accepted: Any
    age: Any
    origin: Any
    start: Any
    resumed: Any  # whether the base was resumed as the run ends


@dataclass(frozen=True)
class FitForces(AbstractTactic):
    """Quasi-Newton descent in noise, with one reading a trial."""

    crowd: float = 2.0  # readings of a fit, in coefficients of a coordinate's force
    wide: float = 3.0  # h at the least, in radii
    steep: float = 2.0
    grow: float = 2.0  # of the radius after a good trial that it shortened,
    shrink: float = 0.6  # and after a poor one
    poor: float = 0.1
    good: float = 0.5
    first_radius: float = 0.3  # per root coordinate, where the box is 10 wide
    shortest: float = 1e-6  # likewise: a shorter one has converged
    learning: float = 0.3  # weight of the last fit in the logarithm of the noise
    forgetting: float = 0.9  # of what steps gained, by reading
    tolerance: float = 1e-4  # of the stage's gain, that steps must gain
    patience: int = 6  # readings before a basin may be hopeless
    hope: float = 10.0  # by how many times what the last steps gained a basin may be above the base
    reserve: float = 0.3  # share of the run in which the base may be resumed
    most: int = 64  # dimensions

    name: ClassVar[str] = "fit forces"
    mode: ClassVar[Mode] = Mode.REFINE
    watches: ClassVar[bool] = True

    def blank(self, ops: Any, spec: Spec) -> FitForcesMemory | None:
        d, dtype, xp = spec.dimension, spec.dtype, ops.xp
        if spec.values_only or spec.residuals or d > self.most:
            return None
        room = 6 * (d + 2)
        zeros, zero, no = (lambda: xp.zeros(d, dtype)), ops.real(0.0, dtype), ops.flag(False)
        rows = lambda: xp.zeros((room, d), dtype)  # noqa: E731
        return FitForcesMemory(
            points=rows(),
            forces=rows(),
            values=xp.full(room, xp.inf, dtype),
            read=ops.whole(0),
            q=zeros(),
            f=ops.real(INF, dtype),
            g=zeros(),
            radius=zero,
            length=zero,
            predicted=zero,
            noise=zero,
            gained=zero,
            accepted=no,
            age=ops.whole(0),
            origin=zeros(),
            start=zero,
            resumed=no,
        )

    def watch(self, ops: Any, memory: FitForcesMemory, board: Board, plant: Plant) -> tuple[FitForcesMemory, Any]:
        row = ops.remainder(memory.read, memory.values.shape[0])
        memory = memory._replace(
            points=ops.put(memory.points, row, plant.q),
            forces=ops.put(memory.forces, row, plant.g),
            values=ops.put(memory.values, row, plant.f),
            read=memory.read + 1,
        )
        return memory, ops.flag(False)

    def offer(self, ops: Any, memory: FitForcesMemory, board: Board) -> Offer:
        if not ops.traced and not board.noisy:
            return NOT_NOW
        resumes = ops.no(memory.resumed) & (board.left <= self.reserve * board.readings)
        return bid(ops, board.noisy & (ops.no(board.scored) | resumes), 4.0, cost=board.left)

    def open(
        self, ops: Any, memory: FitForcesMemory, board: Board, plant: Plant, draws: Callable[[], Draws]
    ) -> FitForcesMemory:
        q, f, g = ops.pick(board.fresh, (plant.q, plant.f, plant.g), (board.base, board.base_f, board.base_g))
        d, dtype = q.shape[0], q.dtype
        near = ops.xp.sort(self._away(ops, memory, q))[2]  # of two others, if the readings before led here
        first = self.first_radius * d**0.5
        radius = ops.pick(board.fresh | ops.no((near > 0) & (near < first)), first, near)
        return memory._replace(
            q=q,
            f=f,
            g=g,
            radius=ops.real(radius, dtype),
            noise=ops.pick(memory.noise > 0, memory.noise, board.noise_std),
            gained=ops.real(INF, dtype),
            accepted=ops.flag(board.fresh),
            age=ops.whole(0),
            origin=q,
            start=f,
            resumed=ops.flag(memory.resumed | board.scored),
        )

    def _away(self, ops: Any, memory: FitForcesMemory, q: Any) -> Any:
        """Distances of the readings; infinite of rows without one."""
        square = ((memory.points - q) ** 2).sum(axis=1)
        return ops.xp.sqrt(ops.where(memory.values < INF, square, ops.xp.inf))

    def observe(self, ops: Any, memory: FitForcesMemory, board: Board, plant: Plant) -> tuple[FitForcesMemory, Any]:
        """A trial that was not finite (f is infinite then) is rejected."""
        slack = ops.max(board.value_noise, 0.0)
        fall = memory.f - plant.f
        share = ops.over(fall + slack, ops.max(memory.predicted, 0.0) + slack + TINY)
        accepted = fall + slack > 0
        shorter = ops.min(memory.radius, ops.max(memory.length, 0.1 * memory.radius)) * self.shrink
        longer = self.grow * memory.radius
        grows = (share > self.good) & (memory.length > 0.8 * memory.radius)
        radius = ops.pick(share < self.poor, shorter, ops.pick(grows, longer, memory.radius))
        gained = ops.pick(memory.gained < INF, self.forgetting * memory.gained, 0.0)
        q, f, g = ops.pick(accepted, (plant.q, plant.f, plant.g), (memory.q, memory.f, memory.g))
        return memory._replace(
            q=q,
            f=f,
            g=g,
            radius=radius,
            gained=ops.max(gained, ops.pick(accepted, fall, 0.0)),
            accepted=ops.flag(accepted),
            age=memory.age + 1,
        ), goes_on(ops)

    def propose(
        self, ops: Any, memory: FitForcesMemory, board: Board, plant: Plant, step: Step
    ) -> tuple[FitForcesMemory, Stepped, Any]:
        a, H, h, noise = self._fit(ops, memory)
        way = h * in_sphere(ops, a, H, memory.radius / h)
        target = ops.xp.minimum(ops.xp.maximum(memory.q + way, board.lower), board.upper)
        t = (target - memory.q) / h
        predicted = -h * (ops.dot(a, t) + 0.5 * ops.dot(t, ops.times(H, t)))
        memory = memory._replace(length=ops.norm(target - memory.q), predicted=predicted, noise=noise)
        placed = ops.no(memory.accepted & (ops.dot(plant.g, way) < 0))
        return memory, step(Move(target, placed, way=way)), self._verdict(ops, memory, board)

    def _fit(self, ops: Any, memory: FitForcesMemory) -> tuple[Any, Any, Any, Any]:
        """(a, H, h, noise): the force at the incumbent, its derivative by t, the scale of t, and the noise."""
        xp, d = ops.xp, memory.q.shape[0]
        away = self._away(ops, memory, memory.q)
        there = away < INF
        count = ops.min(memory.read, memory.values.shape[0])
        nearest = ops.min(count, int(self.crowd * (d + 1)))
        near = xp.sort(away)[nearest - 1]
        h = ops.max(ops.pick(near < INF, near, 0.0), self.wide * memory.radius)
        t = ops.where(there[:, None], (memory.points - memory.q) / h, 0.0)
        square, steep = ops.dot(memory.g, memory.g), (memory.forces**2).sum(axis=1)
        w = ops.where(there, 1.0 / (1.0 + (t * t).sum(axis=1)) ** 2, 0.0)
        w = w * ((1.0 + self.steep) * square + TINY) / (square + self.steep * steep + TINY)
        total = w.sum()
        mean_t, mean_g = w @ t / total, w @ memory.forces / total
        dt, dg = t - mean_t, ops.where(there[:, None], memory.forces - mean_g, 0.0)
        spread, bent, size = (w @ (one * two).sum(axis=1) for one, two in ((dt, dt), (dt, dg), (dg, dg)))
        known = (spread > 0) & (size > 0)
        spread = ops.pick(known, spread, 1.0)
        least = 0.1 * xp.sqrt(size / spread / d)
        gamma = ops.pick(known, ops.max(bent / spread, least), ops.norm(memory.g) * h / memory.radius + TINY)
        ridge = (memory.noise / gamma) ** 2 + 1e-9
        A = (dt.T * w) @ dt
        J = ops.solve(A + ridge * xp.eye(d, dtype=t.dtype), (dt.T * w) @ (dg - gamma * dt))
        a = mean_g - gamma * mean_t - mean_t @ J
        H = 0.5 * (J + J.T) + gamma * xp.eye(d, dtype=t.dtype)
        rest = dg - gamma * dt - dt @ J
        free = total - 1.0 - xp.trace(ops.solve(A + ridge * xp.eye(d, dtype=t.dtype), A))
        left = xp.sqrt(w @ (rest * rest).sum(axis=1) / d / ops.max(free, 1.0))
        told = (free > 1.0) & (left > 0) & (memory.noise > 0)
        noise = ops.pick(told, memory.noise * (left / memory.noise) ** self.learning, memory.noise)
        return a, H, h, noise

    def _verdict(self, ops: Any, memory: FitForcesMemory, board: Board) -> Any:
        hoped = ops.max(memory.gained, memory.predicted)
        old = memory.age >= self.patience
        short = memory.radius < self.shortest * memory.q.shape[0] ** 0.5
        little = old & (hoped <= self.tolerance * (memory.start - memory.f))
        hopeless = old & (memory.f > board.base_f + self.hope * hoped)
        return ops.last((hopeless, short | little), CAUSES)

    def evidence(self, ops: Any, memory: FitForcesMemory, board: Board, plant: Plant) -> Evidence:
        return found(
            ops,
            plant,
            fresh=ops.flag(False),
            q=memory.q,
            f=memory.f,
            g=memory.g,
            basin=memory.f < INF,
            rebase=ops.flag(True),
            descent=ops.norm(memory.q - memory.origin) / plant.q.shape[0] ** 0.5,
            fall=abs(memory.start - memory.f),
        )
