"""The paper's policy in the optimizer: clock, stall, memory rule, units, ledger."""

import functools
from dataclasses import replace
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.core import AbstractOptimizer, Box, Cause, Mode
from shapeopt.oracles import ExactOracle
from shapeopt.paper.base import Plant
from shapeopt.paper.dynamics import (
    DiagonalMetric,
    DissipationOperator,
    SemiImplicitStep,
    ShapedPotential,
    SkewOperator,
    Structure,
)
from shapeopt.paper.optimizer import ShapeOptimizer
from shapeopt.paper.policy import FARTHEST, PaperPolicy
from shapeopt.paper.stage import Scales, Stage, Survey, Tally, acting_on
from shapeopt.rollout import rollout

CALLS = 100
LOWER, UPPER = -4.0, 3.5
# Half of the compile time: a test's runs are short.
QUICK = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}


class Wavy(eqx.Module):
    """a (rippled bowl) + b, not a number within `hole` of the origin."""

    a: jax.Array
    b: jax.Array
    ripple: jax.Array
    hole: jax.Array

    def __call__(self, x):
        value = self.a * jnp.sum(0.5 * x**2 + self.ripple * (1.0 - jnp.cos(4.0 * x))) + self.b
        return jnp.where(jnp.sum(x**2) < self.hole**2, jnp.nan, value)


class Seen(NamedTuple):
    info: NamedTuple
    p: jax.Array
    writes: jax.Array


class Watched(AbstractOptimizer):
    """The optimizer, with the momentum it goes on with and the number of memory writes beside its own info."""

    inner: ShapeOptimizer

    def init(self, x0, box, budget, key):
        return self.inner.init(x0, box, budget, key)

    def ask(self, state):
        return self.inner.ask(state)

    def tell(self, state, reading):
        return self.inner.tell(state, reading)

    def info(self, state):
        memory = state.policy.memory
        writes = jnp.sum(state.policy.archive.visits) if memory is None else memory.table[0, 0]
        return Seen(self.inner.info(state), state.p, writes)


@functools.cache
def untrained(**settings) -> PaperPolicy:
    """As `PaperPolicy.create` makes it, but drawn by NumPy, which needs no compilation."""
    rng = np.random.default_rng(0)

    def draw(where, leaf):
        if not isinstance(leaf, jax.ShapeDtypeStruct):
            return leaf
        last = "layers[2]" in jax.tree_util.keystr(where)
        return jnp.asarray(rng.uniform(-0.15, 0.15, leaf.shape) * (0.1 if last else 1.0), leaf.dtype)

    return jax.tree_util.tree_map_with_path(draw, PaperPolicy.skeleton(settings))


def always(mode: Mode, policy: PaperPolicy) -> PaperPolicy:
    """The policy with a planner that insists on one mode."""
    biases = lambda p: p.planner.network.layers[-1].bias  # noqa: E731
    return eqx.tree_at(biases, policy, biases(policy).at[policy.planner.d + mode].add(100.0))


def damped(policy: PaperPolicy) -> PaperPolicy:
    """The policy with stronger damping, so that it comes to rest within 100 calls."""
    biases, d = (lambda p: p.controller.network.layers[-1].bias), policy.planner.d
    return eqx.tree_at(biases, policy, biases(policy).at[2 * d : 3 * d].add(3.0))


def _roll(static, batched, params, x0, objective, key):
    optimizer = Watched(ShapeOptimizer(eqx.combine(params, static)))
    side = jnp.ones_like(x0[0] if batched else x0)
    box = Box(LOWER * side, UPPER * side, 0.5 * (LOWER + UPPER) * side, (UPPER - LOWER) / 10.0 * side)
    one = lambda x0, key: rollout(optimizer, ExactOracle(objective), x0, box, CALLS, key, record_points=True)  # noqa: E731
    return (jax.vmap(one) if batched else one)(x0, key)


@functools.cache
def _compiled():
    return jax.jit(_roll, static_argnums=(0, 1), compiler_options=QUICK)


