"""What the paper's policy keeps between readings: units of the stage, its progress, memory (eqs. dp_event_indicator,
dp_memory_write_rule).

A stage has a unit of force c and works in f / (d c) (shifted), g / c and p / c. The plant itself stays in units of f:
`in_units` multiplies every force and the mass by c, so that velocities, and with them q, don't know of c, while the
energy ledger is in units of f. Hence f -> a f + b (a > 0) scales p and the ledger by a and leaves q as it was.
"""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, UInt32

from ..dynamics import DiagonalMetric, Structure
from ..events import Signals, writes_memory
from ..memory import AbstractSpatialMemory, Archive
from .base import Plant

Scalar = Float[Array, ""]
Flag = Bool[Array, ""]

# The thresholds of eq. dp_event_indicator are fixed hyperparameters that the paper does not give; these are ours.
PATIENCE = 3  # readings that a stage is granted before it may be called stalled: half of the paper's event_horizon
LOW_FORCE = 0.05  # rms force, in units of the stage's
LOW_MOMENTUM = 0.05  # rms momentum, likewise
PROGRESS = 1e-3  # least fall of f over the stage, in its units of value
CONVERGED_FORCE = 1e-3  # rms force at which a stage has converged, whatever its progress
P_MAX = 10.0  # p_max of eq. dp_dissipative_substep in units of c; there, a unit mass moves by a 20th of the box a step
SMALLEST = 1e8  # multiple of the smallest normal number below which a force counts as none
KNOWN_BASIN = 0.25  # per root coordinate: stage ends closer than this are one basin


class Scales(eqx.Module):
    """The units of one stage, frozen as it opens. `value` is what f loses if each coordinate moves by 1 under c."""

    shift: Scalar  # the best value so far
    force: Scalar  # c
    value: Scalar  # d c
    known: Flag  # false while no force was seen; c is then 1


class Survey(eqx.Module):
    """What all readings so far say of the objective.

    c is the geometric mean of the rms forces: one steep wall does not decide it, and it drifts slowly over a run.
    """

    log_force: Scalar
    count: Scalar
    best: Scalar
    last: Float[Array, " d"]  # place of the last finite reading

    @staticmethod
    def blank(q: Float[Array, " d"]) -> "Survey":
        zero = jnp.zeros((), q.dtype)
        return Survey(zero, zero, jnp.full_like(zero, jnp.inf), q)

    @property
    def found(self) -> Flag:
        return jnp.isfinite(self.best)

    def after(self, plant: Plant) -> "Survey":
        f, g, q = jax.lax.stop_gradient((plant.f, plant.g, plant.q))  # units are constants to whoever differentiates
        force = _rms(g)
        counts = force > SMALLEST * jnp.finfo(g.dtype).tiny
        count = self.count + counts.astype(self.count.dtype)
        excess = jnp.log(jnp.where(counts, force, 1.0)) - self.log_force
        log_force = self.log_force + jnp.where(counts, excess, 0.0) / jnp.maximum(count, 1.0)
        return Survey(log_force, count, jnp.minimum(self.best, f), jnp.where(plant.finite, q, self.last))

    def scales(self) -> Scales:
        force = jnp.exp(self.log_force)  # log_force is 0 until something counts
        return Scales(jnp.where(self.found, self.best, 0.0), force, self.last.size * force, self.count > 0)


