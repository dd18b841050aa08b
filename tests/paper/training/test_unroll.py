"""The unroll is the optimizer's own run, with the teacher's word at events."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.core import Mode
from shapeopt.oracles import ExactOracle, NoisyOracle, ValueOnlyOracle
from shapeopt.paper.base import Plant
from shapeopt.paper.optimizer import ShapeOptimizer
from shapeopt.paper.training.phases import split_policy
from shapeopt.paper.training.sensing import Sensing
from shapeopt.paper.training.teacher import Label, ProbeTeacher
from shapeopt.paper.training.unroll import C_ESCAPE, C_G, C_P, Unroll, teacher_force
from shapeopt.paper.weights import cast_policy
from shapeopt.rollout import rollout

pytestmark = pytest.mark.full  # a training run


def test_the_readings_are_those_of_a_rollout_from_the_same_state(single, tiny):
    tasks, states, _, record = tiny.run
    task = jax.tree.map(lambda leaf: jnp.asarray(leaf[1]), tasks)
    optimizer, x0 = ShapeOptimizer(tiny.policy, record_energy=False), jnp.asarray(states.q[1])
    trace = jax.jit(lambda x0: rollout(optimizer, ExactOracle(task), x0, task.box, tiny.readings, jax.random.key(9)))(
        x0
    )
    np.testing.assert_allclose(record.value[:, 1], trace.steps.value, rtol=2e-3)


def test_every_reading_is_counted_and_the_clock_makes_events(single, tiny):
    _, _, ledgers, record = tiny.run
    np.testing.assert_array_equal(ledgers.calls, tiny.readings)
    expected = np.arange(tiny.readings) % 6 == 0
    clock = np.repeat(expected[:, None], tiny.batch, 1)
    np.testing.assert_array_equal(record.event[:12], clock[:12])  # later, a run may come to rest
    asked = np.where(np.any(record.event, axis=1), ProbeTeacher().calls(2), 0)
    np.testing.assert_array_equal(record.label.calls, np.repeat(asked[:, None], tiny.batch, 1))


def recorded(unroll, policy):
    """The record of a whole run."""
    return unroll.advance(policy, unroll.start(policy, jax.random.key(2)))[1]


def test_what_is_computed_again_is_what_would_have_been_kept(tiny):
    params, static = split_policy(cast_policy(tiny.policy, np.float64))

    def gradient(remat):
        def loss(params):
            record = recorded(Unroll(tiny.family, tiny.batch, 9, remat=remat), eqx.combine(params, static))
            return jnp.mean(record.value[-1]) + jnp.sum(record.anchor**2)

        return jax.tree.leaves(jax.jit(jax.grad(loss))(params))

    again, kept = gradient(True), gradient(False)
    assert max(np.abs(leaf).max() for leaf in kept) > 1e-3
    for one, other in zip(again, kept, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def test_a_bound_that_no_adjoint_meets_changes_no_gradient_and_a_tight_one_shortens_it(tiny):
    params, static = split_policy(cast_policy(tiny.policy, np.float64))

    def length(bound):
        def loss(params):
            unroll = Unroll(tiny.family, tiny.batch, 9, adjoint_clip=bound)
            return jnp.mean(recorded(unroll, eqx.combine(params, static)).value[-1])

        leaves = jax.tree.leaves(jax.jit(jax.grad(loss))(params))
        return sum(np.sum(np.square(leaf)) for leaf in leaves) ** 0.5

    free = length(None)
    np.testing.assert_allclose(length(1e9), free, rtol=1e-9)
    assert 0 < length(1e-6) < 0.1 * free


def test_a_taught_run_follows_the_teacher_and_its_controller_has_lessons(single, tiny):
    record = jax.jit(lambda: recorded(Unroll(tiny.family, tiny.batch, 9, taught=True), tiny.policy))()
    np.testing.assert_array_equal(record.goal[1:7], np.repeat(record.label.anchor[:1], 6, 0))
    assert np.abs(record.label.anchor - record.anchor)[record.event].max() > 0.1
    assert np.all(record.lesson.miss[record.event] > 0) and np.all(record.lesson.miss[~record.event] == 0)


def test_the_teacher_s_word_changes_no_run_that_is_not_taught(single, tiny):
    *_, asked = tiny.run
    assert np.all(asked.lesson.miss == 0)
    unroll = Unroll(tiny.family, tiny.batch, tiny.readings, untaught=True)
    alone = jax.jit(lambda: unroll.advance(tiny.policy, unroll.start(tiny.policy, jax.random.key(0)))[1])()
    np.testing.assert_allclose(alone.value, asked.value, rtol=2e-3)
    assert np.all(alone.label.calls == 0)


def test_a_goal_is_the_anchor_planned_at_the_last_event(single, tiny):
    *_, record = tiny.run
    np.testing.assert_array_equal(record.goal[1:7], np.repeat(record.anchor[:1], 6, 0))
    np.testing.assert_array_equal(record.goal[7:13], np.repeat(record.anchor[6:7], 6, 0))


def test_the_label_s_anchor_is_one_of_the_teacher_s_radii_away(single, tiny):
    *_, record = tiny.run
    reach = np.linalg.norm(record.label.anchor - record.q, axis=-1)[record.event]
    radii = np.array([0.0, *ProbeTeacher().radii])
    inside = np.abs(record.label.anchor[record.event]).max(-1) < 5.0
    assert np.abs(reach[:, None] - radii).min(1)[inside].max() < 1e-4


@pytest.mark.parametrize("mode", list(Mode))
def test_the_teacher_s_force_is_the_slow_one(mode):
    q, p, g, c = np.array([1.0, -2.0]), np.array([0.5, 0.2]), np.array([3.0, 4.0]), 2.0
    anchor = np.array([0.0, 1.0])
    blank = jnp.zeros(())
    plant = Plant(jnp.asarray(q), jnp.asarray(c * p), blank, jnp.asarray(g), blank > -1, blank, blank, blank)
    label = Label(jnp.asarray(anchor), jnp.asarray(int(mode), jnp.int32), blank, jnp.zeros((), jnp.int32))
    towards = anchor - q
    slow = -g / c + C_G * towards - C_P * p
    if mode == Mode.ESCAPE:
        slow = slow + C_ESCAPE * np.sqrt(2) * towards / np.linalg.norm(towards)
    np.testing.assert_allclose(teacher_force(plant, jnp.asarray(p), label, jnp.asarray(c)), slow, rtol=1e-12)


@pytest.mark.parametrize(
    ("sensing", "kind", "cost"),
    [(Sensing(), ExactOracle, 1), (Sensing(0.1), NoisyOracle, 1), (Sensing(0.0, 2), ValueOnlyOracle, 5)],
)
def test_sensing_makes_its_oracle(tiny, sensing, kind, cost):
    oracle = sensing.oracle(tiny.family.sample(jax.random.key(0)))
    assert isinstance(oracle, kind)
    assert oracle.cost == sensing.cost == cost


def test_wrong_settings_are_refused(tiny):
    with pytest.raises(ValueError, match="`batch` must be at least 1; got 0"):
        Unroll(tiny.family, 0, 8)
    with pytest.raises(ValueError, match="`sigma` must not be negative; got -1"):
        Sensing(sigma=-1.0)


def test_the_unroll_is_its_own_configuration(tiny):
    one, other = Unroll(tiny.family, 4, 8), Unroll(tiny.family, 4, 8)
    assert eqx.tree_equal(one, other)
