"""Axes in which an objective is a sum are found, and swept; others are left alone."""

from functools import cache
from typing import NamedTuple
from unittest.mock import patch

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.core import Box
from shapeopt.oracles import ExactOracle
from shapeopt.policy import UniversalPolicy, route
from shapeopt.policy.axes import PRELUDE, eigenvectors, survey_length
from shapeopt.rollout import rollout
from shapeopt.shape import ShapeOptimizer

D, BUDGET = 12, 400
TURN = np.linalg.qr(np.random.default_rng(5).normal(size=(D, D)))[0]
SHIFT = np.random.default_rng(3).uniform(-4.0, 4.0, D)
STARTS = np.random.default_rng(4).uniform(-5.0, 5.0, (6, D))


def turned_ripples(x: jax.Array) -> jax.Array:
    z = TURN @ (x - SHIFT)
    return jnp.sum(z**2 + 10.0 * (1.0 - jnp.cos(2.0 * jnp.pi * z)))


def entangled(x: jax.Array) -> jax.Array:
    """A sum in no frame."""
    return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def with_a_hole(x: jax.Array) -> jax.Array:
    return jnp.where(jnp.abs(x[3]) < 2.5, jnp.nan, turned_ripples(x))


def saddle(x: jax.Array) -> jax.Array:
    """A quadratic, lowest at a corner of the box."""
    z = TURN @ x
    return jnp.sum(jnp.linspace(-1.0, 1.0, D) * z**2) + 0.3 * z[0]


OBJECTIVES = (turned_ripples, entangled, with_a_hole, saddle)


class Runs(NamedTuple):
    """One row a start."""

    best: np.ndarray
    places: np.ndarray
    turned: np.ndarray
    surveyed: np.ndarray
    matrix: np.ndarray


@cache
def runs(share: float) -> list[Runs]:
    """Of each objective, with this share of the readings for a survey."""

    def run(index: jax.Array, x0: jax.Array) -> Runs:
        oracle = ExactOracle(lambda x: jax.lax.switch(index, OBJECTIVES, x))
        box = Box.around(np.full(D, -5.0), np.full(D, 5.0))
        optimizer = ShapeOptimizer(UniversalPolicy(), record_energy=False)
        trace = rollout(optimizer, oracle, x0, box, BUDGET, jax.random.key(0), record_points=True)
        axes = trace.end.state.policy.axes
        return Runs(trace.best.value, trace.steps.x, axes.turned, axes.read, axes.matrix)

    with patch.object(route, "TURN_SHARE", share):
        index, starts = np.repeat(np.arange(len(OBJECTIVES)), len(STARTS)), np.tile(STARTS, (len(OBJECTIVES), 1))
        found = jax.jit(jax.vmap(run))(index, starts)
    rows = lambda i: slice(i * len(STARTS), (i + 1) * len(STARTS))  # noqa: E731
    return [Runs(*(np.asarray(leaf)[rows(i)] for leaf in found)) for i in range(len(OBJECTIVES))]


@pytest.mark.parametrize("d", [1, 2, 3, 8, 21, 64])
def test_rotations_lead_to_the_eigenvectors(d):
    matrix = np.random.default_rng(d).normal(size=(d, d))
    symmetric = 0.5 * (matrix + matrix.T)
    rows = np.asarray(eigenvectors(jnp.asarray(matrix)))
    np.testing.assert_allclose(rows @ rows.T, np.eye(d), atol=1e-13)
    there = rows @ symmetric @ rows.T
    np.testing.assert_allclose(there, np.diag(np.diag(there)), atol=1e-12)
    np.testing.assert_allclose(np.sort(np.diag(there)), np.linalg.eigvalsh(symmetric), atol=1e-12)


def test_a_rippled_sum_in_turned_axes_is_solved_and_the_axes_are_its_own():
    found = runs(route.TURN_SHARE)[0]
    assert (found.best < 1e-8).all() and found.turned.all()
    alike = np.abs(found.matrix @ TURN.T)
    np.testing.assert_allclose(np.sort(alike, axis=-1)[:, :, -1], 1.0, atol=1e-4)


def test_without_a_survey_it_is_not():
    assert np.median(runs(0.0)[0].best) > 1.0


def test_a_sum_in_no_frame_goes_on_in_its_own_after_one_survey_that_is_given_up():
    found = runs(route.TURN_SHARE)[1]
    assert not found.turned.any() and set(found.surveyed) == {0, PRELUDE}  # 0: taken for a sum as it is


def test_a_survey_of_a_quadratic_is_given_up_since_no_sweep_would_find_a_second_basin():
    found = runs(route.TURN_SHARE)[3]
    assert not found.turned.any() and set(found.surveyed) == {PRELUDE}


def test_a_survey_that_is_not_given_up_has_its_length():
    found = runs(route.TURN_SHARE)[0]
    assert set(found.surveyed) == {survey_length(D)}


def test_a_survey_that_meets_what_is_not_finite_changes_no_axes():
    found = runs(route.TURN_SHARE)[2]
    assert not found.turned[found.surveyed > 0].any() and np.isfinite(found.places).all()


def test_no_reading_of_a_survey_or_of_a_turned_sweep_is_outside():
    for found in runs(route.TURN_SHARE):
        assert np.abs(found.places).max() <= 5.0
