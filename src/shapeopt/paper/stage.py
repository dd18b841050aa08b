"""What the paper's policy keeps between readings: units of the stage, its progress, memory (eqs. dp_event_indicator,
dp_memory_write_rule).

A stage has a unit of force c and sees f / (d c) (shifted) and g / c. Lengths are those of the box, which is 10 wide.
The plant itself stays in units of f, and so does the energy ledger: f -> a f + b (a > 0) scales p and the ledger by a
and leaves q as it was.
"""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, UInt32

from .base import Plant
from .dynamics import Structure
from .events import Signals, writes_memory
from .memory import AbstractSpatialMemory, Archive

Scalar = Float[Array, ""]
Vector = Float[Array, " d"]
Flag = Bool[Array, ""]

# The thresholds of eq. dp_event_indicator are fixed hyperparameters that the paper does not give; these are chosen.
PATIENCE = 3  # readings that a stage is granted before it may be called stalled: half of the paper's event_horizon
LOW_FORCE = 0.05  # rms force, in units of the stage's
LOW_MOMENTUM = 0.005  # rms momentum in units of h k, which make it a length: see `PaperState.momentum`
PROGRESS = 1e-3  # least fall of f over the stage, in its units of value
CONVERGED_FORCE = 1e-3  # rms force at which a stage has converged, whatever its progress
P_MAX = 1.0  # p_max of eq. dp_dissipative_substep in those units: a tenth of the box a step
LONG = 5  # readings after which a stage of noisy readings may be called stalled: most of the paper's event_horizon
AGREEMENT = 0.5  # a sum over a stage this much shorter than its parts together says that they cancel
SMALLEST = 1e8  # multiple of the smallest normal number below which a force counts as none
KNOWN_BASIN = 0.25  # per root coordinate: stage ends closer than this are one basin

# How the metric is made of the readings; all chosen here.
REACH_OF_FORCE = 0.1  # a typical force moves its coordinate by this much (the box is 10 wide)
FORCE_MEMORY = 0.9  # share of the squared forces that a reading leaves in their mean
SECANT_MEMORY = 0.5  # likewise of squared differences of forces and of places
POOLED = 0.1  # share of the mean over coordinates in each of them: one that did not move yet is like the others
CLIFF = 1e9  # forces count up to this multiple of the first
STILL = 1e-9  # moves shorter than this, rms, say nothing of curvature


class Scales(eqx.Module):
    """The units of one stage, frozen as it opens. `value` is what f loses if each coordinate moves by 1 under c."""

    shift: Scalar  # the best value so far
    force: Scalar  # c
    value: Scalar  # d c
    known: Flag  # false while no force was seen; c is then 1


class Survey(eqx.Module):
    """What all readings so far say of the objective.

    c is the geometric mean of the rms forces: one steep wall does not decide it, and it drifts slowly over a run.
    Squares of forces are in units of the first one's, so that they neither overflow nor vanish.
    """

    log_force: Scalar
    count: Scalar
    first: Scalar  # the first rms force that counts
    best: Scalar
    best_place: Vector
    last: Vector  # place of the last finite reading
    last_force: Vector
    squares: Vector  # running mean of g^2
    turns: Vector  # decaying sum of squared differences of g
    moves: Vector  # likewise of q

    @staticmethod
    def blank(q: Vector) -> "Survey":
        zero, still = jnp.zeros((), q.dtype), jnp.zeros_like(q)
        return Survey(zero, zero, zero + 1.0, jnp.full_like(zero, jnp.inf), q, q, still, still, still, still)

    @property
    def found(self) -> Flag:
        return jnp.isfinite(self.best)

    def after(self, plant: Plant) -> "Survey":
        f, g, q = jax.lax.stop_gradient((plant.f, plant.g, plant.q))  # units are constants to differentiation
        force = _rms(g)
        counts = force > SMALLEST * jnp.finfo(g.dtype).tiny
        count = self.count + counts.astype(self.count.dtype)
        excess = jnp.log(jnp.where(counts, force, 1.0)) - self.log_force
        log_force = self.log_force + jnp.where(counts, excess, 0.0) / jnp.maximum(count, 1.0)
        opening = counts & (self.count == 0)
        first = jnp.where(opening, force, self.first)
        relative = jnp.clip(g / first, -CLIFF, CLIFF)
        squares = jnp.where(opening, relative**2, FORCE_MEMORY * self.squares + (1 - FORCE_MEMORY) * relative**2)
        move = q - self.last
        bends = counts & ~opening & (_rms(move) > STILL)
        turns = jnp.where(bends, SECANT_MEMORY * self.turns + (relative - self.last_force) ** 2, self.turns)
        moves = jnp.where(bends, SECANT_MEMORY * self.moves + move**2, self.moves)
        better = f < self.best
        return Survey(
            log_force,
            count,
            first,
            jnp.where(better, f, self.best),
            jnp.where(better, q, self.best_place),
            jnp.where(plant.finite, q, self.last),
            jnp.where(counts, relative, self.last_force),
            jnp.where(counts, squares, self.squares),
            turns,
            moves,
        )

    def scales(self) -> Scales:
        force = jnp.exp(self.log_force)  # log_force is 0 until something counts
        return Scales(jnp.where(self.found, self.best, 0.0), force, self.last.size * force, self.count > 0)

    def log_stiffness(self) -> Float[Array, "modes d"]:
        """log k of every mode: the force per length under which its steps are made.

        settle: rms g_i / 0.1,   refine: rms(dg_i) / rms(dq_i) along the last moves,   escape: as settle, one for all
        """
        steep = jnp.where(self.count > 0, 0.5 * _log_pooled(self.squares), 0.0) - jnp.log(REACH_OF_FORCE)
        bent = (jnp.max(self.turns) > 0) & (jnp.max(self.moves) > 0)
        bend = jnp.where(bent, 0.5 * (_log_pooled(self.turns) - _log_pooled(self.moves)), steep)
        level = jnp.full_like(steep, jnp.mean(steep))
        return jnp.log(self.first) + jnp.stack([steep, bend, level])