def run(policy, x0, a=1.0, b=0.0, ripple=0.0, hole=0.0, key=0, batched=False):
    """100 calls; one compilation for a kind of policy, shape and dtype, whatever weights and objective hold."""
    params, static = eqx.partition(policy, eqx.is_array)
    x0 = jnp.asarray(x0)
    objective = Wavy(*(jnp.asarray(v, x0.dtype) for v in (a, b, ripple, hole)))
    keys = jax.random.split(jax.random.key(key), len(x0)) if batched else jax.random.key(key)
    return jax.tree.map(np.asarray, _compiled()(static, batched, params, x0, objective, keys)._replace(end=None))


def start(d, dtype="float64"):
    return np.linspace(2.0, 3.0, d).astype(dtype)


def check_run(steps, mode, dtype):
    """A run that stayed inside the box in one mode, and whose ledger closes."""
    values, x, p, info = steps.value, steps.x, steps.info.p, steps.info.info
    assert values.dtype == x.dtype == p.dtype == dtype
    assert np.all(np.isfinite(values))
    assert np.all(np.isfinite(p))
    assert np.all((x >= LOWER) & (x <= UPPER))
    assert len(np.unique(x, axis=0)) > CALLS // 5  # a run in single precision comes to rest
    assert np.all(info.mode[1:] == mode)
    terms, delta = np.stack(info.ledger[:7]), info.ledger.delta_H
    scale = np.abs(values) + np.abs(info.ledger.shaped_after) + np.abs(terms).sum(0)
    scale[1:] += np.abs(values[:-1])
    assert np.all(np.abs(terms.sum(0) - delta) <= 30 * np.finfo(dtype).eps * scale)
    assert np.abs(delta).max() > 1.0
    assert np.abs(terms[:4]).max(1).min() > 0.0  # every channel took part


@pytest.mark.grid(2)
@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("d", [2, 20])
def test_it_runs_inside_the_box_and_its_ledger_closes(d, mode):
    policy = always(mode, untrained(d=d, dtype="float64"))
    check_run(run(policy, start(d), a=300.0, b=-7.0, ripple=2.0).steps, mode, "float64")
    smooth = run(policy, start(d), a=300.0)
    assert mode == Mode.ESCAPE or smooth.best.value < 0.5 * smooth.steps.value[0]


@pytest.mark.full
@pytest.mark.parametrize("mode", Mode)
def test_wide_weights_run_in_narrow_floats_and_in_a_batch(mode):
    policy = always(mode, untrained(d=1, dtype="float64"))
    starts = np.array([[2.0], [-3.0], [2.0]], np.float32)
    batch = run(policy, starts, a=300.0, b=-7.0, ripple=2.0, batched=True).steps
    lanes = [jax.tree.map(lambda rows, i=i: rows[i], batch) for i in range(3)]
    for lane in lanes:
        check_run(lane, mode, "float32")
    np.testing.assert_array_equal(lanes[0].x, lanes[2].x)
    assert np.all(lanes[0].x[0] != lanes[1].x[0])


@pytest.mark.parametrize("mode", [Mode.REFINE, Mode.ESCAPE])
@pytest.mark.parametrize("d", [2, 20])
def test_scaling_and_shifting_the_objective_changes_nothing_but_units(d, mode):
    policy = always(mode, untrained(d=d, dtype="float64"))
    plain = run(policy, start(d), ripple=1.0)
    assert plain.steps.info.writes[-1] > 5 or mode == Mode.REFINE
    for a, b in ((1e-5, 1e-3), (3e6, -5e8)):
        other = run(policy, start(d), a=a, b=b, ripple=1.0)
        np.testing.assert_allclose(other.steps.x, plain.steps.x, rtol=0, atol=1e-8)
        np.testing.assert_allclose(other.steps.info.p / a, plain.steps.info.p, rtol=0, atol=1e-7)
        np.testing.assert_array_equal(other.steps.info.info.cause, plain.steps.info.info.cause)
        dissipation = other.steps.info.info.ledger.dissipation / a
        np.testing.assert_allclose(dissipation, plain.steps.info.info.ledger.dissipation, rtol=0, atol=1e-7)


