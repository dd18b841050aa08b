"""Trajectory optimisation: rollouts and optima."""

import functools
import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.tasks import AbstractFamily, Control, DoubleIntegrator, Navigation, Pendulum
from shapeopt.tasks.control import trajectory_cost
from shapeopt.tasks.reference import newton_descent

PLANTS = [DoubleIntegrator, Pendulum, Navigation]
KEY = jax.random.key(4)


def draw(family: AbstractFamily) -> Any:
    """The family's task of one key, compiled: quicker than drawing it operation by operation."""
    return jax.jit(family.sample)(KEY)


@pytest.mark.parametrize("plant", PLANTS)
def test_objective_equals_a_plain_loop(plant) -> None:
    system = plant.sample(KEY, 8 // plant.control_size)
    q = np.random.default_rng(0).uniform(-5, 5, 8)
    x, total = system.x0, 0.0
    for u in q.reshape(-1, plant.control_size):
        total += system.stage(x) + system.lambda_u * np.sum(u**2)
        x = system.step(x, jnp.asarray(u))
    np.testing.assert_allclose(trajectory_cost(system, jnp.asarray(q)), total + system.terminal(x), rtol=1e-12)


@pytest.mark.parametrize("dimension", [8, 32])
def test_double_integrator_optimum_equals_the_stacked_least_squares_solution(dimension: int) -> None:
    task = draw(Control(dimension))
    plant, dt = task.plant, task.plant.dt
    A, B = np.array([[1, dt], [0, 1]]), np.array([0.5 * dt**2, dt])
    error = np.asarray(plant.x0 - plant.target)  # the target is an equilibrium, so errors follow the same dynamics
    rows, right, power, gain = [], [], np.eye(2), np.zeros((2, dimension))
    for t in range(dimension + 1):
        weight = float(plant.weight_terminal if t == dimension else plant.weight_stage) ** 0.5
        rows.append(weight * gain)
        right.append(-weight * power @ error)
        if t < dimension:
            power, gain = A @ power, A @ gain
            gain[:, t] += B
    rows.append(float(plant.lambda_u) ** 0.5 * np.eye(dimension))
    right.append(np.zeros(dimension))
    q, residual, *_ = np.linalg.lstsq(np.concatenate(rows), np.concatenate(right))
    np.testing.assert_allclose(task.minimiser, q, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(task.minimum, residual[0], rtol=1e-10)


@pytest.mark.parametrize("dimension", [8, 16, 32])
def test_double_integrator_optimum_lies_inside_the_box_at_every_corner_of_the_law(dimension: int) -> None:
    dt = 4.0 / dimension
    corners = itertools.product((-1.5, 1.5), (-0.7, 0.7), (-0.5, 0.5), (0.2, 1.0), (5.0, 15.0), (0.05, 0.2))

    @jax.jit
    @jax.vmap
    def largest_control(corner):
        position, velocity, goal, stage, terminal, lambda_u = corner
        x0, target = jnp.stack([position, velocity]), jnp.stack([goal, 0.0 * goal])
        fun = functools.partial(trajectory_cost, DoubleIntegrator(x0, lambda_u, target, stage * dt, terminal, dt))
        origin = jnp.zeros(dimension)
        return jnp.max(jnp.abs(jnp.linalg.solve(jax.hessian(fun)(origin), jax.grad(fun)(origin))))

    assert np.max(largest_control(jnp.array(list(corners)))) < 5


def test_pendulum_reference_swings_up_and_satisfies_the_bounded_optimality_conditions() -> None:
    task = draw(Control(8, plant=Pendulum))
    g, q = jax.grad(task)(task.minimiser), task.minimiser
    np.testing.assert_allclose(jnp.clip(q - g, -5, 5), q, atol=1e-5)
    last, _ = jax.lax.scan(lambda x, u: (task.plant.step(x, u), None), task.plant.x0, q.reshape(-1, 1))
    assert 1 + jnp.cos(last[0]) < 0.1
    assert task.minimum < 0.5 * task(jnp.zeros(8))


def test_newton_descent_finds_the_corner_of_a_bounded_quadratic_and_leaves_a_saddle() -> None:
    target = jnp.array([9.0, 1.0, -7.0])
    H = jnp.array([[2.0, 0.3, 0.0], [0.3, 1.0, 0.2], [0.0, 0.2, 3.0]])
    q, _ = newton_descent(lambda q: 0.5 * (q - target) @ H @ (q - target), jnp.zeros(3), 5.0, 60)
    inner = 1.0 - (0.3 * (5 - 9) + 0.2 * (-5 + 7)) / 1.0  # the middle coordinate, the others held at their bounds
    np.testing.assert_allclose(q, [5.0, inner, -5.0], atol=1e-6)
    _, value = newton_descent(lambda q: (q[0] ** 2 - 1) ** 2 + q[1] ** 2, jnp.array([1e-3, 1.0]), 5.0, 60)
    np.testing.assert_allclose(value, 0.0, atol=1e-12)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dimension": 9, "plant": Navigation}, "`dimension` must be a multiple of 2 .*; got 9"),
        ({"dimension": 8, "plant": int}, "`plant` must be one of .*; got <class 'int'>"),
        ({"dimension": 8, "reference_starts": 0}, "`reference_starts` must be at least 1; got 0"),
    ],
)
def test_wrong_settings_are_refused_by_name_and_value(settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Control(**settings)
