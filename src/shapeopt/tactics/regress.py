"""Descend where values are noisy: a quadratic fitted to the readings near a centre, by weighted least squares.

With z = (x - c) / h, h the distance of the n-th nearest reading, n = `crowd` times the number of coefficients,

    min_b  sum_i w_i (f_i - b . a(z_i))^2 + b . L b,   w_i = 1 - (|z_i| / 1.05)^2,   a(z) = (1, z, z^2 / 2, z_i z_j)

(products of two coordinates only where there are readings enough, and in up to `most_products` dimensions). The centre
moves to the minimum of the quadratic within `radius` of h, and the next reading is made beside it, at
c + `aside` h z / sqrt(d), z ~ N(0, I): so each reading tells something of the value and of the curvature, and noise
averages out over all of them. Readings crowd around the centre, so h shrinks by itself.

The stage begins once noise is known, at the lowest reading, and lasts to the end of the run. The point that a run gives
back is then the reading of the region whose fitted value is lowest; its standard error follows from the residuals:

    s^2 = sum_i w_i r_i^2 / (sum_i w_i - p),   S = (A^T W A + L)^-1,   error^2 = s^2 a . S A^T W^2 A S a

Departs from the paper: not in it; there a noisy force is averaged by momentum.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..core.board import Board, Draws, Estimate, Evidence, Offer, Plant, Spec, searched
from ..core.codes import Mode
from ..dynamics.move import Move, Stepped
from ..ops.random import normal
from .base import AbstractTactic, Step, bid, found, goes_on
from .places import spread_place
from .trust_region import in_sphere

FROM = 5 * 2**28  # counters of readings begin here
INF = float("inf")
EDGE = 1.05  # distance, in h, at which a weight would be 0
NEVER_USED = 1e9  # penalty of products where there are too few readings for them


class RegressMemory(NamedTuple):
    """The last readings of the run, and the candidates."""

    points: Any
    values: Any  # +inf in rows without a finite reading
    read: Any  # readings of the run
    begun: Any  # whether the stage has begun
    places: Any  # spread readings still to be made
    spread: Any  # standard deviation of spread values
    noise: Any  # variance of a value
    centres: Any  # of the candidates, in rows,
    levels: Any  # their fitted values; +inf: no candidate
    errors: Any  # standard errors of these
    steps: Any  # and readings made for each
    active: Any  # candidate of the reading under way
    look: Any


class Fit(NamedTuple):
    """The quadratic around the centre."""

    A: Any  # features of all readings
    weights: Any  # 0 beyond h
    normal: Any  # A^T W A + L
    b: Any
    h: Any
    lowest: Any  # value that was subtracted from all
    rows: Any
    y: Any


@dataclass(frozen=True)
class Regress(AbstractTactic):
    """Readings around the minimum of a fitted quadratic, in runs of values that are known to be noisy."""

    crowd: float = 4.0  # readings of a fit, in coefficients
    radius: float = 0.7  # of h, within which the centre moves
    aside: float = 0.2  # of h, from the centre, at which readings are made
    ridge: float = 1e-3  # penalty of a coefficient, in weights of a reading
    most_products: int = 10  # dimensions
    most: int = 64
    candidates: int = 6
    room: int = 1024
    share: float = 0.15
    look: float = 3.0
    looks: float = 0.4
    scale: float = 0.5
    prior: float = 2.0
    own: bool = True
    merge: float = 0.5
    rule: str = "ts"
    shift: float = 0.0
    beta: float = 1.0
    careful: float = 1.0

    name: ClassVar[str] = "regress"
    mode: ClassVar[Mode] = Mode.ESCAPE
    uses_force: ClassVar[bool] = False
    watches: ClassVar[bool] = True

    def blank(self, ops: Any, spec: Spec) -> RegressMemory | None:
        d, dtype, xp = spec.dimension, spec.dtype, ops.xp
        if not spec.values_only or d > self.most:
            return None
        room = max(self.room, int(2 * self.crowd * self._most_coefficients(d)))
        zero, k = ops.real(0.0, dtype), self.candidates
        return RegressMemory(
            points=xp.zeros((room, d), dtype),
            values=xp.full(room, xp.inf, dtype),
            read=ops.whole(0),
            begun=ops.flag(False),
            places=ops.whole(0),
            spread=zero,
            noise=zero,
            centres=xp.zeros((k, d), dtype),
            levels=xp.full(k, xp.inf, dtype),
            errors=xp.zeros(k, dtype),
            steps=xp.zeros(k, dtype),
            active=ops.whole(0),
            look=zero,
        )

    def _most_coefficients(self, d: int) -> int:
        return (d + 1) * (d + 2) // 2 if d <= self.most_products else 2 * d + 1

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

    def open(
        self, ops: Any, memory: RegressMemory, board: Board, plant: Plant, draws: Callable[[], Draws]
    ) -> RegressMemory:
        d = plant.q.shape[0]
        calls = board.left * (d + 1.0)
        look = self.look * (2.0 * d + 1.0)
        many = calls * self.looks / look
        places = ops.pick(many >= 1, ops.whole(self.share * calls), ops.whole(0))
        memory = memory._replace(
            begun=ops.flag(True), places=places, noise=board.value_noise**2, look=ops.real(look), spread=ops.real(0.0)
        )
        return ops.when(places == 0, lambda m: self._chosen(ops, m, board, 1.0), memory)

    def _chosen(self, ops: Any, memory: RegressMemory, board: Board, count: Any) -> RegressMemory:
        xp, d = ops.xp, memory.points.shape[1]
        lower, upper = searched(ops, board)
        filled = memory.values < INF
        n = filled.sum()
        r = 0.5 * (upper - lower).max() * (xp.log(n + 1.0) / n) ** (1.0 / d)
        v = memory.values
        centres, levels = memory.centres, memory.levels
        for k in range(self.candidates):
            row = v.argmin()
            good = (v[row] < INF) & (k < count)
            centres = ops.put(centres, k, memory.points[row])
            levels = ops.put(levels, k, ops.pick(good, memory.values[row], xp.inf))
            v = ops.where(((memory.points - memory.points[row]) ** 2).sum(axis=1) < r * r, xp.inf, v)
        values = np.sort(memory.values[filled])
        spread = self.scale * (values[len(values) // 2] - values[0])
        return memory._replace(centres=centres, levels=levels, errors=xp.full(self.candidates, memory.noise**0.5), spread=spread)

    def observe(self, ops: Any, memory: RegressMemory, board: Board, plant: Plant) -> tuple[RegressMemory, Any]:
        if memory.places > 0:
            memory = memory._replace(places=memory.places - 1)
            if memory.places == 0:
                d = plant.q.shape[0]
                calls = board.left * (d + 1.0)
                memory = self._chosen(ops, memory, board, 1.0 + self.looks * calls / memory.look)
        return memory, goes_on(ops)

    def propose(
        self, ops: Any, memory: RegressMemory, board: Board, plant: Plant, step: Step
    ) -> tuple[RegressMemory, Stepped, Any]:
        if memory.places > 0:
            target = spread_place(ops, board.key, 2, memory.places, *searched(ops, board))
            return memory, step(Move(target)), goes_on(ops)
        xp, d = ops.xp, plant.q.shape[0]
        lower, upper = searched(ops, board)
        inside = lambda q: xp.minimum(xp.maximum(q, lower), upper)  # noqa: E731
        k = self._turn(ops, memory, board)
        fit = self._fit(ops, memory, memory.centres[k], memory.steps[k] if self.own else INF)
        g, H = _derivatives(ops, fit.b, d, self.most_products)
        old = memory.centres[k]
        centre = inside(old + fit.h * in_sphere(ops, g, H, self.radius))
        z = (centre - old) / fit.h
        level = fit.lowest + fit.b[0] + g @ z + 0.5 * z @ H @ z
        rows = fit.rows
        residuals = fit.y - fit.A @ fit.b
        S = np.linalg.solve(fit.normal, (fit.A.T * fit.weights))
        used = float(np.einsum("ij,ji->", S, fit.A))
        dof = max(float(fit.weights.sum()) - used, 0.0)
        variance = (self.prior * memory.noise + float(fit.weights @ residuals**2)) / (self.prior + dof)
        error = (variance * float((S[0] ** 2).sum())) ** 0.5
        memory = memory._replace(
            centres=ops.put(memory.centres, k, centre),
            levels=ops.put(memory.levels, k, level),
            errors=ops.put(memory.errors, k, error),
            steps=ops.put(memory.steps, k, memory.steps[k] + 1.0),
            active=k,
        )
        if self.merge and memory.steps[k] > self.look * (2 * d + 1):
            away = np.sqrt(((memory.centres - centre) ** 2).sum(axis=1))
            for j in range(self.candidates):
                if j != k and memory.levels[j] < INF and away[j] < self.merge * fit.h:
                    lost = j if memory.steps[j] <= memory.steps[k] else k
                    memory.levels[lost] = INF
        z = normal(ops, board.key, FROM + memory.read, d, plant.q.dtype)
        target = inside(centre + (self.aside / d**0.5) * fit.h * z)
        return memory, step(Move(target)), goes_on(ops)

    def _turn(self, ops: Any, memory: RegressMemory, board: Board) -> Any:
        """Thompson sampling."""
        z = normal(ops, board.key, FROM + 2**27 + memory.read, self.candidates, memory.levels.dtype)
        hope = memory.spread * np.maximum(1.0 - memory.steps / memory.look, 0.0)
        sd = np.sqrt(memory.errors**2 + hope**2)
        if self.rule == "ts":
            return int(np.argmin(memory.levels - self.shift * hope + sd * z))
        if self.rule == "lcb":
            return int(np.argmin(memory.levels - self.shift * hope - self.beta * sd))
        raise ValueError

    def _fit(self, ops: Any, memory: RegressMemory, centre: Any, own: Any) -> Fit:
        xp, d, dtype = ops.xp, memory.points.shape[1], memory.points.dtype
        filled = memory.values < INF
        away = xp.sqrt(ops.where(filled, ((memory.points - centre) ** 2).sum(axis=1), xp.inf))
        few, all_ = 2 * d + 1, self._most_coefficients(d)
        rows = np.argsort(away, kind="stable")[: int(self.crowd * all_)]
        away = away[rows]
        filled = filled[rows]
        points, values = memory.points[rows], memory.values[rows]
        count = ops.real((memory.values < INF).sum(), dtype)
        count = min(count, max(own, few))
        whole = count >= self.crowd * all_
        wanted = ops.min(count, self.crowd * ops.pick(whole, float(all_), float(few)))
        h = away[ops.whole(wanted) - 1]
        h = ops.pick(h > 0, h, 1.0)
        near = away <= h
        w = ops.where(near, 1.0 - (ops.where(near, away, 0.0) / (EDGE * h)) ** 2, 0.0)
        A = _features(ops, ops.where(near[:, None], (points - centre) / h, 0.0), self.most_products)
        lowest = memory.values.min()
        y = ops.where(near, values - lowest, 0.0)
        products = xp.asarray(np.arange(all_) >= few, dtype) * ops.pick(whole, 0.0, NEVER_USED)
        penalty = products + xp.asarray(np.where(np.arange(all_) > 0, self.ridge, 1e-6 * self.ridge), dtype)
        normal_matrix = (A.T * w) @ A + xp.eye(all_, dtype=dtype) * penalty
        return Fit(A, w, normal_matrix, ops.solve(normal_matrix, A.T @ (w * y)), h, lowest, rows, y)

    def estimate(self, ops: Any, memory: RegressMemory) -> Estimate | None:
        if not memory.begun or not (memory.levels < INF).any():
            return None
        made = [self._estimate(ops, memory, memory.centres[k], memory.steps[k]) for k in range(self.candidates) if memory.levels[k] < INF and (memory.steps[k] > 0 or k == 0)]
        return min(made, key=lambda one: one.mean + self.careful * one.error)

    def _estimate(self, ops: Any, memory: RegressMemory, centre, own) -> Estimate:
        fit = self._fit(ops, memory, centre, own if self.own else INF)
        inner = fit.weights > 0
        fitted = fit.A @ fit.b
        row = int(np.where(inner, fitted, INF).argmin())
        residuals = np.where(inner, fit.y - fitted, 0.0)
        spread = np.linalg.solve(fit.normal, fit.A[row])
        used = float(np.trace(np.linalg.solve(fit.normal, (fit.A.T * fit.weights) @ fit.A)))
        variance = float(fit.weights @ residuals**2) / max(float(fit.weights.sum()) - used, 1.0)
        error = (variance * float(((fit.weights * (fit.A @ spread)) ** 2).sum())) ** 0.5
        mean = float(fit.lowest + fitted[row])
        row = fit.rows[row]
        return Estimate(memory.points[row] + 0.0, float(memory.values[row]), mean, error)

    def evidence(self, ops: Any, memory: RegressMemory, board: Board, plant: Plant) -> Evidence:
        return found(ops, plant, fresh=ops.flag(False))

    def wants_force(self, ops: Any, memory: RegressMemory) -> Any:
        return ops.flag(False)


@functools.cache
def _pairs(d: int) -> tuple[np.ndarray, np.ndarray]:
    return np.triu_indices(d, 1)


def _features(ops: Any, Z: Any, most_products: int) -> Any:
    """Rows (1, z, z^2 / 2, z_i z_j)."""
    xp, d = ops.xp, Z.shape[1]
    columns = [xp.ones((Z.shape[0], 1), Z.dtype), Z, 0.5 * Z * Z]
    if 1 < d <= most_products:
        i, j = _pairs(d)
        columns.append(Z[:, i] * Z[:, j])
    return xp.concatenate(columns, axis=1)


def _derivatives(ops: Any, b: Any, d: int, most_products: int) -> tuple[Any, Any]:
    """Gradient and Hessian at the centre, in z."""
    xp, few = ops.xp, 2 * d + 1
    H = xp.eye(d, dtype=b.dtype) * b[d + 1 : few]
    if 1 < d <= most_products:
        places = np.zeros((d, d), int)
        places[_pairs(d)] = np.arange(b.shape[0] - few)
        mixed = ops.where(np.eye(d, dtype=bool), 0.0, b[few:][places + places.T])
        H = H + mixed
    return b[1 : d + 1], H
