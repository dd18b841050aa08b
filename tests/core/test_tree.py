"""The user's structure: what JAX makes of it, this makes of it, and it comes back whole."""

from collections import OrderedDict
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.core.problem import read_problem
from shapeopt.core.tree import LEAF, flatten, restore


class Pair(NamedTuple):
    left: object
    right: object


class Module(eqx.Module):
    weight: jax.Array
    bias: jax.Array
    name: str = eqx.field(static=True, default="m")


TREES = [
    1.5,
    np.float32(2),
    np.ones((2, 3)),
    None,
    {"b": 1.0, "a": [2.0, None, (3.0,)]},
    OrderedDict([("z", 1.0), ("a", 2.0)]),
    Pair({"x": np.zeros(2)}, (1, [2, 3])),
    [Module(np.ones(2), np.zeros(1)), {"k": 1.0}],
    (),
    [jnp.ones(2), {}],
]


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_leaves_come_in_jaxs_order_and_the_tree_comes_back(tree):
    leaves, structure = flatten(tree)
    expected, treedef = jax.tree.flatten(tree)
    assert len(leaves) == len(expected) == structure.size
    assert all(one is other for one, other in zip(leaves, expected, strict=True))
    back = restore(structure, leaves)
    assert type(back) is type(tree) and jax.tree.structure(back) == treedef
    assert structure == flatten(back)[1] and hash(structure) == hash(flatten(back)[1])


def test_structures_differ_where_keys_types_or_lengths_do():
    structures = [flatten(tree)[1] for tree in ({"a": 1}, {"b": 1}, [1], (1,), [1, 1], Pair(1, 1), 1, None)]
    assert len(set(structures)) == len(structures) and LEAF in structures


def test_a_structure_reads_like_the_tree_with_stars_for_leaves():
    assert (
        str(flatten({"b": 1, "a": [2, None], "c": Pair(1, 2)})[1])
        == "{'a': [*, None], 'b': *, 'c': Pair(left=*, right=*)}"
    )


@pytest.mark.parametrize(
    ("x0", "shape"),
    [({"a": np.ones(2), "b": 1.0}, (3,)), ([np.ones((2, 2)), np.ones(1)], (5,)), ([[1, 2], [3, 4]], (4,)), (2.0, (1,))],
)
def test_a_start_of_any_structure_becomes_flat_and_comes_back(x0, shape):
    problem = read_problem(x0, (-5, 5), np.random.default_rng(0))
    assert problem.x0.shape == shape and hash(problem.layout) == hash(problem.layout)
    back = problem.layout.restore(problem.x0)
    np.testing.assert_array_equal(problem.layout.flatten(back, "x"), problem.x0)


def test_another_structure_is_refused_with_what_it_was():
    layout = read_problem({"a": np.ones(2), "b": 1.0}, None, np.random.default_rng(0)).layout
    with pytest.raises(ValueError, match=r"`x` must have the structure of `x0`; got \{'a': \*\}"):
        layout.flatten({"a": np.ones(3)}, "x")


def test_only_one_axis_of_numbers_is_flat():
    flat = [read_problem(x0, None, np.random.default_rng(0)).layout.flat for x0 in ([1.0, 2], [[1.0], [2]], {"a": 1.0})]
    assert flat == [True, False, False]
