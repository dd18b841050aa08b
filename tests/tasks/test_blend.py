"""A blend's task is one of its families' tasks, and each family has its turn."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.tasks import Blend, make_family

NAMES = ("quadratic", "rastrigin", "griewank")


def test_a_task_of_a_blend_is_the_task_of_the_family_that_was_drawn():
    family = make_family("+".join(NAMES), 3)
    assert family.name == "+".join(NAMES) and family.dimension == 3
    tasks = jax.jit(jax.vmap(family.sample))(jax.random.split(jax.random.key(0), 40))
    assert set(np.asarray(tasks.choice)) == {0, 1, 2}
    q = jnp.asarray([1.0, -2.0, 0.5])
    for i in range(4):
        task = jax.tree.map(lambda leaf, i=i: leaf[i], tasks)
        own = task.tasks[int(task.choice)]
        assert task(q) == own(q) and task.minimum == own.minimum and task.distance(q) == own.distance(q)
        np.testing.assert_array_equal(task.minimiser, own.minimiser)
        np.testing.assert_array_equal(task.start(jax.random.key(1)), own.start(jax.random.key(1)))


def test_families_of_a_blend_have_one_dimension():
    with pytest.raises(ValueError, match="`families` must have one dimension in common"):
        Blend(families=(make_family("ackley", 2), make_family("ackley", 3)))
