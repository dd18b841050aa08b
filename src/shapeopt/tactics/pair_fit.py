"""Is f a sum over pairs of bodies of one function of their distance, and if so, of which?

    f(x) = const + sum_{i<j} phi(|x_i - x_j|),   g_i = sum_j phi'(|x_i - x_j|) (x_i - x_j) / |x_i - x_j|

The forces of such an f sum to zero, which a first reading shows, and are linear in phi': a dictionary of slopes
(powers of 1 / r, and of an exponential of r) is fitted to the forces read so far, by least squares over all bodies.
Every reading first tests what the model predicts of it; the model is trusted while its last predictions held.
"""

import functools
from typing import Any, NamedTuple

import numpy as np

from ..core.box import REACH

AXES = 3  # of a body
LEAST_BODIES, MOST_BODIES = 4, 64
POWERS = tuple(range(2, 15))  # of 1 / r in the slope: Coulomb's force to a core of r^-13
RATES = tuple(range(1, 13))  # of the exponentials in the slope, in RATE
RATE = 4.0  # per spacing of bodies that fill the box
CLOSEST = 0.05  # least distance that is told from others, in that spacing
BALANCED = 1e3  # units in the last place of the sizes of all forces within which they sum to zero
RIDGE = 1e3  # the same of a slope's own weight that are added to it
FADES = 0.3  # share of an error that is left after the next reading
TRUSTED = 0.02  # error, as a share of the forces of pairs, below which the model is trusted
PATIENCE = 100  # readings without trust after which the fit is given up


def body_shape(d: int) -> tuple[int, int] | None:
    """(bodies, axes) that d coordinates can stand for; None where they can't."""
    bodies, rest = divmod(d, AXES)
    return (bodies, AXES) if rest == 0 and LEAST_BODIES <= bodies <= MOST_BODIES else None


def spacing(bodies: int) -> float:
    """Side of a body's share of the box: the unit of distances."""
    return 2.0 * REACH * bodies ** (-1.0 / AXES)


def distances(ops: Any, x: Any) -> Any:
    """|x_i - x_j|; a body is infinitely far from itself."""
    apart = x[:, None] - x
    return ops.where(np.eye(x.shape[0], dtype=bool), ops.xp.inf, ops.xp.sqrt((apart * apart).sum(axis=-1)))


def pair_distances(ops: Any, x: Any) -> Any:
    """The same; the host takes every pair once, in a row."""
    if ops.traced:
        return distances(ops, x)
    first, second, _ = _pairs(x.shape[0])
    apart = x.T.take(first, axis=1) - x.T.take(second, axis=1)
    apart *= apart
    return np.sqrt(apart.sum(axis=0))


def by_body(ops: Any, rows: Any, bodies: int) -> Any:
    """Rows of numbers for each pair, in the order of `pair_distances`, as matrices with 0 for a body and itself."""
    if ops.traced:
        return rows
    places = _pairs(bodies)[2]
    whole = np.zeros((len(rows), rows.shape[1] + 1), rows.dtype)
    whole[:, :-1] = rows
    return whole.take(places, axis=1)


