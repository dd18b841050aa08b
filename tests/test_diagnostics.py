"""Diagnostics: the passivity monitor, what switched-off ones leave in the compiled loop, and the log of events."""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shapeopt
from shapeopt import shape as shape_module
from shapeopt.core import Box, Reading
from shapeopt.core.problem import read_problem
from shapeopt.oracles import ExactOracle
from shapeopt.paper.dynamics import (
    DiagonalMetric,
    DissipationOperator,
    PassivityMonitor,
    PortAccount,
    SkewOperator,
    Structure,
)
from shapeopt.paper.weights import cast_policy
from shapeopt.policy import UniversalPolicy, find_policy
from shapeopt.rollout import rollout
from shapeopt.run import Run
from shapeopt.shape import ShapeOptimizer

START = np.array([3.3, -2.1])


def skewed(x):
    """Multimodal, not a sum over coordinates."""
    return jnp.sum(x * x - 10.0 * jnp.cos(2.0 * jnp.pi * x) + 10.0) + 3.0 * x[0] * x[1]


@pytest.fixture(scope="module")
def ported():
    """A policy whose port feeds in much more than is dissipated."""
    with jax.enable_x64(True):
        policy = cast_policy(UniversalPolicy.create(jax.random.key(0)), jnp.float64)
        shake = lambda leaf: leaf + 0.3 * jax.random.normal(jax.random.key(leaf.size), leaf.shape, leaf.dtype)  # noqa: E731
        return jax.tree.map(lambda leaf: shake(leaf) if isinstance(leaf, jax.Array) else leaf, policy)


def minimise(policy, allowance=None, **settings):
    return shapeopt.minimize(skewed, START, bounds=(-5, 5), policy=policy, port_allowance=allowance, **settings)


def test_the_port_never_feeds_in_more_than_its_allowance(ported):
    watched, held = minimise(ported, np.inf, budget=150), minimise(ported, 0.1, budget=150)
    assert not watched.passivity.cut.size
    assert np.any(watched.passivity.injected > 0.1 * watched.passivity.dissipated)
    account = held.passivity
    assert np.all(account.injected <= 0.1 * account.dissipated + 1e-9 * account.dissipated[-1])
    assert 0 < account.cut.size < 150


def test_a_cut_is_told_at_its_call_and_in_the_entry_of_its_stage(ported):
    result = minimise(ported, 0.1, budget=150)
    cut, calls = result.passivity.cut, result.trace.calls
    assert np.all(result.energy.port_work[np.isin(calls, cut)] == 0.0)
    begins = 0
    for event in result.events:
        assert event.cuts == np.sum((cut > begins) & (cut <= event.call))
        begins = event.call
    assert sum(event.cuts for event in result.events) == cut.size


def test_an_allowance_that_is_never_reached_changes_nothing(ported):
    plain, watched = minimise(ported, budget=60), minimise(ported, np.inf, budget=60)
    assert plain.passivity is None
    np.testing.assert_array_equal(plain.trace.value, watched.trace.value)


def test_a_cut_leaves_the_damping_injection():
    structure = ported_structure(u_shp=jnp.asarray([1.0, 2.0]), K_d=jnp.asarray(0.5))
    account = PortAccount.blank(jnp.float64)
    p = jnp.asarray([1.0, 1.0])
    guarded, cut = PassivityMonitor(1.0).guard(account, structure, p, 0.05)
    np.testing.assert_array_equal(guarded.port_input(p), [-0.5, -0.5])
    assert cut
    rich = account._replace(dissipated=jnp.asarray(0.05 * (3.0 - 1.0)))
    assert not PassivityMonitor(1.0).guard(rich, structure, p, 0.05)[1]
    assert PassivityMonitor(0.99).guard(rich, structure, p, 0.05)[1]


def ported_structure(u_shp, K_d):
    zero, d = jnp.zeros(()), u_shp.size
    operators = SkewOperator.zero(d, u_shp.dtype), DissipationOperator.zero(d, u_shp.dtype)
    return Structure(DiagonalMetric(jnp.ones(d)), *operators, zero, zero, zero, u_shp, K_d)


