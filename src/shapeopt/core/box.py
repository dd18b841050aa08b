"""The search domain Q, and its affine image in which every policy works.

A bounded coordinate [lower, upper] becomes [-REACH, REACH], so that a policy sees one scale whatever the user's units.
An unbounded coordinate is scaled around a centre and is never clipped there; a one-sided one is clipped on its side.
"""

from typing import Any, NamedTuple

import numpy as np

from .arrays import is_tracer, namespace

REACH = 5.0  # half-width of the box in internal coordinates; the paper's domain is [-5, 5]^d

Vector = Any  # (d,), of NumPy or of JAX


class Box(NamedTuple):
    """Bounds of a problem together with the affine map x = centre + scale * q.

    The arrays are NumPy's or JAX's; each method computes with JAX where one of the arrays it meets is JAX's, and with
    NumPy otherwise.

    Departs from the paper: there the domain always is [-5, 5]^d.
    """

    lower: Vector
    upper: Vector
    centre: Vector
    scale: Vector

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
        closed = np.isfinite(lower) & np.isfinite(upper)
        with np.errstate(invalid="ignore", over="ignore"):
            centre = xp.where(closed, 0.5 * lower + 0.5 * upper, origin)
            half = xp.where(closed, 0.5 * upper - 0.5 * lower, REACH * xp.maximum(1.0, xp.abs(origin)))
        return Box(*(side.astype(lower.dtype) for side in (lower, upper, centre, half / REACH)))

    def scaled_by(self, x0: np.ndarray, gradient: np.ndarray) -> "Box":
        """The box with the units of coordinates that lack a side set by the start and the first gradient.

        Such a unit is |x0|, at least the smaller of 1 and the largest |x0| where that is not 0. Where the gradient by
        that unit is above the lower median of all coordinates', the unit is reduced to match it, but not below |x0|,
        or a millionth where x0 is 0: a parameter of 1e-5 beside one of 500 is then moved in steps of its own size, and
        a coordinate that happens to start near 0 in those of the others.
        """
        open_ = ~(np.isfinite(self.lower) & np.isfinite(self.upper))
        size, slope = np.abs(x0), np.abs(gradient)
        if not open_.any() or not np.all(np.isfinite(slope)):
            return self
        unit = np.maximum(min(1.0, size.max() or 1.0), size)
        steep = np.where(open_, slope * unit, slope * self.scale)
        seen = np.sort(steep[steep > 0])
        if not len(seen):
            return self
        with np.errstate(divide="ignore", over="ignore"):
            wanted = np.where(steep > 0, unit * (seen[(len(seen) - 1) // 2] / steep), unit)
        least = np.where(size > 0, np.minimum(size, unit), 1e-6 * unit)
        scale = np.where(open_, np.clip(wanted, least, unit), self.scale).astype(self.scale.dtype)
        return self._replace(scale=scale) if np.all(np.isfinite(1.0 / scale)) else self

    @property
    def q_lower(self) -> Vector:
        """Lower bound in internal coordinates (-REACH, or -inf where unbounded; 0 where the box has no width)."""
        return self.inward(self.lower)

    @property
    def q_upper(self) -> Vector:
        """Upper bound in internal coordinates (REACH, or inf where unbounded; 0 where the box has no width)."""
        return self.inward(self.upper)

    def inward(self, x: Vector) -> Vector:
        """x to internal coordinates."""
        xp: Any = namespace(x, self.centre, self.scale)
        wide = self.scale > 0
        with np.errstate(invalid="ignore", over="ignore"):  # a width of a few denormal numbers
            return xp.where(wide, (x - self.centre) / xp.where(wide, self.scale, 1.0), 0.0)

    def outward(self, q: Vector) -> Vector:
        """Internal coordinates to x; the last clip keeps round-off from leaving the bounds by one ulp."""
        return (self.centre + self.scale * q).clip(self.lower, self.upper)
