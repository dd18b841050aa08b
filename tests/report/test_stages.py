"""What is kept of a run for its page: where every reading was made, and what shaped every stage."""

import jax
import jax.numpy as jnp
import numpy as np

import shapeopt
from shapeopt import paper
from shapeopt.core import Box
from shapeopt.core.result import RunRecord
from shapeopt.paper.dynamics import Centres, ShapedPotential
from shapeopt.paper.stage_list import SHAPING_COLUMNS, list_stages

BOUNDS = (np.array([-2.0, -6.0]), np.array([4.0, 5.0]))


def bumpy(x):
    return jnp.sum((x - 1) ** 2) + 3 * jnp.sum(jnp.sin(4 * x))


def test_the_points_of_the_trace_are_where_the_values_were_read(plane):
    task, x0, result = plane
    np.testing.assert_allclose(result.trace.x[0], x0)
    np.testing.assert_allclose(jax.vmap(task)(jnp.asarray(result.trace.x)), result.trace.value, rtol=1e-9, atol=1e-12)


def test_an_escape_is_read_at_its_anchor(plane):
    """A placement: the anchor dominates, so that the plant stands on it (dynamics/move.py)."""
    _, _, result = plane
    calls = list(result.trace.calls)
    jumps = [stage for stage in result.stages if stage.mode == "escape"]
    assert len(jumps) > 5 and all(stage.kappa > 0 for stage in jumps)
    for stage in jumps:
        np.testing.assert_array_equal(stage.q_bar, result.trace.x[calls.index(stage.call) + 1])
    assert all(stage.kappa == 0 for stage in result.stages if stage.mode != "escape")


def test_stages_are_kept_only_where_asked_for():
    assert "stages" not in shapeopt.minimize(bumpy, np.zeros(2), bounds=BOUNDS, budget=20)


def test_stages_events_and_trace_of_several_particles_tell_one_story():
    result = shapeopt.minimize(bumpy, np.zeros(2), bounds=BOUNDS, budget=60, num_starts=2, stages=True)
    events, trace = {event.call: event for event in result.events}, result.trace
    np.testing.assert_allclose(jax.vmap(bumpy)(jnp.asarray(trace.x)), trace.value, rtol=1e-9)
    assert len(result.stages) > 3
    for stage in result.stages:
        row, event = list(trace.calls).index(stage.call), events[stage.call]
        np.testing.assert_allclose(stage.q_bar, event.anchor, rtol=1e-12)
        np.testing.assert_array_equal(trace.x[row + 2], event.next_x)


def test_stages_of_the_paper_s_policy_have_the_anchor_of_their_event():
    result = paper.minimize(bumpy, np.zeros(2), bounds=BOUNDS, budget=60, policy="paper-ackley-2", stages=True)
    events = {event.call: event for event in result.events}
    assert len(result.stages) > 3
    for stage in result.stages:
        np.testing.assert_allclose(stage.q_bar, events[stage.call].anchor, rtol=1e-9, atol=1e-9)


def test_memory_and_barrier_of_a_stage_give_the_potential_that_acted():
    rng = np.random.default_rng(0)
    box = jax.device_get(Box.around(*BOUNDS))
    centres = [Centres(rng.normal(size=(3, 2)), rng.uniform(size=3) * [1, 0, 1], rng.uniform(1, 4, 3)) for _ in "mb"]
    potential = ShapedPotential(rng.normal(size=2), np.float64(0.7), *centres)
    record = RunRecord()
    record.extend(mode=np.array([1, 2, 0]), cause=np.array([0, 3, 0]), calls=np.array([1, 2, 3]))
    leaves = [np.stack([0 * leaf, leaf, 0 * leaf]) for leaf in jax.tree.leaves(potential)]
    record.extend(**dict(zip(SHAPING_COLUMNS, leaves, strict=True)))
    (stage,) = list_stages(record, box, 1)
    assert (stage.call, stage.mode, len(stage.memory), len(stage.barrier)) == (2, "settle", 2, 2)
    for q in rng.normal(size=(5, 2)):
        np.testing.assert_allclose(shaped(stage, box.centre + box.scale * q), potential.value(q), rtol=1e-12)


def shaped(stage, x):
    """U_shp of a stage as `result.stages` describes it (eq. dp_stage_potential_discrete)."""
    square = lambda centre: np.sum(((x - centre) / stage.scale) ** 2)  # noqa: E731
    total = 0.5 * stage.kappa * square(stage.q_bar)
    total += sum(height * np.exp(-0.5 * square(point) / width**2) for point, height, width in stage.memory)
    bumps = (height * max(0, 1 - square(point) / width**2) ** 2 for point, height, width in stage.barrier)
    return total + sum(bumps)
