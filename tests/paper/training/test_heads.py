"""The part of both networks that speaks to all coordinates alike: read, changed, and put back."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.paper.policy import PaperPolicy
from shapeopt.paper.training.heads import heads_of, with_heads
from shapeopt.paper.training.phases import split_policy, units_of


@pytest.fixture(params=[{}, {"use_controller": False}, {"rank": 0}], ids=["whole", "no controller", "rank 0"])
def params(request):
    return split_policy(PaperPolicy.create(3, jax.random.key(0), hidden=8, **request.param))[0]


def test_heads_that_are_put_back_change_nothing(params):
    again = with_heads(params, heads_of(params))
    for old, new in zip(*map(jax.tree.leaves, (params, again)), strict=True):
        np.testing.assert_array_equal(old, new)


def test_heads_are_what_was_put_in_and_rows_keep_their_differences(params):
    wanted = jax.tree.map(lambda leaf: leaf + 1.0, heads_of(params))
    changed = with_heads(params, wanted)
    for asked, found in zip(*map(jax.tree.leaves, (wanted, heads_of(changed))), strict=True):
        np.testing.assert_allclose(asked, found, atol=1e-6)
    old, new = params.planner.network.layers[-1], changed.planner.network.layers[-1]
    np.testing.assert_allclose(jnp.diff(new.weight[:3], axis=0), jnp.diff(old.weight[:3], axis=0), atol=1e-6)


def test_nothing_of_the_first_layer_that_reads_a_coordinate_is_trained(params):
    """What places, momenta, forces and anchors say stays as it began; cues, modes and gains are read anew."""
    changed = with_heads(params, jax.tree.map(lambda leaf: leaf + 1.0, heads_of(params)))
    moved = lambda part: np.flatnonzero(np.any(np.asarray(part(changed) != part(params)), axis=0))  # noqa: E731
    planner = moved(lambda p: p.planner.network.layers[0].weight)
    inputs = params.planner.network.layers[0].weight.shape[1]
    assert planner.tolist() == list(range(inputs - 5, inputs))
    if params.controller is not None:
        controller = moved(lambda p: p.controller.network.layers[0].weight)
        assert controller.tolist() == [*range(inputs - 5, inputs), *range(inputs + 3, inputs + 3 + 6)]


def test_how_many_numbers_are_trained_does_not_depend_on_the_dimension():
    count = lambda d: sum(  # noqa: E731
        leaf.size
        for leaf in jax.tree.leaves(heads_of(split_policy(PaperPolicy.create(d, jax.random.key(0), hidden=8))[0]))
    )
    assert count(2) == count(7)


def test_weights_of_a_head_share_one_unit(params):
    units = units_of(heads_of(params))
    assert units[0].weights == 8**-0.5
    assert units[0].offsets == units[0].cues == 1.0