def test_a_start_without_any_force_does_not_fix_the_units():
    policy = untrained(d=2, dtype="float64")
    x = [run(policy, np.zeros(2), a=a).steps.x for a in (1.0, 1e6)]
    assert np.abs(x[0]).max() > 1e-3
    np.testing.assert_allclose(x[1], x[0], rtol=0, atol=1e-8)


def test_the_clock_ends_a_stage_every_six_steps():
    trace = run(always(Mode.SETTLE, untrained(d=2, dtype="float64")), start(2))
    causes = trace.steps.info.info.cause[:48]  # it comes to rest after that
    assert list(np.flatnonzero(causes)) == list(range(0, 48, 6))
    assert set(causes[::6]) == {Cause.CLOCK}
    assert trace.steps.info.writes[47] == 0


def predicted(trace, ripple, horizon=6):
    """Cause and memory write of every reading, by the rules in plain NumPy, from what the trace shows of the plant."""
    slope = (UPPER - LOWER) / 10.0
    x, f, mode = trace.steps.x, trace.steps.value, trace.steps.info.info.mode
    g = slope * (x + 4.0 * ripple * np.sin(4.0 * x))
    p = np.concatenate([np.zeros_like(x[:1]), trace.steps.info.p[:-1]])
    rms = lambda v: np.sqrt(np.mean(v**2))  # noqa: E731
    causes, writes, opened, squares = [], [], None, g[0] ** 2
    for k in range(len(f)):
        squares = 0.9 * squares + 0.1 * g[k] ** 2
        stiffness = np.sqrt(0.9 * squares + 0.1 * squares.mean()) / 0.1
        quiet = stalled = converged = False
        if opened is not None:
            c = np.exp(np.mean([np.log(rms(row)) for row in g[: opened + 1] if rms(row) > 0]))
            quiet = k - opened >= 3 and rms(p[k] / (0.05 * stiffness)) <= 0.005
            idle = f[opened] - f[opened : k + 1].min() <= 1e-3 * x.shape[1] * c
            stalled, converged = quiet and idle and rms(g[k]) <= 0.05 * c, quiet and rms(g[k]) <= 1e-3 * c
        clock = opened is None or k - opened >= horizon
        cause = Cause.CONVERGED if converged else Cause.STALL if stalled else Cause.NONE
        writes.append((cause or clock) and (mode[k] == Mode.ESCAPE or cause != Cause.NONE))
        causes.append(Cause.CLOCK if clock else cause)
        opened = k if causes[-1] else opened
    return np.array(causes), np.array(writes)


@pytest.mark.parametrize(("mode", "x0", "kinds"), [(Mode.ESCAPE, 3.5, {1}), (Mode.REFINE, 0.3, {1, 2, 3})])
def test_stages_end_and_memory_is_written_when_the_rules_say_so(mode, x0, kinds):
    trace = run(damped(always(mode, untrained(d=2, dtype="float64"))), np.array([x0, 0.3]), ripple=0.3)
    causes, writes = predicted(trace, ripple=0.3)
    np.testing.assert_array_equal(trace.steps.info.info.cause, causes)
    np.testing.assert_array_equal(np.diff(trace.steps.info.writes, prepend=0), writes)
    assert set(causes) == kinds | {0}
    assert 3 < writes.sum() < np.sum(causes != 0)


