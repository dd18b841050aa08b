"""Noise is found where there is some and nowhere else, and then forces are fitted, or basins settled in."""

from dataclasses import replace

import numpy as np
import pytest
from optimizer_runs import (
    Noisy,
    bowl,
    kinked,
    rastrigin,
    rosenbrock,
    run_on_host,
    turned_ackley,
    turned_rastrigin,
    wells,
)

from shapeopt.optimizer import TACTICS, Policy
from shapeopt.tactics import Settle

SETTLING = Policy(tuple(replace(t, least=0) if isinstance(t, Settle) else t for t in TACTICS)).without("fit forces")
EXACT = {
    "bowl": bowl,
    "rastrigin": rastrigin,
    "turned rastrigin": turned_rastrigin,
    "rosenbrock": rosenbrock,
    "ackley": turned_ackley,
    "wells": wells,
    "kinks in turned axes": kinked,
    "kinks along coordinates": lambda x: (float(np.abs(x - 0.3).sum()), np.sign(x - 0.3)),
    "one kink": lambda x: (float(np.abs(x).max()), np.sign(x) * (np.abs(x) == np.abs(x).max())),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", EXACT)
def test_exact_forces_are_never_taken_for_noisy(name, dtype):
    for seed in range(3):
        x0 = np.random.default_rng(seed).uniform(-5.0, 5.0, 6).astype(dtype)
        made = run_on_host(EXACT[name], x0, 200, seed=seed, keep=True)
        assert made.states[-1].board.noise_std <= 0.0 and not {"fit forces", "settle"} & set(made.tactics)


@pytest.mark.parametrize(("fun", "std"), [(rastrigin, 5.0), (bowl, 5.0), (bowl, 0.5)])
def test_noise_is_found_and_measured(fun, std):
    for seed in range(3):
        x0 = np.random.default_rng(seed).uniform(-5.0, 5.0, 8)
        made = run_on_host(Noisy(fun, std, seed), x0, 300, seed=seed, keep=True)
        assert made.tactics.count("noise check") == 1 and "fit forces" in made.tactics
        np.testing.assert_allclose(made.states[-1].board.noise_std, std, rtol=0.7)


@pytest.mark.parametrize("policy", [Policy(), SETTLING])
def test_fitting_forces_and_settling_get_lower_than_refining_under_strong_noise(policy):
    gains = []
    for seed in range(6):
        x0 = np.random.default_rng(seed).uniform(-5.0, 5.0, 8)
        lower, refined = (
            run_on_host(Noisy(bowl, 20.0, seed), x0, 200, policy=one, seed=seed).best
            for one in (policy, Policy().without("fit forces", "settle", "noise check", "sample"))
        )
        gains.append(np.log(refined / lower))
    assert np.median(gains) > 0.0


def test_noise_that_is_given_is_measured_at_the_start_and_none_is_believed():
    x0 = np.array([3.3, -2.1, 4.0, 1.2])
    told = run_on_host(rastrigin, x0, 100, noise=1.0, keep=True)
    assert told.tactics[1] == "noise check"
    np.testing.assert_allclose(told.x[1], x0, rtol=1e-14)
    assert told.states[-1].board.noise_std == 0.0, "the forces are exact after all"
    trusting = run_on_host(Noisy(rastrigin, 5.0), x0, 300, noise=0.0)
    assert not {"fit forces", "settle", "noise check"} & set(trusting.tactics)


def test_a_stage_of_settling_returns_to_the_base_and_ends_by_its_clock():
    x0 = np.random.default_rng(0).uniform(-5.0, 5.0, 8)
    made = run_on_host(Noisy(bowl, 20.0), x0, 300, policy=SETTLING)
    ends = [(phase, cause) for tactic, phase, cause in made.decisions if tactic == "settle" and cause != "none"]
    assert ends and set(ends) == {("settle", "clock")}
    assert ("settle", "return", "none") in made.decisions
