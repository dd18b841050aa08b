"""A quadratic through values at n points of least change: the model of Powell's NEWUOA and BOBYQA.

Of all quadratics that have the values at the points, the model is the one whose Hessian differs least (in Frobenius'
norm) from the Hessian of the last one. With y the points from `base` in units of `scale`, its change solves

    W (lambda, c, g) = (r, 0, 0),   W = [A  X^T; X  0],   A_ij = (y_i . y_j)^2 / 2,   X = (1, y)^T,
    dH = sum_i lambda_i y_i y_i^T,

r being what the last model misses at the points. W^-1 is kept: its columns are the points' Lagrange functions, and one
point for another is a change of rank two. A table has room for `points.shape[0]` points; rows from `count` on are
empty, and the identity in W. Sets grow from 2 d + 1 points to (d + 1)(d + 2) / 2, where that is not too many.

Departs from the paper: it has no such model.
"""

import functools
from typing import Any, NamedTuple

import numpy as np

REFRESH = 30  # changes of rank two after which W is inverted anew
FAR_BASE = 8.0  # distance of the best point from the base, in radii, from which on it is centred anew
WIDE_SCALE = 50.0  # scale, likewise
DEGENERATE = 1e-10  # determinant of a change of rank two below which W is inverted anew
LARGEST = 1e14  # entry of W^-1 from which on W is singular,
SINGULAR = 1e-12  # and the share of its largest eigenvalue below which one counts as 0
MISSED = 0.1  # of the largest residual that a fit may leave before W is inverted anew


class Quadratic(NamedTuple):
    """The points and values, the model f + g.z + z.H z / 2 around the best point, and W^-1."""

    points: Any
    values: Any
    count: Any
    best: Any
    g: Any
    H: Any
    base: Any
    scale: Any
    inverse: Any
    age: Any  # changes since it was inverted

    @property
    def room(self) -> int:
        return self.points.shape[0]

    def at_best(self) -> tuple[Any, Any]:
        return self.points[self.best] + 0.0, self.values[self.best] + 0.0  # copies: tables are written in place


def blank(ops: Any, room: int, d: int, dtype: Any) -> Quadratic:
    xp, size = ops.xp, room + d + 1
    return Quadratic(
        points=xp.zeros((room, d), dtype),
        values=xp.full(room, xp.inf, dtype),
        count=ops.whole(0),
        best=ops.whole(0),
        g=xp.zeros(d, dtype),
        H=xp.zeros((d, d), dtype),
        base=xp.zeros(d, dtype),
        scale=ops.real(1.0, dtype),
        inverse=xp.zeros((size, size), dtype),
        age=ops.whole(0),
    )


@functools.cache
def _rows(room: int) -> np.ndarray:
    return np.arange(room, dtype=np.int32)


def filled(ops: Any, model: Quadratic) -> Any:
    """Which rows hold a point."""
    return _rows(model.room) < model.count


def distances(ops: Any, model: Quadratic, z: Any) -> Any:
    """Of all points from z; 0 of empty rows."""
    squares = ((model.points - z) ** 2).sum(axis=1)
    return ops.xp.sqrt(ops.where(filled(ops, model), squares, 0.0))


def predict(ops: Any, model: Quadratic, step: Any) -> Any:
    """Change of the model from the best point along a step."""
    return ops.dot(model.g, step) + 0.5 * ops.dot(step, ops.times(model.H, step))


def add(ops: Any, model: Quadratic, z: Any, f: Any) -> Quadratic:
    """One more point, whose value no model knows yet."""
    lower = (model.count == 0) | (f < model.values[model.best])
    return model._replace(
        best=ops.whole(ops.pick(lower, model.count, model.best)),
        points=ops.put(model.points, model.count, z),
        values=ops.put(model.values, model.count, f),
        count=model.count + 1,
    )


def first_fit(ops: Any, model: Quadratic) -> Quadratic:
    """The model of least Hessian through the points."""
    model = model._replace(g=ops.xp.zeros_like(model.g), H=ops.xp.zeros_like(model.H))
    return _fit(ops, inverted(ops, model))[0]


def replace(ops: Any, model: Quadratic, row: Any, z: Any, f: Any, radius: Any) -> Quadratic:
    """The model with the point z in a row, the first empty one included."""
    way, _ = model.at_best()
    away = ops.norm(way - model.base)
    stale = (away > FAR_BASE * radius) | (model.scale > WIDE_SCALE * radius) | (model.age >= REFRESH)
    inverse, sound = _changed_inverse(ops, model, row, z)
    lower = f < model.values[model.best]
    best = ops.whole(ops.pick(lower, row, model.best))
    model = model._replace(
        points=ops.put(model.points, row, z),
        values=ops.put(model.values, row, f),
        count=ops.whole(ops.max(model.count, row + 1)),
        best=best,
        g=ops.pick(lower, model.g + ops.times(model.H, z - way), model.g),
        inverse=inverse,
        age=model.age + 1,
    )
    fresh = ops.no(sound) | stale
    model = ops.when(fresh, lambda old: inverted(ops, old), model)
    fitted, missed = _fit(ops, model)
    bad = ops.no(missed < MISSED) & ops.no(fresh)
    fitted = ops.when(bad, lambda _: _fit(ops, inverted(ops, model))[0], fitted)
    return ops.when(ops.no(abs(fitted.H).max() < ops.xp.inf), lambda _: first_fit(ops, model), fitted)