class Tally(eqx.Module):
    """Sums over the steps of a stage, and over their sizes: in noise, what the readings agree on."""

    pull: Vector  # of e_q, the force of the shaped energy
    pulls: Scalar
    move: Vector
    moves: Scalar
    highest: Scalar

    @staticmethod
    def blank(q: Vector, f: Scalar) -> "Tally":
        zero = jnp.zeros_like(f)
        return Tally(jnp.zeros_like(q), zero, jnp.zeros_like(q), zero, f)

    def after(self, plant: Plant, e_q: Vector, q: Vector) -> "Tally":
        """One more step, under the force e_q, from the plant to q."""
        e_q, move, f = jax.lax.stop_gradient((e_q, q - plant.q, plant.f))
        highest = jnp.maximum(self.highest, f)
        return Tally(self.pull + e_q, self.pulls + _rms(e_q), self.move + move, self.moves + _rms(move), highest)

    def cancels(self) -> Flag:
        """Whether forces, and moves, took back what they did."""
        return (_rms(self.pull) <= AGREEMENT * self.pulls) & (_rms(self.move) <= AGREEMENT * self.moves)


class Stage(eqx.Module):
    """The stage under way: its units, and what the stall detector needs of it.

    Without a tally a stage stalls at one reading of low force and momentum. With one, forces, moves and the change of f
    over the stage must each cancel to less than half of what they would be if all steps agreed: noise of the gradients,
    which keeps single readings from ever being low, does not hide that.

    Departs from the paper: it names low force, low momentum and no progress and gives no thresholds; with a tally the
    force is that of the shaped energy, so that a stage also stalls on the side of a known basin.
    """

    scales: Scales
    start: Scalar
    best: Scalar
    steps: Int[Array, ""]
    tally: Tally | None = None

    @staticmethod
    def opened(scales: Scales, f: Scalar, tally: Tally | None = None) -> "Stage":
        return Stage(scales, f, f, jnp.zeros((), jnp.int32), tally)

    def after(self, plant: Plant, scales: Scales) -> "Stage":
        """One more reading; units that were not known yet become those of the survey."""
        kept = jax.tree.map(lambda old, new: jnp.where(self.scales.known, old, new), self.scales, scales)
        return Stage(kept, self.start, jnp.minimum(self.best, plant.f), self.steps + 1, self.tally)

    def signals(self, plant: Plant, p: Vector) -> Signals:
        """Stall: low force, low momentum, no progress over the stage (eq. dp_event_indicator). `p` is in its units."""
        force = _rms(plant.g)
        still = (self.steps >= PATIENCE) & self.scales.known & plant.finite & (_rms(p) <= LOW_MOMENTUM)
        idle = self.start - self.best <= PROGRESS * self.scales.value
        stalled = still & idle & (force <= LOW_FORCE * self.scales.force)
        if self.tally is not None:
            sums = self.scales.known & plant.finite & (self.steps >= LONG) & self.tally.cancels()
            stalled |= sums & (self.start - plant.f <= AGREEMENT * (self.tally.highest - self.best))
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
    descriptor: Float[Array, " k"] | None = None  # d_tau, for a policy that takes one

    def draw_key(self, purpose: int) -> PRNGKeyArray:
        """A key of this stage; there are two purposes, 0 and 1."""
        return jax.random.fold_in(jax.random.wrap_key_data(self.key), 2 * self.stages + purpose)

    def momentum(self, plant: Plant, h: float) -> tuple[Scalar, Vector]:
        """(share of p that is kept, what is kept of it as a length): at most P_MAX in any coordinate.

        p / (h k), with the stiffness k of settling, is the move that a step of metric h^2 k makes of p.
        """
        scaled = plant.p * jnp.exp(-self.survey.log_stiffness()[0]) / h
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


def acting_on(structure: Structure, kept: Scalar) -> Structure:
    """The structure that acts on the share `kept` of the momentum.

        alpha_J, alpha_R, K_d -> kept (.),   zeta -> 1 - kept

    The step then is the paper's step from kept p; what is not kept is dissipated, and stands so in the ledger.
    """
    return Structure(
        metric=structure.metric,
        skew=structure.skew,
        dissipation=structure.dissipation,
        zeta=1.0 - kept,
        alpha_J=kept * structure.alpha_J,
        alpha_R=kept * structure.alpha_R,
        u_shp=structure.u_shp,
        K_d=None if structure.K_d is None else kept * structure.K_d,
    )


def _log_pooled(squares: Vector) -> Vector:
    """log of each entry mixed with the mean of all; finite where they are all zero."""
    pooled = (1.0 - POOLED) * squares + POOLED * jnp.mean(squares)
    return jnp.log(jnp.maximum(pooled, jnp.finfo(squares.dtype).tiny))


def _rms(v: Vector) -> Scalar:
    """Root mean square without overflow; not to be differentiated at zero."""
    size = jnp.max(jnp.abs(v))
    return size * jnp.sqrt(jnp.mean((v / jnp.where(size > 0, size, 1.0)) ** 2))
