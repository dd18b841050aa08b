"""The search domain Q, and its image in which every policy works.

A bounded coordinate [lower, upper] becomes [-REACH, REACH], so that a policy sees one scale whatever the user's units.
By values alone, one with positive bounds that are orders of magnitude apart (a rate, a width, a penalty) does so by its
logarithm if the start is a likelier draw from the logarithms between the bounds than from the numbers between them.
(With gradients that was measured not to pay: quasi-Newton steps find the scale of a place by themselves.) An unbounded
coordinate is scaled around a centre and is never clipped there; a one-sided one is clipped on its side. A bound that is
`FAR` from x0 is kept to, and sets no scale.
"""

from typing import Any, NamedTuple

import numpy as np

from .arrays import is_tracer, namespace
from .units import told_apart

REACH = 5.0  # half-width of the box in internal coordinates; the paper's domain is [-5, 5]^d

FAR = 1e18  # units from x0 beyond which a bound tells no unit: 1e20 or 1e300 is often written for infinity

BAND = 30.0  # sizes of coordinates that differ by less do not say that their units differ
WIDE = 1e3  # ratio of positive bounds from which on a coordinate may be known by its order of magnitude,
GUARD = 1e12  # and beyond which the lower one may only guard against 0, unless the upper one is at least half as many
# decades above 1 as it is below, or x0 is far from both

APART = 1e4  # sizes of the coordinates of a start that differ by this are of different units

Vector = Any  # (d,), of NumPy or of JAX


