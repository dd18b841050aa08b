"""The task's descriptor d_tau reaches planner and controller, in training, in comparisons and in a user's run."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.bench.cells import Cell
from shapeopt.bench.execute import prepare, run_cell, run_keys
from shapeopt.bench.methods import AbstractCompiled
from shapeopt.core import Box
from shapeopt.paper import minimize
from shapeopt.paper.base import Plant
from shapeopt.paper.dynamics import SemiImplicitStep
from shapeopt.paper.optimizer import ShapeOptimizer
from shapeopt.paper.policy import PaperPolicy
from shapeopt.paper.training.config import PRESETS
from shapeopt.paper.weights import cast_policy
from shapeopt.tasks import StartLaw, make_family

FAMILY = make_family("double_integrator", 2, StartLaw.PAPER)
TOLD = replace(PRESETS["paper-2"], family="double_integrator", sees_task=True)


@pytest.fixture(scope="module")
def policy() -> PaperPolicy:
    """Networks with large last layers, so that what they see matters."""
    made = replace(TOLD, hidden=8).make_policy(jax.random.key(0))
    loud = lambda layer: jax.tree.map(lambda leaf: 30.0 * leaf if eqx.is_array(leaf) else leaf, layer)  # noqa: E731
    made = eqx.tree_at(lambda p: p.planner.network.layers[-1], made, loud(made.planner.network.layers[-1]))
    return eqx.tree_at(lambda p: p.controller.network.layers[-1], made, loud(made.controller.network.layers[-1]))


def test_a_control_task_tells_its_plant_and_not_its_minimum():
    one, two = (FAMILY.sample(jax.random.key(key)) for key in (0, 1))
    told, other = np.asarray(one.descriptor), np.asarray(two.descriptor)
    assert told.shape == other.shape == (7,) and np.sum(told != other) == 6, "a target is at rest in both"
    np.testing.assert_array_equal(told[:2], one.plant.x0)
    assert float(one.plant.target[0]) in told
    assert not np.isin([float(one.minimum), *np.asarray(one.minimiser)], told).any()
    assert make_family("ackley", 2, StartLaw.PAPER).sample(jax.random.key(0)).descriptor.size == 0


def test_the_policy_of_a_run_has_as_many_inputs_more_as_the_descriptor_has_numbers(policy):
    plain = replace(TOLD, hidden=8, sees_task=False).make_policy(jax.random.key(0))
    assert policy.settings["descriptor_size"] == 7
    for part in (lambda p: p.planner, lambda p: p.controller):
        assert part(policy).network.in_size == part(plain).network.in_size + 7
    with pytest.raises(ValueError, match="`sees_task` needs a family whose tasks have a descriptor; ackley has none"):
        replace(TOLD, family="ackley").make_policy(jax.random.key(0))


@pytest.mark.parametrize("given", [None, 3])
def test_a_run_without_the_descriptor_that_its_policy_needs_is_refused(policy, given):
    descriptor = None if given is None else jnp.zeros(given)
    with pytest.raises(ValueError, match=f"`descriptor` must have the policy's 7 numbers; got {given or 0}"):
        policy.init(jnp.zeros(2), 10, jax.random.key(0), descriptor)


def test_planner_and_controller_both_read_it(policy):
    box, key = Box.around(-5.0 * np.ones(2), 5.0 * np.ones(2), np.ones(2)), jax.random.key(0)

    def drive(descriptor):
        optimizer = ShapeOptimizer(policy, SemiImplicitStep(policy.h), descriptor=descriptor)
        state = optimizer.init(jnp.ones(2), box, 10, key)
        view = policy._view(state.policy, plant_of(state))
        return policy.plan(view).anchor, policy.steer(view, state.action).structure.metric.inverse

    one, other = drive(jnp.zeros(7)), drive(jnp.ones(7))
    for a, b in zip(one, other, strict=True):
        assert np.all(np.abs(np.asarray(a) - np.asarray(b)) > 1e-6)


def plant_of(state):
    one = jnp.ones(())
    return Plant(state.q, state.p, one, jnp.ones(2), jnp.array(True), state.box.q_lower, state.box.q_upper, 0.0 * one)


class Told(AbstractCompiled):
    """The policy at hand as a method."""

    name = "told"

    def __init__(self, policy):
        self.policy = policy

    def optimizer(self, cell):
        return ShapeOptimizer(self.policy, SemiImplicitStep(self.policy.h), record_energy=False)

    def version(self, cell):
        return ""


def test_a_comparison_and_minimize_hand_on_the_same_descriptor(policy):
    cell = Cell(FAMILY, 12, 2)
    policy = cast_policy(policy, "float64")
    curves = run_cell(cell, Told(policy), 5)
    keys = run_keys(cell, 5)
    task, x0 = prepare(cell, type(keys)(*(words[0] for words in keys)))
    box = (np.full(2, -5.0), np.full(2, 5.0))
    told, other = (
        minimize(task, np.asarray(x0), bounds=box, budget=12, policy=policy, descriptor=descriptor)
        for descriptor in (task.descriptor, 0 * task.descriptor)
    )
    np.testing.assert_allclose(told.fun - task.minimum, curves.best_gap[0, -1], rtol=1e-6)
    assert abs(other.fun - told.fun) > 1e-9
