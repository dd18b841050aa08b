"""The search domain Q, and its affine image in which every policy works.

A bounded coordinate [lower, upper] becomes [-REACH, REACH], so that a policy sees one scale whatever the user's units.
An unbounded coordinate is scaled around a centre and is never clipped there; a one-sided one is clipped on its side.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

REACH = 5.0  # half-width of the box in internal coordinates; the paper's domain is [-5, 5]^d


class Box(eqx.Module):
    """Bounds of a problem together with the affine map x = centre + scale * q.

    Departs from the paper: there the domain always is [-5, 5]^d.
    """

    lower: Float[Array, " d"]
    upper: Float[Array, " d"]
    centre: Float[Array, " d"]
    scale: Float[Array, " d"]

    @staticmethod
    def around(lower, upper, x0=None) -> "Box":
        """The box of two-, one- or unsided bounds; `x0` centres the coordinates that lack a side."""
        lower, upper = np.asarray(lower), np.asarray(upper)
        xp = jnp if isinstance(x0, jax.core.Tracer) else np  # a start that is known only inside compiled code
        origin = np.zeros_like(lower) if x0 is None else xp.asarray(x0, lower.dtype)
        closed = np.isfinite(lower) & np.isfinite(upper)
        with np.errstate(invalid="ignore", over="ignore"):
            centre = xp.where(closed, 0.5 * lower + 0.5 * upper, origin)
            half = xp.where(closed, 0.5 * upper - 0.5 * lower, REACH * xp.maximum(1.0, xp.abs(origin)))
        return Box(*(jax.device_put(v.astype(lower.dtype)) for v in (lower, upper, centre, half / REACH)))

    @property
    def q_lower(self) -> Float[Array, " d"]:
        """Lower bound in internal coordinates (-REACH, or -inf where unbounded; 0 where the box has no width)."""
        return self._inside(self.lower)

    @property
    def q_upper(self) -> Float[Array, " d"]:
        return self._inside(self.upper)

    def _inside(self, side):
        safe = jnp.where(self.scale > 0, self.scale, 1.0)
        return jnp.where(self.scale > 0, (side - self.centre) / safe, 0.0)

    def inward(self, x: Float[Array, " d"]) -> Float[Array, " d"]:
        """x to internal coordinates."""
        safe = jnp.where(self.scale > 0, self.scale, 1.0)
        return jnp.where(self.scale > 0, (x - self.centre) / safe, 0.0)

    def outward(self, q: Float[Array, " d"]) -> Float[Array, " d"]:
        """Internal coordinates to x; the last clip keeps round-off from leaving the bounds by one ulp."""
        return (self.centre + self.scale * q).clip(self.lower, self.upper)
