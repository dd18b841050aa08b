"""Ackley, Lévy, Rastrigin and the classics against slow versions written straight from their formulas."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.tasks import (
    AbstractFamily,
    Ackley,
    DixonPrice,
    Levy,
    Quadratic,
    Rastrigin,
    Rosenbrock,
    StartLaw,
    make_family,
)

pytestmark = pytest.mark.grid(4)

KEY = jax.random.key(11)


def draw(family: AbstractFamily) -> Any:
    """The family's task of one key, compiled: quicker than drawing it operation by operation."""
    return jax.jit(family.sample)(KEY)


def ackley(x, a=20.0, ripple=1.0, c=2 * np.pi, eps=0.0):
    value = -a * np.exp(-0.2 * np.sqrt(np.mean(x**2) + eps)) - ripple * np.exp(np.mean(np.cos(c * x)))
    return value + a * np.exp(-0.2 * np.sqrt(eps)) + ripple * np.e


def rastrigin(x, bowl=1.0, A=10.0, omega=2 * np.pi):
    return A * len(x) + sum(bowl * xi**2 - A * np.cos(omega * xi) for xi in x)


def levy(x):
    w = 1 + x / 4
    middle = sum((wi - 1) ** 2 * (1 + 10 * np.sin(np.pi * wi + 1) ** 2) for wi in w[:-1])
    return np.sin(np.pi * w[0]) ** 2 + middle + (w[-1] - 1) ** 2 * (1 + np.sin(2 * np.pi * w[-1]) ** 2)


def rosenbrock(x):
    y = 1 + x
    return sum(100 * (y[i + 1] - y[i] ** 2) ** 2 + (1 - y[i]) ** 2 for i in range(len(y) - 1))


def dixon_price(x):
    y = x + np.array([2 ** -((2**i - 2) / 2**i) for i in range(1, len(x) + 1)])
    return (y[0] - 1) ** 2 + sum((i + 1) * (2 * y[i] ** 2 - y[i - 1]) ** 2 for i in range(1, len(y)))


def quadratic(x):
    return 0.5 * sum(100 ** (i / (len(x) - 1)) * xi**2 for i, xi in enumerate(x))


SLOW = {
    "ackley": ackley,
    "levy": levy,
    "rastrigin": rastrigin,
    "rosenbrock": rosenbrock,
    "dixon_price": dixon_price,
    "quadratic": quadratic,
}


@pytest.mark.parametrize("rotated", [False, True])
@pytest.mark.parametrize("name", list(SLOW))
def test_landscape_equals_its_formula_at_the_shifted_and_turned_point(name: str, rotated: bool) -> None:
    task = draw(make_family(name, 5, rotated=rotated))
    assert (task.R is not None) == rotated
    R = np.eye(5) if task.R is None else np.asarray(task.R)
    np.testing.assert_allclose(R @ R.T, np.eye(5), atol=1e-12)
    for q in np.random.default_rng(0).uniform(-5, 5, (5, 5)):
        np.testing.assert_allclose(task(jnp.asarray(q)), SLOW[name](R @ (q - np.asarray(task.s))), rtol=1e-10)


@pytest.mark.full
def test_varied_ackley_and_rastrigin_equal_their_formulas_with_the_drawn_multipliers() -> None:
    q = jnp.linspace(-4.0, 3.0, 4)
    for family, slow, names in (
        (Ackley(4, varied=True), ackley, ("a", "ripple", "c")),
        (Rastrigin(4, varied=True), rastrigin, ("bowl", "A", "omega")),
    ):
        task = draw(family)
        drawn = {name: float(getattr(task.landscape, name)) for name in names}
        extra = {"eps": 1e-6} if slow is ackley else {}
        np.testing.assert_allclose(task(q), slow(np.asarray(q - task.s), **drawn, **extra), rtol=1e-10)