@functools.cache
def _pairs(bodies: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The bodies of each pair, and for every two bodies the number of their pair; for a body and itself, the last."""
    first, second = np.triu_indices(bodies, 1)
    places = np.full((bodies, bodies), len(first))
    places[first, second] = places[second, first] = np.arange(len(first))
    return first, second, places


class PairFit(NamedTuple):
    """The normal equations of the fit, its coefficients, and how well they predicted."""

    normal: Any
    moment: Any
    weights: Any  # coefficients of the slopes, in `unit`
    unit: Any  # size of the first force; 0 before
    error: Any  # largest of late predictions, older ones faded
    balanced: Any  # did the first forces sum to zero
    patience: Any

    @staticmethod
    def blank(ops: Any, dtype: Any) -> "PairFit":
        n, one = len(POWERS) + len(RATES), ops.real(1.0, dtype)
        zeros = ops.xp.zeros(n, dtype)
        return PairFit(ops.xp.zeros((n, n), dtype), zeros, zeros, 0.0 * one, one, ops.flag(True), ops.whole(PATIENCE))

    @property
    def trusted(self) -> Any:
        return self.balanced & (self.error < TRUSTED)


def fit_reading(ops: Any, fit: PairFit, q: Any, g: Any, finite: Any, eps: Any) -> PairFit:
    """The fit after a reading; one that is not finite is passed over, and all are if the first forces don't balance."""
    shape = (q.shape[0] // AXES, AXES)
    forces = g.reshape(shape)
    sizes = abs(forces).sum()
    within = BALANCED * eps * sizes
    balanced = fit.balanced & ((fit.unit > 0) | (abs(forces.sum(axis=0)) <= within).all())
    active = balanced & finite & (sizes > 0) & (fit.patience > 0)
    fit = fit._replace(balanced=ops.flag(balanced))
    return ops.when(active, lambda fit: _fitted(ops, fit, q.reshape(shape), forces, eps), fit)


def _fitted(ops: Any, fit: PairFit, x: Any, g: Any, eps: Any) -> PairFit:
    xp = ops.xp
    unit = ops.pick(fit.unit > 0, fit.unit, ops.sqrt((g * g).mean()))
    r = distances(ops, x)
    slopes = _slopes(ops, r)
    length = spacing(x.shape[0])
    way = (x[:, None] - x) / xp.maximum(r, CLOSEST * length)[..., None]
    rows = xp.swapaxes(slopes, 1, 2) @ way  # (bodies, slopes, axes)
    g = g / unit
    predicted = xp.swapaxes(rows, 1, 2) @ fit.weights
    errors = ((predicted - g) ** 2).sum(axis=-1)
    pulls = ops.where(fit.trusted, ((slopes @ fit.weights) ** 2).sum(axis=-1), 0.0)
    scale = xp.sqrt(xp.maximum((g * g).sum(axis=-1), pulls))  # of the forces of a body's pairs
    weight = ops.where(scale > 0, ops.where(scale > 0, scale, 1.0) ** -3, 0.0)  # ordinary ones more than overlaps
    error = ops.sqrt((weight * errors).sum() / (weight * scale**2).sum())
    one = 1.0
    error = ops.pick(error < 1.0, error, one)  # 1 where it is not a number
    flat = (rows * weight[:, None, None]).swapaxes(0, 1).reshape(rows.shape[1], -1)
    tall = rows.swapaxes(0, 1).reshape(rows.shape[1], -1)
    normal, moment = fit.normal + flat @ tall.T, fit.moment + flat @ g.reshape(-1)
    new = fit._replace(
        normal=normal,
        moment=moment,
        weights=_solved(ops, normal, moment, eps),
        unit=unit,
        error=ops.max(error, FADES * fit.error),
    )
    return new._replace(patience=fit.patience - ops.pick(new.trusted, 0, 1))


def _slopes(ops: Any, r: Any) -> Any:
    """phi' of every entry of the dictionary."""
    xp = ops.xp
    ratio = xp.maximum(r / spacing(r.shape[0]), CLOSEST)[..., None]
    powers, rates = np.asarray(POWERS, r.dtype), np.asarray(RATES, r.dtype)
    return xp.exp(-xp.concatenate([powers * xp.log(ratio), RATE * rates * ratio], axis=-1))


def pair_function(ops: Any, weights: Any, length: float) -> Any:
    """phi' and phi, which is 0 at infinity: coefficients of the powers of 1 / r and of the exponential, a row each."""
    xp, powers, rates = ops.xp, np.asarray(POWERS, weights.dtype), np.asarray(RATES, weights.dtype)
    a, b = weights[: len(POWERS)], weights[len(POWERS) :]
    none = np.zeros(1, weights.dtype)
    slope = xp.concatenate([none, a, b])
    return xp.stack([slope, length * xp.concatenate([a / (1.0 - powers), none, b / (-RATE * rates)])])


def slope_and_energy(ops: Any, function: Any, r: Any, length: float) -> Any:
    """phi' and phi at the distances r, of a `pair_function`."""
    near, ebb = length / r.reshape(-1), ops.xp.exp((-RATE / length) * r.reshape(-1))
    table = ops.xp.concatenate([ops.powers(near, POWERS[-1]), ops.powers(ebb, RATES[-1])])
    return (function @ table).reshape(2, *r.shape)


def _solved(ops: Any, normal: Any, moment: Any, eps: Any) -> Any:
    """Ridge regression in the scale of each column."""
    xp = ops.xp
    diagonal = xp.diagonal(normal)
    scale = ops.where(diagonal > 0, ops.where(diagonal > 0, diagonal, 1.0) ** -0.5, 0.0)
    ridge = RIDGE * eps * xp.eye(normal.shape[0], dtype=normal.dtype)
    return scale * ops.solve_positive(scale[:, None] * normal * scale + ridge, scale * moment)
