"""A quadratic fitted to noisy readings: exact where they are, and with an error that is its scatter."""

import numpy as np
import pytest

from shapeopt.ops import HOST
from shapeopt.tactics.local_fit import LocalFit

FIT = LocalFit(ridge=1e-9)


def test_a_quadratic_without_noise_is_found():
    rng, d = np.random.default_rng(0), 3
    B = rng.normal(size=(d, d))
    H, g, centre = B @ B.T, rng.normal(size=d), rng.normal(size=d)
    points = rng.uniform(-2.0, 2.0, (80, d))
    values = 7.0 + (points - centre) @ g + 0.5 * np.einsum("ij,jk,ik->i", points - centre, H, points - centre)
    fit = FIT(HOST, points, values, centre, np.inf)
    slope, bend = FIT.derivatives(HOST, fit.b, d)
    np.testing.assert_allclose(fit.lowest + fit.b[0], 7.0, atol=1e-5)
    np.testing.assert_allclose(slope / fit.h, g, atol=1e-5)
    np.testing.assert_allclose(bend / fit.h**2, H, atol=1e-4)


@pytest.mark.parametrize("most", [12, np.inf])
def test_the_nearest_readings_take_part_and_no_more_than_asked(most):
    points = np.random.default_rng(1).uniform(-2.0, 2.0, (80, 2))
    fit = FIT(HOST, points, (points**2).sum(axis=1), np.zeros(2), most)
    used = fit.rows[fit.weights > 0]
    wanted = min(most, FIT.readings(2))
    away = np.linalg.norm(points, axis=1)
    assert len(used) == wanted and away[used].max() == np.sort(away)[int(wanted) - 1] == fit.h


def test_the_standard_error_is_the_scatter_of_the_fitted_value():
    rng, d, made, errors = np.random.default_rng(2), 2, [], []
    at_centre = np.eye(FIT.coefficients(d))[0]
    for _ in range(300):
        points = rng.uniform(-1.0, 1.0, (40, d))
        fit = FIT(HOST, points, (points**2).sum(axis=1) + 0.3 * rng.normal(size=40), np.zeros(d), np.inf)
        made.append(fit.lowest + fit.b[0])
        errors.append(FIT.error(HOST, fit, at_centre, 0.0, 0.0))
    assert 0.75 < np.std(made) / np.mean(errors) < 1.2


def test_noise_that_is_known_counts_where_residuals_tell_nothing():
    points = np.random.default_rng(3).uniform(-1.0, 1.0, (6, 2))
    fit = FIT(HOST, points, points[:, 0], np.zeros(2), np.inf)
    at_centre = np.eye(FIT.coefficients(2))[0]
    assert FIT.error(HOST, fit, at_centre, 4.0, 2.0) > 0.5 > FIT.error(HOST, fit, at_centre, 0.0, 2.0)
