"""The box and its affine map."""

import jax.numpy as jnp
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shapeopt.core import REACH, Box


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
