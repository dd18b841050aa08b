"""One step of the plant (eqs. shape_p_update, shape_q_update, dp_dissipative_substep, dp_half_kick_plus)."""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from .potential import ShapedPotential
from .structure import Structure

Scalar = Float[Array, ""]
Vector = Float[Array, " d"]


class ChannelWork(NamedTuple):
    """What each channel did to the momentum in one step; the sum is K(p') - K(p) + h e_q . M^-1 p'."""

    dissipation: Scalar
    damping_injection: Scalar
    port: Scalar
    clipping: Scalar
    discretisation: Scalar


class StepResult(NamedTuple):
    """The new state and what the ledger needs of the step, so that no operator is applied twice.

    q_free, p_free: before clipping. e_q, e_p: efforts at the start. v: M^-1 p'.
    """

    q: Vector
    p: Vector
    q_free: Vector
    p_free: Vector
    e_q: Vector
    e_p: Vector
    v: Vector
    kinetic_before: Scalar
    kinetic_after: Scalar
    work: ChannelWork


class SemiImplicitStep(eqx.Module):
    """Advance (q, p) by one semi-implicit Euler step: every force at the old momentum, the drift with the new one.

        e_q = g + grad U_shp(q),   e_p = M^-1 p
        p' = clip((1 - zeta) p + h (-e_q + alpha_J Omega e_p - alpha_R D e_p + u_port))   eq. dp_dissipative_substep
        q' = clip(q + h M^-1 p')   (to the radius, then to the box)                       eq. dp_half_kick_plus

    M^-1 is applied twice: to p and to p'.

    Departs from the paper: the factor (1 - zeta), which is 1 there.
    """

    h: float = 0.05  # paper, training details

    def __check_init__(self):
        if not self.h > 0:
            raise ValueError(f"`h` must be positive; got {self.h}.")

    def __call__(
        self,
        q: Vector,
        p: Vector,
        g: Vector,
        potential: ShapedPotential,
        structure: Structure,
        lower: Vector,
        upper: Vector,
        p_max: Scalar | float,
        radius: Scalar | float = jnp.inf,
    ) -> StepResult:
        """The state after one step, q in [lower, upper] and within `radius` of where it was, p in [-p_max, p_max].

        Either limit may be infinite. Both are projections, and their work is in the ledger's clipping term.
        """
        e_q = g + potential.gradient(q)  # eq. shape_efforts
        e_p = structure.metric.solve(p)
        p_free = (1.0 - structure.zeta) * p + self.h * _force(e_q, e_p, structure)  # eq. shape_p_update
        p_new = jnp.clip(p_free, -p_max, p_max)  # eq. dp_dissipative_substep
        v = structure.metric.solve(p_new)
        q_free = q + self.h * v  # eq. shape_q_update

        clip = p_new - p_free  # its work is taken at the velocity after the clip; the rest of it is discretisation
        bend = v - e_p, p_free - p - clip
        kinetic_before, kinetic_after, bent, clipped, drifted = _inner_products(
            (p, e_p), (p_new, v), bend, (v, clip), (e_q, v - e_p)
        )
        fed, injected = structure.port_power(e_p)
        work = ChannelWork(
            dissipation=-structure.zeta * kinetic_before
            - self.h * structure.alpha_R * structure.dissipation.power(e_p),
            damping_injection=-self.h * injected,
            port=self.h * fed,
            clipping=clipped,
            discretisation=0.5 * bent + self.h * drifted,
        )
        q_new = jnp.clip(q + _within(radius, q_free - q), lower, upper)  # eq. dp_half_kick_plus
        kinetic = 0.5 * kinetic_before, 0.5 * kinetic_after
        return StepResult(q_new, p_new, q_free, p_free, e_q, e_p, v, *kinetic, work)


def _force(e_q: Vector, v: Vector, structure: Structure) -> Vector:
    """The right-hand side of eq. dp_local_pdot, without zeta."""
    transport = structure.alpha_J * structure.skew(v) - structure.alpha_R * structure.dissipation(v)
    return -e_q + transport + structure.port_input(v)


def _within(radius: Scalar | float, move: Vector) -> Vector:
    """The move, shortened to the radius; unchanged to the bit where it is short enough."""
    square = jnp.dot(move, move)  # not the norm, whose derivative at a move of zero is not finite
    too_long = square > radius**2
    return jnp.where(too_long, radius / jnp.sqrt(jnp.where(too_long, square, 1.0)), 1.0) * move


def _inner_products(*pairs: tuple[Vector, Vector]) -> Float[Array, " n"]:
    """a . b of each pair, in one pass: from Python, a compiled step costs time for each sum in it."""
    left, right = (jnp.stack(side) for side in zip(*pairs, strict=True))
    return jnp.sum(left * right, axis=-1)
