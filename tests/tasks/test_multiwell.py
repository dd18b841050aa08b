"""The shape of multi-well potentials."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.tasks import AbstractFamily, Multiwell

KEYS = jax.random.split(jax.random.key(5), 64)


def draw(family: AbstractFamily) -> Any:
    """The family's task of one key, compiled: quicker than drawing it operation by operation."""
    return jax.jit(family.sample)(KEYS[0])


@pytest.mark.grid(3)
@pytest.mark.parametrize("wells", [2, 4, 7])
def test_potential_has_exactly_the_stated_wells_and_its_deepest_is_the_minimiser(wells: int) -> None:
    tasks = jax.jit(jax.vmap(Multiwell(wells=wells).sample))(KEYS[:8])
    grid = np.linspace(-5, 5, 4001)
    values = np.asarray(jax.jit(jax.vmap(lambda t: jax.vmap(lambda x: t(x[None]))(grid)))(tasks))
    inner = values[:, 1:-1]
    minima = (inner < values[:, :-2]) & (inner < values[:, 2:])
    assert np.all(minima.sum(axis=1) == wells)
    np.testing.assert_allclose(grid[values.argmin(axis=1)], tasks.minimiser[:, 0], atol=0.003)
    assert np.all(values.min(axis=1) >= tasks.minimum)


@pytest.mark.parametrize("separation", [None, 0.9])
def test_knots_keep_their_separation_and_heights_their_order(separation: float | None) -> None:
    family = Multiwell(wells=4, separation=separation, margin=0.7)
    tasks = jax.jit(jax.vmap(family.sample))(KEYS)
    knots, values = np.asarray(tasks.knots), np.asarray(tasks.values)
    assert np.diff(knots, axis=1).min() >= (0.5 if separation is None else separation) - 1e-12
    assert np.all(knots[:, 0] == -5) and np.all(knots[:, -1] == 5)
    valleys, barriers, walls = np.sort(values[:, 1::2], axis=1), values[:, 2:-1:2], values[:, [0, -1]]
    assert np.all(valleys[:, 1] - valleys[:, 0] >= 0.7)
    assert np.all(barriers.min(axis=1) > valleys[:, -1]) and np.all(walls.min(axis=1) > barriers.max(axis=1))


def test_gradient_equals_the_closed_form_of_the_paper() -> None:
    task = draw(Multiwell(wells=3))
    knots, values = np.asarray(task.knots), np.asarray(task.values)
    for x in np.random.default_rng(0).uniform(-5, 5, 20):
        i = np.flatnonzero(knots <= x)[-1]
        h = knots[i + 1] - knots[i]
        t = (x - knots[i]) / h
        slope = (values[i] * (6 * t**2 - 6 * t) + values[i + 1] * (6 * t - 6 * t**2)) / h
        np.testing.assert_allclose(jax.grad(task)(jnp.array([x]))[0], slope, rtol=1e-9, atol=1e-12)


def test_walls_rise_outside_the_domain() -> None:
    task = draw(Multiwell())
    outside = [float(task(jnp.array([x]))) for x in (5.0, 5.5, 6.0)]
    assert outside[0] < outside[1] < outside[2]
    assert jax.grad(task)(jnp.array([-5.5]))[0] < 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dimension": 2}, "`dimension` must be 1 .*; got 2"),
        ({"wells": 1}, "`wells` must be at least 2; got 1"),
        ({"wells": 5, "separation": 1.0}, r"`separation` must lie in \(0, 1.0\) .*; got 1.0"),
        ({"margin": 0.0}, "`margin` must be positive; got 0.0"),
        ({"half_width": -1.0}, "`half_width` must be positive; got -1.0"),
    ],
)
def test_wrong_settings_are_refused_by_name_and_value(settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Multiwell(**settings)
