"""The basin archive: merging, replacing, counting, novelty."""

import jax.numpy as jnp
import numpy as np

from shapeopt.paper.memory import Archive


def write(archive, q, value, radius=0.5, active=True):
    return archive.write(jnp.asarray(q), jnp.asarray(value), jnp.asarray(2.0), jnp.asarray(radius), jnp.asarray(active))


def test_a_basin_met_again_is_one_more_visit_with_the_lower_bottom():
    archive = write(Archive.empty(3, 2, jnp.float64), [1.0, 1.0], 5.0)
    archive = write(archive, [1.1, 1.0], 4.0)
    archive = write(archive, [0.9, 1.0], 6.0)
    assert archive.count == 1 and archive.visits[0] == 3
    np.testing.assert_array_equal(archive.points[0], [1.1, 1.0])
    assert archive.values[0] == 4.0


def test_a_full_archive_keeps_the_best():
    archive = Archive.empty(2, 1, jnp.float64)
    for q, value in ((0.0, 3.0), (2.0, 1.0), (4.0, 2.0), (6.0, 9.0)):
        archive = write(archive, [q], value)
    assert sorted(np.asarray(archive.values)) == [1.0, 2.0]
    assert sorted(np.asarray(archive.points)[:, 0]) == [2.0, 4.0]


def test_inactive_write_changes_nothing():
    archive = write(Archive.empty(2, 1, jnp.float64), [0.0], 3.0)
    same = write(archive, [0.1], 1.0, active=False)
    for before, after in zip(
        (archive.points, archive.values, archive.visits), (same.points, same.values, same.visits), strict=True
    ):
        np.testing.assert_array_equal(before, after)


def test_novelty_is_nought_on_a_basin_and_one_where_nothing_is_known():
    empty = Archive.empty(2, 2, jnp.float64)
    assert empty.novelty(jnp.zeros(2), jnp.asarray(1.0)) == 1.0
    archive = write(empty, [1.0, 1.0], 0.0)
    assert archive.novelty(jnp.ones(2), jnp.asarray(1.0)) == 0.0
    assert 0.3 < archive.novelty(jnp.asarray([2.0, 1.0]), jnp.asarray(1.0)) < 0.5
