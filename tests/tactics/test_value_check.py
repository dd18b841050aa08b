"""Noise of values is found where there is some and nowhere else, and measured; what repeats exactly is no noise."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import shapeopt

BOUNDS = (-5, 5)
SCRIPT = Path(__file__).parents[2] / "benchmarks" / "noise_verdicts.py"


@pytest.fixture(scope="module")
def verdicts():
    spec = importlib.util.spec_from_file_location("noise_verdicts", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def bowl(x):
    return float(np.sum((x - 0.7) ** 2))


def test_noiseless_runs_have_no_verdict(verdicts):
    """Smooth, rippled, kinked and rounded ones, with gradients and by values."""
    runs, found = verdicts.count(verdicts.noiseless(1), 60)
    assert runs.total() == 84 and found.total() == 0


def test_noise_of_values_is_found(verdicts):
    cases = [case for case in verdicts.noisy(1) if not case.gradients]
    runs, found = verdicts.count(iter(cases), 100)
    assert runs.total() == 63 and found.total() >= 0.95 * runs.total()


@pytest.mark.parametrize("std", [0.01, 1.0])
def test_the_noise_of_values_is_measured(std):
    measured = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        fun = lambda x, rng=rng: bowl(x) + std * rng.normal()  # noqa: E731
        measured.append(shapeopt.minimize(fun, np.full(4, -3.0), bounds=BOUNDS, budget=150, seed=seed).noise)
    assert 0.5 * std < np.median(measured) < 1.5 * std


def test_a_check_of_an_exact_value_costs_one_call():
    """An absolute value looks like noise to a quadratic model, and repeats exactly."""
    calls = []

    def fun(x):
        calls.append(tuple(x))
        return float(np.abs(x - 0.7).sum())

    result = shapeopt.minimize(fun, np.full(3, -3.0), bounds=BOUNDS, budget=120)
    assert result.noise == 0.0
    assert np.count_nonzero(result.trace.tactic == "value check") == 1
    assert len(calls) == result.nfev == 120


def test_noise_that_the_user_tells_of_is_measured_at_once():
    rng = np.random.default_rng(0)
    fun = lambda x: bowl(x) + 0.1 * rng.normal()  # noqa: E731
    told = shapeopt.minimize(fun, np.full(3, -3.0), bounds=BOUNDS, budget=40, noise=0.1)
    assert "value check" in set(told.trace.tactic[:8]) and 0.02 < told.noise < 0.4


def test_noise_that_the_user_excludes_is_not_looked_for():
    fun = lambda x: float(np.abs(x - 0.7).sum())  # noqa: E731
    result = shapeopt.minimize(fun, np.full(3, -3.0), bounds=BOUNDS, budget=120, noise=0)
    assert result.noise == 0.0 and "value check" not in set(result.trace.tactic)


def test_the_noise_of_a_gradient_is_reported_in_the_users_units():
    """Per coordinate of the gradient, whatever the width of the box."""
    rng = np.random.default_rng(1)

    def fun(x):
        return 1e4 * float(x @ x), 2e4 * x + 30.0 * rng.normal(size=x.size)

    result = shapeopt.minimize(fun, np.full(20, 0.03), bounds=(-0.05, 0.05), jac=True, budget=60, noise=30.0)
    assert 15.0 < result.noise < 45.0
