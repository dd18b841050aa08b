"""`paper.minimize`: precision, budget and bounds, the energy ledger, the passivity monitor, events and stages."""

import functools
import itertools
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt import paper
from shapeopt.core import Box, Mode
from shapeopt.oracles import ExactOracle
from shapeopt.paper import optimizer as optimizer_module
from shapeopt.paper.dynamics import PassivityMonitor
from shapeopt.paper.optimizer import ShapeOptimizer
from shapeopt.paper.weights import cast_policy, save_policy
from shapeopt.rollout import rollout

START = np.array([3.3, -2.1])
BOUNDS = (np.array([-4.0, -6.0]), np.array([4.0, 5.0]))
CALLS = 120


def skewed(x):
    """Multimodal, not a sum over coordinates."""
    return jnp.sum(x * x - 10.0 * jnp.cos(2.0 * jnp.pi * x) + 10.0) + 3.0 * x[0] * x[1]


def minimise(policy="paper-ackley-2", fun=skewed, x0=START, budget=CALLS, **settings):
    return paper.minimize(fun, x0, bounds=BOUNDS, budget=budget, policy=policy, **settings)


@pytest.fixture(scope="module")
def whole():
    """A run with every diagnostic on, the port never cut."""
    with jax.enable_x64(True):
        return minimise(port_allowance=np.inf, stages=True)


def test_a_run_spends_its_budget_inside_the_bounds_and_returns_the_best(whole):
    assert whole.success and whole.nfev == whole.njev == CALLS
    assert np.all((whole.trace.x >= BOUNDS[0]) & (whole.trace.x <= BOUNDS[1]))
    assert whole.fun == whole.trace.value.min() == whole.minima[0].fun
    np.testing.assert_array_equal(whole.x, whole.trace.x[whole.trace.value.argmin()])
    np.testing.assert_allclose(jax.vmap(skewed)(jnp.asarray(whole.trace.x)), whole.trace.value, rtol=1e-9)
    np.testing.assert_allclose(whole.trace.x[0], START, rtol=1e-15)


def test_the_ledger_closes(whole):
    total = sum(whole.energy[term] for term in whole.energy if term != "delta_H")
    size = sum(np.abs(whole.energy[term]) for term in whole.energy)
    assert np.all(np.abs(total - whole.energy.delta_H) <= 1e-12 * np.maximum(size, np.roll(size, 1)))
    assert np.abs(whole.energy.port_work).max() > 0 and np.all(whole.energy.dissipation <= 0)


def test_events_tell_stage_by_stage_and_end_with_the_budget(whole):
    assert [event.stage for event in whole.events] == list(range(len(whole.events)))
    assert whole.nit == len(whole.events) > 5 and whole.events[-1].call == CALLS
    assert {event.mode for event in whole.events} <= {"settle", "refine", "escape"}
    for event in whole.events[:-1]:
        assert event.wrote == (event.mode == "escape" or event.cause != "clock")  # eq. dp_event_indicator


def test_events_link_up_and_tell_the_values_of_the_trace(whole):
    events, value = whole.events, dict(zip(whole.trace.calls.tolist(), whole.trace.value, strict=True))
    assert all(event.before == last.value for last, event in itertools.pairwise(events))
    assert events[0].before == whole.trace.value[0]
    assert all(event.value == value[event.call] for event in events)
    for event in events[:-1]:
        np.testing.assert_array_equal(whole.trace.x[event.call], event.next_x)


def test_an_event_says_whether_memory_was_written():
    policy = paper.load_policy("paper-ackley-2")
    biases = lambda p: p.planner.network.layers[-1].bias  # noqa: E731
    policy = cast_policy(policy, jnp.float64)
    policy = eqx.tree_at(biases, policy, biases(policy).at[policy.planner.d + Mode.ESCAPE].add(100.0))  # escapes alone
    optimizer, oracle = ShapeOptimizer(policy), ExactOracle(skewed)
    state = optimizer.init(jnp.asarray(START), Box.around(*BOUNDS, START), 60, jax.random.split(jax.random.key(0))[0])
    ledger, tell, wrote = oracle.init(jax.random.key(0)), eqx.filter_jit(optimizer.tell), []
    for call in range(1, 61):
        before = state.policy
        ledger, reading = oracle.read(ledger, optimizer.ask(state))
        state = tell(state, reading)
        kept = [(p.archive, p.memory) for p in (before, state.policy)]
        wrote += [] if jax.tree.all(jax.tree.map(np.array_equal, *kept)) else [call]
    events = minimise(policy, budget=60).events
    assert wrote == [event.call for event in events if event.wrote] and 3 < len(wrote) < len(events)


def test_stages_are_kept_only_where_asked_for_and_have_the_anchor_of_their_event(whole):
    anchors = {event.call: event.anchor for event in whole.events[:-1]}
    assert len(whole.stages) > 5
    for stage in whole.stages:
        np.testing.assert_allclose(stage.q_bar, anchors[stage.call], rtol=1e-9, atol=1e-9)
    assert "stages" not in minimise(budget=5)


