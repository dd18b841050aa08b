"""The `universal` policy: any dimension, no training needed (design §4).

Untrained it is a quasi-Newton basin hopper that leaves a basin as soon as it is known, or can't pay: refine with a
secant metric, escape by a kind of move drawn by what each has earned. Forces that do not fit the values are read twice;
if they are noisy, settle by momentum instead of refining. Where the first basin is small, where noise has been settled
in, and where readings are values alone, a part of a run samples. Where f is a sum over pairs of bodies, escapes lead
to low places of a model of it. All decisions are ratios: f -> a f + b changes none.
"""

from dataclasses import replace
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ..core import REACH, Mode, when
from ..paper.dynamics import AbstractMetric, DiagonalMetric, ShapedPotential, StepResult, Structure
from ..paper.events import Signals, StageAction
from ..paper.memory import Archive
from .axes import LEAST_TURNED, MOST_TURNED, Axes, survey_length
from .base import AbstractProvidentPolicy, Drive, Plant
from .bodies import Bodies
from .draws import draw
from .drift import Drift
from .frame import in_box, in_frame, next_course, next_sample, searched
from .heads import Advice, ControllerHead, PlannerHead, rms
from .line import SHORTEST, Line
from .moves import KINDS, SWEEP, Credit, Recent, Station, propose
from .route import (
    FOREVER,
    LEAST_SAMPLED,
    ROUND_OFF,
    UNKNOWN,
    Arrival,
    depart,
    first_basin_left,
    is_noisy,
    lean,
    most_coupled,
    noise_can_be_sampled,
    route,
    sweeps_at_least,
    untested,
)
from .sampling import NOISY_STEP, SAMPLE_SHARE, SAMPLE_STEP, SETTLED_STEP, VALUES_SHARE, Sampler
from .secant import SecantMetric
from .stock import BASIN_RADIUS, HOPE, take_stock
from .sweep import Sweep, coupling_of, other_place, sweep_length, tentative_place
from .universal_state import UniversalState, coordinate_features, run_features

Flag = Bool[Array, ""]

CONVERGED = 1e-9  # predicted decrease, as a share of the spread between basins, at which a basin is done too
STANDSTILL = 1e-9  # root mean square step, in internal units, at which a basin is done whatever the spread
HOPE_AGE = 3  # steps before the prediction is trusted
SAME_BASIN = 0.03  # agreement of f with the quadratic that has its bottom at the base, to call a basin known
SETTLE_SHARE, SETTLE_LONG = 0.3, 0.5  # of the readings for a settle stage; where they are too few to sample as well
SETTLE_HOP, SETTLE_LEAST = 0.05, 8.0  # of the readings, after other moves; least
SAME_FORCE = 1e3  # ulps of f: less than this is the work, along the box, of forces that differ by round-off alone
KEPT = 0.3  # share of a sweep's promise that must come true
SAMPLED_FORCES = 25  # as many values as these forces cost are sampled at most, where readings are values alone
LEAST_FORCES = 4  # after sampling, where readings are values alone; else there is nothing but sampling


class StageMetric(AbstractMetric):
    """The secant metric while refining, the diagonal one otherwise."""

    secant: SecantMetric
    diagonal: DiagonalMetric
    refining: Flag

    def solve(self, v: Float[Array, " d"]) -> Float[Array, " d"]:
        return jax.lax.cond(self.refining, lambda: self.secant.solve(v), lambda: self.diagonal.solve(v))


