"""One step of the plant (eqs. shape_p_update, shape_q_update, dp_dissipative_substep, dp_half_kick_plus).

All integrators are one map, and differ in where they put the damping: factors around the kick, or inside it.
"""

import abc
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from .metric import DiagonalMetric
from .potential import ShapedPotential
from .structure import DissipationOperator, Structure

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


class Damping(NamedTuple):
    """Where an integrator puts the dissipation: factors on p around the kick (None: 1), and what the kick does itself.

    The factors must commute with the metric, so that M^-1 is not applied again.
    """

    before: Scalar | Vector | None
    after: Scalar | Vector | None
    zeta: Scalar | float
    dissipation: DissipationOperator


class AbstractStep(eqx.Module):
    """Advances (q, p) by the time h with one reading g of the force at q.

        p_0 = before p,   v_0 = M^-1 p_0,   e_q = g + grad U_shp(q)
        p_kick = clip((1 - zeta) p_0 + h (-e_q + alpha_J Omega v_0 - alpha_R D v_0 + u_shp - K_d v_0))
        p' = after p_kick,   q' = clip(q + h M^-1 p')   (to the radius, then to the box)

    M^-1 is applied twice: to p and to p_kick. A final class says what `before`, `after`, zeta and D are.
    """

    h: eqx.AbstractVar[float]

    def __check_init__(self):
        if not self.h > 0:
            raise ValueError(f"`h` must be positive; got {self.h}.")

    @abc.abstractmethod
    def damping(self, structure: Structure) -> Damping:
        """How this integrator splits the structure's dissipation."""

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
        before, after, zeta, dissipation = self.damping(structure)
        e_q = g + potential.gradient(q)  # eq. shape_efforts
        e_p = structure.metric.solve(p)
        p_0, v_0 = _scaled(before, p, e_p)
        p_free = (1.0 - zeta) * p_0 + self.h * _force(e_q, v_0, structure, dissipation)  # eq. shape_p_update
        p_kick = jnp.clip(p_free, -p_max, p_max)  # eq. dp_dissipative_substep
        v_kick = structure.metric.solve(p_kick)
        p_new, v_new = _scaled(after, p_kick, v_kick)
        q_free = q + self.h * v_new  # eq. shape_q_update

        clip = p_kick - p_free  # its work is taken at the velocity after the clip; the rest of it is discretisation
        bend = v_kick - v_0, p_free - p_0 - clip
        slid, bent, clipped, drifted, kinetic_before, kinetic_after = _inner_products(
            (p_0, v_0), bend, (v_kick, clip), (e_q, v_new - v_0), (p, e_p), (p_new, v_new)
        )
        outside = _kinetic_change(p, e_p, p_0, v_0) + _kinetic_change(p_kick, v_kick, p_new, v_new)
        inside = -zeta * slid - self.h * structure.alpha_R * dissipation.power(v_0)
        fed, injected = structure.port_power(v_0)
        work = ChannelWork(
            dissipation=outside + inside,
            damping_injection=-self.h * injected,
            port=self.h * fed,
            clipping=clipped,
            discretisation=0.5 * bent + self.h * drifted,
        )
        q_new = jnp.clip(q + _within(radius, q_free - q), lower, upper)  # eq. dp_half_kick_plus
        kinetic = 0.5 * kinetic_before, 0.5 * kinetic_after
        return StepResult(q_new, p_new, q_free, p_free, e_q, e_p, v_new, *kinetic, work)


class SemiImplicitStep(AbstractStep):
    """Semi-implicit Euler: every force at the old momentum, the drift with the new one.

        p' = clip((1 - zeta) p + h (-e_q + alpha_J Omega e_p - alpha_R D e_p + u_port))   eq. dp_dissipative_substep
        q' = clip(q + h M^-1 p')                                                          eq. dp_half_kick_plus

    Departs from the paper: the factor (1 - zeta), which is 1 there.
    """

    h: float = 0.05  # paper, training details

    def damping(self, structure: Structure) -> Damping:
        return Damping(None, None, structure.zeta, structure.dissipation)


