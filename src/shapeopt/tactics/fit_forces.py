"""Descend where forces are noisy: a linear field fitted to the forces near the incumbent, by weighted least squares.

With t = (x - c) / h, c the incumbent, h the distance of the n-th nearest reading, n = `crowd` times d + 1,

    min_{a, J}  sum_i w_i |g_i - a - (gamma I + J) t_i|^2 + lambda |J|^2
    w_i = (1 + |t_i|^2)^-2 / (|g_c|^2 + `steep` |g_i|^2)       long forces are far from the bottom, and often noisier
    gamma: mean curvature of the readings,   lambda = noise^2 / gamma^2: the prior of J has gamma's size

so that noise averages out over many readings, a few of them already tell curvature along the way, and where little is
known the field is gamma I. Then a moves so far towards what the values tell as its noise and theirs allow:

    min_b  sum_i (f_i - f_c - h (t_i.(a + b) + t_i.H t_i / 2))^2 / v_i + |b|^2 sum_i w_i / noise^2,  H = gamma I + sym J
    v_i = (`doubt` gamma h |t_i|^2)^2 + 2 e^2       e: noise of values, 0 where they are exact

The next trial is c - h |H|^-1 (a + b), shortened to a radius and to the box: the refine limit, M = h^2 |H|, made by
placements, since the force that was read need not point down the step. A trial becomes the incumbent if it is lower,
and the radius follows from how much lower (Sun and Nocedal 2023 have e alike):

    r = (f - f(q + s) + T e) / (predicted + T e),   T = `rise`

e is known from one difference of two values, so T e is the rise that a test with one degree of freedom calls one at
5 %: a smaller one says nothing against the field's prediction, and the incumbent's value may have been low by luck.
noise^2 is the mean square of what the field missed at the last trials. All readings of the run are watched, so that the
descent that was interrupted to look for noise is not forgotten, nor a basin that is resumed.

    converged   the radius is short, or the steps gained next to nothing of what the stage has gained
    hopeless    the value is above the base's by many times what the last steps gained

Departs from the paper: not in it; there a noisy force is averaged by momentum (settle.py, beyond `most` dimensions).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..core.board import NOT_NOW, Board, Draws, Evidence, Offer, Plant, Spec
from ..core.codes import Cause, Mode
from ..dynamics.move import Move, Stepped
from .base import AbstractTactic, Step, bid, found, goes_on

CAUSES = (int(Cause.HOPELESS), int(Cause.CONVERGED))
TINY = 1e-30


class FitForcesMemory(NamedTuple):
    """The last readings of the run, the incumbent, and the trial that is under way."""

    points: Any
    forces: Any
    values: Any
    read: Any  # finite readings of the run
    q: Any
    f: Any
    g: Any
    radius: Any
    length: Any  # of the trial's step
    predicted: Any  # its decrease
    expected: Any  # the force that the fit predicts there
    noise: Any  # mean square of a force's coordinate from that
    gained: Any  # decrease of the last steps, beyond the noise of values: the largest one, forgotten by and by
    age: Any
    origin: Any
    start: Any
    resumed: Any  # whether the base was resumed as the run ends


@dataclass(frozen=True)
class FitForces(AbstractTactic):
    """Quasi-Newton descent in noise, with one reading a trial."""

    crowd: float = 2.0  # readings of a fit, in coefficients of a coordinate's force
    wide: float = 3.0  # h at the least, in radii
    steep: float = 2.0  # weight of a force's own length in its noise
    grow: float = 2.0  # of the radius after a good trial that it shortened,
    shrink: float = 0.6  # and after a poor one
    poor: float = 0.1  # r of a poor trial,
    good: float = 0.5  # and of a good one
    rise: float = 8.9  # in standard deviations of a noisy value: sqrt(2) times Student's t of 95 %, 1 degree of freedom
    first_radius: float = 0.3  # per root coordinate, where the box is 10 wide
    next_radius: float = 0.1  # the same where a basin is gone on with
    shortest: float = 1e-6  # likewise: a shorter one has converged
    forgetting: float = 0.9  # of what steps gained, by reading
    learning: float = 0.3  # weight of the last reading's error in the noise
    tolerance: float = 1e-4  # of the stage's gain, that steps must gain
    patience: int = 6  # readings before a basin may be hopeless
    hope: float = 10.0  # by how many times what the last steps gained a basin may be above the base
    reserve: float = 0.3  # share of the run in which the base may be resumed
    doubt: float = 4.0  # error of the field's quadratic at a distance of h, in gamma h
    flat: float = 1e-3  # of the largest curvature: a smaller one counts as this
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
            values=xp.zeros(room, dtype),
            read=ops.whole(0),
            q=zeros(),
            f=zero,
            g=zeros(),
            radius=zero,
            length=zero,
            predicted=zero,
            expected=zeros(),
            noise=zero,
            gained=zero,
            age=ops.whole(0),
            origin=zeros(),
            start=zero,
            resumed=no,
        )

    def watch(self, ops: Any, memory: FitForcesMemory, board: Board, plant: Plant) -> tuple[FitForcesMemory, Any]:
        if not ops.traced and plant.finite:
            return self._written(ops, memory, plant), False
        return ops.when(plant.finite, lambda old: self._written(ops, old, plant), memory), ops.flag(False)

    def _written(self, ops: Any, memory: FitForcesMemory, plant: Plant) -> FitForcesMemory:
        row = ops.remainder(memory.read, memory.values.shape[0])
        points, forces, values, read, *rest = memory
        points, forces = ops.put(points, row, plant.q), ops.put(forces, row, plant.g)
        return FitForcesMemory(points, forces, ops.put(values, row, plant.f), read + 1, *rest)

    def offer(self, ops: Any, memory: FitForcesMemory, board: Board) -> Offer:
        if not ops.traced and not board.noisy:
            return NOT_NOW
        resumes = ops.no(memory.resumed) & (board.left <= self.reserve * board.readings)
        return bid(ops, board.noisy & (ops.no(board.scored) | resumes), 4.0, cost=board.left)

    def open(
        self, ops: Any, memory: FitForcesMemory, board: Board, plant: Plant, draws: Callable[[], Draws]
    ) -> FitForcesMemory:
        q, f, g = ops.pick(board.fresh, (plant.q, plant.f, plant.g), (board.base, board.base_f, board.base_g))
        zero, root = ops.real(0.0, q.dtype), q.shape[0] ** 0.5
        first, next_ = self.first_radius, self.next_radius
        return memory._replace(
            q=q,
            f=f,
            g=g,
            radius=ops.pick(board.fresh, first * root, next_ * root) + zero,
            noise=board.noise_std**2,
            gained=zero,
            age=ops.whole(0),
            origin=q,
            start=f,
            resumed=ops.flag(memory.resumed | board.scored),
        )

    def observe(self, ops: Any, memory: FitForcesMemory, board: Board, plant: Plant) -> tuple[FitForcesMemory, Any]:
        """A trial that was not finite (f is infinite then) is rejected."""
        fall, slack = memory.f - plant.f, self.rise * board.value_noise
        share, whole = fall + slack, memory.predicted + slack
        accepted = share > 0
        shorter = ops.min(self.shrink * memory.radius, memory.length)
        wider = ops.max(memory.radius, ops.pick(share > self.good * whole, self.grow * memory.length, 0.0))
        error = plant.g - memory.expected
        noise = (1.0 - self.learning) * memory.noise + self.learning / error.shape[0] * ops.dot(error, error)
        q, f, g = ops.pick(accepted, (plant.q, plant.f, plant.g), (memory.q, memory.f, memory.g))
        return memory._replace(
            q=q,
            f=f,
            g=g,
            radius=ops.pick(share > self.poor * whole, wider, shorter),
            noise=noise,
            gained=ops.max(self.forgetting * memory.gained, fall - slack),
            age=memory.age + 1,
        ), goes_on(ops)

    def propose(
        self, ops: Any, memory: FitForcesMemory, board: Board, plant: Plant, step: Step
    ) -> tuple[FitForcesMemory, Stepped, Any]:
        a, H, h = self._fit(ops, memory, board.value_noise)
        w, V = ops.eigh(H)
        size = abs(w)
        z = ops.times(V, ops.times(a, V) / ops.xp.maximum(size, self.flat * size.max()))
        far = memory.q - z * ops.min(memory.radius / (ops.norm(z) + TINY), h)
        target = ops.xp.minimum(ops.xp.maximum(far, board.lower), board.upper)
        s = memory.q - target
        memory = memory._replace(length=ops.norm(s), predicted=0.5 * ops.dot(a, s), expected=a - ops.times(H, s / h))
        return memory, step(Move(target)), self._verdict(ops, memory, board)

    def _fit(self, ops: Any, memory: FitForcesMemory, value_noise: Any) -> tuple[Any, Any, Any]:
        """(a, H, h): the force at the incumbent, its derivative by t, and the scale of t."""
        xp, (room, d) = ops.xp, memory.points.shape
        count = ops.min(memory.read, room)
        square = ((memory.points - memory.q) ** 2).sum(axis=1)
        away = xp.sqrt(ops.where(np.arange(room, dtype=np.int32) < count, square, xp.inf))
        h = ops.max(
            xp.sort(away)[ops.min(count, int(self.crowd * (d + 1))) - 1],
            self.wide * ops.max(memory.radius, self.shortest),
        )
        t, far = (memory.points - memory.q) / h, (away / h) ** 2  # infinite where there is no reading: no weight
        here, steep = ops.dot(memory.g, memory.g) + TINY, (memory.forces**2).sum(axis=1)
        w = (1.0 + self.steep) * here / ((1.0 + far) ** 2 * (here + self.steep * steep))
        total = w.sum()
        mean_t, mean_g = w @ t / total, w @ memory.forces / total
        dt = t - mean_t
        weighted, eye = dt.T * w, np.eye(d, dtype=t.dtype)
        A, C = weighted @ dt, weighted @ (memory.forces - mean_g)
        e, V = ops.eigh(A)
        gamma = ops.max((C * eye).sum() / (e.sum() + TINY), 0.1 * xp.sqrt(here))
        loose = memory.noise / gamma**2
        K = gamma * eye + (V / (abs(e) + loose)) @ (V.T @ (C - gamma * A))
        a, H = mean_g - mean_t @ K, 0.5 * (K + K.T)
        missed = (memory.values - memory.f) / h - (t * (a + 0.5 * (t @ H))).sum(axis=1)
        rows = t.T / ((self.doubt * gamma) ** 2 * (far * far + 1e-12) + 2.0 * (value_noise / h) ** 2)
        normal = rows @ t
        ridge = total / memory.noise + 4.0 * d * float(np.finfo(t.dtype).eps) * (normal * eye).sum()  # on a line
        return a + ops.solve_positive(normal + ridge * eye, rows @ missed), H, h

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
            basin=ops.flag(True),
            rebase=ops.flag(True),
            descent=ops.norm(memory.q - memory.origin) / plant.q.shape[0] ** 0.5,
            fall=memory.start - memory.f,
        )
