"""Estimators against finite differences where that is possible, and against each other where it is not."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.paper.training.estimators import (
    AbstractProblem,
    Backpropagation,
    EvolutionStrategy,
    Reuse,
    gradient_spread,
    shortened,
)

pytestmark = pytest.mark.full  # a training run


class Pendulum(AbstractProblem):
    """x' = x + rate (sin(gain x) - pull x) from a random start, loss x^2 + x summed over all steps.

    A small gain gives a smooth problem, a large one a chaotic one.
    """

    gain: float
    windows: int = eqx.field(static=True, default=1)
    steps: int = eqx.field(static=True, default=12)  # of the whole episode

    def start(self, params, key):
        return 1.0 + 0.1 * jax.random.normal(key)

    def advance(self, params, carry):
        def step(x, _):
            x = x + 0.3 * (params["push"] * jnp.sin(self.gain * x) - params["pull"] * x)
            return x, x**2 + x

        end, losses = jax.lax.scan(step, carry, length=self.steps // self.windows)
        return end, jnp.sum(losses), jnp.sum(losses**2)


PARAMS = {"push": 0.4, "pull": 0.7}
KEY = 3


def params():
    return {name: jnp.asarray(value) for name, value in PARAMS.items()}


def whole_loss(theta, key, problem):
    carry, total = problem.start(theta, key), 0.0
    for _ in range(problem.windows):
        carry, loss, _ = problem.advance(theta, carry)
        total = total + loss
    return total


def finite_differences(key, problem, h=1e-6):
    slopes = {}
    for name in PARAMS:
        up, down = params(), params()
        up[name], down[name] = up[name] + h, down[name] - h
        slopes[name] = (whole_loss(up, key, problem) - whole_loss(down, key, problem)) / (2 * h)
    return slopes


def as_vector(gradient):
    return np.array([gradient["pull"], gradient["push"]])


def test_backpropagation_is_the_finite_difference():
    problem, key = Pendulum(1.0), jax.random.key(KEY)
    _, estimate = Backpropagation(clip=1e9).estimate(problem, params(), None, key)
    np.testing.assert_allclose(as_vector(estimate.gradient), as_vector(finite_differences(key, problem)), rtol=1e-6)
    np.testing.assert_allclose(estimate.value, whole_loss(params(), key, problem), rtol=1e-12)


def test_windows_cut_the_derivative_and_not_the_value():
    key, wide = jax.random.key(KEY), Backpropagation(clip=1e9)
    _, whole = wide.estimate(Pendulum(1.0), params(), None, key)
    _, cut = wide.estimate(Pendulum(1.0, windows=4), params(), None, key)
    np.testing.assert_allclose(cut.value, whole.value, rtol=1e-12)
    np.testing.assert_allclose(cut.aux, whole.aux, rtol=1e-12)
    assert np.linalg.norm(as_vector(cut.gradient)) < 0.8 * np.linalg.norm(as_vector(whole.gradient))


def test_a_gradient_is_shortened_and_keeps_its_direction():
    gradient = {"a": jnp.array([3.0]), "b": jnp.array([4.0])}
    short = shortened(gradient, 1.0)
    np.testing.assert_allclose([short["a"][0], short["b"][0]], [0.6, 0.8])
    np.testing.assert_array_equal(shortened(gradient, 10.0)["a"], gradient["a"])
    assert not np.isfinite(shortened({"a": jnp.array([jnp.nan])}, 1.0)["a"][0])


def test_a_long_gradient_is_shortened_where_its_square_overflows():
    short = shortened({"a": jnp.array([3e30, 4e30], jnp.float32)}, 1.0)["a"]
    np.testing.assert_allclose(short, [0.6, 0.8], rtol=1e-6)
    assert not np.all(np.isfinite(shortened({"a": jnp.array([jnp.inf, 1.0])}, 1.0)["a"]))
    np.testing.assert_array_equal(shortened({"a": jnp.array([3e30])}, np.inf)["a"], [3e30])
    np.testing.assert_array_equal(shortened({"a": jnp.zeros(2)}, 1.0)["a"], np.zeros(2))


@pytest.mark.parametrize("estimator", [Backpropagation(clip=0.25), EvolutionStrategy(0.01, 2, clip=0.25)])
def test_every_estimator_clips_and_keeps_the_direction(estimator):
    problem, key = Pendulum(1.0), jax.random.key(KEY)
    whole = eqx.tree_at(lambda e: e.clip, estimator, 1e9)
    _, short = estimator.estimate(problem, params(), None, key)
    _, full = whole.estimate(problem, params(), None, key)
    direction = as_vector(full.gradient) / np.linalg.norm(as_vector(full.gradient))
    assert np.linalg.norm(as_vector(full.gradient)) > 0.5
    np.testing.assert_allclose(as_vector(short.gradient), 0.25 * direction, rtol=1e-9)


def by_window(problem, key, h=1e-5):
    """Slopes of the whole loss along each window's own parameters (windows x 2), by finite differences."""

    def loss(thetas):
        carry, total = problem.start(params(), key), 0.0
        for theta in thetas:
            carry, window, _ = problem.advance({"pull": theta[0], "push": theta[1]}, carry)
            total = total + window
        return total

    base = jnp.tile(jnp.array([PARAMS["pull"], PARAMS["push"]]), (problem.windows, 1))
    steps = h * jnp.eye(base.size).reshape(-1, *base.shape)
    slopes = jax.vmap(lambda step: (loss(base + step) - loss(base - step)) / (2 * h))(steps)
    return np.asarray(slopes).reshape(base.shape)


