"""What every family of the table promises, checked for each."""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.tasks import FAMILIES, AbstractFamily, AbstractTask, StartLaw, make_family

DIMENSIONS = {
    **{"multiwell": 1, "double_well": 1, "lennard_jones": 18, "shekel": 4, "hartmann_6": 6},
    **dict.fromkeys(("goldstein_price", "six_hump_camel", "branin", "eggholder", "holder_table"), 2),
}
TASKS, POINTS, DESCENT_STEPS = 3, 200, 40
NAMES = list(FAMILIES)
pytestmark = [pytest.mark.parametrize("name", NAMES), pytest.mark.grid(20)]


def build(name: str) -> AbstractFamily:
    return make_family(name, DIMENSIONS.get(name, 8))


def probe(task: AbstractTask, key: jax.Array) -> dict[str, Any]:
    """Everything that the tests below look at, in one compilation."""
    key_start, key_points, key_near = jax.random.split(key, 3)
    box, q0 = task.box, task.start(key_start)
    shape = (POINTS, q0.shape[0])
    points = jax.random.uniform(key_points, shape, q0.dtype, box.lower, box.upper)
    near = jnp.clip(task.minimiser + 1e-3 * jax.random.normal(key_near, shape, q0.dtype), box.lower, box.upper)

    def descend(q, k):
        g = jax.grad(task)(q)
        length = 0.5 * 0.9**k / jnp.maximum(jnp.linalg.norm(g), 1e-12)
        return jnp.clip(q - length * g, box.lower, box.upper), task(q)

    steps = jnp.arange(DESCENT_STEPS, dtype=q0.dtype)
    return {
        "box": box,
        "start": q0,
        "gradient": jax.grad(task)(q0),
        "at_start": task(q0),
        "at_minimiser": task(task.minimiser),
        "distance_at_minimiser": task.distance(task.minimiser),
        "distance_at_start": task.distance(q0),
        "at_points": jax.vmap(task)(points),
        "near_minimiser": jax.vmap(task)(near),
        "by_descent": jax.lax.scan(descend, q0, steps)[1],
    }


@functools.cache
def account(name: str) -> tuple[AbstractTask, dict[str, Any]]:
    """A batch of tasks and their probes; the one place where a family is compiled."""
    family = build(name)

    @jax.jit
    def run(keys):
        tasks = jax.vmap(family.sample)(keys)
        return tasks, jax.vmap(probe)(tasks, keys)

    return run(jax.random.split(jax.random.key(7), TASKS))


def first(name: str) -> AbstractTask:
    return jax.tree.map(lambda leaf: leaf[0], account(name)[0])


def test_sample_gives_a_batch_of_tasks_that_differ(name: str) -> None:
    tasks, _ = account(name)
    assert tasks.minimum.shape == (TASKS,)
    assert tasks.minimiser.shape == (TASKS, build(name).dimension)
    if name != "lennard_jones":  # whose tasks differ only when varied
        leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(tasks)]
        assert any(not np.array_equal(leaf[0], leaf[1]) for leaf in leaves)


def test_batched_sample_equals_single_sample(name: str) -> None:
    single = jax.jit(build(name).sample)(jax.random.split(jax.random.key(7), TASKS)[0])
    tolerance = 1e-6 if name in ("pendulum", "navigation") else 1e-12  # Newton descents stop at round-off in f, not q
    for one, other in zip(jax.tree.leaves(single), jax.tree.leaves(first(name)), strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


def test_family_carries_its_name_in_the_table_and_a_source(name: str) -> None:
    family = build(name)
    assert family.name == name
    assert family.minimum_source.startswith(("exact: ", "best known: "))


def test_start_is_inside_the_box_with_a_finite_gradient(name: str) -> None:
    _, seen = account(name)
    assert np.all(seen["start"] >= seen["box"].lower) and np.all(seen["start"] <= seen["box"].upper)
    assert np.all(np.isfinite(seen["at_start"])) and np.all(np.isfinite(seen["gradient"]))
    assert np.all(np.any(seen["gradient"] != 0, axis=-1))


@pytest.mark.parametrize("law", list(StartLaw))
def test_every_law_starts_inside_the_box_away_from_the_minimiser(name: str, law: StartLaw) -> None:
    task = dataclasses.replace(first(name), law=law)
    starts = jax.jit(jax.vmap(task.start))(jax.random.split(jax.random.key(1), 32))
    assert np.all(starts >= task.box.lower) and np.all(starts <= task.box.upper)
    assert np.median(np.linalg.norm(starts - task.minimiser, axis=-1)) > 0.5
    assert len(np.unique(starts[:, 0])) > 4  # a start on a clipped coordinate may repeat


def test_objective_at_the_minimiser_is_the_known_minimum(name: str) -> None:
    tasks, seen = account(name)
    np.testing.assert_allclose(seen["at_minimiser"], tasks.minimum, rtol=1e-12, atol=1e-12)
    assert np.all(tasks.minimiser >= seen["box"].lower) and np.all(tasks.minimiser <= seen["box"].upper)


@pytest.mark.parametrize("where", ["at_points", "near_minimiser", "by_descent"])
def test_known_minimum_is_not_beaten(name: str, where: str) -> None:
    tasks, seen = account(name)
    assert np.all(seen[where] >= tasks.minimum[:, None] - 1e-9)
    assert np.min(seen["by_descent"][:, -1] - seen["at_start"]) < 0  # the descent does descend


def test_distance_vanishes_at_the_minimiser_alone(name: str) -> None:
    _, seen = account(name)
    np.testing.assert_allclose(seen["distance_at_minimiser"], 0.0, atol=1e-12)
    assert np.all(seen["distance_at_start"] > 1e-3)


def test_float32_tasks_stay_float32_where_float64_is_enabled(name: str) -> None:
    task = jax.tree.map(lambda leaf: leaf.astype(jnp.float32), first(name))
    q = jax.eval_shape(task.start, jax.random.key(0))
    outputs = (q, jax.eval_shape(jax.value_and_grad(task), q), jax.eval_shape(task.distance, q), task.box)
    assert {leaf.dtype for leaf in jax.tree.leaves(outputs)} == {np.dtype(np.float32)}


def test_without_float64_everything_is_float32_and_finite(name: str) -> None:
    family = build(name)

    @jax.jit
    def run(key):
        task = family.sample(key)
        return task, jax.value_and_grad(task)(task.start(key)), task(task.minimiser)

    with jax.enable_x64(False):
        task, reading, at_minimiser = run(jax.random.key(3))
    assert {leaf.dtype for leaf in jax.tree.leaves((task, reading))} == {np.dtype(np.float32)}
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves((task, reading)))
    np.testing.assert_allclose(at_minimiser, task.minimum, rtol=1e-5, atol=1e-5)
