"""Where values are noisy and come with gradients, the point given back is the best by estimated mean, and says so."""

import numpy as np

import shapeopt
from shapeopt.engines.noisy_mean import best_by_mean

STD = 0.5


def noisy_bowl(rng, std=STD):
    """(true function, function as it is read): values and gradients are noisy."""
    w, place = np.array([1.0, 3.0, 10.0, 30.0]), np.array([1.3, -0.7, 0.4, 2.1])

    def true(x):
        return float(np.sum(w * (x - place) ** 2))

    def read(x):
        return true(x) + std * rng.normal(), 2.0 * w * (x - place) + 5.0 * rng.normal(size=4)

    return true, read


def runs(count=12):
    for seed in range(count):
        true, read = noisy_bowl(np.random.default_rng(seed))
        yield true, shapeopt.minimize(read, np.full(4, -3.0), bounds=(-5, 5), budget=200, jac=True, seed=seed)


def test_the_mean_is_within_its_standard_error_where_the_lowest_reading_is_far_too_low():
    made = [(true(r.x), r) for true, r in runs()]
    assert all(r.mean is not None for _, r in made)
    away = np.array([(r.mean - value) / r.standard_error for value, r in made])
    assert np.mean(np.abs(away) < 2.0) >= 0.75
    errors = [np.median([abs(mean - value) for value, mean in pairs]) for pairs in _means(made)]
    assert errors[0] < 0.6 * errors[1]


def _means(made):
    return [(value, r.mean) for value, r in made], [(value, r.trace.best[-1]) for value, r in made]


def test_the_point_given_back_was_read_and_has_its_value():
    for _, result in runs(3):
        row = int(np.abs(result.trace.x - result.x).sum(axis=1).argmin())
        np.testing.assert_allclose(result.trace.x[row], result.x, atol=1e-12)
        assert result.trace.value[row] == result.fun


def test_a_basin_that_looks_lowest_by_one_reading_is_not_the_best_by_mean():
    rng, d = np.random.default_rng(0), 2
    places = np.array([[-3.0, 0.0], [3.0, 0.0]])
    points = np.concatenate([place + 0.1 * rng.normal(size=(20, d)) for place in places])
    centres = np.repeat(places, 20, axis=0)
    values = np.sum((points - centres) ** 2, axis=1) + np.repeat([1.0, 0.0], 20) + 0.3 * rng.normal(size=40)
    values[0] = -2.0
    forces = 2.0 * (points - centres) + 0.1 * rng.normal(size=(40, d))
    made = best_by_mean(points, values, forces, [points[0], points[20]], 0.3, 0.1)
    assert made.q[0] > 0 and made.f == values[np.abs(points - made.q).sum(axis=1).argmin()]
    assert abs(made.mean) < 3.0 * made.error < 1.0


def test_exact_values_have_no_estimated_mean():
    true, read = noisy_bowl(np.random.default_rng(0), std=0.0)
    result = shapeopt.minimize(read, np.full(4, -3.0), bounds=(-5, 5), budget=200, jac=True)
    assert result.noise > 0 and result.mean is None and result.standard_error is None
    assert result.fun == np.min(result.trace.value) and result.fun == true(result.x)
