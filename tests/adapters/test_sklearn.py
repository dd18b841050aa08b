"""`shapeopt.sklearn.gp_optimizer`: a kernel's parameters within a budget of likelihoods."""

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ExpSineSquared, WhiteKernel

import shapeopt


def data(n=40):
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 10, n))
    return x[:, None], np.sin(2 * np.pi * x / 1.7) + 0.3 * x + rng.normal(0, 0.1, n)


def kernel():
    return 1.0 * ExpSineSquared(1.0, 4.0, periodicity_bounds=(0.3, 8)) + 1.0 * RBF(3.0) + WhiteKernel(0.1)


def test_it_finds_the_period_that_the_default_misses_and_keeps_to_its_budget():
    x, y = data()
    counts = []

    class Counted(GaussianProcessRegressor):
        def log_marginal_likelihood(self, theta=None, *args, **kwargs):
            counts.append(1)
            return super().log_marginal_likelihood(theta, *args, **kwargs)

    model = Counted(kernel(), optimizer=shapeopt.sklearn.gp_optimizer(budget=120, seed=1)).fit(x, y)
    assert 120 <= len(counts) <= 122  # scikit-learn asks once more for the value of the best
    period = model.kernel_.k1.k1.k2.periodicity / 1.7
    assert abs(period - round(period)) < 0.02  # the period or a multiple of it
    plain = GaussianProcessRegressor(kernel()).fit(x, y)
    assert model.log_marginal_likelihood_value_ > plain.log_marginal_likelihood_value_ + 10


def test_it_serves_a_classifier_and_repeats_with_its_seed():
    x, y = data(30)
    label = (y > 1.5).astype(int)
    fits = [
        GaussianProcessClassifier(1.0 * RBF(1.0), optimizer=shapeopt.sklearn.gp_optimizer(30, seed=2)).fit(x, label)
        for _ in range(2)
    ]
    plain = GaussianProcessClassifier(1.0 * RBF(1.0)).fit(x, label)
    assert fits[0].kernel_.theta.tobytes() == fits[1].kernel_.theta.tobytes()
    assert fits[0].log_marginal_likelihood_value_ >= plain.log_marginal_likelihood_value_ - 1e-6


def test_a_fitted_model_can_be_kept_in_a_file_and_repeats_its_search_when_it_is_fitted_again():
    x, y = data(12)
    model = GaussianProcessRegressor(1.0 * RBF(1.0), optimizer=shapeopt.sklearn.gp_optimizer(20)).fit(x, y)
    assert "<locals>" not in type(model.optimizer).__qualname__ != "function"  # which pickle would refuse
    assert clone(model).fit(x, y).kernel_.theta.tobytes() == model.kernel_.theta.tobytes()


def test_a_wrong_budget_is_refused():
    with pytest.raises(ValueError, match="budget"):
        shapeopt.sklearn.gp_optimizer(budget=0)