@pytest.mark.parametrize("spoiler", [None, "force", "momentum", "progress", "patience", "units"])
def test_a_stall_needs_low_force_low_momentum_no_progress_patience_and_known_units(spoiler):
    big = lambda name, low, high: jnp.array(high if spoiler == name else low)  # noqa: E731
    scales = Scales(jnp.array(0.0), jnp.array(100.0), jnp.array(200.0), jnp.array(spoiler != "units"))
    stage = Stage(scales, jnp.array(5.0), 5.0 - big("progress", 0.1, 0.3), big("patience", 3, 2))
    g, p, side = big("force", 4.0, 6.0) * jnp.ones(2), big("momentum", 0.004, 0.006) * jnp.ones(2), jnp.ones(2)
    plant = Plant(side, 100.0 * p, jnp.array(5.0), g, jnp.array(True), -side, side, jnp.array(0.5))
    signals = stage.signals(plant, p)
    assert signals.stalled == (spoiler is None)
    assert not signals.converged
    slow = stage.signals(plant._replace(g=0.01 * g), p)
    assert slow.converged == (spoiler not in ("momentum", "patience", "units"))


@pytest.mark.parametrize("spoiler", [None, "force", "moves", "progress", "patience"])
def test_in_noise_a_stall_needs_forces_moves_and_values_that_cancel_over_the_stage(spoiler):
    """Every single force is far above the threshold of a quiet reading."""
    signs = lambda name: np.ones(6) if spoiler == name else np.array([1.0, -1.0, 1.0, 1.0, -1.0, -1.0])  # noqa: E731
    values = np.linspace(5.0, 4.0, 7) if spoiler == "progress" else np.array([5.0, 4.6, 5.2, 4.8, 4.7, 5.1, 4.9])
    box, scales = jnp.ones(1), Scales(*map(jnp.array, (0.0, 1.0, 1.0, True)))
    plants = [Plant(0 * box, box, jnp.array(f), box, jnp.array(True), -box, box, jnp.array(0.5)) for f in values]
    stage = Stage.opened(scales, plants[0].f, Tally.blank(box, plants[0].f))
    steps = zip(plants[:-1], plants[1:], signs("force"), signs("moves"), strict=True)
    for here, there, force, move in list(steps)[: 4 if spoiler == "patience" else 6]:
        stage = replace(stage, tally=stage.tally.after(here, force * box, 0.1 * move * box)).after(there, scales)
        plant = there
    assert stage.signals(plant, plant.p).stalled == (spoiler is None)
    assert not replace(stage, tally=None).signals(plant, plant.p).stalled


def ablated(lacking: str) -> PaperPolicy:
    return untrained(d=2, dtype="float64", event_horizon=4, sample_mode=True, **{lacking: False})


@pytest.mark.full
@pytest.mark.parametrize("lacking", ["use_memory", "use_controller"])
def test_the_ablations_run_on_a_clock_of_four(lacking):
    policy = ablated(lacking)
    settle, escape = (run(always(mode, policy), start(2), ripple=2.0) for mode in (Mode.SETTLE, Mode.ESCAPE))
    ends = np.flatnonzero(settle.steps.info.info.cause)
    by_clock = settle.steps.info.info.cause[ends[1:]] == Cause.CLOCK
    assert np.all(np.diff(ends)[by_clock] == 4) and by_clock.sum() > 15, "but for stalls, every fourth reading"
    assert np.all(np.diff(ends) <= 4)
    assert escape.steps.info.writes[-1] == 24  # in the no-memory ablation too, the archive keeps the stage ends
    assert escape.best.value < escape.steps.value[0]
    assert np.all(escape.steps.info.info.ledger.port_work == 0.0) == (lacking == "use_controller")


def test_same_key_same_trace_and_the_key_matters_where_the_mode_is_drawn():
    one, two, other = (run(ablated("use_memory"), start(2), ripple=1.0, key=key) for key in (0, 0, 1))
    jax.tree.map(np.testing.assert_array_equal, one, two)
    assert np.any(one.steps.info.info.mode != other.steps.info.info.mode)


def test_after_a_reading_that_is_not_finite_it_goes_halfway_back():
    trace = run(untrained(d=2, dtype="float64"), np.array([1.3, 1.0]), hole=1.0)
    bad = ~np.isfinite(trace.steps.value)
    assert 10 < bad.sum() < CALLS - 5
    np.testing.assert_array_equal(trace.steps.info.info.cause[bad], Cause.NONFINITE)
    x, good = trace.steps.x, np.flatnonzero(~bad)
    for k in np.flatnonzero(bad[:-1]):
        last = good[good < k].max()
        np.testing.assert_allclose(x[k + 1], 0.5 * (x[k] + x[last]), atol=1e-12)