class Box(NamedTuple):
    """Bounds of a problem together with the map x = centre + scale * q, or log x = centre + scale * q where `logs`.

    `logs` is None where there is no such coordinate. Of a periodic coordinate, whose bounds are one turn apart, the box
    may open elsewhere than at the bounds: at `seam`, x = lower + (centre + scale * q - lower) mod (upper - lower). NaN:
    a coordinate that is not periodic.

    The arrays are NumPy's or JAX's; each method computes with JAX where one of the arrays it meets is JAX's, and with
    NumPy otherwise.

    Departs from the paper: there the domain always is [-5, 5]^d.
    """

    lower: Vector
    upper: Vector
    centre: Vector
    scale: Vector
    seam: Vector | None = None
    logs: Vector | None = None

    @staticmethod
    def around(lower: Any, upper: Any, x0: Any = None) -> "Box":
        """The box of two-, one- or unsided bounds, in NumPy arrays.

        Arguments:
            lower, upper: the bounds, infinite where a coordinate has none.
            x0: the centre of the coordinates that lack a side; None: the origin. If it is a tracer, so are `centre` and
                `scale` of the box.
        """
        lower, upper = np.asarray(lower), np.asarray(upper)
        xp: Any = namespace(x0) if is_tracer(x0) else np
        origin = np.zeros_like(lower) if x0 is None else xp.asarray(x0, lower.dtype)
        with np.errstate(invalid="ignore", over="ignore"):
            unit = REACH * xp.maximum(1.0, xp.abs(origin))
            closed = np.isfinite(lower) & np.isfinite(upper)
            if x0 is not None:
                closed = closed & (lower > -FAR * unit) & (upper < FAR * unit)
            centre = xp.where(closed, 0.5 * lower + 0.5 * upper, origin)
            half = xp.where(closed, 0.5 * upper - 0.5 * lower, unit)
        return Box(*(side.astype(lower.dtype) for side in (lower, upper, centre, half / REACH)))

    def by_orders(self, x0: np.ndarray) -> "Box":
        """The box with the logarithms of coordinates whose bounds and start say that they are known by them."""
        logs = by_logarithm(self.lower, self.upper, x0)
        logs = logs if self.seam is None else logs & np.isnan(self.seam)
        if not logs.any():
            return self
        low, high = logarithm(np, logs, self.lower), logarithm(np, logs, self.upper)
        centre = np.where(logs, 0.5 * low + 0.5 * high, self.centre)
        scale = np.where(logs, (0.5 * high - 0.5 * low) / REACH, self.scale)
        return self._replace(centre=centre.astype(self.centre.dtype), scale=scale.astype(self.scale.dtype), logs=logs)

    def scaled_by(self, x0: np.ndarray, gradient: np.ndarray) -> "Box":
        """The box with the units of coordinates that lack a side set by the start and the first gradient.

        One unit serves all of them, 1 or the largest |x0| if that is smaller, unless sizes say clearly (by `BAND`) that
        their units differ: a coordinate that starts further out has |x0|; one whose gradient by its unit is above the
        lower median of all coordinates' has a unit that matches it, but not below |x0|, or a millionth where x0 is 0.
        Where the sizes of x0 differ by more than `APART`, they are the units; where sizes and slopes together say that
        units differ (units.py), those that they say.
        """
        xp: Any = namespace(x0, gradient, self.scale)
        open_ = ~self.closed
        size, slope = xp.abs(x0), xp.abs(gradient)
        largest = size.max()
        common = xp.where(largest > 0, xp.minimum(largest, 1.0), 1.0)
        unit = xp.where(open_, xp.where(size > BAND * common, size, common), self.rate(x0))
        steep = slope * unit
        seen, count = xp.sort(xp.where(steep > 0, steep, xp.inf)), (steep > 0).sum()
        typical = seen[xp.maximum(count - 1, 0) // 2]
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            wanted = xp.where(steep > BAND * typical, unit * (typical / steep), unit)
        least = xp.where(size > 0, xp.minimum(size, unit), 1e-6 * unit)
        wanted = xp.maximum(wanted, least)
        started = open_ & (size > 0)
        smallest = xp.where(started, size, xp.inf).min()
        wanted = xp.where(started & (largest > APART * smallest), size, wanted)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
            differ, apart = told_apart(xp, size, slope, open_)
        scale = xp.where(open_, xp.where(differ, apart, wanted), self.scale).astype(self.scale.dtype)
        sound = (count > 0) & xp.isfinite(slope).all() & (scale > xp.finfo(scale.dtype).tiny).all()
        return self._replace(scale=xp.where(sound, scale, self.scale))

    def turned(self, seam: Any) -> "Box":
        """The box that opens at `seam` in coordinates that are periodic; NaN or None: the others."""
        if seam is None:
            return self
        opens = np.asarray(seam, self.scale.dtype)
        return self._replace(
            centre=np.where(np.isnan(opens), self.centre, opens + REACH * self.scale).astype(self.centre.dtype),
            seam=opens,
        )

    def rate(self, x: Vector) -> Vector:
        """dx / dq at x, coordinate by coordinate: the factor of a gradient in x, and the unit of lengths there."""
        if self.logs is None:
            return self.scale
        with np.errstate(over="ignore"):
            return namespace(x).where(self.logs, x * self.scale, self.scale)

    def _from(self, start: Vector, x: Vector) -> Vector:
        """Periodic coordinates of x, moved by whole turns into the one that begins at `start`."""
        xp: Any = namespace(x, start, self.scale)
        turn = 2.0 * REACH * self.scale
        moved = start + xp.mod(x - start, xp.where(turn > 0, turn, 1.0))
        return xp.where(xp.isnan(self.seam), x, moved)

    @property
    def closed(self) -> Vector:
        """Which coordinates have bounds on both sides, and thereby their unit."""
        xp: Any = namespace(self.lower, self.centre, self.scale)
        return xp.isfinite(self.q_lower) & xp.isfinite(self.q_upper)

    @property
    def q_lower(self) -> Vector:
        """Lower bound in internal coordinates (-REACH, or -inf where unbounded; 0 where the box has no width)."""
        return self._side(self.lower, -1.0)

    @property
    def q_upper(self) -> Vector:
        """Upper bound in internal coordinates (REACH, or inf where unbounded; 0 where the box has no width)."""
        return self._side(self.upper, 1.0)

    def _side(self, bound: Vector, sign: float) -> Vector:
        q = self._replace(seam=None).inward(bound)
        xp: Any = namespace(q)
        q = xp.where(sign * q < FAR, q, sign * np.inf)
        if self.seam is not None:
            q = xp.where(~xp.isnan(self.seam) & (self.scale > 0), sign * REACH, q)
        return q.astype(self.scale.dtype)

    def inward(self, x: Vector) -> Vector:
        """x to internal coordinates."""
        x = x if self.seam is None else self._from(self.seam, x)
        xp: Any = namespace(x, self.centre, self.scale)
        x = x if self.logs is None else logarithm(xp, self.logs, x)
        wide = self.scale > 0
        with np.errstate(invalid="ignore", over="ignore"):  # a width of a few denormal numbers
            return xp.where(wide, (x - self.centre) / xp.where(wide, self.scale, 1.0), 0.0)

    def outward(self, q: Vector) -> Vector:
        """Internal coordinates to x; the last clip keeps round-off from leaving the bounds by one ulp."""
        x = self.centre + self.scale * q
        if self.logs is not None:
            xp: Any = namespace(x)
            with np.errstate(over="ignore"):  # an upper bound that is nearly the largest number
                x = xp.where(self.logs, xp.exp(xp.where(self.logs, x, 0.0)), x)
        x = x if self.seam is None else self._from(self.lower, x)
        if type(x) is np.ndarray:  # half the time of `clip`
            return np.minimum(np.maximum(x, self.lower), self.upper)
        return x.clip(self.lower, self.upper)


def by_logarithm(lower: Vector, upper: Vector, x0: np.ndarray | None = None) -> Vector:
    """Which coordinates have bounds, and a start if one is known, that say that they are known by their logarithm."""
    with np.errstate(all="ignore"):
        wide = (lower > 0) & (upper < np.inf) & (upper >= WIDE * lower)
        guarded = (upper > GUARD * lower) & (upper * upper * lower < 1)
        if x0 is None:
            return wide & ~guarded
        ratio = np.log(np.where(wide, upper, 1.0)) - np.log(np.where(wide, lower, 1.0))
        likelier = x0 * ratio <= upper - lower  # 1 / (x log(u / l)) >= 1 / (u - l)
        return wide & likelier & (~guarded | (x0 * WIDE <= upper) & (x0 >= WIDE * lower))


def unit_at(xp: Any, x: Vector, lower: Vector, upper: Vector) -> Vector:
    """The unit of lengths at x in coordinates with bounds on both sides, as `Box.rate` has it; infinite in others."""
    logs = by_logarithm(lower, upper)
    low, high = logarithm(xp, logs, lower), logarithm(xp, logs, upper)
    with np.errstate(over="ignore"):
        return xp.where(logs, abs(x), 1.0) * (0.5 * high - 0.5 * low) / REACH


def logarithm(xp: Any, logs: Vector, x: Vector) -> Vector:
    """x, or its logarithm where `logs`."""
    return xp.where(logs, xp.log(xp.where(logs, x, 1.0)), x)
