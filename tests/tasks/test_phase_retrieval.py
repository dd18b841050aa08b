"""Phase retrieval: the objective, its sign symmetry, its batches and its best-known minima."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.tasks import AbstractFamily, PhaseRetrieval, Sensing, StartLaw

KEY = jax.random.key(8)


def draw(family: AbstractFamily) -> Any:
    """The family's task of one key, compiled: quicker than drawing it operation by operation."""
    return jax.jit(family.sample)(KEY)


@pytest.mark.parametrize("sensing", list(Sensing))
@pytest.mark.parametrize("n", [8, 32])
def test_signal_is_an_exact_zero_up_to_its_sign(n: int, sensing: Sensing) -> None:
    task = draw(PhaseRetrieval(n, sensing=sensing))
    assert task.b.size == 2 * n
    np.testing.assert_allclose(jnp.linalg.norm(task.minimiser), 1.2, rtol=1e-12)
    for image in (task.minimiser, -task.minimiser):
        np.testing.assert_allclose([task(image), task.distance(image)], 0.0, atol=1e-24)


def test_objective_equals_the_sum_over_measurements() -> None:
    task = draw(PhaseRetrieval(6, noise=0.1, lambda_x=0.3))
    x = np.random.default_rng(0).normal(size=6)
    terms = [(np.dot(a, x) ** 2 - b) ** 2 for a, b in zip(np.asarray(task.A), np.asarray(task.b), strict=True)]
    np.testing.assert_allclose(task(jnp.asarray(x)), np.mean(terms) + 0.15 * np.sum(x**2), rtol=1e-12)


def test_minibatches_over_a_partition_average_to_the_full_objective_and_gradient() -> None:
    task = draw(PhaseRetrieval(8, lambda_x=0.1))
    q = task.start(KEY)
    batches = jax.random.permutation(KEY, task.b.size).reshape(4, 4)
    values, gradients = jax.vmap(lambda i: jax.value_and_grad(task.minibatch)(q, i))(batches)
    value, gradient = jax.value_and_grad(task)(q)
    assert np.std(values) > 1e-3
    np.testing.assert_allclose(jnp.mean(values), value, rtol=1e-12)
    np.testing.assert_allclose(jnp.mean(gradients, axis=0), gradient, rtol=1e-10, atol=1e-12)


@pytest.mark.grid(3)
@pytest.mark.parametrize("settings", [{"noise": 0.05}, {"lambda_x": 0.05}, {"noise": 0.02, "lambda_x": 0.01}])
def test_best_known_minimum_is_stationary_and_below_the_signal(settings: dict) -> None:
    family = PhaseRetrieval(8, **settings)
    task = draw(family)
    signal = draw(PhaseRetrieval(8)).minimiser
    assert family.minimum_source.startswith("best known")
    assert task.minimum < task(signal)
    np.testing.assert_allclose(jax.grad(task)(task.minimiser), 0.0, atol=1e-7)
    assert np.linalg.eigvalsh(jax.hessian(task)(task.minimiser))[0] > 0


def test_sensing_matrices_have_their_stated_statistics() -> None:
    gaussian = draw(PhaseRetrieval(32, oversampling=8)).A
    np.testing.assert_allclose(jnp.var(gaussian), 1 / 32, rtol=0.06)  # std error of the variance: 1.6 %
    coded = draw(PhaseRetrieval(9, sensing=Sensing.CODED, oversampling=3)).A
    assert coded.shape == (27, 9)
    for block in coded.reshape(3, 9, 9):
        np.testing.assert_allclose(block @ block.T, np.eye(9), atol=1e-12)
    assert not np.allclose(coded[:9], coded[9:18])


@pytest.mark.parametrize(("law", "low", "high"), [(StartLaw.PAPER, 2.57, 3.17), (StartLaw.NEAR, 2.0, 3.2)])
def test_starts_lie_at_the_stated_radius(law: StartLaw, low: float, high: float) -> None:
    task = draw(PhaseRetrieval(8, law=law))
    centre = jnp.zeros(8) if law is StartLaw.PAPER else task.minimiser
    starts = jax.vmap(task.start)(jax.random.split(KEY, 200))
    radius = np.linalg.norm(starts - centre, axis=1)
    assert low <= radius.min() < low + 0.1 and high - 0.1 < radius.max() <= high


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"noise": -1.0}, "`noise` must not be negative; got -1.0"),
        ({"lambda_x": -1.0}, "`lambda_x` must not be negative; got -1.0"),
        ({"oversampling": 0}, "`oversampling` must be at least 1; got 0"),
        ({"sensing": "coded"}, "`sensing` must be one of .*; got 'coded'"),
    ],
)
def test_wrong_settings_are_refused_by_name_and_value(settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PhaseRetrieval(8, **settings)
