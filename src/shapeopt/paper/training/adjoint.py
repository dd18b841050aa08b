"""Bounds on what reverse mode carries from one reading of a run to the one before it."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..optimizer import ShapeState


def bounded(states: ShapeState, limit: float) -> ShapeState:
    """The states of a batch, unchanged; their derivatives are shortened run by run.

        a -> a min(1, limit / |a_q|),   0 where a_q is not finite

    a is the derivative of the loss by a run's state (its adjoint), a_q the part that belongs to q. A rollout that
    bounces between ripples multiplies its adjoint at every reading (3.8-fold on Ackley, which leaves float32 within
    65 readings); without a bound, one such run makes the mean over the batch meaningless or not finite.

    Departs from the paper: it says nothing of bounds on gradients.
    """
    arrays, rest = eqx.partition(states, eqx.is_inexact_array)
    return eqx.combine(_identity(limit, arrays), rest)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _identity(limit: float, states: ShapeState) -> ShapeState:
    return states


def _forward(limit: float, states: ShapeState) -> tuple[ShapeState, None]:
    return states, None


def _backward(limit: float, _: None, adjoint: ShapeState) -> tuple[ShapeState]:
    share = _share(adjoint.q, limit)
    over_runs = lambda leaf: share.reshape(-1, *(1,) * (leaf.ndim - 1))  # noqa: E731
    shorten = lambda leaf: jnp.where(over_runs(leaf) > 0, leaf * over_runs(leaf), 0.0)  # noqa: E731
    return (jax.tree.map(shorten, adjoint),)


_identity.defvjp(_forward, _backward)


def _share(a_q: Float[Array, "batch d"], limit: float) -> Float[Array, " batch"]:
    """What is kept of each run's adjoint; the norm is taken without overflow."""
    largest = jnp.max(jnp.abs(a_q), axis=1)
    unit = jnp.where(largest > 0, largest, 1.0)
    size = largest * jnp.sqrt(jnp.sum((a_q / unit[:, None]) ** 2, axis=1))
    share = 1.0 / jnp.maximum(size / limit, 1.0)
    return jnp.where(jnp.isfinite(size), share, 0.0)
