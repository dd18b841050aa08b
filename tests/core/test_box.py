"""The box and its affine map."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapeopt.core import REACH, Box
from shapeopt.core.box import by_logarithm, unit_at


@given(
    centre=st.floats(-1e6, 1e6),
    width=st.one_of(st.just(0.0), st.floats(1e-9, 1e9)),
    share=st.floats(0.0, 1.0),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_no_internal_point_maps_outside_the_bounds(centre, width, share, dtype):
    lower = np.array([centre - 0.5 * width], dtype)
    upper = np.maximum(np.array([centre + 0.5 * width], dtype), lower)
    box = Box.around(lower, upper)
    q = box.q_lower + jnp.asarray(share, dtype) * (box.q_upper - box.q_lower)
    x = np.asarray(box.outward(q))
    assert lower[0] <= x[0] <= upper[0]


def test_bounded_coordinates_fill_the_internal_box_and_come_back():
    box = Box.around(np.array([0.0, -3.0]), np.array([10.0, 1.0]))
    np.testing.assert_allclose(box.q_lower, -REACH)
    np.testing.assert_allclose(box.q_upper, REACH)
    x = jnp.asarray([2.5, 0.5])
    np.testing.assert_allclose(box.outward(box.inward(x)), x)


def test_open_sides_are_centred_on_the_start_and_not_clipped():
    box = Box.around(np.array([-np.inf, 0.0]), np.array([np.inf, np.inf]), np.array([3.0, 2.0]))
    np.testing.assert_array_equal(box.inward(jnp.asarray([3.0, 2.0])), 0.0)
    assert box.q_lower[0] == -np.inf and np.isfinite(box.q_lower[1]) and np.isinf(box.q_upper).all()


def test_numpy_arrays_stay_numpy_and_jax_arrays_and_tracers_compute_with_jax():
    box = Box.around(np.array([0.0, -3.0], np.float32), np.array([10.0, 1.0], np.float32))
    x = np.array([2.5, 0.5], np.float32)
    for part in (*box[:4], box.q_lower, box.q_upper, box.inward(x), box.outward(x)):
        assert type(part) is np.ndarray and part.dtype == np.float32
    assert isinstance(box.inward(jnp.asarray(x)), jax.Array)
    compiled = jax.jit(lambda box, x: (box.inward(x), box.outward(x), box.q_lower))(box, x)
    for one, other in zip(compiled, (box.inward(x), box.outward(x), box.q_lower), strict=True):
        assert isinstance(one, jax.Array) and one.dtype == np.float32
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_a_start_known_only_inside_compiled_code_centres_the_open_sides():
    def centred(x0):
        return Box.around(np.full(2, -np.inf), np.full(2, np.inf), x0)

    for one, other in zip(jax.jit(centred)(np.array([3.0, -20.0]))[:4], centred(np.array([3.0, -20.0])), strict=False):
        np.testing.assert_array_equal(one, other)


def test_a_coordinate_without_width_is_zero_inside_and_its_bound_outside():
    box = Box.around(np.array([2.0, 0.0]), np.array([2.0, 1.0]))
    assert box.q_lower[0] == box.q_upper[0] == box.inward(np.array([2.0, 0.3]))[0] == 0.0
    assert box.outward(np.array([4.0, 0.0]))[0] == 2.0


def test_a_box_of_denormal_width_keeps_its_bounds():
    tiny = np.nextafter(0.0, 1.0)
    for upper in (tiny, 3 * tiny, 1000 * tiny):
        box = Box.around(np.zeros(1), np.array([upper]))
        for q in (-REACH, 0.0, REACH):
            assert 0.0 <= box.outward(np.array([q]))[0] <= upper
        assert np.isfinite(box.inward(np.array([upper]))).all()


def unbounded(x0):
    return Box.around(np.full(len(x0), -np.inf), np.full(len(x0), np.inf), x0)


def test_coordinates_of_similar_size_and_slope_share_one_unit():
    x0 = np.array([2.0, -0.3, 5.0, 0.0])
    box = unbounded(x0).scaled_by(x0, np.array([3.0, -8.0, 1.0, 2.0]))
    np.testing.assert_allclose(box.scale, 1.0)


def test_a_small_parameter_with_a_steep_gradient_gets_a_unit_of_its_own():
    x0 = np.array([500.0, 0.1])
    box = unbounded(x0).scaled_by(x0, np.array([2.0, 1e8]))
    assert 100.0 < box.scale[0] < 2500.0
    assert 0.02 < box.scale[1] < 0.2
    alone = unbounded(x0).scaled_by(np.array([500.0, 0.0]), np.array([2.0, 1e8]))
    assert alone.scale[0] == 500.0
    assert alone.scale[1] < 1e-3


def test_a_start_whose_sizes_are_far_apart_gives_the_units():
    x0, slopes = np.array([500.0, -1e-4, 3.0, 0.0]), np.array([2e4, 1e-3, 50.0, 1.0])
    scale = unbounded(x0).scaled_by(x0, slopes).scale
    np.testing.assert_array_equal(scale[:3], [500.0, 1e-4, 3.0])
    assert scale[3] > 0
    near = unbounded(x0).scaled_by(np.array([500.0, -1.0, 3.0, 0.0]), slopes).scale
    assert near[1] == near[2]


def test_bounded_coordinates_keep_their_unit_and_a_gradient_that_is_not_finite_changes_nothing():
    lower, upper, x0 = np.array([0.0, -np.inf]), np.array([20.0, np.inf]), np.array([0.1, 1e-3])
    box = Box.around(lower, upper, x0)
    assert box.scaled_by(x0, np.array([1e6, 1.0])).scale[0] == 2.0
    np.testing.assert_array_equal(box.scaled_by(x0, np.array([np.nan, 1e9])).scale, box.scale)


def test_a_bound_that_is_written_for_infinity_sets_no_scale_and_is_kept_to():
    x0 = np.array([3.0, -2.0])
    box = Box.around(np.array([-1e20, -np.inf]), np.array([1e300, np.inf]), x0)
    assert not box.closed.any() and (box.centre == x0).all() and (box.scale <= 3.0).all()
    assert np.isinf(box.q_lower).all() and np.isinf(box.q_upper).all()
    assert box.outward(np.array([-1e25, 0.0]))[0] == -1e20
    wide = Box.around(np.array([1e18]), np.array([1e22]), np.array([3e20]))  # a density, in its own units
    assert wide.closed.all() and np.allclose(wide.inward(wide.upper), REACH)


TURN = Box.around(np.array([0.0, -3.0]), np.array([360.0, 1.0])).turned((90.0, None))


def test_a_turned_box_opens_at_the_seam_and_only_in_coordinates_that_are_periodic():
    """Angles of 80 and 100 degrees are next to each other in the plain box, and at the two ends of the turned one."""
    q = np.array([TURN.inward(np.array([angle, 0.5])) for angle in (100.0, 80.0)])
    np.testing.assert_allclose(q[:, 0], [-5.0 + 10.0 / 36.0, 5.0 - 10.0 / 36.0])
    np.testing.assert_allclose(q[:, 1], Box.around(np.array([-3.0]), np.array([1.0])).inward(np.array([0.5]))[0])
    np.testing.assert_array_equal([TURN.q_lower, TURN.q_upper], [[-5.0, -5.0], [5.0, 5.0]])


def test_a_turned_box_comes_back_within_the_bounds():
    q = np.random.default_rng(0).uniform(-5.0, 5.0, (200, 2))
    x = np.array([TURN.outward(one) for one in q])
    assert (x >= TURN.lower).all() and (x <= TURN.upper).all() and (x[:, 0] < 90.0).any() and (x[:, 0] > 90.0).any()
    np.testing.assert_allclose([TURN.inward(one) for one in x], q, atol=1e-9)
    np.testing.assert_allclose(TURN.outward(jnp.asarray(q[0])), x[0], rtol=1e-5)


def orders(lower, upper, x0):
    return Box.around(lower, upper, np.array(x0)).by_orders(np.array(x0))


WIDE_LOWER, WIDE_UPPER = np.array([1e-6, -1.0, 1e-3]), np.array([1e-2, 1.0, 1e15])


def test_positive_bounds_that_are_decades_apart_are_searched_by_the_logarithm():
    box = orders(WIDE_LOWER, WIDE_UPPER, [1e-4, 0.0, 1e6])
    np.testing.assert_array_equal(box.logs, [True, False, True])
    np.testing.assert_allclose(box.outward(np.zeros(3)), [1e-4, 0.0, 1e6])
    np.testing.assert_allclose(box.q_lower, -REACH)
    np.testing.assert_allclose(box.q_upper, REACH)
    x = np.array([3e-6, 0.25, 1e12])
    np.testing.assert_allclose(box.outward(box.inward(x)), x, rtol=1e-12)


def test_bounds_that_are_near_touch_zero_or_only_guard_against_it_are_searched_as_they_are():
    near = orders(np.array([1.0, 0.0, -2.0]), np.array([100.0, 1e6, -1e-9]), [3.0, 1.0, -1.0])
    guard = orders(np.array([1e-300]), np.array([10.0]), [0.0125])
    assert near.logs is None and guard.logs is None
    assert orders(np.array([1e-300]), np.array([10.0]), [1e-8]).logs is not None


def test_a_start_that_is_likelier_between_the_bounds_than_between_their_logarithms_says_that_numbers_are_sought():
    lower, upper = np.full(1, 1e-6), np.full(1, 1.0)
    limit = 1.0 / np.log(1e6)  # where a uniform and a log-uniform law have the same density
    assert orders(lower, upper, [0.99 * limit]).logs is not None
    assert orders(lower, upper, [1.01 * limit]).logs is None


@pytest.mark.parametrize(
    "lower, upper, logs",
    [
        (1e-16, 1e3, {None: False, 1e-16: False, 1e-9: True, 1.0: True, 500.0: False}),  # below may only be a guard
        (1e-8, 1e8, {None: True, 1.0: True, 1e-8: True, 9e7: False}),
        (1e-300, 1e300, {None: True, 1.0: True, 1e200: True, 1e300: False}),
    ],
)
def test_a_lower_bound_only_guards_where_the_upper_one_or_the_start_says_so(lower, upper, logs):
    sides = np.array([lower]), np.array([upper])
    assert {x0: bool(by_logarithm(*sides, None if x0 is None else np.array([x0]))[0]) for x0 in logs} == logs


def test_no_bound_is_far_from_the_start_by_logarithms():
    for lower, upper, x0 in ((1e-3, 1e25, 1e6), (1e-300, 1e300, 1e200), (1e-20, 1e20, 1.0)):
        box = orders(np.array([lower]), np.array([upper]), [x0])
        np.testing.assert_allclose([box.q_lower, box.q_upper], [[-REACH], [REACH]])


def test_numbers_near_the_largest_one_are_places():
    top = np.finfo(float).max
    box = orders(np.array([1e-3]), np.array([top]), [1.0])
    with warnings.catch_warnings(action="error"):
        assert box.outward(box.q_upper)[0] <= top and box.rate(np.array([top]))[0] > 0
        assert unit_at(np, np.array([top]), np.array([1e300]), np.array([top]))[0] > 0


def test_a_periodic_coordinate_keeps_its_numbers():
    x0 = np.full(2, 1e-3)
    box = Box.around(np.full(2, 1e-4), np.full(2, 360.0), x0).turned((90.0, None)).by_orders(x0)
    np.testing.assert_array_equal(box.logs, [False, True])


def test_the_rate_of_a_coordinate_is_its_derivative_by_the_internal_one():
    box = orders(WIDE_LOWER, WIDE_UPPER, [1e-4, 0.0, 1e6])
    q, step = np.array([-3.0, 1.0, 2.0]), 1e-6
    slope = (box.outward(q + step) - box.outward(q - step)) / (2 * step)
    np.testing.assert_allclose(box.rate(box.outward(q)), slope, rtol=1e-8)


@given(
    decades=st.floats(3.01, 30.0),
    lowest=st.floats(-20.0, 2.0),
    share=st.floats(0.0, 1.0),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_no_internal_point_maps_outside_positive_bounds(decades, lowest, share, dtype):
    lower, upper = np.array([10.0**lowest], dtype), np.array([10.0 ** (lowest + decades)], dtype)
    box = orders(lower, upper, np.sqrt(lower) * np.sqrt(upper))
    assert box.logs is not None
    x = box.outward((box.q_lower + dtype(share) * (box.q_upper - box.q_lower)).astype(dtype))
    assert x.dtype == dtype and lower[0] <= x[0] <= upper[0]
