"""The three updates: what they change, that they teach, and that a bad gradient changes nothing."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.paper.policy import PaperPolicy
from shapeopt.paper.training.estimators import Estimate, EvolutionStrategy
from shapeopt.paper.training.losses import OUTCOME_WEIGHTS
from shapeopt.paper.training.phases import Part, falling, make_phases, split_policy, units_of

pytestmark = pytest.mark.full  # a training run


@pytest.fixture
def learner(single, tiny):
    return tiny.phases.init(tiny.params, jax.random.key(0))


def changed(before, after):
    return [
        bool(np.any(np.asarray(a) != np.asarray(b)))
        for a, b in zip(*map(jax.tree.leaves, (before, after)), strict=True)
    ]


@pytest.mark.parametrize(
    ("phase", "planner", "controller"),
    [("teach_controller", False, True), ("teach_planner", True, False), ("train_jointly", True, True)],
)
def test_a_phase_changes_what_it_trains_and_nothing_else(tiny, learner, phase, planner, controller):
    after, _ = getattr(tiny.phases, phase)(learner, jax.random.key(1))
    networks = lambda params: (params.planner.network, params.controller.network)  # noqa: E731
    moved = [set(changed(*pair)) for pair in zip(networks(learner.params), networks(after.params), strict=True)]
    assert moved == [{planner}, {controller}]
    assert any(changed(learner.params.planner.gains, after.params.planner.gains)) == planner
    assert any(changed(learner.params.controller.gains, after.params.controller.gains)) == controller


def test_gains_alone_are_trained_where_the_plan_says_so(single, tiny):
    plan = replace(
        tiny.phases.plan, trained=Part.GAINS, joint_weights=OUTCOME_WEIGHTS, estimator=EvolutionStrategy(0.1)
    )
    phases = make_phases(plan, tiny.phases.static)
    learner = phases.init(tiny.params, jax.random.key(0))
    after, outcome = phases.train_jointly(learner, jax.random.key(1))
    assert not any(changed(learner.params.planner.network, after.params.planner.network))
    assert not any(changed(learner.params.controller.network, after.params.controller.network))
    assert sum(changed(learner.params, after.params)) >= 5
    assert float(outcome.calls) == 4 * 16  # the teacher is not asked


def test_heads_alone_are_trained_where_the_plan_says_so(single, tiny):
    plan = replace(
        tiny.phases.plan, trained=Part.HEADS, joint_weights=OUTCOME_WEIGHTS, estimator=EvolutionStrategy(0.1)
    )
    phases = make_phases(plan, tiny.phases.static)
    learner = phases.init(tiny.params, jax.random.key(0))
    after, _ = phases.train_jointly(learner, jax.random.key(1))
    for name in ("planner", "controller"):
        old, new = (getattr(params, name) for params in (learner.params, after.params))
        assert not any(changed(old.gains, new.gains))
        assert not any(changed(old.network.layers[1].weight, new.network.layers[1].weight))
        assert all(changed(old.network.layers[-1], new.network.layers[-1]))
        moved = new.network.layers[-1].weight - old.network.layers[-1].weight
        np.testing.assert_allclose(moved[0], moved[1], rtol=1e-4, atol=1e-7)  # two coordinates of the first head


def test_the_rate_of_phase_three_falls_to_a_twentieth():
    schedule = falling(0.1, 10)
    np.testing.assert_allclose([float(schedule(n)) for n in (0, 10, 20)], [0.1, 0.005, 0.005])
    assert falling(0.1, None) == 0.1


def test_units_follow_the_inputs_of_a_layer(tiny):
    units = units_of(tiny.params)
    first = tiny.params.planner.network.layers[0]
    assert units.planner.network.layers[0].weight == first.weight.shape[1] ** -0.5
    assert units.planner.network.layers[0].bias == 0.3
    assert set(jax.tree.leaves(units.planner.gains)) == {1.0}


@pytest.mark.parametrize("phase", ["teach_controller", "teach_planner"])
def test_the_supervised_phases_learn(tiny, learner, phase):
    update, losses = getattr(tiny.phases, phase), []
    for n in range(60):
        learner, outcome = update(learner, jax.random.key(n))
        losses.append(float(outcome.loss))
    assert np.mean(losses[-20:]) < 0.75 * np.mean(losses[:10])
    assert int(learner.skipped) == 0


def test_joint_training_lowers_the_loss_of_a_batch_that_it_sees_again(tiny, learner):
    losses = []
    for _ in range(40):
        learner, outcome = tiny.phases.train_jointly(learner, jax.random.key(5))
        losses.append(float(outcome.loss))
    assert losses[-1] < losses[0] - 0.02


def test_calls_are_readings_and_probes(tiny, learner):
    _, outcome = tiny.phases.train_jointly(learner, jax.random.key(1))
    assert float(outcome.calls) == 4 * 16 + 4 * 3 * 12  # 4 runs of 16 readings; 3 events of 12 probes each


def test_gradients_are_finite_for_many_policies_and_tasks(tiny, learner):
    for seed in range(20):
        policy = PaperPolicy.create(2, jax.random.key(seed), hidden=8, dtype="float32")
        loud = jax.tree.map(lambda leaf, s=seed: leaf * (1.0 + 0.5 * s), split_policy(policy)[0])
        drawn = learner._replace(params=loud)
        for phase in ("teach_controller", "teach_planner", "train_jointly"):
            _, outcome = getattr(tiny.phases, phase)(drawn, jax.random.key(100 + seed))
            assert np.isfinite(outcome.gradient_norm), (seed, phase)
            assert int(outcome.skipped) == 0


@pytest.mark.parametrize("bad", [jnp.nan, jnp.inf])
def test_a_gradient_that_is_not_finite_is_skipped_and_counted(tiny, learner, bad):
    gradient = jax.tree.map(lambda leaf: jnp.full_like(leaf, bad), learner.params)
    estimate = Estimate(jnp.zeros(()), gradient, None)
    after, outcome = tiny.phases._update(learner, "joint", estimate, jnp.zeros(()))
    assert int(outcome.skipped) == int(after.skipped) == 1
    assert not any(changed(learner._replace(skipped=after.skipped), after))


def test_evaluation_sees_progress_relative_to_the_start(tiny, learner):
    score = float(tiny.phases.evaluate(learner.params, jax.random.key(3), 4, 16))
    assert -1.0 < score < -0.1  # f >= 0 here, so that -1 would be a fall to below zero
