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
from .trust_region import in_sphere

FROM = 5 * 2**28  # counters of readings begin here
INF = float("inf")
EDGE = 1.05  # distance, in h, at which a weight would be 0
NEVER_USED = 1e9  # penalty of products where there are too few readings for them


class RegressMemory(NamedTuple):
    """The last readings of the run, and the centre."""

    points: Any
    values: Any  # +inf in rows without a finite reading
    read: Any  # readings of the run
    centre: Any
    begun: Any  # whether the stage has begun


class Fit(NamedTuple):
    """The quadratic around the centre."""

    A: Any  # features of all readings
    weights: Any  # 0 beyond h
    normal: Any  # A^T W A + L
    b: Any
    h: Any
    lowest: Any  # value that was subtracted from all


@dataclass(frozen=True)
class Regress(AbstractTactic):
    """Readings around the minimum of a fitted quadratic, in runs of values that are known to be noisy."""

    crowd: float = 4.0  # readings of a fit, in coefficients
    radius: float = 0.7  # of h, within which the centre moves
    aside: float = 0.2  # of h, from the centre, at which readings are made
    ridge: float = 1e-3  # penalty of a coefficient, in weights of a reading
    most_products: int = 10  # dimensions
    most: int = 64

    name: ClassVar[str] = "regress"
    mode: ClassVar[Mode] = Mode.ESCAPE
    uses_force: ClassVar[bool] = False
    watches: ClassVar[bool] = True

    def blank(self, ops: Any, spec: Spec) -> RegressMemory | None:
        d, dtype, xp = spec.dimension, spec.dtype, ops.xp
        if not spec.values_only or d > self.most:
            return None
        room = int(2 * self.crowd * self._most_coefficients(d))
        no = ops.flag(False)
        return RegressMemory(
            xp.zeros((room, d), dtype), xp.full(room, xp.inf, dtype), ops.whole(0), xp.zeros(d, dtype), no
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
        lowest = memory.points[memory.values.argmin()] + 0.0
        return memory._replace(centre=lowest, begun=ops.flag(True))

    def observe(self, ops: Any, memory: RegressMemory, board: Board, plant: Plant) -> tuple[RegressMemory, Any]:
        return memory, goes_on(ops)

    def propose(
        self, ops: Any, memory: RegressMemory, board: Board, plant: Plant, step: Step
    ) -> tuple[RegressMemory, Stepped, Any]:
        xp, d = ops.xp, plant.q.shape[0]
        lower, upper = searched(ops, board)
        inside = lambda q: xp.minimum(xp.maximum(q, lower), upper)  # noqa: E731
        fit = self._fit(ops, memory)
        g, H = _derivatives(ops, fit.b, d, self.most_products)
        centre = inside(memory.centre + fit.h * in_sphere(ops, g, H, self.radius))
        z = normal(ops, board.key, FROM + memory.read, d, plant.q.dtype)
        target = inside(centre + (self.aside / d**0.5) * fit.h * z)
        return memory._replace(centre=centre), step(Move(target)), goes_on(ops)

    def _fit(self, ops: Any, memory: RegressMemory) -> Fit:
        xp, d, dtype = ops.xp, memory.points.shape[1], memory.points.dtype
        filled = memory.values < INF
        away = xp.sqrt(ops.where(filled, ((memory.points - memory.centre) ** 2).sum(axis=1), xp.inf))
        few, all_ = 2 * d + 1, self._most_coefficients(d)
        count = ops.real(filled.sum(), dtype)
        whole = count >= self.crowd * all_
        wanted = ops.min(count, self.crowd * ops.pick(whole, float(all_), float(few)))
        h = xp.sort(away)[ops.whole(wanted) - 1]
        h = ops.pick(h > 0, h, 1.0)
        near = away <= h
        w = ops.where(near, 1.0 - (ops.where(near, away, 0.0) / (EDGE * h)) ** 2, 0.0)
        A = _features(ops, ops.where(near[:, None], (memory.points - memory.centre) / h, 0.0), self.most_products)
        lowest = memory.values.min()
        y = ops.where(near, memory.values - lowest, 0.0)
        products = xp.asarray(np.arange(all_) >= few, dtype) * ops.pick(whole, 0.0, NEVER_USED)
        penalty = products + xp.asarray(np.where(np.arange(all_) > 0, self.ridge, 1e-6 * self.ridge), dtype)
        normal_matrix = (A.T * w) @ A + xp.eye(all_, dtype=dtype) * penalty
        return Fit(A, w, normal_matrix, ops.solve(normal_matrix, A.T @ (w * y)), h, lowest)

    def estimate(self, ops: Any, memory: RegressMemory) -> Estimate | None:
        if not memory.begun:
            return None
        fit = self._fit(ops, memory)
        inner = fit.weights > 0
        fitted = fit.A @ fit.b
        row = int(np.where(inner, fitted, INF).argmin())
        residuals = np.where(inner, memory.values - fit.lowest - fitted, 0.0)
        spread = np.linalg.solve(fit.normal, fit.A[row])
        used = float(np.trace(np.linalg.solve(fit.normal, (fit.A.T * fit.weights) @ fit.A)))
        variance = float(fit.weights @ residuals**2) / max(float(fit.weights.sum()) - used, 1.0)
        error = (variance * float(((fit.weights * (fit.A @ spread)) ** 2).sum())) ** 0.5
        mean = float(fit.lowest + fitted[row])
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
