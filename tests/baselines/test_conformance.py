"""What every baseline of the table promises, checked for each on a few families, compiled and batched.

A method's `tell` is compiled once for a dtype and stepped from Python, since compiling is nearly all that this takes.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.baselines import BASELINES, make_baseline
from shapeopt.core import Reading
from shapeopt.oracles import ExactOracle
from shapeopt.rollout import rollout
from shapeopt.tasks import cube, make_family

pytestmark = pytest.mark.grid(10)

D, RUNS = 6, 3
READINGS = 45  # more than one round of the cross-entropy method and two of basin hopping
CELLS = (("ackley", "float64"), ("lennard_jones", "float64"), ("rosenbrock", "float32"))
DRAWING = {"sghmc", "basin_hopping", "cem"}  # the methods that use their key

names = pytest.mark.parametrize("name", BASELINES)
cells = pytest.mark.parametrize(("family", "dtype"), CELLS)
dtypes = pytest.mark.parametrize("dtype", ["float32", "float64"])


@functools.cache
def problems(family, dtype):
    """A batch of tasks, their starts, and their compiled readings."""

    @jax.jit
    def draw(keys):
        tasks = jax.vmap(make_family(family, D).sample)(keys)
        tasks = jax.tree.map(lambda leaf: leaf.astype(dtype), tasks)
        return tasks, jax.vmap(lambda task, key: task.start(key))(tasks, keys)

    tasks, starts = draw(jax.random.split(jax.random.key(5), RUNS))
    return tasks, starts, jax.jit(jax.vmap(lambda task, x: jax.value_and_grad(task)(x)))


@functools.cache
def compiled(name):
    """(batched init, batched and compiled tell followed by ask)."""
    optimizer = make_baseline(name, "quadratic")

    def tell(state, value, gradient):
        state = optimizer.tell(state, Reading(value, gradient, jnp.ones((), jnp.int32)))
        return state, optimizer.ask(state)

    init = lambda x0, box, key: optimizer.init(x0, box, READINGS, key)  # noqa: E731
    return jax.vmap(init, in_axes=(0, None, 0)), jax.jit(jax.vmap(tell))


def run(name, family, dtype, seed=0):
    """Points asked (one more than were read) and values, readings first."""
    tasks, x, read = problems(family, dtype)
    init, tell = compiled(name)
    state = init(x, tasks.box, jax.random.split(jax.random.key(seed), RUNS))
    x = jax.vmap(make_baseline(name, "quadratic").ask)(state)
    points, values = [x], []
    for _ in range(READINGS):
        value, gradient = read(tasks, x)
        state, x = tell(state, value, gradient)
        points.append(x)
        values.append(value)
    return np.array(points), np.array(values)


account = functools.cache(run)


@names
@cells
def test_x0_is_read_first_then_nothing_outside_the_box(name, family, dtype):
    points, values = account(name, family, dtype)
    tasks, starts, _ = problems(family, dtype)
    assert points.dtype == values.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(points[0], starts)
    assert np.all((points >= tasks.box.lower) & (points <= tasks.box.upper))
    assert np.isfinite(points).all() and np.isfinite(values).all()
    assert np.all(np.ptp(points, axis=0).max(axis=-1) > 1e-4)  # every run moves


@names
def test_the_best_value_improves_on_the_start(name):
    values = account(name, "ackley", "float64")[1]
    assert np.all(values.min(axis=0) < values[0] - 1e-2)


@names
def test_same_key_same_trace_and_only_drawing_methods_heed_the_key(name):
    points = account(name, "ackley", "float64")[0]
    np.testing.assert_array_equal(points, run(name, "ackley", "float64")[0])
    assert np.array_equal(points, run(name, "ackley", "float64", seed=1)[0]) is (name not in DRAWING)


@names
@dtypes
def test_a_state_keeps_its_structure_and_dtypes(name, dtype):
    """So that a scan can carry it."""
    optimizer, x = make_baseline(name, "ackley"), jnp.ones(D, dtype)
    state = optimizer.init(x, cube(D, 5.0, dtype), READINGS, jax.random.key(0))
    after = jax.eval_shape(optimizer.tell, state, Reading(x[0], x, jnp.ones((), jnp.int32)))
    before = jax.eval_shape(lambda: state)
    assert jax.tree.structure(after) == jax.tree.structure(before)
    for a, b in zip(jax.tree.leaves(after), jax.tree.leaves(before), strict=True):
        assert (a.shape, a.dtype, a.weak_type) == (b.shape, b.dtype, b.weak_type)
    floats = {leaf.dtype for leaf in jax.tree.leaves(after) if jnp.issubdtype(leaf.dtype, jnp.floating)}
    assert floats == {np.dtype(dtype)}


@names
def test_readings_that_are_not_finite_leave_no_trace(name):
    """They count as zero gradients and, for methods that look at values, as the worst value; huge entries are cut."""
    rng = np.random.default_rng(0)
    gradients = np.repeat(rng.normal(size=(READINGS, 1, D)), RUNS, axis=1).astype(np.float32)
    values = np.repeat(rng.normal(size=(READINGS, 1)), RUNS, axis=1).astype(np.float32)
    gradients[3, 0, 1], gradients[10, 0], gradients[30, 0, 2] = np.nan, np.inf, -np.inf
    values[[3, 10, 30], 0] = np.nan, np.inf, -np.inf
    gradients[[3, 10, 30], 1:], values[[3, 10, 30], 1:] = 0.0, np.inf
    gradients[21] = 3e38
    init, tell = compiled(name)
    key = jnp.broadcast_to(jax.random.key(0), RUNS)
    state = init(jnp.ones((RUNS, D), jnp.float32), cube(D, 5.0, jnp.float32), key)
    for value, gradient in zip(values, gradients, strict=True):
        state, points = tell(state, value, gradient)
        assert np.all(np.abs(points) <= 5.0)  # and so finite
        np.testing.assert_array_equal(points[0], points[1])
    floats = [leaf for leaf in jax.tree.leaves(state) if jnp.issubdtype(leaf.dtype, jnp.floating)]
    assert not any(np.isnan(leaf).any() for leaf in floats)


def test_a_compiled_rollout_reads_what_the_steps_read():
    tasks, starts, _ = problems("ackley", "float64")
    task = jax.tree.map(lambda leaf: leaf[1], tasks)
    optimizer = make_baseline("lookahead", "quadratic")
    roll = jax.jit(lambda x, key: rollout(optimizer, ExactOracle(task), x, task.box, READINGS, key, record_points=True))
    points = roll(starts[1], jax.random.key(0)).steps.x
    np.testing.assert_allclose(points, account("lookahead", "ackley", "float64")[0][:-1, 1], rtol=1e-9)