@pytest.mark.parametrize(
    ("family", "field", "unit", "low", "high"),
    [
        (Rastrigin(3, varied=True), "bowl", 1.0, 0.85, 1.2),
        (Rastrigin(3, varied=True), "A", 10.0, 1.05, 1.45),
        (Rastrigin(3, varied=True), "omega", 2 * np.pi, 0.92, 1.2),
        (Ackley(3, varied=True), "a", 20.0, 0.82, 1.25),
        (Ackley(3, varied=True), "ripple", 1.0, 0.9, 1.3),
        (Ackley(3, varied=True), "c", 2 * np.pi, 0.84, 1.16),
        (Ackley(2, varied=True), "c", 2 * np.pi, 1.05, 1.6),
        (Levy(3, varied=True), "scale", 1.0, 0.6, 1.5),
        (Levy(3, varied=True), "ridge", 10.0, 0.6, 1.2),
        (Levy(3, varied=True), "frequency", 1.0, 0.75, 1.35),
    ],
)
def test_multipliers_fill_the_measured_ranges(family, field: str, unit: float, low: float, high: float) -> None:
    tasks = jax.jit(jax.vmap(family.sample))(jax.random.split(KEY, 400))
    factors = np.asarray(getattr(tasks.landscape, field)) / unit
    width = high - low
    assert low <= factors.min() < low + 0.05 * width and high - 0.05 * width < factors.max() <= high


@pytest.mark.parametrize("family", [Ackley(3, varied=True), Levy(3, varied=True), Rastrigin(3, varied=True)])
def test_varied_tasks_keep_zero_as_the_value_at_the_shift_and_never_go_below(family) -> None:
    def lowest(key):
        task = family.sample(key)
        q = jax.random.uniform(key, (200, 3), minval=-5.0, maxval=5.0)
        return task(task.s), jnp.min(jax.vmap(task)(q))

    at_shift, elsewhere = jax.jit(jax.vmap(lowest))(jax.random.split(KEY, 20))
    assert np.all(at_shift == 0.0) and np.all(elsewhere > 0)


def test_ackley_has_a_zero_gradient_at_its_kink_and_unit_scale_slope_beside_it() -> None:
    task = draw(Ackley(4))
    np.testing.assert_array_equal(jax.grad(task)(task.s), np.zeros(4))
    beside = task.s.at[0].add(1e-9)
    np.testing.assert_allclose(jnp.linalg.norm(jax.grad(task)(beside)), 20 * 0.2 / 4**0.5, rtol=1e-5)


def test_dixon_price_knows_its_second_minimiser() -> None:
    for rotated in (False, True):
        task = draw(DixonPrice(5, rotated=rotated))
        twin = task.minimisers[1]
        assert jnp.linalg.norm(twin - task.s) > 1
        np.testing.assert_allclose(task(twin), 0.0, atol=1e-24)
        np.testing.assert_allclose(task.distance(twin + 0.25 * jnp.eye(5)[0]), 0.25, rtol=1e-9)


@pytest.mark.parametrize(
    ("law", "dimension", "shift", "radii"),
    [
        (StartLaw.PAPER, 20, 1.0, (1.9, 3.3)),
        (StartLaw.PAPER, 100, 1.0, (2.5, 3.7)),
        (StartLaw.NEAR, 20, 1.0, (2.0, 3.2)),
        (StartLaw.NEAR, 100, 1.0, (2.0, 3.2)),
        (StartLaw.BOX, 20, 4.0, None),
    ],
)
def test_shifts_and_radii_fill_the_ranges_of_the_law(law: StartLaw, dimension: int, shift: float, radii) -> None:
    def shift_and_start(key):
        task = Levy(dimension, law=law).sample(key)
        return task.s, task.start(jax.random.fold_in(key, 1))

    s, q0 = map(np.asarray, jax.jit(jax.vmap(shift_and_start))(jax.random.split(KEY, 200)))
    assert 0.95 * shift < np.abs(s).max() <= shift
    if radii is None:
        assert 4.9 < np.abs(q0).max() <= 5
    else:
        distance = np.linalg.norm(q0 - s, axis=1)
        low, high = radii
        assert low - 1e-9 <= distance.min() < low + 0.1 and high - 0.1 < distance.max() <= high + 1e-9


def test_quadratic_hessian_has_the_stated_condition_number() -> None:
    task = draw(Quadratic(6, condition=1e4))
    eigenvalues = np.linalg.eigvalsh(jax.hessian(task)(task.s))
    np.testing.assert_allclose(eigenvalues[[0, -1]], [1.0, 1e4], rtol=1e-8)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Ackley(0), "`dimension` must be an integer of at least 1; got 0"),
        (lambda: Levy(2.0), "`dimension` must be an integer of at least 1; got 2.0"),
        (lambda: Rosenbrock(1), "`dimension` must be an integer of at least 2; got 1"),
        (lambda: Rastrigin(2, law="box"), "`law` must be one of .*; got 'box'"),
        (lambda: Quadratic(2, condition=0.5), "`condition` must be at least 1; got 0.5"),
    ],
)
def test_wrong_settings_are_refused_by_name_and_value(build, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build()
