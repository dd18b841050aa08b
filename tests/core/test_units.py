"""Units of coordinates without bounds, from sizes and slopes."""

import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.core.units import told_apart

OPEN = np.ones(6, bool)
UNITS = np.array([1e-5, 1e3, 1.0, 1e-2, 1e5, 30.0])
SIZE = np.array([0.5, 1.4, 0.2, 1.1, 2.0, 0.9])  # in units
SLOPE = np.array([3.0, 0.4, 8.0, 1.0, 20.0, 0.7])


def test_units_are_told_apart_where_sizes_and_inverse_slopes_rise_together():
    differ, unit = told_apart(np, UNITS * SIZE, SLOPE / UNITS, OPEN)
    assert differ
    error = np.log(unit / UNITS)
    assert np.abs(error - error.mean()).max() < np.log(5.0)


def test_equal_units_are_kept_where_sizes_differ_as_those_of_normal_numbers():
    assert not told_apart(np, SIZE, SLOPE, OPEN)[0]


def test_sizes_and_slopes_that_rise_together_do_not_tell_units():
    assert not told_apart(np, UNITS * SIZE, UNITS * SLOPE, OPEN)[0]


def test_a_slope_that_vanishes_at_zero_makes_no_unit_larger_than_the_largest_start():
    size, slope = UNITS * SIZE, SLOPE / UNITS
    size[3], slope[3] = 0.0, 1e-20
    differ, unit = told_apart(np, size, slope, OPEN)
    assert differ
    assert unit[3] <= size.max()


def test_a_slope_of_round_off_tells_no_unit():
    size, slope = SIZE.copy(), SLOPE.copy()
    slope[2] = 1e-16
    assert not told_apart(np, size, slope, OPEN)[0]


@pytest.mark.parametrize("known", [0, 1])
def test_one_coordinate_alone_tells_no_units_apart(known):
    size, slope = np.zeros(6), np.ones(6)
    size[:known] = 1e4
    assert not told_apart(np, size, slope, OPEN)[0]


def test_bounded_coordinates_say_nothing_of_the_units_of_others():
    open_ = np.array([True, False, True, False, False, True])
    size, slope = np.where(open_, SIZE, UNITS), np.where(open_, SLOPE, 1.0 / UNITS)
    assert not told_apart(np, size, slope, open_)[0]


def test_units_are_the_same_with_jax():
    size, slope = UNITS * SIZE, SLOPE / UNITS
    plain, traced = told_apart(np, size, slope, OPEN)[1], told_apart(jnp, *map(jnp.asarray, (size, slope, OPEN)))[1]
    np.testing.assert_allclose(plain, traced, rtol=1e-6)