class UniversalPolicy(AbstractProvidentPolicy):
    """Planner and controller for any d.

    Departs from the paper: one policy for every dimension, secant metric, moves by earned credit, hopeless and revisit.
    """

    h: float = 0.05
    p_max: float = float("inf")
    pairs: int = eqx.field(static=True, default=24)
    basins: int = eqx.field(static=True, default=16)
    sigma: float | None = None  # standard deviation of the force's noise, where it is known
    planner: PlannerHead | None = None
    controller: ControllerHead | None = None
    hidden: int = eqx.field(static=True, default=16)
    values: bool = eqx.field(static=True, default=False)  # whether a reading is one value, and a force d + 1 of them

    kind: ClassVar[str] = "universal"

    @staticmethod
    def create(key: PRNGKeyArray, hidden: int = 16, rank: int = 2, dtype: str = "float32") -> "UniversalPolicy":
        """A policy with learnable heads, which change nothing until they are trained; rank 0: no controller."""
        blank = UniversalPolicy.skeleton({"hidden": hidden, "rank": rank, "dtype": dtype})
        drawn = lambda head, key: head and replace(head, network=head.network.drawn(key))  # noqa: E731
        plan_key, control_key = jax.random.split(key)
        return replace(blank, planner=drawn(blank.planner, plan_key), controller=drawn(blank.controller, control_key))

    @staticmethod
    def skeleton(settings: dict[str, Any]) -> "UniversalPolicy":
        """The policy of these settings with shapes in place of arrays; allocates nothing."""
        hidden, rank, dtype = settings["hidden"], settings["rank"], jnp.dtype(settings["dtype"])
        controller = ControllerHead.skeleton(hidden, rank, dtype) if rank else None
        return UniversalPolicy(planner=PlannerHead.skeleton(hidden, dtype), controller=controller, hidden=hidden)

    @property
    def settings(self) -> dict[str, Any]:
        """What `create` needs, besides a key, to build this policy again; plain JSON values."""
        if self.planner is None:
            raise ValueError("A `universal` policy without heads has no weights; make one by `create`.")
        rank = 0 if self.controller is None else self.controller.rank
        return {"hidden": self.hidden, "rank": rank, "dtype": self.planner.network.W_in.dtype.name}

    def pruned(self) -> "UniversalPolicy":
        """Without the heads whose last layer is zero: the same trajectory, and nothing to compute for it."""
        heard = lambda head: None if head is None or head.network.silent else head  # noqa: E731
        return replace(self, planner=heard(self.planner), controller=heard(self.controller))

    def init(self, q: Float[Array, " d"], budget: int, key: PRNGKeyArray) -> tuple[UniversalState, StageAction]:
        dtype = q.dtype
        real = lambda x: jnp.asarray(x, dtype)  # noqa: E731
        samples = self.values and q.size > 1
        total = real(budget)
        state = UniversalState(
            line=Line.blank(q, min(self.pairs, q.size + 2)),
            drift=Drift.blank(q),
            sweep=Sweep.blank(q),
            axes=Axes.blank(q) if LEAST_TURNED <= q.size <= MOST_TURNED and not self.values else None,
            sampler=Sampler.blank(q, forces=not self.values) if samples or q.size >= LEAST_SAMPLED else None,
            bodies=None if self.values else Bodies.blank(q),
            tried=q,
            tried_g=jnp.zeros_like(q),
            coupling=real(UNKNOWN if q.size > 1 else 0.0),
            base=q,
            base_f=real(jnp.inf),
            base_g=jnp.zeros_like(q),
            spread=real(0.0),
            same=jnp.zeros((), bool),
            credit=Credit.blank(dtype),
            recent=Recent.none(dtype),
            kind=jnp.asarray(Station.SAMPLE if samples else Station.OPENING, jnp.int32),
            archive=Archive.empty(self.basins, q.size, dtype),
            rippled=jnp.zeros((), bool),
            left_f=real(jnp.inf),
            hope=real(0.0),
            widening=real(0.0),
            sigma=real(0.0 if self.sigma == 0 else UNKNOWN),
            escapes=jnp.zeros((), jnp.int32),
            reach=real(REACH),
            readings=jnp.floor(total / (q.size + 1)) if self.values and not samples else total,
            advice=Advice.none(dtype),
            key=jax.random.key_data(key),
        )
        if not samples:
            return state, _action(Mode.ESCAPE, q, 1)
        short = (1.0 - VALUES_SHARE) * total < LEAST_FORCES * (q.size + 1)
        length = jnp.minimum(jnp.ceil(VALUES_SHARE * total), SAMPLED_FORCES * (q.size + 1))
        return state, _action(Mode.ESCAPE, q, jnp.where(short, FOREVER, length))

    def wants_force(self, state: UniversalState, action: StageAction) -> Flag:
        """Whether the next reading is to bring a force; sampling makes no use of one."""
        return ~_samples(state, action)

    def assess(self, state: UniversalState, plant: Plant, action: StageAction) -> UniversalState:
        refining = action.mode == Mode.REFINE
        line = state.line.observed(plant, refining)
        drift = state.drift.observed(plant, action.mode == Mode.SETTLE)
        gap = line.f - state.base_f
        quadratic = -0.5 * jnp.dot(line.g, state.base - line.q)  # f - f(bottom) of a quadratic with its bottom there
        alike = jnp.abs(gap - quadratic) <= SAME_BASIN * jnp.abs(gap)
        escaped = action.mode == Mode.ESCAPE
        sweeping = escaped & (state.kind == SWEEP)
        surveying = sweeping | (escaped & (state.kind < 0))  # from the base, which must stay where it is
        lower = is_noisy(state) & (plant.f < state.base_f) & ~surveying  # with noise any better point is a bottom
        same = refining & jnp.where(line.accepted, alike, state.same)
        sweep = when(sweeping, lambda sweep: sweep.observed(in_frame(state, plant)), state.sweep)
        axes = state.axes and state.axes.observed(plant, _surveys(state, action))
        sampler = state.sampler
        if sampler is not None:
            floor = jnp.where(is_noisy(state), jnp.inf, state.base_f)  # noise makes values differ by itself
            sampler = when(_samples(state, action), lambda old: old.observed(plant, floor), sampler)
        return replace(
            state,
            line=line,
            drift=drift,
            sweep=sweep,
            axes=axes,
            sampler=sampler,
            bodies=state.bodies and state.bodies.observed(plant),
            same=same,
            base=jnp.where(lower, plant.q, state.base),
            base_f=jnp.where(lower, plant.f, state.base_f),
            base_g=jnp.where(lower, plant.g, state.base_g),
        )

    def notice(self, state: UniversalState, plant: Plant, action: StageAction) -> Signals:
        """Sampling that is fine enough, a survey given up; every other sign that ends a stage is judged together with
        the step."""
        done = jnp.zeros((), bool)
        if state.sampler is not None:
            done |= _samples(state, action) & state.sampler.done
        if state.axes is not None:
            done |= _surveys(state, action) & state.axes.given_up
        return Signals.none()._replace(converged=done)

    def begin(
        self, state: UniversalState, plant: Plant, action: StageAction, cause: Int[Array, ""]
    ) -> tuple[UniversalState, StageAction]:
        """What this reading says, then the stage that `route` leads to."""
        came = Arrival.of(state.kind, action)
        state = self._surveyed(state, plant, came)
        if self.planner is not None:
            advice = self.planner(run_features(state, plant, state.credit))
            state = replace(state, advice=jax.tree.map(lambda a, b: jnp.where(came.opens, a, b), advice, state.advice))
        go = route(state, plant, came, noise_told=bool(self.sigma))
        line = state.line.opened(plant, ~(go.settles | go.moves | go.resumes) | came.opens).resumed(go.resumes)
        long = jnp.where(noise_can_be_sampled(state, plant), SETTLE_SHARE, SETTLE_LONG)
        share = jnp.where((state.escapes == 0) | came.returns | came.rests, long, SETTLE_HOP)
        length = jnp.maximum(SETTLE_LEAST, share * state.readings * jnp.exp(state.advice.log_settle_length))
        drift = state.drift.opened(jnp.floor(length).astype(plant.q.dtype), go.settles).observed(plant, go.settles)

        lowest, promise = state.sweep.lowest()
        sweep = replace(state.sweep, promise=jnp.where(go.lowers, promise, state.sweep.promise))
        lower, upper = searched(state, plant)
        draws = draw(state.key, state.escapes, plant.q.size, len(KINDS), plant.q.dtype)  # those of `leave`: made once
        anchor = jnp.where(go.moves, state.base, plant.q)
        anchor = jnp.where(go.tests, tentative_place(state.base, state.base_g, draws, lower, upper), anchor)
        anchor = jnp.where(go.retests, other_place(state.base, plant.q, lower, upper), anchor)
        sweep = sweep.opened(next_course(state, plant, draws), sweep_length(state.readings), go.sweeps)
        swept = jnp.where(go.sweeps, sweep.target, lowest)
        anchor = jnp.where(go.sweeps | go.lowers, in_box(state, swept, plant), anchor)
        axes = state.axes
        if axes is not None:
            axes = axes.opened(plant.q, lower, upper, draws, go.turns)
            anchor = jnp.where(go.turns, axes.point, anchor)
        sampler = state.sampler
        if sampler is not None:
            step = jnp.where(is_noisy(state), NOISY_STEP, SAMPLE_STEP).astype(plant.q.dtype)
            sampler = sampler.opened(state.base, step, go.samples)
            anchor = jnp.where(go.samples, next_sample(state, sampler, plant), anchor)
            anchor = jnp.where(go.rests, sampler.mean, anchor)
        mode = jnp.where(go.moves, Mode.ESCAPE, jnp.where(go.settles, Mode.SETTLE, Mode.REFINE))
        granted = jnp.maximum(jnp.where(came.opens, untested(state), first_basin_left(state, plant)), 1.0)
        horizon = jnp.where(go.moves, 1.0, jnp.where(go.settles, length, granted))
        horizon = jnp.where(go.sweeps, sweep.length, jnp.where(go.samples, SAMPLE_SHARE * state.readings, horizon))
        horizon = jnp.where(go.turns, survey_length(plant.q.size), horizon)
        kind = go.kind(state.kind, values=self.values)
        state = replace(state, line=line, drift=drift, sweep=sweep, axes=axes, sampler=sampler, kind=kind)
        return state, _action(mode, anchor, horizon.astype(jnp.int32))

    def _surveyed(self, state: UniversalState, plant: Plant, came: Arrival) -> UniversalState:
        """What the first reading, the first basin so far, the base read again, the test and the end of a sweep say."""
        starts, again, line = came.opens & plant.finite, came.checked & plant.finite, state.line
        found, axes = came.tested | came.retested, state.axes
        first = coupling_of(state.base, state.base_g, plant, state.sigma)
        second = coupling_of(state.tried, state.tried_g, plant, state.sigma, base_readings=1.0)
        coupling = jnp.where(came.retested, jnp.maximum(state.coupling, second), first)
        if axes is not None:
            place, force = axes.turn(axes.point, axes.force)
            there = coupling_of(place, force, in_frame(state, plant), state.sigma)
            coupling = jnp.where(came.turned, there, coupling)
            turned = came.turned & axes.turned & (coupling < most_coupled(plant.q.size, turned=True))
            found, axes = found | turned, replace(axes, turned=axes.turned & (turned | ~came.turned))
        unseen = ROUND_OFF * jnp.finfo(plant.f.dtype).eps * jnp.abs(state.base_f)
        kept = state.base_f - plant.f > KEPT * state.sweep.promise + unseen
        later = came.lowered & (state.escapes > 0)  # the first sweep may start too high to be exact
        sweep = replace(state.sweep, idle=jnp.where(later, jnp.where(kept, 0, state.sweep.idle + 1), state.sweep.idle))
        barren = later & (sweep.idle >= sweeps_at_least(state))
        base_g = jnp.where(again, 0.5 * (state.base_g + plant.g), state.base_g)
        sigma = rms(plant.g - state.base_g) / 2.0**0.5
        height = jnp.maximum(state.spread, jnp.maximum(jnp.abs(line.start - line.f), jnp.abs(state.base_f)))
        sigma = jnp.where(sigma * REACH > SAME_FORCE * jnp.finfo(sigma.dtype).eps * height, sigma, 0.0)
        return replace(
            state,
            base=jnp.where(came.clocked, line.q, jnp.where(starts, plant.q, state.base)),
            base_f=jnp.where(came.clocked, line.f, jnp.where(starts, plant.f, state.base_f)),
            base_g=jnp.where(came.clocked, line.g, jnp.where(starts, plant.g, base_g)),
            sigma=jnp.where(again, sigma, state.sigma),
            readings=self._readings_left(state, plant, came),
            sweep=sweep,
            axes=axes,
            tried=jnp.where(came.tested, plant.q, state.tried),
            tried_g=jnp.where(came.tested, plant.g, state.tried_g),
            coupling=jnp.where(barren, jnp.inf, jnp.where(found, coupling, state.coupling)),
            credit=state.credit.paid(jnp.asarray(SWEEP), kept, later),
        )

    def _readings_left(self, state: UniversalState, plant: Plant, came: Arrival) -> Float[Array, ""]:
        """Readings of a run, as its first one tells; of values alone, the forces that are left after sampling."""
        if not self.values:
            return jnp.where(came.opens, jnp.round(1.0 / plant.spent), state.readings)
        left = jnp.floor((1.0 - plant.spent) * state.readings / (plant.q.size + 1))
        return jnp.where(came.sampled, left, state.readings)

    def control(self, state: UniversalState, plant: Plant, action: StageAction) -> Drive:
        """Advance by the secant metric, drift by the diagonal one, or go back on the line by an anchor on it."""
        line, settling = state.line, action.mode == Mode.SETTLE
        placed = action.mode == Mode.ESCAPE
        back = placed | (~settling & ~line.accepted)
        path = in_box(state, state.sweep.target, plant)
        target = jnp.where(placed, jnp.where(state.kind == SWEEP, path, action.anchor), line.target)
        if state.axes is not None:
            target = jnp.where(_surveys(state, action), state.axes.target, target)
        if state.sampler is not None:
            target = jnp.where(_samples(state, action), next_sample(state, state.sampler, plant), target)
        kappa = _stiffness(plant.g)
        place = DiagonalMetric(jnp.full_like(plant.q, 1.0) / (self.h**2 * kappa))
        drift = state.drift.metric(self.h, state.advice.log_settle_step)
        diagonal = DiagonalMetric(jnp.where(settling, drift.inverse, place.inverse))
        metric = StageMetric(line.metric(plant.lower, plant.upper, self.h), diagonal, ~settling & ~back)
        zeta = jnp.where(settling, state.drift.zeta, 1.0).astype(plant.q.dtype)
        anchor = target + plant.g / kappa  # the shift makes the step end on the target, whatever the force
        potential = ShapedPotential.anchored(
            jnp.where(back, anchor, plant.q), jnp.where(back, kappa, 0.0).astype(plant.q.dtype)
        )
        size = jnp.sqrt(jnp.asarray(plant.q.size, plant.q.dtype))
        radius = jnp.where(settling | back, jnp.inf, line.radius * size)
        structure = Structure.plain(metric, zeta, plant.q)
        if self.controller is not None:
            features = coordinate_features(state, plant, settling)
            structure = self.controller.shape(structure, features, plant.g, plant.p, ~back)
        return Drive(structure, potential, radius)

    def judge(self, state: UniversalState, plant: Plant, action: StageAction, result: StepResult) -> Signals:
        line, refining = state.line, action.mode == Mode.REFINE
        opening = line.age == 0
        promise = jnp.where(line.accepted, -jnp.dot(plant.g, result.q - plant.q), line.promise)
        epsilon = jnp.finfo(line.f.dtype).eps
        tiny = rms(result.q - plant.q) <= jnp.maximum(STANDSTILL, 8.0 * epsilon)
        round_off = ROUND_OFF * epsilon * jnp.abs(line.f)
        converged = line.accepted & (tiny | (promise <= round_off) | (~opening & (promise <= CONVERGED * state.spread)))
        failed = ~line.accepted & ((line.t < SHORTEST) | (promise <= round_off))
        hope = jnp.maximum(state.hope, HOPE) * jnp.exp(state.advice.log_hope)
        hopeless = (line.f - hope * promise > state.base_f) & (line.age >= HOPE_AGE)
        if state.bodies is not None:
            hopeless |= state.bodies.fresh  # the model leads on at no cost
        revisit = (state.escapes > 0) & (line.f + round_off >= state.base_f) & state.same
        flags = (converged, failed | is_noisy(state), revisit, hopeless)
        return Signals(*(refining & flag for flag in flags), nonfinite=~jnp.isfinite(line.f) & refining)

    def follow(self, state: UniversalState, plant: Plant, action: StageAction, result: StepResult) -> UniversalState:
        advancing = (action.mode == Mode.REFINE) & state.line.accepted
        line = state.line.followed(result.q - plant.q, advancing)
        return replace(
            state, line=line.promised(-jnp.dot(plant.g, result.q - plant.q), advancing & (line.age >= HOPE_AGE))
        )

    def remember(self, state: UniversalState, plant: Plant, action: StageAction, leaving: Flag) -> UniversalState:
        line = state.line
        apart = jnp.asarray(BASIN_RADIUS * plant.q.size**0.5, plant.q.dtype)
        active, bodies = leaving & jnp.isfinite(line.f), state.bodies
        if bodies is not None:
            base = jnp.where(line.f < state.base_f, line.q, state.base)
            bodies = bodies.proposed(base, *searched(state, plant), state.key, active & ~is_noisy(state))
        archive = state.archive.write(line.q, line.f, 1.0 / line.gamma, apart, active)
        return replace(state, archive=archive, bodies=bodies)

    def leave(
        self, state: UniversalState, plant: Plant, action: StageAction, cause: Int[Array, ""]
    ) -> tuple[UniversalState, StageAction, Drive]:
        """Take stock of the basin, then go where `depart` leads, or by a kind of move that is drawn."""
        before, state = state, take_stock(state, cause)
        if self.planner is not None:
            state = replace(state, advice=self.planner(run_features(before, plant, state.credit)))
        draws = draw(state.key, state.escapes, plant.q.size, len(KINDS), plant.q.dtype)
        kind = state.credit.draw(draws.kinds, lean(state, plant) + state.advice.kinds)
        go = depart(state, plant, cause, kind)
        lower, upper = searched(state, plant)
        radius = state.advice.log_radius + state.widening
        anchor = propose(kind, draws, state.base, state.archive, lower, upper, radius)
        anchor = jnp.where(go.tests, tentative_place(state.base, state.base_g, draws, lower, upper), anchor)
        anchor = jnp.where(go.checks, state.base, anchor)
        length = sweep_length(state.readings)
        sweep, sampler = state.sweep.opened(next_course(state, plant, draws), length, go.sweeps), state.sampler
        anchor = jnp.where(go.sweeps, in_box(state, sweep.target, plant), anchor)
        anchor = anchor if state.bodies is None else jnp.where(go.models, state.bodies.target, anchor)
        axes = state.axes
        if axes is not None:
            axes = axes.opened(plant.q, lower, upper, draws, go.turns)
            anchor = jnp.where(go.turns, axes.point, anchor)
        if sampler is not None:
            step = jnp.where(is_noisy(state), SETTLED_STEP, SAMPLE_STEP).astype(plant.q.dtype)
            sampler = sampler.opened(state.base, step, go.samples)
            anchor = jnp.where(go.samples, next_sample(state, sampler, plant), anchor)
        kappa = _stiffness(plant.g)
        metric = DiagonalMetric(jnp.ones_like(plant.q) / (self.h**2 * kappa))
        potential = ShapedPotential.anchored(anchor + plant.g / kappa, kappa)
        drive = Drive(Structure.plain(metric, jnp.ones_like(kappa), plant.q), potential, jnp.full_like(kappa, jnp.inf))
        horizon = jnp.where(go.sweeps, length, jnp.where(go.samples, SAMPLE_SHARE * state.readings, 1.0))
        horizon = jnp.where(go.turns, survey_length(plant.q.size), horizon)
        kind, escapes = go.kind(kind, values=self.values), state.escapes + 1
        state = replace(state, sweep=sweep, axes=axes, sampler=sampler, kind=kind, escapes=escapes)
        return state, _action(Mode.ESCAPE, anchor, horizon.astype(jnp.int32)), drive

    def has_small_steps(self, state: UniversalState) -> bool:
        """Not with a model of bodies, whose hops are loops within loops."""
        return state.bodies is None

    def share(self, before: UniversalState, after: UniversalState) -> UniversalState:
        """One archive and one credit for all particles; bases, lines and suspicions of noise stay their own."""
        line, count = after.line, after.escapes.size
        left = (after.escapes > before.escapes) & jnp.isfinite(line.f)
        apart = jnp.asarray(BASIN_RADIUS * line.q.shape[-1] ** 0.5, line.q.dtype)
        archive = jax.tree.map(lambda leaf: leaf[0], before.archive)
        for i in range(count):
            archive = archive.write(line.q[i], line.f[i], 1.0 / line.gamma[i], apart, left[i])
        credit = jax.tree.map(lambda new, old: old[0] + jnp.sum(new - old, axis=0), after.credit, before.credit)
        everyone = lambda leaf: jnp.broadcast_to(leaf, (count, *leaf.shape))  # noqa: E731
        return replace(after, archive=jax.tree.map(everyone, archive), credit=jax.tree.map(everyone, credit))


def _samples(state: UniversalState, action: StageAction) -> Flag:
    return (action.mode == Mode.ESCAPE) & (state.kind == Station.SAMPLE)


def _surveys(state: UniversalState, action: StageAction) -> Flag:
    return (action.mode == Mode.ESCAPE) & (state.kind == Station.SURVEY)


def _action(mode: Int[Array, ""] | Mode, anchor: Float[Array, " d"], horizon: Int[Array, ""] | int) -> StageAction:
    one, zero = jnp.ones((), anchor.dtype), jnp.zeros((), anchor.dtype)
    whole = lambda x: jnp.asarray(x, jnp.int32)  # noqa: E731
    return StageAction(whole(mode), anchor, zero, one, zero, whole(horizon), jnp.zeros(len(Mode), anchor.dtype))


def _stiffness(g: Float[Array, " d"]) -> Float[Array, ""]:
    """kappa of a placement: any positive one does, since the anchor is shifted by g / kappa; this is to scale."""
    norm = jnp.linalg.norm(g) / jnp.sqrt(jnp.asarray(g.size, g.dtype))
    return jnp.where(norm > 0, norm, 1.0)
