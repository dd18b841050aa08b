"""The joined optimizer: ledger, invariances, limits, and what the untrained policy can do."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.core import Box, Cause, Mode
from shapeopt.oracles import AdditiveNoise, ExactOracle, NoisyOracle
from shapeopt.paper.weights import cast_policy
from shapeopt.policy import UniversalPolicy
from shapeopt.policy import draws as draws_module
from shapeopt.rollout import rollout
from shapeopt.shape import ShapeOptimizer
from shapeopt.swarm import SwarmOptimizer
from shapeopt.tasks import StartLaw, make_family


def rastrigin(x):
    return jnp.sum(x * x - 10.0 * jnp.cos(2.0 * jnp.pi * x) + 10.0)


def skewed(x):
    """Multimodal, neither separable nor symmetric."""
    return rastrigin(x) + 3.0 * x[0] * x[1] + jnp.sum(jnp.arange(1, x.size + 1, dtype=x.dtype) * x)


def run(fun, x0, budget=200, lower=-5.0, upper=5.0, seed=0, policy=None, oracle=None):
    x0 = jnp.asarray(x0)
    box = Box.around(np.full(x0.shape, lower, x0.dtype), np.full(x0.shape, upper, x0.dtype), x0)
    optimizer = ShapeOptimizer(UniversalPolicy() if policy is None else policy)
    go = jax.jit(functools.partial(rollout, optimizer, oracle or ExactOracle(fun), budget=budget, record_points=True))
    return go(x0=x0, box=box, key=jax.random.key(seed))


START = np.array([3.3, -2.1, 4.0, 1.2])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ledger_of_a_whole_run_closes(dtype):
    ledger = run(skewed, START.astype(dtype)).steps.info.ledger
    terms = np.abs(np.stack([*ledger[:7], ledger.task_after, ledger.shaped_after])).sum(0)
    size = np.maximum(terms, np.roll(terms, 1))  # a step starts from the energies of the one before
    assert np.all(np.abs(ledger.total - ledger.delta_H) <= 50 * np.finfo(dtype).eps * size)
    assert np.abs(ledger.dissipation).max() > 1.0
    assert np.all(ledger.dissipation <= 0)


def test_ledger_closes_with_trained_looking_heads_and_every_channel_active():
    policy = cast_policy(UniversalPolicy.create(jax.random.key(0)), jnp.float64)
    shake = lambda leaf: leaf + 0.3 * jax.random.normal(jax.random.key(leaf.size), leaf.shape, leaf.dtype)  # noqa: E731
    policy = jax.tree.map(lambda leaf: shake(leaf) if eqx_array(leaf) else leaf, policy)
    ledger = run(skewed, START, policy=policy).steps.info.ledger
    terms = np.abs(np.stack([*ledger[:7], ledger.task_after, ledger.shaped_after])).sum(0)
    size = np.maximum(terms, np.roll(terms, 1))
    assert np.all(np.abs(ledger.total - ledger.delta_H) <= 50 * np.finfo(np.float64).eps * size)
    assert np.abs(ledger.port_work).max() > 1.0


def eqx_array(leaf):
    return isinstance(leaf, jax.Array)


def test_zero_heads_change_nothing_and_can_be_pruned():
    policy = cast_policy(UniversalPolicy.create(jax.random.key(0)), jnp.float64)
    plain, headed = run(skewed, START, 120), run(skewed, START, 120, policy=policy)
    np.testing.assert_array_equal(plain.steps.value, headed.steps.value)
    assert policy.pruned().planner is None and policy.pruned().controller is None


@pytest.mark.parametrize(("a", "b"), [(1e6, 0.0), (1e-6, 0.0), (4.0, 1024.0)])
def test_trajectory_does_not_depend_on_scale_and_shift_of_the_objective(a, b):
    plain = run(skewed, START, 60).steps
    scaled = run(lambda x: a * skewed(x) + b, START, 60).steps
    np.testing.assert_allclose(scaled.x[:50], plain.x[:50], atol=1e-5)


def test_trajectory_moves_with_the_box():
    plain = run(skewed, START, 60).steps
    shift, stretch = 100.0, 50.0
    moved = run(
        lambda x: skewed((x - shift) / stretch), START * stretch + shift, 60, lower=shift - 250.0, upper=shift + 250.0
    ).steps
    np.testing.assert_allclose((moved.x[:50] - shift) / stretch, plain.x[:50], atol=1e-5)


def test_trajectory_is_permuted_with_the_coordinates(monkeypatch):
    order = np.array([2, 0, 3, 1])
    plain = run(skewed, START, 60).steps
    draw = draws_module.draw

    def permuted(*arguments):
        draws = draw(*arguments)
        return draws._replace(normal=draws.normal[order], uniform=draws.uniform[order])

    monkeypatch.setattr("shapeopt.policy.universal.draw", permuted)
    back = np.argsort(order)
    other = run(lambda x: skewed(x[back]), START[order], 60).steps
    np.testing.assert_allclose(other.x[:50], plain.x[:50, order], atol=1e-5)


def test_no_query_leaves_the_box_even_when_the_minimum_is_outside():
    steps = run(lambda x: jnp.sum((x - 9.0) ** 2) + jnp.sin(5.0 * x[0]), START).steps
    assert np.all((steps.x >= -5.0) & (steps.x <= 5.0))
    np.testing.assert_allclose(steps.x[np.argmin(steps.value)][1:], 5.0)


def test_bounded_minimum_on_a_face_is_found_exactly():
    target = jnp.asarray([7.0, -7.0, 1.0, 0.5])
    trace = run(lambda x: jnp.sum(jnp.arange(1.0, 5.0) * (x - target) ** 2), START, 60)
    np.testing.assert_allclose(trace.best.x, np.clip(target, -5, 5), atol=1e-6)


def test_unbounded_search_reaches_a_far_minimum():
    trace = run(lambda x: jnp.sum((x - 300.0) ** 2), START, 60, lower=-np.inf, upper=np.inf)
    np.testing.assert_allclose(trace.best.x, 300.0, atol=1e-6)


def test_same_key_gives_the_same_bytes_and_another_key_does_not():
    first, second, third = (run(skewed, START, 150, seed=seed).steps for seed in (1, 1, 2))
    assert np.asarray(first.x).tobytes() == np.asarray(second.x).tobytes()
    assert np.asarray(first.x).tobytes() != np.asarray(third.x).tobytes()


def test_non_finite_regions_are_left_and_the_best_finite_point_is_kept():
    def holes(x):
        return jnp.where(jnp.sin(3.0 * x[0]) > 0.3, jnp.nan, rastrigin(x))

    trace = run(holes, np.array([2.0, 1.0]), 200)
    assert np.isnan(trace.steps.value).any() and np.isfinite(trace.steps.value).sum() > 50
    assert trace.best.value == np.nanmin(trace.steps.value)
    assert (trace.steps.info.cause == Cause.NONFINITE).any()


def test_nan_at_the_start_is_survived():
    trace = run(lambda x: jnp.where(x[0] > 3.0, jnp.nan, rastrigin(x)), START, 100)
    assert np.isfinite(trace.best.value)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exact_forces_are_never_taken_for_noisy_and_noisy_ones_are(dtype):
    clean = run(rastrigin, START.astype(dtype), 500).end.state.policy
    noisy = run(rastrigin, START, 500, oracle=NoisyOracle(ExactOracle(rastrigin), AdditiveNoise(5.0)))
    assert clean.sigma <= 0.0
    np.testing.assert_allclose(noisy.end.state.policy.sigma, 5.0, rtol=0.6)
    assert (noisy.steps.info.mode == Mode.SETTLE).any()


def test_noise_that_is_given_is_measured_by_a_second_reading_of_the_start_and_none_is_believed():
    told = run(rastrigin, START, 100, policy=UniversalPolicy(sigma=1.0))
    np.testing.assert_allclose(told.steps.x[1], START, rtol=1e-14)
    assert told.end.state.policy.sigma == 0.0  # the forces are exact after all
    noisy = NoisyOracle(ExactOracle(rastrigin), AdditiveNoise(5.0))
    trusting = run(rastrigin, START, 300, policy=UniversalPolicy(sigma=0.0), oracle=noisy)
    assert not (trusting.steps.info.mode == Mode.SETTLE).any()


def test_a_known_basin_is_left_before_it_is_refined_again():
    causes = np.asarray(run(rastrigin, START, 500).steps.info.cause)
    assert (causes == Cause.REVISIT).sum() > 3
    assert (causes == Cause.HOPELESS).sum() > 10


@pytest.mark.parametrize(("family", "d", "least"), [("rastrigin", 2, 0.9), ("levy", 20, 0.9), ("ackley", 20, 0.8)])
def test_untrained_policy_hits_the_global_minimum_from_near_starts(family, d, least):
    """A quick look at what benchmarks/prior.py measures in full (64 tasks a cell)."""
    tasks = make_family(family, d, law=StartLaw.NEAR)
    optimizer = ShapeOptimizer(UniversalPolicy(), record_energy=False)

    @jax.jit
    @jax.vmap
    def gap(key):
        task_key, start_key, run_key = jax.random.split(key, 3)
        task = tasks.sample(task_key)
        trace = rollout(optimizer, ExactOracle(task), task.start(start_key), task.box, 500, run_key)
        return trace.best.value - task.minimum

    gaps = np.asarray(gap(jax.random.split(jax.random.key(11), 24)))
    assert np.mean(gaps < 1e-2) >= least


def test_a_swarm_in_a_rollout_stays_within_the_budget():
    optimizer = SwarmOptimizer(ShapeOptimizer(UniversalPolicy()), 3)
    box = Box.around(np.full(4, -5.0), np.full(4, 5.0))
    trace = rollout(optimizer, ExactOracle(skewed), jnp.asarray(START), box, 8, jax.random.key(0))
    np.testing.assert_array_equal(trace.steps.calls, [[1, 2, 3], [4, 5, 6]])
