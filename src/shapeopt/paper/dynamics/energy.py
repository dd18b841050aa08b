"""The energy ledger of one step: where the change of the local Hamiltonian came from (eq. idapbc_energy_balance, and
the defects of eq. dp_discrete_stage_energy_ineq made explicit).

For H(q, p) = f(q) + U_shp(q) + 1/2 p . M^-1 p and a step (q, p) -> (q', p'), each term has a formula of its own, and
together they give H(q', p') - H_old(q, p) to round-off. Shown for the semi-implicit step, with dp = p'_free - p,
c = p' - p'_free, dv = M^-1 (p' - p), y = e_p = M^-1 p, eps = g~ - grad f:

    dissipation        -h alpha_R e_p . D e_p - zeta e_p . p
    damping_injection  -h y . K_d y
    port_work           h y . u_shp
    discretisation      1/2 dv . (dp - c) + h e_q . dv + [U(q') - U(q) - (e_q - eps) . (q' - q)],  U = f + U_shp
    noise              -eps . (q' - q)
    clipping            M^-1 p' . c + e_q . (q' - q'_free)
    event_work          H(q, p) - H_old(q, p): the jump when anchor, memory, metric or state is refreshed

The skew channel is absent because it does no work. Where eps is not known it counts as 0, and the noise then sits in
the discretisation, as does the noise of values. The momentum's share of `clipping` bounds K(p') - K(p'_free) from above
and is never positive in a diagonal metric; it needs no further M^-1. f(q') comes with the next reading, so a balance is
opened at the step and closed at that reading. All terms are in units of f.

Departs from the paper: it states the continuous balance and bounds the defects; here they are measured.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from .potential import ShapedPotential
from .step import StepResult

Scalar = Float[Array, ""]
Vector = Float[Array, " d"]


class Energy(NamedTuple):
    """H split into the task's value and what the stage adds (U_shp and kinetic energy)."""

    task: Scalar
    shaped: Scalar


class PendingBalance(NamedTuple):
    """A balance that waits for f(q'); scalars only. `discretisation` still lacks f(q') - f(q)."""

    dissipation: Scalar
    damping_injection: Scalar
    port_work: Scalar
    event_work: Scalar
    clipping: Scalar
    discretisation: Scalar
    noise: Scalar
    before: Energy
    task_start: Scalar
    shaped_after: Scalar
    live: Bool[Array, ""]

    @staticmethod
    def none(dtype: jax.typing.DTypeLike) -> "PendingBalance":
        """No step yet; it closes to a ledger of zeros, and the first stage's shaping is then event work."""
        zero = jnp.zeros((), dtype)
        return PendingBalance(*(zero,) * 7, Energy(zero, zero), zero, zero, jnp.zeros((), bool))


class EnergyLedger(NamedTuple):
    """One step's closed balance. `delta_H` is measured from the energies alone; `total` must equal it to round-off."""

    dissipation: Scalar
    damping_injection: Scalar
    port_work: Scalar
    event_work: Scalar
    clipping: Scalar
    discretisation: Scalar
    noise: Scalar
    delta_H: Scalar
    task_after: Scalar
    shaped_after: Scalar

    @property
    def total(self) -> Scalar:
        passive = self.dissipation + self.damping_injection
        active = self.port_work + self.event_work
        return passive + active + self.clipping + self.discretisation + self.noise

    @property
    def after(self) -> Energy:
        """The energy that the step left, in its own stage's terms: the `before` of the next balance."""
        return Energy(self.task_after, self.shaped_after)


def open_balance(
    q: Vector,
    f: Scalar,
    result: StepResult,
    potential: ShapedPotential,
    before: Energy | None = None,
    eps: Vector | None = None,
) -> PendingBalance:
    """The balance of the step from q, where f = f(q) was read.

    `before` is the `after` of the last ledger: what H was before this step's potential, metric or state came into force
    (None: nothing was refreshed). `eps` is the error of the reading's force, where it is known.
    """
    move = result.q - q
    noise = jnp.zeros_like(f) if eps is None else -jnp.dot(eps, move)
    slope = jnp.dot(result.e_q if eps is None else result.e_q - eps, move)
    U_start, U_end = potential.value(q), potential.value(result.q)
    start = Energy(f, U_start + result.kinetic_before)
    before = start if before is None else before
    return PendingBalance(
        dissipation=result.work.dissipation,
        damping_injection=result.work.damping_injection,
        port_work=result.work.port,
        event_work=(start.task - before.task) + (start.shaped - before.shaped),
        clipping=result.work.clipping + jnp.dot(result.e_q, result.q - result.q_free),
        discretisation=result.work.discretisation + (U_end - U_start) - slope,
        noise=noise,
        before=before,
        task_start=f,
        shaped_after=U_end + result.kinetic_after,
        live=jnp.ones((), bool),
    )


def close_balance(pending: PendingBalance, f_new: Scalar) -> EnergyLedger:
    """The ledger, once f(q') is read."""
    task_change = jnp.where(pending.live, f_new - pending.task_start, 0.0)
    from_before = (f_new - pending.before.task) + (pending.shaped_after - pending.before.shaped)
    return EnergyLedger(
        dissipation=pending.dissipation,
        damping_injection=pending.damping_injection,
        port_work=pending.port_work,
        event_work=pending.event_work,
        clipping=pending.clipping,
        discretisation=pending.discretisation + task_change,
        noise=pending.noise,
        delta_H=jnp.where(pending.live, from_before, 0.0),
        task_after=f_new,
        shaped_after=pending.shaped_after,
    )