class Stage(eqx.Module):
    """The stage under way: its units, and what the stall detector needs of it."""

    scales: Scales
    start: Scalar
    best: Scalar
    steps: Int[Array, ""]

    @staticmethod
    def opened(scales: Scales, f: Scalar) -> "Stage":
        return Stage(scales, f, f, jnp.zeros((), jnp.int32))

    def after(self, plant: Plant, scales: Scales) -> "Stage":
        """One more reading; units that were not known yet become those of the survey."""
        kept = jax.tree.map(lambda old, new: jnp.where(self.scales.known, old, new), self.scales, scales)
        return Stage(kept, self.start, jnp.minimum(self.best, plant.f), self.steps + 1)

    def signals(self, plant: Plant, p: Float[Array, " d"]) -> Signals:
        """Stall: low force, low momentum, no progress over the stage (eq. dp_event_indicator). `p` is in its units."""
        force = _rms(plant.g)
        still = (self.steps >= PATIENCE) & self.scales.known & plant.finite & (_rms(p) <= LOW_MOMENTUM)
        idle = self.start - self.best <= PROGRESS * self.scales.value
        stalled = still & idle & (force <= LOW_FORCE * self.scales.force)
        converged = still & (force <= CONVERGED_FORCE * self.scales.force)
        return Signals.none()._replace(converged=converged, stalled=stalled, nonfinite=~plant.finite)


class PaperState(eqx.Module):
    """What the paper's policy remembers between readings."""

    survey: Survey
    stage: Stage
    memory: AbstractSpatialMemory | None
    archive: Archive
    trusted: Flag  # whether the plant's momentum was made in known units, by a step that did not retreat
    stages: Int[Array, ""]
    key: UInt32[Array, " words"]

    def draw_key(self, purpose: int) -> PRNGKeyArray:
        """A key of this stage; there are two purposes, 0 and 1."""
        return jax.random.fold_in(jax.random.wrap_key_data(self.key), 2 * self.stages + purpose)

    def momentum(self, plant: Plant) -> tuple[Scalar, Float[Array, " d"]]:
        """(share of p that is kept, what is kept of it in units of c): at most P_MAX in any coordinate."""
        scaled = plant.p / self.stage.scales.force
        kept = P_MAX / jnp.maximum(jnp.max(jnp.abs(scaled)), P_MAX)
        kept = jnp.where(self.trusted, kept, 0.0)
        return kept, kept * scaled

    def written(self, plant: Plant, mode: Int[Array, ""], cause: Int[Array, ""]) -> "PaperState":
        """The event's state goes into memory and archive if the stage was an escape or stalled."""
        active = writes_memory(mode, cause) & plant.finite  # eq. dp_event_indicator
        q, f, g = jax.lax.stop_gradient((plant.q, plant.f, plant.g))
        memory = None if self.memory is None else self.memory.write(q, f, g, active)  # eq. dp_memory_write_rule
        radius = jnp.full_like(f, KNOWN_BASIN * q.size**0.5)
        archive = self.archive.write(q, f, self.stage.scales.force, radius, active)
        return replace(self, memory=memory, archive=archive)


def in_units(structure: Structure, force: Scalar, kept: Scalar) -> Structure:
    """A structure made in units of c, in units of f, that acts on the share `kept` of the momentum.

        M -> c M,   alpha_J, alpha_R, K_d -> kept c (.),   u_shp -> c u_shp,   zeta -> 1 - kept

    With p = c p~ the velocity M^-1 p is as it was, and every force is c times as strong. The step then is the paper's
    step from kept p; what is not kept is dissipated, and stands so in the ledger.
    """
    d = structure.skew.U.shape[0]
    mobility = structure.metric.solve(jnp.ones(d, force.dtype) / force)
    drag = kept * force
    return Structure(
        metric=DiagonalMetric(mobility),
        skew=structure.skew,
        dissipation=structure.dissipation,
        zeta=1.0 - kept,
        alpha_J=drag * structure.alpha_J,
        alpha_R=drag * structure.alpha_R,
        u_shp=None if structure.u_shp is None else force * structure.u_shp,
        K_d=None if structure.K_d is None else drag * structure.K_d,
    )


def _rms(v: Float[Array, " d"]) -> Scalar:
    """Root mean square without overflow; not to be differentiated at zero."""
    size = jnp.max(jnp.abs(v))
    return size * jnp.sqrt(jnp.mean((v / jnp.where(size > 0, size, 1.0)) ** 2))
