"""The learned parts of `universal`: a pooled planner and a controller shared by all coordinates (design §4).

Their last layers begin at zero, and zero means "as the classical limit has it": untrained they change nothing. Inputs
are ratios, so neither the scale of f nor that of the box is seen, nor where in the box a point lies.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from ..paper.dynamics import AbstractMetric, DissipationOperator, SkewOperator, Structure
from .moves import KINDS

PLANNER_INPUTS = 13
COORDINATE_INPUTS = 9
EXPONENTS = 6  # the planner's first outputs; the others are biases of the kinds of moves
LIMIT = 3.0  # a learned exponent stays within exp(+-3) of the untrained value

Scalar = Float[Array, ""]
Vector = Float[Array, " d"]


class Advice(NamedTuple):
    """What the planner adds at the first reading and at every escape, until the next: exponents and biases, all zero
    untrained."""

    log_radius: Scalar
    log_hope: Scalar
    log_settle_step: Scalar
    log_settle_length: Scalar
    log_ripple: Scalar
    log_coupled: Scalar
    kinds: Float[Array, " kinds"]

    @staticmethod
    def none(dtype: jax.typing.DTypeLike) -> "Advice":
        zero = jnp.zeros((), dtype)
        return Advice(*[zero] * EXPONENTS, kinds=jnp.zeros(len(KINDS), dtype))


class Network(eqx.Module):
    """x -> W_out tanh(W_in x + b_in) + b_out, with W_out and b_out zero until it is trained."""

    W_in: Float[Array, "hidden inputs"]
    b_in: Float[Array, " hidden"]
    W_out: Float[Array, "outputs hidden"]
    b_out: Float[Array, " outputs"]

    @staticmethod
    def skeleton(inputs: int, outputs: int, hidden: int, dtype: jax.typing.DTypeLike) -> "Network":
        """Shapes in place of arrays."""
        shapes = ((hidden, inputs), (hidden,), (outputs, hidden), (outputs,))
        leaves: Any = (jax.ShapeDtypeStruct(shape, dtype) for shape in shapes)
        return Network(*leaves)

    def drawn(self, key: PRNGKeyArray) -> "Network":
        """The untrained network of this skeleton."""
        zeros = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), self)
        first = jax.random.normal(key, self.W_in.shape, self.W_in.dtype) / self.W_in.shape[1] ** 0.5
        return replace(zeros, W_in=first)

    @property
    def silent(self) -> bool:
        """Whether it answers zero to everything."""
        return not (np.asarray(self.W_out).any() or np.asarray(self.b_out).any())

    def __call__(self, x: Float[Array, " inputs"]) -> Float[Array, " outputs"]:
        return self.W_out @ jnp.tanh(self.W_in @ x + self.b_in) + self.b_out


class PlannerHead(eqx.Module):
    """Pooled features of the run -> advice (eq. dp_subgoal, as a residual on the untrained decisions).

    Departs from the paper: it sees no coordinates, so one set of weights serves every dimension.
    """

    network: Network

    @staticmethod
    def skeleton(hidden: int, dtype: jax.typing.DTypeLike) -> "PlannerHead":
        return PlannerHead(Network.skeleton(PLANNER_INPUTS, EXPONENTS + len(KINDS), hidden, dtype))

    def __call__(self, features: Float[Array, " features"]) -> Advice:
        out = self.network(features)
        exponents = LIMIT * jnp.tanh(out[:EXPONENTS] / LIMIT)
        return Advice(*exponents, kinds=jnp.tanh(out[EXPONENTS:]))


class ScaledMetric(AbstractMetric):
    """M^-1 = E N^-1 E for a metric N and a positive diagonal E: symmetric positive definite with N."""

    inner: AbstractMetric
    stretch: Vector

    def solve(self, v: Vector) -> Vector:
        return self.stretch * self.inner.solve(self.stretch * v)


class ControllerHead(eqx.Module):
    """Features of a coordinate -> its rows of U, V, B, its log-metric and its shaping input (eq. dp_local_heads).

    Departs from the paper: shared by all coordinates; scaled by |g| and |e_p|, so that f -> a f changes no motion.
    """

    network: Network
    rank: int = eqx.field(static=True)

    @staticmethod
    def skeleton(hidden: int, rank: int, dtype: jax.typing.DTypeLike) -> "ControllerHead":
        return ControllerHead(Network.skeleton(COORDINATE_INPUTS, 3 * rank + 2, hidden, dtype), rank)

    def shape(
        self,
        structure: Structure,
        features: Float[Array, "d features"],
        g: Vector,
        p: Vector,
        active: Bool[Array, ""],
    ) -> Structure:
        """The untrained structure with the learned metric, channels and port input; as it was where not `active`."""
        out = jnp.where(active, jax.vmap(self.network)(features), 0.0)
        r, force = self.rank, rms(g)
        rows = jnp.tanh(out[:, : 3 * r]) / jnp.sqrt(jnp.asarray(g.size, g.dtype))
        metric = ScaledMetric(structure.metric, jnp.exp(-0.5 * LIMIT * jnp.tanh(out[:, -2] / LIMIT)))
        speed = rms(metric.solve(p))
        per_speed = jnp.sqrt(force / jnp.where(speed > 0, speed, 1.0))  # U, V, B enter in pairs
        U, V, B = (per_speed * rows[:, i * r : (i + 1) * r] for i in range(3))
        one = jnp.ones_like(structure.alpha_J)
        return replace(
            structure,
            metric=metric,
            skew=SkewOperator(U, V),
            dissipation=DissipationOperator(B, None),
            alpha_J=one,
            alpha_R=one,
            u_shp=force * jnp.tanh(out[:, -1]),
        )


def rms(v: Vector) -> Scalar:
    square = jnp.mean(v * v)
    return jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1.0)), 0.0)


def per_rms(v: Vector) -> Vector:
    """v in units of its own size, bounded."""
    size = rms(v)
    return jnp.tanh(v / jnp.where(size > 0, size, 1.0))
