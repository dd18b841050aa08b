"""The regression from descriptors: exact for linear maps, useful for curved ones, honest about what it left out."""

import numpy as np

from shapeopt.family.regression import fit_regression

RNG = np.random.default_rng(0)
INPUTS = RNG.normal(size=(40, 3))
MAP = RNG.normal(size=(3, 2))


def test_a_linear_map_is_found():
    regression, left_out = fit_regression(INPUTS, INPUTS @ MAP + 1.0)
    u = np.array([0.3, -0.2, 0.5])
    np.testing.assert_allclose(regression.predict(u), u @ MAP + 1.0, atol=1e-3)
    np.testing.assert_allclose(left_out, INPUTS @ MAP + 1.0, atol=1e-2)


def test_a_curved_map_is_predicted_far_better_than_by_its_mean():
    targets = np.tanh(INPUTS @ MAP)
    regression, left_out = fit_regression(INPUTS, targets)
    fresh = RNG.normal(size=(50, 3))
    error = np.array([regression.predict(u) for u in fresh]) - np.tanh(fresh @ MAP)
    assert np.mean(error**2) < 0.1 * targets.var()
    assert 0.2 < np.median(np.abs(left_out - targets)) / np.median(np.abs(error)) < 5.0


def test_descriptors_that_say_nothing_lead_to_the_mean():
    targets = RNG.normal(size=(40, 2))
    _, left_out = fit_regression(INPUTS, targets)
    assert np.mean((left_out - targets) ** 2) < 1.4 * targets.var()


def test_a_constant_descriptor_does_no_harm():
    regression, _ = fit_regression(np.ones((10, 1)), np.arange(10.0)[:, None])
    np.testing.assert_allclose(regression.predict([1.0]), [4.5], atol=0.1)


def test_a_sum_over_the_numbers_of_a_descriptor_needs_few_instances():
    rng = np.random.default_rng(1)
    inputs, fresh, mixed = rng.uniform(-1, 1, (30, 5)), rng.uniform(-1, 1, (50, 5)), rng.normal(size=(5, 2))
    regression, _ = fit_regression(inputs, np.arctanh(0.9 * inputs) @ mixed)
    targets = np.arctanh(0.9 * fresh) @ mixed
    error = np.array([regression.predict(u) for u in fresh]) - targets
    assert np.mean(error**2) < 0.01 * targets.var() and regression.kernel[0] > 0


def test_some_instances_with_another_minimum_do_not_spoil_the_others():
    targets = INPUTS @ MAP
    targets[::8] += 7.0
    regression, _ = fit_regression(INPUTS, targets)
    fresh = RNG.normal(size=(50, 3))
    error = np.array([regression.predict(u) for u in fresh]) - fresh @ MAP
    assert np.abs(error).max() < 0.5