def one_episode(strategy, problem, keys):
    """Estimates of one episode, and the noise that each of its windows was run with."""
    state = strategy.init(problem, params(), keys[0])
    estimates, noise, credited = [], [], np.zeros(2)
    for key in keys:
        state, estimate = strategy.estimate(problem, params(), state, key)
        held = np.array([state.noise["pull"][0], state.noise["push"][0]])
        fresh = strategy.reuse is Reuse.PERSISTENT
        noise.append(held - credited if fresh else held)
        credited = held
        estimates.append(as_vector(estimate.gradient))
    return np.array(estimates), np.array(noise)


@pytest.mark.parametrize("reuse", list(Reuse))
def test_a_windows_estimate_is_the_slope_along_all_noise_before_it_times_that_noise(reuse):
    """One pair, tiny sigma: every estimate is xi (sum_u slope_tu . eps_u) / sigma^2, exact up to O(sigma^2).

    Its mean over eps is the slope of window t along the parameters of every window u <= t: nothing is lost at a cut.
    """
    sigma, problem = 1e-4, Pendulum(1.0, windows=3)
    strategy, keys = EvolutionStrategy(sigma, 1, reuse), jax.random.split(jax.random.key(8), 3)
    estimates, noise = one_episode(strategy, problem, keys)
    start_key = jax.random.split(jax.random.split(keys[0])[0], 1)[0]  # of the pair's only start
    running = np.zeros((3, 2))
    for t in range(3):
        upto = by_window(Pendulum(1.0, windows=t + 1, steps=4 * (t + 1)), start_key)
        slopes = upto.copy()
        slopes[:t] -= running[:t]  # of window t alone
        running[: t + 1] = upto
        along = np.sum(slopes * noise[: t + 1]) / sigma**2
        xi = noise[: t + 1].sum(0) if reuse is Reuse.PERSISTENT else noise[0]
        np.testing.assert_allclose(estimates[t], along * xi, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("reuse", list(Reuse))
@pytest.mark.parametrize("windows", [1, 3])
def test_evolution_strategies_are_unbiased_on_a_smooth_problem(reuse, windows):
    problem = Pendulum(1.0, windows=windows)
    strategy = EvolutionStrategy(sigma=0.02, pairs=16, reuse=reuse)
    spread = jax.jit(lambda key: gradient_spread(strategy, problem, params(), key, 400))(jax.random.key(0))
    keys = jax.random.split(jax.random.key(1), 2000)
    exact = jax.vmap(lambda key: finite_differences(key, problem))(keys)
    truth = as_vector({name: np.mean(rows) for name, rows in exact.items()})
    error = np.linalg.norm(as_vector(spread.mean) - truth)
    assert error < 4 * float(spread.deviation) / 400**0.5 + 0.02 * np.linalg.norm(truth)
    assert float(spread.deviation) / 400**0.5 < 0.1 * np.linalg.norm(truth)  # so that a wrong sign or factor shows


def test_both_signs_of_a_pair_share_their_randomness():
    class Loud(AbstractProblem):
        windows: int = eqx.field(static=True, default=1)

        def start(self, params, key):
            return 1e6 * jax.random.normal(key)

        def advance(self, params, carry):
            return carry, carry + 2.0 * params, jnp.zeros(())

    _, estimate = EvolutionStrategy(0.1, 64).estimate(Loud(), jnp.asarray(0.0), None, jax.random.key(0))
    assert 1.0 < float(estimate.gradient) < 3.0  # 2 up to the scatter of 64 squared normals; not 1e6 / 0.1


def test_an_evolution_strategy_holds_its_runs_between_windows():
    problem, strategy = Pendulum(1.0, windows=3), EvolutionStrategy(0.01, 2)
    state = strategy.init(problem, params(), jax.random.key(0))
    windows, noise = [], []
    for n in range(4):
        state, _ = strategy.estimate(problem, params(), state, jax.random.key(n))
        windows.append(int(state.window))
        noise.append(np.asarray(state.noise["push"]))
    assert windows == [1, 2, 0, 1]
    np.testing.assert_array_equal(noise[0], noise[2])  # reused within an episode
    assert np.all(noise[3] != noise[2])  # and drawn anew for the next


def deviation(estimator, problem):
    spread = jax.jit(lambda key: gradient_spread(estimator, problem, params(), key, 200).deviation)
    return float(spread(jax.random.key(2)))


def test_backpropagation_scatters_least_where_it_is_smooth_and_most_where_it_is_chaotic():
    wide, strategy = Backpropagation(clip=1e9), EvolutionStrategy(sigma=0.1, pairs=8)
    smooth, chaotic = Pendulum(1.0, steps=24), Pendulum(60.0, steps=24)
    assert deviation(wide, smooth) < 0.5 * deviation(strategy, smooth)
    assert deviation(wide, chaotic) > 1e4 * deviation(strategy, chaotic)


def test_cuts_tame_backpropagation_on_a_chaotic_problem():
    wide = Backpropagation(clip=1e9)
    whole, cut = Pendulum(60.0, steps=24), Pendulum(60.0, windows=4, steps=24)
    assert deviation(wide, cut) < 1e-3 * deviation(wide, whole)


def test_reused_noise_over_windows_is_the_plain_method_and_persistent_noise_is_not():
    def mean(reuse, windows):
        problem, strategy = Pendulum(1.0, windows=windows), EvolutionStrategy(0.1, 4, reuse)
        return as_vector(gradient_spread(strategy, problem, params(), jax.random.key(2), 3).mean)

    plain = mean(Reuse.REUSED, 1)
    np.testing.assert_allclose(mean(Reuse.REUSED, 3), plain, rtol=1e-9)
    assert np.linalg.norm(mean(Reuse.PERSISTENT, 3) - plain) > 0.01 * np.linalg.norm(plain)


def test_wrong_settings_are_refused():
    with pytest.raises(ValueError, match="`sigma` must be positive; got 0"):
        EvolutionStrategy(sigma=0.0)
    with pytest.raises(ValueError, match="`pairs` must be at least 1; got 0"):
        EvolutionStrategy(pairs=0)
    for wrong in (Backpropagation, EvolutionStrategy):
        with pytest.raises(ValueError, match="`clip` must be positive; got -1"):
            wrong(clip=-1.0)
