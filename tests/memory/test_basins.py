"""The archive of basins: distinct ones, the best few, and how often each was met."""

import jax
import numpy as np
import pytest

from shapeopt.memory.basins import CAPACITY, SAME_BASIN, no_basins, write_basin
from shapeopt.ops import HOST
from shapeopt.ops.device import DEVICE

D = 4
ENGINES = pytest.mark.parametrize("ops", [HOST, DEVICE], ids=["host", "device"])


def write(ops, basins, q, f):
    if ops is HOST:
        return write_basin(HOST, basins, np.asarray(q), np.float64(f))
    return jax.jit(lambda *rows: write_basin(ops, *rows))(basins, np.asarray(q), np.float64(f))


@ENGINES
def test_a_bottom_near_a_known_one_is_one_more_visit_and_the_lower_of_both(ops):
    basins = write(ops, no_basins(ops, D, np.float64), np.zeros(D), 2.0)
    near = np.full(D, 0.9 * SAME_BASIN)
    basins = write(ops, basins, near, 1.0)
    basins = write(ops, basins, np.zeros(D), 3.0)
    row = int(np.argmin(np.asarray(basins.values)))
    assert np.isfinite(np.asarray(basins.values)).sum() == 1
    assert int(basins.visits[row]) == 3 and float(basins.values[row]) == 1.0
    np.testing.assert_array_equal(basins.points[row], near)


@ENGINES
def test_a_bottom_farther_away_is_another_basin(ops):
    basins = write(ops, no_basins(ops, D, np.float64), np.zeros(D), 2.0)
    basins = write(ops, basins, np.full(D, 1.1 * SAME_BASIN), 1.0)
    assert sorted(np.asarray(basins.values).tolist())[:2] == [1.0, 2.0]


def test_a_full_archive_keeps_the_best():
    basins = no_basins(HOST, D, np.float64)
    values = np.random.default_rng(0).permutation(3 * CAPACITY).astype(float)
    for i, value in enumerate(values):
        basins = write_basin(HOST, basins, np.full(D, float(i)), value)
    assert sorted(basins.values.tolist()) == list(range(CAPACITY))
    for point, value in zip(basins.points, basins.values, strict=True):
        assert values[int(point[0])] == value
    assert set(basins.visits.tolist()) == {1}
