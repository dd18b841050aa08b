"""Is f a sum over pairs of bodies of one function of their distance, and if so, of which?

    f(x) = const + sum_{i<j} phi(|x_i - x_j|),   g_i = sum_j phi'(|x_i - x_j|) (x_i - x_j) / |x_i - x_j|

The forces of such an f sum to zero, which a first reading shows, and are linear in phi': a dictionary of slopes (powers
of 1 / r, and of an exponential of r) is fitted to the forces read so far, by least squares over all bodies. Every
reading first tests what the model predicts of it; it is trusted while its last predictions held.

Departs from the paper: not in it; readings made for other ends are all that it uses.
"""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ..core import REACH, is_row, when
from .base import Plant

AXES = 3  # of a body
LEAST_BODIES, MOST_BODIES = 4, 64
POWERS = tuple(range(2, 15))  # of 1 / r in the slope: Coulomb's force to a core of r^-13
RATES = tuple(range(1, 13))  # of the exponentials in the slope, in RATE
RATE = 4.0  # per spacing of bodies that fill the box
CLOSEST = 0.05  # least distance that is told from others, in that spacing
BALANCED = 1e3  # ulps of the sizes of all forces within which they sum to zero
RIDGE = 1e3  # ulps of a slope's own weight that are added to it
FADES = 0.3  # share of an error that is left after the next reading
TRUSTED = 0.02  # error, as a share of the forces of pairs, below which the model is trusted
PATIENCE = 100  # readings without trust after which the fit is given up

Scalar = Float[Array, ""]
Places = Float[Array, "bodies axes"]
Table = Float[Array, "bodies bodies"]


def body_shape(d: int) -> tuple[int, int] | None:
    """(bodies, axes) that d coordinates can stand for; None where they can't."""
    bodies, rest = divmod(d, AXES)
    return (bodies, AXES) if rest == 0 and LEAST_BODIES <= bodies <= MOST_BODIES else None


def spacing(bodies: int, axes: int) -> float:
    """Side of a body's share of the box."""
    return 2.0 * REACH * bodies ** (-1.0 / axes)


def distances(x: Places) -> Table:
    """|x_i - x_j|; a body is infinitely far from itself."""
    squared = sum((x[:, None, axis] - x[None, :, axis]) ** 2 for axis in range(x.shape[1]))
    return jnp.where(jnp.eye(len(x), dtype=bool), jnp.inf, jnp.sqrt(squared))


