"""Sampling: where basins are small for the box, and where values are all there is."""

import numpy as np
from optimizer_runs import rosenbrock, run_on_host, turned_ackley

import shapeopt
from shapeopt.optimizer import Policy
from shapeopt.tactics import Sample

D = 10


def starts(count):
    return np.random.default_rng(0).uniform(-5.0, 5.0, (count, D))


def sampled():
    """A run that samples."""
    runs = (run_on_host(turned_ackley, x0, 300, seed=seed) for seed, x0 in enumerate(starts(8)))
    return next(run for run in runs if "sample" in run.tactics)


def test_small_basins_are_sampled_around_and_the_funnel_is_found():
    runs = [run_on_host(turned_ackley, x0, 300, seed=seed) for seed, x0 in enumerate(starts(8))]
    assert sum("sample" in run.tactics for run in runs) >= 3
    assert np.median([run.best for run in runs]) < 1e-3
    phases = [phase for run in runs for tactic, phase, _ in run.decisions if tactic == "sample"]
    assert phases.count("mean") == sum("sample" in run.tactics for run in runs), "once a run"


def test_wide_basins_are_not_sampled_around():
    assert not any("sample" in run_on_host(rosenbrock, x0, 150).tactics for x0 in starts(3))


def test_sampling_takes_its_share_of_a_run_and_no_more():
    made = sampled()
    assert 0 < made.tactics.count("sample") <= Sample().share * 300 + 1


def test_samples_spread_around_a_mean_that_comes_closer():
    made = sampled()
    points = np.array([x for x, (_, phase, _) in zip(made.x, made.decisions, strict=True) if phase == "sample"])
    away = np.linalg.norm(points - 1.0, axis=1)
    assert np.median(away[-15:]) < 0.6 * np.median(away[:15])


def test_values_alone_sample_after_small_basins_and_not_before():
    value = lambda x: turned_ackley(np.asarray(x))[0]  # noqa: E731
    policy = Policy().without("scout")
    result = shapeopt.minimize(value, starts(1)[0], bounds=(-5, 5), budget=1000, policy=policy)
    tactics = [event.tactic for event in result.events]
    assert "sample" in tactics and tactics[:3] == ["start", "explore", "interpolate"]
    policy = policy.without("sample")
    plain = shapeopt.minimize(value, starts(1)[0], bounds=(-5, 5), budget=1000, policy=policy)
    assert "sample" not in plain.trace.tactic and result.fun < 1e-3
