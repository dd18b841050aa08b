"""Finite differences under SciPy's names: their points stay inside the narrowest bounds."""

import numpy as np
import pytest

from shapeopt.oracles import FiniteDifferences


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("scheme", ["2-point", "3-point"])
def test_no_probe_leaves_bounds_that_are_narrower_than_a_step(scheme, dtype):
    rng = np.random.default_rng(0)
    passed = 0
    for _ in range(2000):
        centre, width = rng.uniform(-1, 1) * 10.0 ** rng.uniform(-12, -8), 10.0 ** rng.uniform(-12, -8)
        lower, upper = np.array([centre - width / 2]).astype(dtype), np.array([centre + width / 2]).astype(dtype)
        x = np.clip((lower + rng.uniform() * (upper - lower)).astype(dtype), lower, upper)
        asked = []
        FiniteDifferences(scheme, lower, upper).estimate(x, lambda point, asked=asked: asked.append(point) or 0.0)
        points = np.array(asked)
        assert points.dtype == dtype and (points >= lower).all() and (points <= upper).all()
        passed += bool(x + (upper - x) > upper)
    assert passed, "round-off would have led outside"


@pytest.mark.parametrize("scheme", ["2-point", "3-point"])
def test_differences_fit_coordinates_whose_bounds_are_near_or_decades_apart(scheme):
    lower, upper = np.array([1e-9, 0.0]), np.array([1e-2, 1e-7])
    x = np.array([3e-8, 4e-8])
    differences = FiniteDifferences(scheme, lower, upper)
    _, gradient = differences.estimate(x, lambda x: float(np.log(x[0]) + np.exp(1e7 * x[1])))
    np.testing.assert_allclose(gradient, [1 / 3e-8, 1e7 * np.exp(0.4)], rtol=1e-6)