class ConformalSymplecticStep(AbstractStep):
    """Conformal-symplectic Euler: exact exponential damping, then the kick, then the drift.

        p_0 = (1 - zeta) exp(-h alpha_R diag(D) M^-1) p,   kick and drift from p_0

    The diagonal of D joins the exponential where the metric is diagonal; under any other metric only the uniform factor
    (1 - zeta) commutes with M, and the diagonal stays in the kick. The exact part never overshoots, however large h is.

    Departs from the paper: an alternative integrator; the paper's code has the semi-implicit step alone.
    """

    h: float = 0.05

    def damping(self, structure: Structure) -> Damping:
        kept, rest = _conformal_damping(self.h, structure)
        return Damping(kept, None, 0.0, rest)


class StormerVerletStep(AbstractStep):
    """Stoermer-Verlet with the momentum held half a step back: half damping, kick, half damping, drift.

    The held p belongs to the time h/2 before q, which is why one reading a step is enough; `synchronise` gives the
    momentum at the time of q. The ledger balances the energy of the held momentum. Second order for f, U_shp, zeta and
    the damping that the conformal step treats exactly; what else depends on the velocity (Omega, the rest of D, K_d) is
    explicit, hence first order. At zeta = 1 the second half damping leaves no momentum and the plant stands still: the
    refine and escape limits belong to the other two steps.

    Departs from the paper: an alternative integrator; the paper's code has the semi-implicit step alone.
    """

    h: float = 0.05

    def damping(self, structure: Structure) -> Damping:
        half, rest = self._half_damping(structure)
        return Damping(half, half, 0.0, rest)

    def synchronise(self, q: Vector, p: Vector, g: Vector, potential: ShapedPotential, structure: Structure) -> Vector:
        """The momentum at the time of q, from the held one and the reading at q."""
        half, rest = self._half_damping(structure)
        v = half * structure.metric.solve(p)
        return half * p + 0.5 * self.h * _force(g + potential.gradient(q), v, structure, rest)

    def _half_damping(self, structure: Structure) -> tuple[Scalar | Vector, DissipationOperator]:
        kept, rest = _conformal_damping(self.h, structure)
        positive = kept > 0
        return jnp.where(positive, jnp.sqrt(jnp.where(positive, kept, 1.0)), 0.0), rest  # finite in reverse mode at 0


def _conformal_damping(h: float, structure: Structure) -> tuple[Scalar | Vector, DissipationOperator]:
    """The share of the momentum kept by the damping that is solved exactly, and what is left of D for the kick."""
    kept = 1.0 - structure.zeta
    if not isinstance(structure.metric, DiagonalMetric):
        return kept, structure.dissipation
    if structure.dissipation.diagonal is None:
        return kept, structure.dissipation
    rate = structure.alpha_R * structure.dissipation.diagonal * structure.metric.inverse
    return kept * jnp.exp(-h * rate), structure.dissipation.low_rank


def _force(e_q: Vector, v: Vector, structure: Structure, dissipation: DissipationOperator) -> Vector:
    """The right-hand side of eq. dp_local_pdot, without zeta."""
    transport = structure.alpha_J * structure.skew(v) - structure.alpha_R * dissipation(v)
    return -e_q + transport + structure.port_input(v)


def _within(radius: Scalar | float, move: Vector) -> Vector:
    """The move, shortened to the radius; unchanged to the bit where it is short enough."""
    square = jnp.dot(move, move)  # not the norm, whose derivative at a move of zero is not finite
    too_long = square > radius**2
    return jnp.where(too_long, radius / jnp.sqrt(jnp.where(too_long, square, 1.0)), 1.0) * move


def _scaled(factor: Scalar | Vector | None, p: Vector, v: Vector) -> tuple[Vector, Vector]:
    return (p, v) if factor is None else (factor * p, factor * v)


def _kinetic_change(p: Vector, v: Vector, p_new: Vector, v_new: Vector) -> Scalar | float:
    """K(p') - K(p) without cancellation, for v = M^-1 p with a symmetric M."""
    return 0.0 if p_new is p else 0.5 * jnp.dot(p_new - p, v_new + v)


def _inner_products(*pairs: tuple[Vector, Vector]) -> Float[Array, " n"]:
    """a . b of each pair, in one pass: from Python, a compiled step costs time for each sum in it."""
    left, right = (jnp.stack(side) for side in zip(*pairs, strict=True))
    return jnp.sum(left * right, axis=-1)