def inverted(ops: Any, model: Quadratic) -> Quadratic:
    """W inverted anew, around the best point."""
    xp, n, d = ops.xp, model.room, model.g.shape[0]
    base, _ = model.at_best()
    here = filled(ops, model)
    offsets = ops.where(here[:, None], model.points - base, 0.0)
    widest = ops.sqrt((offsets * offsets).sum(axis=1).max())
    scale = ops.pick(widest > 0, widest, 1.0)
    y = offsets / scale
    inner = y @ y.T
    ones = xp.asarray(here, y.dtype)
    edge = xp.concatenate([ones[:, None], y], axis=1)
    A = 0.5 * inner * inner + xp.eye(n, dtype=y.dtype) * (1.0 - ones)
    W = xp.concatenate(
        [xp.concatenate([A, edge], axis=1), xp.concatenate([edge.T, xp.zeros((d + 1, d + 1), y.dtype)], axis=1)]
    )
    inverse = ops.solve(W, xp.eye(n + d + 1, dtype=y.dtype))
    inverse = ops.when(ops.no(abs(inverse).max() < LARGEST), lambda _: _pseudo_inverse(ops, W), inverse)
    return model._replace(base=base, scale=scale, inverse=inverse, age=ops.whole(0))


def _pseudo_inverse(ops: Any, W: Any) -> Any:
    """W^-1 where points lie in a plane, as with a coordinate that has no room: nothing changes across it."""
    w, V = ops.eigh(W)
    seen = abs(w) > SINGULAR * abs(w).max()
    return (V * ops.where(seen, 1.0 / ops.where(seen, w, 1.0), 0.0)) @ V.T


def _row(ops: Any, model: Quadratic, z: Any) -> Any:
    """The row of W that a point at z has."""
    y = (z - model.base) / model.scale
    inner = ops.times((model.points - model.base) / model.scale, y)
    one = ops.xp.ones(1, y.dtype)
    return ops.xp.concatenate([ops.where(filled(ops, model), 0.5 * inner * inner, 0.0), one, y])


def _changed_inverse(ops: Any, model: Quadratic, row: Any, z: Any) -> tuple[Any, Any]:
    """W^-1 after the point of a row has moved to z (Sherman, Morrison and Woodbury); and whether it can be trusted."""
    xp = ops.xp
    unit = xp.asarray(_rows(model.inverse.shape[0]) == row, z.dtype)
    empty = row >= model.count
    before = ops.pick(empty, unit, _row(ops, model, model.points[row]))
    y = (z - model.base) / model.scale
    after = _row(ops, model, z)
    after = ops.where(unit > 0, 0.5 * ops.dot(y, y) ** 2, after)
    change = (after - before) * (1.0 - 0.5 * unit)
    Z = model.inverse
    a, b = Z[row], ops.times(Z, change)
    alpha, tau, beta = a[row], 1.0 + b[row], ops.dot(change, b)
    determinant = alpha * beta - tau * tau
    sound = abs(determinant) > DEGENERATE
    factor = 1.0 / ops.pick(sound, determinant, 1.0)
    ab = xp.stack([a, b])
    K = xp.stack([xp.stack([beta * a - tau * b]), xp.stack([alpha * b - tau * a])])[:, 0] * factor
    return Z - ab.T @ K, ops.flag(sound)


def _fit(ops: Any, model: Quadratic) -> tuple[Quadratic, Any]:
    """The model changed least so that it has all values, and the share of the misfit that is left."""
    n = model.room
    best, f = model.at_best()
    here = filled(ops, model)
    offsets = ops.where(here[:, None], model.points - best, 0.0)
    values = ops.where(here, model.values - f, 0.0)
    misfit = lambda g, H: values - offsets @ g - 0.5 * ((offsets @ H) * offsets).sum(axis=1)  # noqa: E731
    r = misfit(model.g, model.H)
    solved = model.inverse[:, :n] @ r
    y = ops.where(here[:, None], (model.points - model.base) / model.scale, 0.0)
    dH = (y.T * solved[:n]) @ y / model.scale**2
    H = model.H + 0.5 * (dH + dH.T)
    g = model.g + solved[n + 1 :] / model.scale + dH @ (best - model.base)
    before = abs(r).max()
    left = abs(misfit(g, H)).max() / ops.pick(before > 0, before, 1.0)
    return model._replace(g=g, H=H), left


def replacement_determinants(ops: Any, model: Quadratic, z: Any) -> Any:
    """Determinant of W, in units of its own, with z in the place of each point: at least the squares of the Lagrange
    functions at z; 0 for empty rows."""
    w = _row(ops, model, z)
    y = (z - model.base) / model.scale
    solved = model.inverse @ w
    beta = 0.5 * ops.dot(y, y) ** 2 - ops.dot(w, solved)
    values = solved[: model.room]
    diagonal = ops.xp.diagonal(model.inverse)[: model.room]
    return ops.where(filled(ops, model), ops.xp.maximum(diagonal * beta, 0.0) + values * values, 0.0)


def lagrange_function(ops: Any, model: Quadratic, row: Any) -> tuple[Any, Any]:
    """Gradient at the best point and Hessian of the Lagrange function of a row."""
    n = model.room
    column = model.inverse[:, row]
    here = filled(ops, model)
    y = ops.where(here[:, None], (model.points - model.base) / model.scale, 0.0)
    H = (y.T * column[:n]) @ y / model.scale**2
    best, _ = model.at_best()
    return column[n + 1 :] / model.scale + H @ (best - model.base), 0.5 * (H + H.T)


def turned(ops: Any, model: Quadratic, R: Any, inverse_R: Any) -> Quadratic:
    """The model in coordinates u with z = best + R u."""
    best, _ = model.at_best()
    H = R.T @ model.H @ R
    points = ops.where(filled(ops, model)[:, None], (model.points - best) @ inverse_R.T, 0.0)
    return inverted(ops, model._replace(points=points, g=R.T @ model.g, H=0.5 * (H + H.T)))