class PairModel(eqx.Module):
    """The normal equations of the fit, its coefficients, and how well they predicted."""

    normal: Float[Array, "slopes slopes"]
    moment: Float[Array, " slopes"]
    weights: Float[Array, " slopes"]  # coefficients of the slopes, in `unit`
    unit: Scalar  # size of the first force; 0 before
    error: Scalar  # largest of late predictions, older ones faded
    balanced: Bool[Array, ""]  # did the first forces sum to zero
    patience: Int[Array, ""]
    length: float = eqx.field(static=True)  # `spacing`: unit of distances

    @staticmethod
    def blank(shape: tuple[int, int], dtype: jax.typing.DTypeLike) -> "PairModel":
        slopes, one = len(POWERS) + len(RATES), jnp.ones((), dtype)
        return PairModel(
            normal=jnp.zeros((slopes, slopes), dtype),
            moment=jnp.zeros(slopes, dtype),
            weights=jnp.zeros(slopes, dtype),
            unit=0.0 * one,
            error=one,
            balanced=jnp.ones((), bool),
            patience=jnp.asarray(PATIENCE, jnp.int32),
            length=spacing(*shape),
        )

    @property
    def trusted(self) -> Bool[Array, ""]:
        return self.balanced & (self.error < TRUSTED)

    def observed(self, plant: Plant, shape: tuple[int, int]) -> "PairModel":
        """After a reading; one that is not finite is passed over, and all are if the first forces don't balance."""
        g = plant.g.reshape(shape)
        sizes = jnp.sum(jnp.abs(g))
        within = BALANCED * jnp.finfo(g.dtype).eps * sizes
        balanced = self.balanced & ((self.unit > 0) | jnp.all(jnp.abs(jnp.sum(g, axis=0)) <= within))
        active = balanced & plant.finite & (sizes > 0) & (self.patience > 0)
        fit = lambda model: model._fitted(plant.q.reshape(shape), g)  # noqa: E731
        return when(active, fit, replace(self, balanced=balanced))

    def _fitted(self, x: Places, g: Places) -> "PairModel":
        unit = jnp.where(self.unit > 0, self.unit, jnp.sqrt(jnp.mean(g**2)))
        r = distances(x)
        slopes = self._slopes(r)
        rows = jnp.einsum("ijm,ijk->ikm", slopes / jnp.maximum(r, CLOSEST * self.length)[..., None], x[:, None] - x)
        g = g / unit
        errors = jnp.sum((rows @ self.weights - g) ** 2, axis=-1)
        pulls = jnp.where(self.trusted, jnp.sum((slopes @ self.weights) ** 2, axis=-1), 0.0)
        scale = jnp.sqrt(jnp.maximum(jnp.sum(g**2, axis=-1), pulls))  # of the forces of a body's pairs
        tell = jnp.where(scale > 0, jnp.where(scale > 0, scale, 1.0) ** -3, 0.0)  # ordinary ones more than overlaps
        error = jnp.sqrt(jnp.sum(tell * errors) / jnp.sum(tell * scale**2))
        error = jnp.where(jnp.isfinite(error), jnp.minimum(error, 1.0), 1.0)
        normal = self.normal + jnp.einsum("i,ikm,ikn->mn", tell, rows, rows)
        moment = self.moment + jnp.einsum("i,ikm,ik->m", tell, rows, g)
        model = replace(
            self,
            normal=normal,
            moment=moment,
            weights=_solved(normal, moment),
            unit=unit,
            error=jnp.maximum(error, FADES * self.error),
        )
        return replace(model, patience=self.patience - (~model.trusted).astype(jnp.int32))

    def _slopes(self, r: Table) -> Float[Array, "bodies bodies slopes"]:
        """phi' of every entry of the dictionary."""
        ratio = jnp.maximum(r / self.length, CLOSEST)[..., None]
        powers, rates = jnp.asarray(POWERS, r.dtype), jnp.asarray(RATES, r.dtype)
        return jnp.exp(-jnp.concatenate([powers * jnp.log(ratio), RATE * rates * ratio], axis=-1))

    def slope_and_energy(self, r: Float[Array, "*n"]) -> tuple[Float[Array, "*n"], Float[Array, "*n"]]:
        """phi' and phi, which is 0 at infinity."""
        u, v = self.length / r, jnp.exp(-RATE / self.length * r)
        a, b = self.weights[: len(POWERS)], self.weights[len(POWERS) :]
        slope = u ** POWERS[0] * _polynomial(a, u) + v * _polynomial(b, v)
        a = -self.length * a / (jnp.asarray(POWERS, a.dtype) - 1.0)
        b = -self.length * b / (RATE * jnp.asarray(RATES, b.dtype))
        return slope, u ** (POWERS[0] - 1) * _polynomial(a, u) + v * _polynomial(b, v)


def _polynomial(coefficients: Float[Array, " m"], u: Float[Array, "*n"]) -> Float[Array, "*n"]:
    """sum_k coefficients_k u^k, by Horner's rule."""
    total = jnp.broadcast_to(coefficients[-1], u.shape)
    for k in range(coefficients.size - 2, -1, -1):
        total = total * u + coefficients[k]
    return total


def _solved(normal: Float[Array, "m m"], moment: Float[Array, " m"]) -> Float[Array, " m"]:
    """Ridge regression in the scale of each column."""
    diagonal = jnp.diagonal(normal)
    scale = jnp.where(diagonal > 0, jax.lax.rsqrt(jnp.where(diagonal > 0, diagonal, 1.0)), 0.0)
    ridge = RIDGE * jnp.finfo(normal.dtype).eps * jnp.eye(len(normal), dtype=normal.dtype)
    rows = jnp.concatenate([scale[:, None] * normal * scale + ridge, (scale * moment)[:, None]], axis=1)

    def eliminated(i: Int[Array, ""], rows: Float[Array, "m n"]) -> Float[Array, "m n"]:
        """Gauss and Jordan without pivots, which a positive definite matrix does not need; no call into LAPACK, which
        can't be part of one kernel (see `rollout.ONE_KERNEL`)."""
        row = rows[i] / rows[i, i]
        return jnp.where(is_row(len(rows), i)[:, None], row, rows - rows[:, i, None] * row)

    return scale * jax.lax.fori_loop(jnp.int32(0), jnp.int32(len(normal)), eliminated, rows)[:, -1]