def unruly():
    """A policy with a random controller, whose port feeds energy in."""
    policy, rng = cast_policy(paper.load_policy("paper-ackley-2"), jnp.float64), np.random.default_rng(2)
    drawn = lambda x: jnp.asarray(rng.normal(size=x.shape), x.dtype) if eqx.is_inexact_array(x) else x  # noqa: E731
    return eqx.tree_at(lambda p: p.controller, policy, jax.tree.map(drawn, policy.controller))


def test_the_port_never_feeds_in_more_than_its_allowance():
    policy = unruly()
    free, held = (minimise(policy, port_allowance=allowance).passivity for allowance in (np.inf, 0.02))
    assert not free.cut.size
    assert np.any(free.injected > 0.02 * free.dissipated)
    assert np.all(held.injected <= 0.02 * held.dissipated + 1e-9 * held.dissipated[-1])
    assert 0 < held.cut.size < CALLS


def test_a_monitor_that_never_cuts_changes_nothing(whole):
    plain = minimise()
    assert plain.passivity is None
    np.testing.assert_allclose(plain.trace.value[:25], whole.trace.value[:25], rtol=1e-6)  # later, round-off shows


def test_cuts_are_counted_in_the_events_of_their_stages():
    result = minimise(port_allowance=0.02)
    cut, begins = result.passivity.cut, 0
    for event in result.events:
        assert event.cuts == np.sum((cut > begins) & (cut <= event.call))
        begins = event.call


def loop_of(optimizer):
    """The whole loop as it goes to the compiler."""
    go = functools.partial(rollout, optimizer, ExactOracle(skewed), box=Box.around(*BOUNDS), budget=8)
    jax.clear_caches()  # the printed names depend on what was traced before
    return str(jax.make_jaxpr(lambda x, key: go(x0=x, key=key).best)(jnp.asarray(START), jax.random.key(0)))


def test_diagnostics_that_are_off_leave_nothing_in_the_compiled_loop(monkeypatch):
    policy = cast_policy(paper.load_policy("paper-ackley-2"), jnp.float64)
    bare = ShapeOptimizer(policy, record_energy=False)
    off, on = loop_of(bare), loop_of(ShapeOptimizer(policy, monitor=PassivityMonitor(0.5), record_anchor=True))
    for name in ("open_balance", "close_balance", "PortAccount", "PassivityMonitor"):
        monkeypatch.delattr(optimizer_module, name)  # whoever needs one of them now fails
    assert loop_of(bare) == off != on


def test_a_seed_decides_the_run_and_noise_changes_it(whole):
    first, again = (minimise(noise=0.5, seed=1, budget=40) for _ in "ab")
    np.testing.assert_array_equal(first.trace.value, again.trace.value)
    assert np.any(first.trace.value != whole.trace.value[:40])


def test_a_run_has_the_precision_and_the_structure_of_its_start(tmp_path, drawn):
    save_policy(tmp_path / "single", drawn(d=2, dtype="float32"), {})
    tree = {"a": np.float32(2.0), "b": np.array([3.0], np.float32)}
    result = paper.minimize(lambda x: x["a"] ** 2 + jnp.sum(x["b"] ** 2), tree, budget=9, policy=tmp_path / "single")
    assert result.x["b"].dtype == np.float32 and result.x["b"].shape == (1,)
    with jax.enable_x64(False):  # as in a program that sets nothing
        wide = minimise(tmp_path / "single", budget=3)
    assert wide.x.dtype == np.float64 and wide.nfev == 3


def test_a_callback_sees_every_event_once_and_can_stop_the_run():
    seen = []
    result = minimise(callback=lambda progress: seen.extend(progress.events))
    assert [event.call for event in seen] == [event.call for event in result.events[:-1]]
    stopped = minimise(callback=lambda progress: progress.nfev >= 10)
    assert 10 <= stopped.nfev < 20 and stopped.success


def test_no_finite_value_is_no_success():
    assert not minimise(fun=lambda x: jnp.sum(x) * jnp.nan, budget=4).success


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"budget": 0}, "`budget` must be a whole number of at least 1; got 0"),
        ({"seed": 0.5}, "`seed` must be a whole number; got 0.5"),
        ({"noise": -1.0}, "`noise` must be None or a standard deviation of at least 0; got -1.0"),
        ({"port_allowance": -0.1}, "`port_allowance` must be a number that is not negative; got -0.1"),
        ({"fun": 3}, "`fun` must be callable; got 3"),
        ({"fun": lambda x: float(x[0])}, "`fun` must be a function that JAX can trace"),
        ({"fun": lambda x: np.asarray(x).sum()}, "`fun` must be a function that JAX can trace"),
    ],
)
def test_a_wrong_argument_is_named(settings, message):
    with pytest.raises(ValueError, match=message):
        minimise(**settings)


def test_a_policy_of_another_dimension_or_without_its_descriptor_is_refused(drawn):
    with pytest.raises(ValueError, match="`policy` must be for the problem's 3 coordinates; got one for 2"):
        paper.minimize(jnp.sum, np.ones(3), policy=drawn(d=2))
    with pytest.raises(ValueError, match=r"`descriptor` must have the policy's 1 numbers; got 0"):
        paper.minimize(jnp.sum, np.ones(2), policy=replace(drawn(d=2), descriptor_size=1))
