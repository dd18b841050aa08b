"""Noise of forces averages out in a fitted field, and steps are judged by values as far as these can be trusted."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from optimizer_runs import Noisy, bowl, rastrigin, run_on_host

import shapeopt
from shapeopt.core.board import Plant, Spec
from shapeopt.ops import HOST
from shapeopt.ops.device import DEVICE
from shapeopt.optimizer import TACTICS, Policy
from shapeopt.tactics import FitForces, Settle

FIT = FitForces()
SETTLING = Policy(tuple(replace(t, least=0) if isinstance(t, Settle) else t for t in TACTICS)).without("fit forces")


def read_around(centre, H, std, count, seed=0):
    """A memory with readings of a quadratic around a place, and the place as its incumbent."""
    rng, d = np.random.default_rng(seed), centre.size
    memory = FIT.blank(HOST, Spec(d))
    for _ in range(count):
        x = centre + rng.normal(size=d)
        g = H @ x + std * rng.normal(size=d)
        memory, _ = FIT.watch(HOST, memory, None, Plant(x, 0.0 * x, 0.5 * x @ H @ x, g, True))
    return memory._replace(q=centre, f=0.5 * centre @ H @ centre, g=H @ centre, radius=0.5, noise=std**2)


def test_the_fit_has_less_noise_than_a_reading():
    d, std = 5, 2.0
    H = np.diag(np.linspace(1.0, 5.0, d))
    errors = []
    for seed in range(10):
        centre = np.full(d, 0.7)
        a, _, _ = FIT._fit(HOST, read_around(centre, H, std, 40, seed), 0.0)
        errors.append(np.linalg.norm(a - H @ centre) / d**0.5)
    assert np.mean(errors) < 0.5 * std


def test_the_fit_knows_a_quadratic_s_force_and_curvature_where_there_is_no_noise():
    H = np.diag([1.0, 2.0, 3.0, 10.0])
    centre = np.array([1.0, -1.0, 0.5, 0.2])
    a, curvature, h = FIT._fit(HOST, read_around(centre, H, 1e-7, 30), 0.0)
    np.testing.assert_allclose(a, H @ centre, atol=1e-5)
    np.testing.assert_allclose(curvature / h, H, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_readings_on_a_line_that_are_far_from_a_flat_incumbent_give_a_finite_fit(dtype):
    """As a sweep leaves them. A factorisation that fails says so by NaN on the device engine."""
    line = np.linspace(-4.5, -0.15, 30)[:, None] * np.ones(3)
    forces = np.random.default_rng(0).normal(scale=60, size=line.shape)
    rest = {"values": 50 + np.sin(line[:, 0]), "g": np.array([2e-4, 1e-4, -9e-4]), "noise": 38.0**2, "radius": 0.17}
    memory = FIT.blank(HOST, Spec(3, dtype))._replace(points=line, forces=forces, f=1e-9, read=30, **rest)
    memory = jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype if np.asarray(leaf).dtype.kind == "f" else None), memory)
    a, H, h = FIT._fit(DEVICE, memory, dtype(0.0))
    assert np.isfinite(a).all() and np.isfinite(H).all() and np.isfinite(h)


def test_fitting_forces_gets_lower_than_settling():
    for fun, std in ((bowl, 2.0), (bowl, 10.0)):
        gains = []
        for seed in range(6):
            x0 = np.random.default_rng(seed).uniform(-5.0, 5.0, 6)
            fitted, settled = (
                run_on_host(Noisy(fun, std, seed), x0, 200, policy=policy, seed=seed) for policy in (Policy(), SETTLING)
            )
            assert "settle" not in fitted.tactics and "settle" in settled.tactics
            gains.append(np.log(settled.best / fitted.best))
        assert np.median(gains) > 0.0, fun


@pytest.mark.parametrize(("value_noise", "taken"), [(0.0, False), (0.02, False), (0.03, True)])
def test_a_rise_within_the_noise_of_values_is_no_reason_to_refuse_a_trial(value_noise, taken):
    made = run_on_host(Noisy(rastrigin, 20.0), np.full(4, 2.2), 60, keep=True)
    board = made.states[-1].board._replace(value_noise=value_noise)
    memory = FIT.blank(HOST, Spec(4))._replace(f=1.0, radius=0.5, length=0.5, predicted=0.1, gained=0.0)
    x = np.ones(4)
    memory, cause = FIT.observe(HOST, memory, board, Plant(x, 0.0 * x, 1.2, x, True))
    assert (memory.f == 1.2) == taken and cause == 0
    assert (memory.radius < 0.5) == (not taken)


@pytest.mark.parametrize(("value_noise", "gained"), [(0.0, 0.2), (0.5, 0.0)])
def test_a_fall_within_the_noise_of_values_is_no_gain(value_noise, gained):
    """Else luck would keep a stage going in a basin that is done."""
    made = run_on_host(Noisy(rastrigin, 20.0), np.full(4, 2.2), 60, keep=True)
    board = made.states[-1].board._replace(value_noise=value_noise)
    memory = FIT.blank(HOST, Spec(4))._replace(f=1.0, radius=0.5, length=0.5, predicted=0.1)
    x = np.ones(4)
    memory, _ = FIT.observe(HOST, memory, board, Plant(x, 0.0 * x, 0.8, x, True))
    assert memory.gained == pytest.approx(gained)


def test_the_noise_of_values_is_measured_with_that_of_forces():
    rng = np.random.default_rng(0)

    def read(x):
        f, g = bowl(x)
        return f + 3.0 * rng.normal(), g + 20.0 * rng.normal(size=x.size)

    x0 = np.random.default_rng(1).uniform(-5.0, 5.0, 6)
    noisy = run_on_host(read, x0, 100, keep=True).states[-1].board
    exact = run_on_host(Noisy(bowl, 20.0), x0, 100, keep=True).states[-1].board
    assert 0.03 < noisy.value_noise < 12.0 and exact.value_noise == 0.0
    assert noisy.noise_std > 0 and exact.noise_std > 0


@pytest.mark.parametrize("d", [1, 3])
def test_a_corner_of_the_bounds_where_trials_can_no_longer_move_ends_in_no_error(d):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        slope = rng.normal(size=d)
        noisy = lambda x, a=slope, rng=rng: (float(a @ x), a + rng.normal(size=d))  # noqa: E731
        result = shapeopt.minimize(noisy, np.zeros(d), bounds=(-1, 1), budget=60, jac=True, seed=seed)
        assert result.nfev == 60 and result.fun < 0


def test_the_base_is_resumed_once_as_the_run_ends_and_hopeless_basins_are_left():
    made = run_on_host(Noisy(rastrigin, 20.0), np.full(3, 3.3), 300, keep=True)
    place = [tactic.name for tactic in TACTICS].index("fit forces") + 1
    resumed = [state.memories[place].resumed for state in made.states]
    assert not resumed[150] and resumed[-1], "only in the last part of a run"
    ends = {cause for tactic, _, cause in made.decisions if tactic == "fit forces"}
    assert ends <= {"none", "hopeless", "converged"} and "hopeless" in ends


@pytest.mark.parametrize("spec", [Spec(65), Spec(5, values_only=True), Spec(5, residuals=True)])
def test_it_has_no_part_beyond_64_dimensions_by_values_and_in_fits(spec):
    assert FIT.blank(HOST, spec) is None
    assert spec.values_only or Settle().blank(HOST, spec) is not None
