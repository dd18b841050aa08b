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

from shapeopt import minimize
from shapeopt.adapters.stepped import SteppedRun
from shapeopt.core.problem import read_problem
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


def minibatches(d=80, rows=400, seed=0):
    """A linear regression read by sixteen rows at a time, and its loss over all rows."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(rows, d)) * np.geomspace(1.0, 0.1, d)
    b = A @ (3.0 * rng.normal(size=d)) + 0.3 * rng.normal(size=rows)
    of = lambda x, i: (float(np.mean((A[i] @ x - b[i]) ** 2)), 2.0 * A[i].T @ (A[i] @ x - b[i]) / len(i))  # noqa: E731
    return lambda x: of(x, rng.integers(rows, size=16)), lambda x: of(x, np.arange(rows))[0]


def adam_with_cosine(fun, x, calls, rate):
    m, v = 0.0, 0.0
    for t in range(1, calls + 1):
        g = fun(x)[1]
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        length = 0.5 * rate * (1.0 + np.cos(np.pi * t / calls))
        x = x - length * (m / (1.0 - 0.9**t)) / (np.sqrt(v / (1.0 - 0.999**t)) + 1e-12)
    return x


def test_on_minibatches_settling_ends_as_low_as_adam_with_its_best_rate():
    reached = []
    for seed in range(3):
        fun, loss = minibatches(seed=seed)
        ends = [loss(adam_with_cosine(fun, np.zeros(80), 600, rate)) for rate in (0.01, 0.03, 0.1, 0.3, 1.0)]
        result = minimize(fun, np.zeros(80), jac=True, budget=600, seed=seed)
        assert [event.tactic for event in result.events].count("settle") == 1, (
            "one stage, which has the rest of the run"
        )
        assert result.events[-1].tactic == "settle" and result.trace.calls[-1] == 600
        reached.append(np.log(loss(result.x) / min(ends)))
        assert abs(result.mean - loss(result.x)) < 4.0 * result.standard_error + 0.5 * loss(result.x)
    assert np.mean(reached) < np.log(1.5)


def test_adapters_keep_the_last_place_of_a_stream_and_the_lowest_of_a_function():
    stream, loss = minibatches()
    for fun, settles in ((stream, True), (lambda x: (loss(x), fit_gradient(loss, x)), False)):
        run = SteppedRun(Policy(), read_problem(np.zeros(80), None, np.random.default_rng(0)), 60)
        for _ in range(40):
            run.tell(*fun(run.x))
        assert run.settles == settles


def fit_gradient(loss, x):
    """Exact for a quadratic, but for round-off."""
    steps = 1e-3 * np.eye(x.size)
    return np.array([(loss(x + one) - loss(x - one)) / 2e-3 for one in steps])


@pytest.mark.parametrize("far", [3.0, 300.0])
def test_the_step_of_settling_grows_to_the_distance_of_the_bottom(far):
    at = far * np.random.default_rng(1).choice([-1.0, 1.0], 80)
    fun = lambda x: (0.5 * float((x - at) @ (x - at)), x - at)  # noqa: E731
    free = {"lower": -np.inf, "upper": np.inf}
    made = run_on_host(Noisy(fun, far), np.zeros(80), 400, policy=SETTLING, noise=1.0, keep=True, **free)
    place = 1 + [tactic.name for tactic in SETTLING.tactics].index("settle")
    steps = [state.memories[place].step for state in made.states if state.active == place]
    assert min(steps) == Settle().first_step
    assert 0.1 * far < max(steps) < 3.0 * far


def test_units_of_f_change_nothing_where_it_settles():
    x0 = np.random.default_rng(0).uniform(-5.0, 5.0, 8)
    runs = [
        run_on_host(lambda x, a=a: tuple(a * part for part in Noisy(bowl, 20.0)(x)), x0, 150, policy=SETTLING)
        for a in (1.0, 1024.0)
    ]
    np.testing.assert_array_equal(runs[0].x, runs[1].x)


def test_a_stage_of_settling_returns_to_the_base_and_ends_by_its_clock():
    x0 = np.random.default_rng(0).uniform(-5.0, 5.0, 8)
    made = run_on_host(Noisy(bowl, 20.0), x0, 300, policy=SETTLING)
    ends = [(phase, cause) for tactic, phase, cause in made.decisions if tactic == "settle" and cause != "none"]
    assert ends and set(ends) == {("settle", "clock")}
    assert ("settle", "return", "none") in made.decisions