def test_from_a_start_that_is_not_finite_it_looks_elsewhere():
    trace = run(untrained(d=2, dtype="float64"), np.array([0.1, 0.1]), hole=2.0)
    assert np.isfinite(trace.best.value)


def test_a_cliff_moves_the_plant_by_no_more_than_its_speed_limit():
    trace = run(untrained(d=2, dtype="float64"), start(2), ripple=1e6)
    moves = np.linalg.norm(np.diff(trace.steps.x, axis=0), axis=1) * 10.0 / (UPPER - LOWER)
    assert moves.max() <= FARTHEST * 2**0.5 * (1 + 1e-9)


def test_only_the_kept_momentum_acts():
    g, p = jnp.asarray(np.random.default_rng(0).normal(size=(2, 3)))
    drawn = jax.tree.leaves(untrained(d=3, dtype="float64"))[0]
    metric = DiagonalMetric(jnp.array([1.0, 2.0, 3.0]))
    factors = drawn[:9].reshape(3, 3) if drawn.ndim == 1 else drawn[:3, :3]
    skew, damping = SkewOperator(factors, factors[::-1]), DissipationOperator(factors, jnp.ones(3))
    half, one = jnp.array(0.5), jnp.array(1.0)
    structure = Structure(metric, skew, damping, 0.0 * one, 0.7 * one, 0.4 * one, g, 0.2 * one)
    bound, q = jnp.full(3, jnp.inf), jnp.zeros(3)
    step = lambda p, kept: SemiImplicitStep(0.05)(  # noqa: E731
        q, p, g, ShapedPotential.anchored(jnp.ones(3), one), acting_on(structure, kept), -bound, bound, jnp.inf
    )
    kept, smaller = step(p, half), step(0.5 * p, one)
    np.testing.assert_allclose(kept.p, smaller.p, rtol=1e-12)
    np.testing.assert_allclose(kept.q, smaller.q, rtol=1e-12)
    assert np.abs(kept.p - step(p, one).p).max() > 1e-3


def surveyed(points, hessian):
    """The survey of readings at the points on a quadratic."""
    side = jnp.ones(2)
    survey = Survey.blank(jnp.asarray(points[0]))
    for q in points:
        g = jnp.asarray(hessian) * q
        f = 0.5 * jnp.sum(g * q)
        survey = survey.after(Plant(jnp.asarray(q), side, f, g, jnp.array(True), -side, side, jnp.array(0.0)))
    return survey


def test_refining_stiffness_is_the_curvature_along_the_moves():
    hessian = np.array([400.0, 3.0])
    settle, refine, escape = surveyed(np.array([[1.0, 2.0], [0.7, 1.1], [0.4, 0.3]]), hessian).log_stiffness()
    pooled = np.exp(refine)
    assert 0.8 * 400 < pooled[0] < 1.1 * 400
    assert 3.0 < pooled[1] < 150.0  # a tenth of the mean over coordinates is in each
    assert escape[0] == escape[1]
    assert settle[0] > settle[1]


def test_stiffness_scales_with_the_objective_and_survives_a_standstill():
    points = np.array([[1.0, 2.0], [0.7, 1.1], [0.4, 0.3]])
    base, scaled = (surveyed(points, a * np.array([4.0, 3.0])).log_stiffness() for a in (1.0, 1e12))
    np.testing.assert_allclose(scaled - base, np.log(1e12), rtol=1e-9)
    still = surveyed(np.concatenate([points, np.repeat(points[-1:], 400, axis=0)]), np.array([4.0, 3.0]))
    np.testing.assert_allclose(still.log_stiffness()[1], base[1], rtol=1e-9)
    at_bottom = surveyed(np.zeros((3, 2)), np.array([4.0, 3.0]))
    assert np.all(np.isfinite(at_bottom.log_stiffness()))
