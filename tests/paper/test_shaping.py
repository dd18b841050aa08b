"""Known basins become centres that repel, at one share of the typical force whatever the units and the dimension."""

import jax
import jax.numpy as jnp
import numpy as np

from shapeopt.core import Mode
from shapeopt.paper.memory import Archive
from shapeopt.paper.shaping import barrier, repulsion, shaped_potential


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
