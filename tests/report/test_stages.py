"""What is kept of a run for its page: where every reading was made, and what shaped every stage."""

import jax
import jax.numpy as jnp
import numpy as np

import shapeopt
from shapeopt.core import Box
from shapeopt.core.result import SHAPING_COLUMNS, RunRecord, list_stages
from shapeopt.paper.dynamics import Centres, SemiImplicitStep, ShapedPotential
from shapeopt.paper.weights import cast_policy
from shapeopt.policy import find_policy
from shapeopt.shape import ShapeOptimizer, potential_of

BOUNDS = (np.array([-2.0, -6.0]), np.array([4.0, 5.0]))


def bumpy(x):
    return jnp.sum((x - 1) ** 2) + 3 * jnp.sum(jnp.sin(4 * x))


def test_the_points_of_the_trace_are_where_the_values_were_read(plane):
    task, x0, result = plane
    np.testing.assert_allclose(result.trace.x[0], x0)
    np.testing.assert_allclose(jax.vmap(task)(jnp.asarray(result.trace.x)), result.trace.value, rtol=1e-9, atol=1e-12)


def test_a_run_carries_no_potential_unless_it_is_asked_to():
    policy = cast_policy(find_policy("universal"), "float64")
    for onlooker, kept in ((None, type(None)), (potential_of, ShapedPotential)):
        optimizer = ShapeOptimizer(policy, SemiImplicitStep(policy.h), onlooker=onlooker)
        state = jax.eval_shape(lambda o=optimizer: o.init(jnp.zeros(2), Box.around(*BOUNDS), 9, jax.random.key(0)))
        assert isinstance(state.info.seen, kept)


def test_an_escape_ends_where_the_pull_of_its_anchor_balances_the_force(plane):
    """kappa (q_bar - q') = g, with the force at the reading before (design, the three modes)."""
    task, _, result = plane
    calls = list(result.trace.calls)
    jumps = [stage for stage in result.stages if stage.mode == "escape" and stage.kappa > 0]
    assert len(jumps) > 5
    for stage in jumps:
        row = calls.index(stage.call)
        force = jax.grad(task)(jnp.asarray(result.trace.x[row])) * stage.scale
        pull = stage.kappa * (stage.q_bar - result.trace.x[row + 1]) / stage.scale
        inside = np.abs(result.trace.x[row + 1]) < 5  # a bound may stop it
        np.testing.assert_allclose(pull[inside], np.asarray(force)[inside], rtol=1e-8, atol=1e-8 * stage.kappa)


def test_stages_are_the_same_compiled_and_stepped():
    compiled = shapeopt.minimize(bumpy, np.zeros(2), bounds=BOUNDS, budget=40, stages=True)
    pair = jax.jit(jax.value_and_grad(bumpy))
    stepped = shapeopt.minimize(
        lambda x: tuple(map(np.asarray, pair(x))), np.zeros(2), bounds=BOUNDS, budget=39, jac=True, stages=True
    )
    assert [stage.mode for stage in stepped.stages][:3] == [stage.mode for stage in compiled.stages][:3]
    for one, other in zip(stepped.stages[:3], compiled.stages[:3], strict=True):
        np.testing.assert_allclose(one.q_bar, other.q_bar, rtol=1e-6)
        np.testing.assert_allclose(one.kappa, other.kappa, rtol=1e-6)


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
