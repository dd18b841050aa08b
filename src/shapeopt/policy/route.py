"""Which stage follows which in a run of `universal`.

The first basin leads to the test for a sum when it has had its share of the readings, by a second reading of the base
where forces do not fit the values; a test that is passed to a second one, and that to a sweep; one that is not back,
or, in a short run at once and in others after the first basin, to a survey for turned axes in which f is a sum; a sweep
to the lowest place of each coordinate; a basin that was small, or that noise was settled in, to sampling, once;
sampling to its mean; every basin, where f is a sum over pairs of bodies, to a lower one of a model of them. Every other
escape leads to refining, or to settling where forces are noisy, and every other basin to an escape that is drawn.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ..core import Cause, Mode
from ..paper.events import StageAction
from .axes import survey_length
from .base import Plant
from .moves import DIFFERENCE, KINDS, SETTLE, SWEEP, Station, moves_few
from .sampling import SAMPLE_SHARE, generation
from .sweep import sweep_length
from .universal_state import UniversalState, noise_share, way_in

Scalar = Float[Array, ""]
Flag = Bool[Array, ""]

ROUND_OFF = 10.0  # a decrease of this many ulps of f can't be seen
FOREVER = 2.0**30
UNKNOWN = -1.0  # coupling before the test, noise before the check
MISMATCH = 0.2  # of values and forces at which the base is read again
NOISY = 0.1  # noise as a share of the force at the base at which basins are settled in, not refined
COUPLED = 0.35  # coupling above which f is not taken for a sum over many coordinates; less over few: see `is_sum`
TURNED_COUPLED = 0.1  # the same in turned axes, which are right or wrong
TURN_SHARE = 0.4  # of a run's readings that a survey for turned axes may take
TESTED_RUN, RETESTED_RUN = 44.0, 100.0  # least readings of a run in which that is tested, once and twice
UNTESTED, UNTESTED_LESS = 0.06, 3.0  # share of a run's readings, less these, that the first basin has before the test
SWEEP_ROOM = 1.3  # a later sweep needs so many times its own readings before the end
RIPPLE = 0.5  # root mean square way into a basin that is not the base's, where the box is 10 wide, below which ...
WIDE_RIPPLE, HOPPED = 1.5, 2.0  # ... or this in runs of less readings a dimension than can be hopped with, ...
NOISY_RIPPLE = 3.0  # ... or, where forces are noisy, into any basin, sampling follows
LEAST_SAMPLED = 8  # dimension from which on that is looked at
PLAIN = 1.5  # fall of f into a basin, in noise of the work along the way, from which on sampling comes before settling
SAMPLED_NOISE = 4.0  # readings a dimension that sampling needs where forces are noisy, and values must do
LEAST_GENERATIONS = 4  # of sampling, if it is to be worth it
SAMPLE_ROOM = 1.3  # readings that sampling needs before the end, in its own


class Arrival(NamedTuple):
    """What the stage was that has just ended: an escape or not, and which; at most one of the others holds."""

    escaped: Flag
    opens: Flag  # the first reading
    tested: Flag
    lowered: Flag  # at the lowest place of each coordinate
    checked: Flag
    sampled: Flag
    rests: Flag  # at the mean that sampling led to
    turned: Flag  # a survey for turned axes is over
    modelled: Flag  # at a place found in a model of bodies
    retested: Flag
    swept: Flag
    returns: Flag  # at the base, to settle there again
    clocked: Flag  # the first basin has had its share

    @staticmethod
    def of(kind: Int[Array, ""], action: StageAction) -> "Arrival":
        escaped = action.mode == Mode.ESCAPE
        places = (*Station, SWEEP, SETTLE)
        return Arrival(escaped, *(escaped & (kind == place) for place in places), clocked=action.mode == Mode.REFINE)

    @property
    def surveyed(self) -> Flag:
        """Whether a reading away from the base was made to learn something of it."""
        return self.tested | self.retested | self.lowered | self.checked | self.turned


class Going(NamedTuple):
    """What the next stage is; at most one holds, and refining or a drawn escape follows where none does."""

    checks: Flag
    tests: Flag
    sweeps: Flag
    lowers: Flag
    returns: Flag
    samples: Flag
    rests: Flag
    turns: Flag
    models: Flag
    retests: Flag
    settles: Flag
    resumes: Flag  # the first basin goes on

    @property
    def moves(self) -> Flag:
        """Whether it is one of the placements above."""
        near = self.checks | self.tests | self.retests | self.lowers | self.returns | self.rests
        return near | self.sweeps | self.samples | self.turns | self.models

    def kind(self, drawn: Int[Array, ""], values: bool) -> Int[Array, ""]:
        """The kind of the move, or `drawn`; where readings are values alone, the mean is where forces begin."""
        rest = Station.OPENING if values else Station.MEAN
        stations = (Station.SAMPLE, rest, Station.SURVEY, Station.MODELLED, Station.RETEST)
        codes = (Station.CHECK, Station.TEST, SWEEP, Station.LOWEST, SETTLE, *stations)
        for chosen, code in zip(self, codes, strict=False):
            drawn = jnp.where(chosen, code, drawn)
        return drawn


def route(state: UniversalState, plant: Plant, came: Arrival, noise_told: bool) -> Going:
    """The stage after one that ended by its clock."""
    noisy, better = is_noisy(state), plant.f < state.base_f
    nowhere = jnp.zeros((), bool)
    due = came.clocked | (came.opens & plant.finite & (untested(state) < 1.0))
    suspect = (came.opens & plant.finite & noise_told) | (came.clocked & (state.line.mismatch > MISMATCH))
    checks = (state.sigma < 0) & suspect
    tests = (due | came.checked) & ~checks & (state.coupling == UNKNOWN) & (state.readings >= TESTED_RUN)
    retests = came.tested & is_sum(state, plant) & (state.readings >= RETESTED_RUN)
    judged = (came.tested & ~retests) | came.retested | came.turned
    sweeps = (due | judged | (came.checked & (state.sweep.steps == 0))) & ~checks & is_sum(state, plant)
    turns = (judged | came.clocked) & ~(checks | tests | sweeps)
    turns = turns & may_turn(state, plant) & ((state.escapes > 0) | (first_basin_left(state, plant) < 1.0))
    first = jnp.where(noisy, is_rippled(state, plant) & falls_plainly(state), judged & (state.escapes > 0))
    samples = (judged | came.checked) & first & ~(tests | sweeps | turns) & may_sample(state, plant)
    returns = noisy & came.surveyed & ~(better | tests | retests | sweeps | samples | turns)
    stations = (came.swept, returns, samples, came.sampled, turns, nowhere, retests)
    go = Going(checks, tests, sweeps, *stations, settles=nowhere, resumes=nowhere)
    settles = came.escaped & noisy & plant.finite & ~go.moves
    resumes = came.surveyed & (state.escapes == 0) & ~(better | go.moves | settles)
    return go._replace(settles=settles, resumes=resumes)


def depart(state: UniversalState, plant: Plant, cause: Int[Array, ""], kind: Int[Array, ""]) -> Going:
    """Where a basin is left for, if not by the kind of move that was drawn."""
    line, nowhere = state.line, jnp.zeros((), bool)
    unseen = ROUND_OFF * jnp.finfo(line.f.dtype).eps * jnp.abs(line.f)
    stalled = (cause == Cause.STALL) & (line.promise > 100.0 * unseen)
    models = nowhere if state.bodies is None else state.bodies.found
    checks = ~models & stalled & (state.sigma < 0) & (line.mismatch > MISMATCH)
    tests = ~(models | checks) & (state.coupling == UNKNOWN) & (state.readings >= TESTED_RUN)
    tests = tests & jnp.isfinite(state.base_f) & ~knows_bodies(state)
    turns = ~(models | tests | checks) & (state.coupling >= 0) & ~is_sum(state, plant) & may_turn(state, plant)
    samples = ~(models | tests | checks | turns) & may_sample(state, plant)
    sweeps = ~(models | tests | checks | turns | samples) & (kind == SWEEP)
    stations = (nowhere, nowhere, samples, nowhere, turns, models, nowhere)
    return Going(checks, tests, sweeps, *stations, settles=nowhere, resumes=nowhere)


def lean(state: UniversalState, plant: Plant) -> Float[Array, " kinds"]:
    """Added to the rates of success of the kinds: no settling without noise; a first sweep, if it pays, comes first."""
    pays = is_sum(state, plant)
    pays = pays & (left(state, plant) > SWEEP_ROOM * sweep_length(state.readings))
    sweep = jnp.where(pays, jnp.where(state.sweep.count < sweeps_at_least(state), jnp.inf, 0.0), -jnp.inf)
    settle = jnp.where(is_noisy(state), 0.0, -jnp.inf)
    order = jnp.arange(len(KINDS))
    return jnp.where(order == SWEEP, sweep, jnp.where(order == SETTLE, settle, 0.0)).astype(plant.q.dtype)


def untested(state: UniversalState) -> Scalar:
    """Readings that the first basin has before the test for a sum: few, but in a short run in more dimensions than it
    has readings, where a descent is most of what it can buy, all but those of a sweep; all where none is made."""
    share = UNTESTED * state.readings - UNTESTED_LESS
    wide = (state.readings < RETESTED_RUN) & (state.readings < state.base.size)
    granted = jnp.where(wide, state.readings - 1.0 - SWEEP_ROOM * sweep_length(state.readings), share)
    return jnp.where(state.readings >= TESTED_RUN, granted, FOREVER)


def is_sum(state: UniversalState, plant: Plant) -> Flag:
    """Whether f is taken for a sum over coordinates. Chance decides more often where there are few of them."""
    return (state.coupling >= 0) & (state.coupling < most_coupled(plant.q.size) * jnp.exp(state.advice.log_coupled))


def most_coupled(d: int, turned: bool = False) -> float:
    """The coupling below which f is taken for a sum over d coordinates."""
    return (TURNED_COUPLED if turned else COUPLED) * max(1.0 - d**-0.5, 0.05)


def sweeps_at_least(state: UniversalState) -> Int[Array, ""]:
    """How many sweeps are made before other moves: in turned axes, a wide and a narrow one."""
    return jnp.ones((), jnp.int32) if state.axes is None else 1 + state.axes.turned.astype(jnp.int32)


def may_turn(state: UniversalState, plant: Plant) -> Flag:
    """Whether to look for turned axes, once in a run, and so that enough is left for a sweep."""
    if state.axes is None:
        return jnp.zeros((), bool)
    fits = (left(state, plant) > turning(state, plant)) & (survey_length(plant.q.size) <= TURN_SHARE * state.readings)
    sound = (state.sigma <= 0) & jnp.isfinite(state.coupling) & plant.finite
    return fits & sound & (state.axes.read == 0) & ~knows_bodies(state)


def first_basin_left(state: UniversalState, plant: Plant) -> Scalar:
    """Readings that the first basin has before axes are looked for: while half of what is left would do for them."""
    waits = left(state, plant) - 2.0 * turning(state, plant)
    return jnp.where((state.escapes == 0) & ~is_sum(state, plant) & may_turn(state, plant), waits, FOREVER)


def turning(state: UniversalState, plant: Plant) -> Scalar:
    """Readings that a survey for turned axes and a sweep in them need before the end."""
    return survey_length(plant.q.size) + SWEEP_ROOM * sweep_length(state.readings)


def left(state: UniversalState, plant: Plant) -> Scalar:
    """Readings that are left."""
    return (1.0 - plant.spent) * state.readings


def is_noisy(state: UniversalState) -> Flag:
    return noise_share(state) > NOISY


def may_sample(state: UniversalState, plant: Plant) -> Flag:
    """Whether to sample, once in a run: after a basin that was small for the box, or where forces are noisy."""
    if state.sampler is None:
        return jnp.zeros((), bool)
    length = SAMPLE_SHARE * state.readings
    room = (left(state, plant) > SAMPLE_ROOM * length) & (state.sampler.read == 0)
    rippled = is_rippled(state, plant) & (length >= LEAST_GENERATIONS * generation(plant.q.size))
    room = room & ~knows_bodies(state)
    return room & jnp.where(is_noisy(state), noise_can_be_sampled(state, plant), rippled)


def knows_bodies(state: UniversalState) -> Flag:
    """Whether f was once taken for a sum over pairs of bodies."""
    return jnp.zeros((), bool) if state.bodies is None else state.bodies.used


def is_rippled(state: UniversalState, plant: Plant) -> Flag:
    """Whether a basin was small for the box, and f is no sum, whose ripples a sweep would see through."""
    small = jnp.where(is_noisy(state), way_in(state) < NOISY_RIPPLE, state.rippled)
    return small & (state.coupling >= 0) & ~is_sum(state, plant)


def is_ripple(state: UniversalState, elsewhere: Flag) -> Flag:
    """Whether the basin is a small one that is not the base's: the way from a move of few coordinates or along a
    difference of basins, from a sweep's end or back to the base is short whatever the basin."""
    whole = ~moves_few(state.kind) & (state.kind != DIFFERENCE) & (state.kind != Station.LOWEST)
    small = jnp.where(state.readings < HOPPED * state.base.size, WIDE_RIPPLE, RIPPLE)
    return whole & elsewhere & (way_in(state) < small * jnp.exp(state.advice.log_ripple))


def falls_plainly(state: UniversalState) -> Flag:
    """Whether f fell by more on the way into the basin than noise would make of it; else settling comes first."""
    line = state.line
    return line.start - line.f > PLAIN * state.sigma * jnp.linalg.norm(line.q - line.origin)


def noise_can_be_sampled(state: UniversalState, plant: Plant) -> Flag:
    """Whether a run has the readings for that."""
    return SAMPLE_SHARE * state.readings >= SAMPLED_NOISE * plant.q.size