@pytest.mark.parametrize("allowance", [-0.1, np.nan, "much"])
def test_a_wrong_allowance_is_refused_by_name(allowance):
    with pytest.raises(ValueError, match="port_allowance"):
        minimise("universal", allowance, budget=5)


def loop_of(optimizer):
    """The whole loop as it goes to the compiler."""
    box = Box.around(np.full(2, -5.0), np.full(2, 5.0))
    go = functools.partial(rollout, optimizer, ExactOracle(skewed), box=box, budget=8)
    jax.clear_caches()  # the printed names depend on what was traced before
    return str(jax.make_jaxpr(lambda x, key: go(x0=x, key=key).best)(jnp.asarray(START), jax.random.key(0)))


def test_diagnostics_that_are_off_leave_nothing_in_the_compiled_loop(monkeypatch):
    policy = cast_policy(find_policy("universal"), jnp.float64)
    bare = ShapeOptimizer(policy, record_energy=False)
    off, on = loop_of(bare), loop_of(ShapeOptimizer(policy, monitor=PassivityMonitor(0.5), record_anchor=True))
    box = Box.around(np.full(2, -5.0), np.full(2, 5.0))
    state = jax.eval_shape(bare.init, jnp.asarray(START), box, 8, jax.random.key(0))
    assert (state.pending, state.account) == (None, None) and state.info[3:] == (None,) * 4
    for name in ("open_balance", "close_balance", "PortAccount", "PassivityMonitor"):
        monkeypatch.delattr(shape_module, name)  # whoever needs one of them now fails
    assert loop_of(bare) == off != on


def stepped(policy, budget, num_starts=1):
    """A run on the host, reading by reading: (calls, state of the policy before, and after)."""
    run = Run(find_policy(policy), read_problem(START, (-5, 5), np.random.default_rng(0)), budget, 0, num_starts)
    force = jax.jit(jax.value_and_grad(skewed))
    steps = []
    for call in range(1, budget + 1):
        before = run.state.policy
        run.tell(Reading(*map(np.asarray, force(run.x)), np.int32(1)), call)
        steps.append((call, before, run.state.policy))
    return run, steps


def memory_of(policy_state):
    return policy_state.archive, getattr(policy_state, "memory", None)


def test_an_event_says_whether_memory_was_written():
    run, steps = stepped("universal", 60)
    changed = lambda a, b: not jax.tree.all(jax.tree.map(np.array_equal, memory_of(a), memory_of(b)))  # noqa: E731
    wrote = [call for call, before, after in steps if changed(before, after)]
    assert wrote == [event.call for event in run.new_events() if event.wrote]
    assert 3 < len(wrote) < len(run.log.entries)


def test_a_swarm_s_events_name_their_particle():
    run, _ = stepped("universal", 90, num_starts=3)
    events = run.new_events()
    assert {event.particle for event in events} == {0, 1, 2}
    for particle in range(3):
        own = [event for event in events if event.particle == particle]
        assert [event.stage for event in own] == list(range(len(own)))
        assert all((event.call - 1) % 3 == particle for event in own)
        assert own[0].before == run.record.column("value")[particle]
        assert all(event.before == last.value for last, event in itertools.pairwise(own))


def test_a_callback_sees_every_event_as_it_happens():
    told = []

    def look(progress):
        assert all(event.call == progress.nfev for event in progress.events)
        told.extend(progress.events)

    fun = lambda x: (float(x @ x + np.cos(9.0 * x).sum()), 2.0 * x - 9.0 * np.sin(9.0 * x))  # noqa: E731
    result = shapeopt.minimize(fun, START, bounds=(-5, 5), budget=50, jac=True, callback=look)
    assert len(told) > 5 and told == result.events[:-1]
    seen = []
    compiled = minimise("universal", budget=120, callback=lambda progress: seen.extend(progress.events))
    assert seen == compiled.events[:-1]
