"""Where values are noisy, fitted quadratics are descended, and the point given back is the best by estimated mean."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import shapeopt
from shapeopt.core import Box, Reading
from shapeopt.core.board import Spec
from shapeopt.engines.device import DeviceShape
from shapeopt.engines.host import seed_words
from shapeopt.ops import HOST
from shapeopt.optimizer import TACTICS, Optimizer, Policy
from shapeopt.tactics import Regress
from shapeopt.tactics.local_fit import LocalFit

BOUNDS = (-5, 5)
PLACE = np.array([1.3, -0.7, 0.4, 2.1])


def bowl(x):
    return float(np.sum((x - PLACE[: x.size]) ** 2))


def runs(std, policy="universal", seeds=12, d=4, budget=200):
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        fun = lambda x, rng=rng: bowl(x) + std * rng.normal()  # noqa: E731
        yield shapeopt.minimize(fun, np.full(d, -3.0), bounds=BOUNDS, budget=budget, seed=seed, policy=policy)


def test_noisy_values_end_nearer_to_the_minimum_than_without_it():
    ours = [bowl(result.x) for result in runs(1.0)]
    without = [bowl(result.x) for result in runs(1.0, Policy().without("regress"))]
    assert np.median(ours) < 0.6 * np.median(without)


def test_the_estimated_mean_is_within_its_standard_error():
    """Two standard errors hold the true value in most runs; the lowest reading would be too low by far more."""
    made = list(runs(1.0))
    away = np.array([(result.mean - bowl(result.x)) / result.standard_error for result in made])
    assert np.mean(np.abs(away) < 2.0) >= 0.75
    assert np.mean([result.standard_error for result in made]) < 0.6  # less than one reading's 1.0


def test_the_point_given_back_was_read_and_has_its_value():
    rng, seen = np.random.default_rng(3), {}

    def fun(x):
        value = bowl(x) + rng.normal()
        seen.setdefault(tuple(x), []).append(value)
        return value

    result = shapeopt.minimize(fun, np.full(3, -3.0), bounds=BOUNDS, budget=150)
    assert result.mean is not None
    close = [value for x, values in seen.items() if np.allclose(x, result.x, rtol=0, atol=1e-12) for value in values]
    assert result.fun in close


def two_wells(x):
    """The deeper well is around (3, 3)."""
    near, far = np.sum((x + 2.5) ** 2), np.sum((x - 3.0) ** 2)
    return float(2.0 - np.exp(-near / 4.0) - 1.3 * np.exp(-far / 4.0) + 0.002 * np.sum(x**2))


def ends_in_the_deeper_well(policy, budget=200):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        fun = lambda x, rng=rng: two_wells(x) + 0.1 * rng.normal()  # noqa: E731
        x0 = np.array([-2.0, -3.0])
        made = shapeopt.minimize(fun, x0, bounds=BOUNDS, budget=budget, seed=seed, policy=policy, noise=0.1)
        yield bool(np.linalg.norm(made.x - 3.0) < 1.0)


def with_regress(**settings):
    return Policy(tuple(replace(one, **settings) if isinstance(one, Regress) else one for one in TACTICS))


def test_a_deeper_well_far_from_x0_is_found_in_noise():
    assert sum(ends_in_the_deeper_well("universal")) >= 9
    assert sum(ends_in_the_deeper_well(with_regress(looks=0.0))) <= 5  # one candidate


def test_a_share_of_the_calls_is_spread_and_the_last_ones_are_for_the_best_well():
    rng, points = np.random.default_rng(5), []

    def fun(x):
        points.append(x)
        return two_wells(x) + 0.1 * rng.normal()

    made = shapeopt.minimize(fun, [-2.0, -3.0], bounds=BOUNDS, budget=300, noise=0.1)
    first = int(np.argmax(np.array(made.trace.tactic) == "regress"))
    spread = np.array(points[first : first + int(0.15 * (300 - first))])
    quadrants = (spread > 0) @ [1, 2]
    assert np.bincount(quadrants, minlength=4).min() >= 0.15 * len(spread)
    assert np.mean(np.linalg.norm(np.array(points[-60:]) - 3.0, axis=1) < 2.0) > 0.8


def test_a_short_run_has_one_candidate_and_no_spread_places():
    def points(policy):
        rng, seen = np.random.default_rng(6), []

        def fun(x):
            seen.append(x)
            return bowl(x) + rng.normal()

        made = shapeopt.minimize(fun, np.full(4, -3.0), bounds=BOUNDS, budget=60, noise=1.0, policy=policy)
        assert made.mean is not None
        return np.array(seen)

    np.testing.assert_array_equal(points("universal"), points(with_regress(share=0.5, most_candidates=1)))


@pytest.mark.parametrize(("left", "uses"), [(100.0, 0.0), (2.0, 256.0)])
def test_a_candidate_s_fits_use_its_own_readings_and_those_of_the_only_one_all(left, uses):
    asked, side = [], np.full(2, 5.0)

    @dataclass(frozen=True)
    class Asked(LocalFit):
        def __call__(self, ops, points, values, centre, most):
            asked.append(most)
            return super().__call__(ops, points, values, centre, most)

    tactic, key = Regress(fit=Asked()), np.zeros(2, np.uint32)
    board = Optimizer(Policy(), Spec(2, values_only=True)).init(HOST, 0 * side, -side, side, 400, key).board
    board = board._replace(left=left, value_noise=0.1)
    memory = tactic.blank(HOST, Spec(2, values_only=True))
    memory.points[:60] = np.random.default_rng(0).uniform(-5.0, 5.0, (60, 2))
    memory.values[:60] = (memory.points[:60] ** 2).sum(axis=1)
    memory = tactic._chosen(HOST, memory, board)
    for _ in range(3):
        memory, _ = tactic._fitted(HOST, memory, board)
    steps = memory.candidates.steps
    assert asked[0] == uses
    assert max(asked) < steps.max() <= uses + 3.0


@pytest.mark.parametrize("d", [1, 2, 12])
def test_readings_stay_in_the_box_and_in_the_budget(d):
    rng, points = np.random.default_rng(d), []

    def fun(x):
        points.append(x)
        return float(np.sum(x)) + 0.5 * rng.normal()  # the minimum is a corner

    result = shapeopt.minimize(fun, np.full(d, 0.5), bounds=(0, 1), budget=30 * d + 30, noise=0.5)
    assert len(points) == result.nfev == 30 * d + 30
    assert np.min(points) >= 0 and np.max(points) <= 1
    assert "regress" in set(result.trace.tactic) and np.mean(result.x) < 0.5


def test_values_that_repeat_are_not_fitted():
    result = shapeopt.minimize(lambda x: float(np.abs(x - 0.7).sum()), np.full(3, -3.0), bounds=BOUNDS, budget=150)
    assert "regress" not in set(result.trace.tactic)
    assert result.mean is None and result.standard_error is None


@pytest.mark.full
def test_the_device_asks_at_the_same_points():
    """The noise is a fixed sequence, and the same for both engines."""
    jax = pytest.importorskip("jax")
    jnp, d, calls = jax.numpy, 2, 70
    noise = np.random.default_rng(0).normal(size=calls)
    lower, upper, x0 = np.full(d, -5.0), np.full(d, 5.0), np.full(d, -3.0)
    seen = []

    def fun(x):
        seen.append(x)
        return bowl(x) + noise[len(seen) - 1]

    result = shapeopt.minimize(fun, x0, bounds=(lower, upper), budget=calls, seed=3)
    box = Box.around(lower, upper, x0)
    optimizer = DeviceShape(values_only=True)
    key = jax.random.wrap_key_data(jnp.asarray(seed_words(3, 0)))
    state, tell, ask = optimizer.init(x0, box, calls, key), jax.jit(optimizer.tell), jax.jit(optimizer.ask)
    points = []
    for k in range(calls):
        points.append(np.asarray(ask(state)))
        value = jnp.asarray(bowl(points[-1]) + noise[k])
        state = tell(state, Reading(value, jnp.zeros(d), jnp.asarray(1, jnp.int32)))
    first = int(np.argmax(result.trace.tactic == "regress"))
    assert 0 < first < calls - 10
    np.testing.assert_allclose(points[: first + 5], seen[: first + 5], rtol=1e-5, atol=1e-5)
