"""Known basins become centres that repel, at one share of the typical force whatever the units and the dimension."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.core import Mode
from shapeopt.paper.memory import Archive, make_spatial_memory
from shapeopt.paper.policy import PaperPolicy
from shapeopt.paper.shaping import barrier, cell_potential, repulsion, shaped_potential


def archive_of(d):
    """A basin at (1, ..., 1), seen once, one at (4, ..., 4), seen three times, and two empty slots."""
    points = np.outer([1.0, 4.0, 0.0, 0.0], np.ones(d))
    return Archive(*map(jnp.asarray, (points, [1.0, 2.0, np.inf, np.inf], np.int32([1, 3, 0, 0]), np.ones(4))))


@jax.jit
def push(archive, q, unit, mode):
    return shaped_potential(q, jnp.zeros_like(unit), archive, unit, mode).gradient(q)


def test_known_basins_repel_and_bar_the_way_only_in_escape():
    archive, unit, q = archive_of(3), jnp.array(10.0), jnp.array([1.2, 1.0, 1.0])
    np.testing.assert_allclose(sorted(repulsion(archive, unit).heights), [0.0, 0.0, 0.5, 0.75])
    assert np.all(barrier(archive, unit, jnp.array(False)).heights == 0.0)
    assert np.sum(barrier(archive, unit, jnp.array(True)).heights > 0.0) == 2
    pushes = [push(archive, q, unit, jnp.int32(mode))[0] for mode in Mode]
    assert pushes[Mode.SETTLE] == pushes[Mode.REFINE] < 0.0
    assert pushes[Mode.ESCAPE] < 5.0 * pushes[Mode.REFINE]
    assert np.all(push(None, q, unit, jnp.int32(Mode.ESCAPE)) == 0.0)


def test_repulsion_keeps_its_share_of_the_typical_force_in_every_dimension():
    forces = [push(archive_of(d), jnp.full(d, 0.8), jnp.array(float(d)), jnp.int32(Mode.ESCAPE)) for d in (1, 25)]
    np.testing.assert_allclose(np.abs(forces[0][0]), np.linalg.norm(forces[1]) / 5.0, rtol=1e-12)


@pytest.mark.parametrize("d", [1, 2])
def test_written_cells_repel_from_where_they_are_and_bar_the_way_only_in_escape(d):
    place, unit = jnp.full(d, 1.0), jnp.array(10.0)
    memory = make_spatial_memory(d, jnp.float64).write(place, jnp.array(1.0), jnp.ones(d))
    force = lambda q, mode: np.asarray(  # noqa: E731
        cell_potential(q, 0.0 * unit, memory, unit, jnp.int32(mode)).gradient(q)
    )
    centre = memory.regions().points[int(jnp.argmax(memory.regions().counts))]
    assert np.all(np.abs(centre - place) <= 0.5 * memory.regions().width)
    for side in (-1.0, 1.0):
        q = centre + 0.3 * side
        assert np.all(side * force(q, Mode.REFINE) < 0), "uphill is towards the cell"
        assert np.all(np.abs(force(q, Mode.ESCAPE)) > 1.3 * np.abs(force(q, Mode.REFINE)))
    assert np.all(np.abs(force(centre - 4.0, Mode.ESCAPE)) < 0.02)


def test_a_cell_rises_with_every_write():
    """So a basin fills, however deep it is."""
    q, unit, memory = jnp.array([1.1]), jnp.array(2.0), make_spatial_memory(1, jnp.float64)
    heights = []
    for _ in range(3):
        memory = memory.write(q, jnp.array(0.0), jnp.zeros(1))
        heights.append(float(cell_potential(q, 0.0 * unit, memory, unit, jnp.int32(Mode.SETTLE)).value(q)))
    np.testing.assert_allclose(heights, heights[0] * np.arange(1.0, 4.0))
    assert heights[0] > 2.0


def test_cells_shape_nothing_where_they_are_no_places():
    with pytest.raises(ValueError, match="`cell_shaping` needs a memory and one or two dimensions; got 3"):
        PaperPolicy.create(3, jax.random.key(0), cell_shaping=True)
    with pytest.raises(ValueError, match="one or two dimensions"):
        make_spatial_memory(3, jnp.float64).regions()
