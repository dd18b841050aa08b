"""Where value-only oracles probe, and what they conclude (eqs. oracle_zo_gradient, app:zo_oracle).

Written once for both array libraries: `xp` is `jax.numpy` in compiled oracles and `numpy` in host oracles.

A probe may go up by `up` and down by `down` along each coordinate, both at most the radius and at most the room that
the bounds leave. The pair of direction u is

    q+ = q + (up where u > 0, else down) u,    q- = q - (down where u > 0, else up) u,

so that q+ - q- = (up + down) u exactly, on every face and in every corner: the pair stays inside the bounds, and the
estimate stays unbiased to first order, two-sided inside and one-sided on a bound.
"""

from types import ModuleType
from typing import Any

from ..core.box import unit_at


def reaches(q: Any, radius: Any, lower: Any, upper: Any, xp: ModuleType) -> tuple[Any, Any]:
    """(up, down): how far a probe may move along each coordinate; `radius` None means `default_radius`."""
    lower, upper = xp.asarray(lower, q.dtype), xp.asarray(upper, q.dtype)
    radius = default_radius(q, lower, upper, xp) if radius is None else xp.asarray(radius, q.dtype)
    return xp.clip(upper - q, 0, radius), xp.clip(q - lower, 0, radius)


def default_radius(q: Any, lower: Any, upper: Any, xp: ModuleType) -> Any:
    """Cube root of the machine epsilon, the best order for two-sided differences, on the scale of `core.Box`."""
    unit = unit_at(xp, q, lower, upper)
    scale = xp.where(xp.isfinite(unit), unit, xp.maximum(1, xp.abs(q)))
    return xp.asarray(xp.finfo(q.dtype).eps ** (1 / 3), q.dtype) * scale


def probe_pairs(q: Any, directions: Any, up: Any, down: Any, lower: Any, upper: Any, xp: ModuleType) -> tuple[Any, Any]:
    """The probes q+ and q-, each (m, d), of the m rows of `directions`; the clip takes away an ulp of round-off."""
    lower, upper = xp.asarray(lower, q.dtype), xp.asarray(upper, q.dtype)
    ahead = xp.where(directions > 0, up, down) * directions
    behind = xp.where(directions > 0, down, up) * directions
    return xp.clip(q + ahead, lower, upper), xp.clip(q - behind, lower, upper)


def sphere_gradient(change: Any, directions: Any, span: Any, xp: ModuleType) -> Any:
    """(d/m) sum_i change_i u_i / span, with change = f(q+) - f(q-) and span = up + down.

    E[u u^T] = I/d on the unit sphere, so without the factor d the mean would be grad f / d.
    """
    m, d = directions.shape
    return _quotient(change @ directions * (d / m), span, xp)  # eq. oracle_zo_gradient


def coordinate_gradient(change: Any, plus: Any, minus: Any, xp: ModuleType) -> Any:
    """change_i / (q+ - q-)_i for probes along the axes; the span as rounded, not as meant, so it is exact."""
    return _quotient(change, xp.diagonal(plus - minus), xp)


def _quotient(slope: Any, span: Any, xp: ModuleType) -> Any:
    """slope / span; 0 along a coordinate that the bounds hold fixed."""
    return xp.where(span > 0, slope / xp.where(span > 0, span, xp.ones_like(span)), xp.zeros_like(slope))
