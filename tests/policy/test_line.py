"""Refining where forces jump or stay the same: kinks teach curvature, flat faces teach none."""

import jax.numpy as jnp
import numpy as np

import shapeopt
from shapeopt.policy.base import Plant
from shapeopt.policy.line import STRETCH, Line

YES = jnp.ones((), bool)


def reading(q: np.ndarray, f: float, g: np.ndarray) -> Plant:
    reach, zero = jnp.full(q.size, 5.0), jnp.zeros(())
    return Plant(jnp.asarray(q), jnp.zeros(q.size), jnp.asarray(f), jnp.asarray(g), YES, -reach, reach, zero)


def opened(q: np.ndarray, f: float, g: np.ndarray) -> Line:
    first = reading(q, f, g)
    return Line.blank(first.q, 8).opened(first, YES)


def test_forces_that_differ_by_round_off_teach_no_curvature():
    g = np.array([0.3, -0.7, 1.1])
    line = opened(np.zeros(3), 5.0, g)
    after = line.observed(reading(-0.5 * g, 4.1, g * (1.0 - 3e-16)), YES)
    assert after.accepted and not np.asarray(after.pairs.R_inverse).any()
    np.testing.assert_allclose(after.gamma, STRETCH * line.gamma)


def test_a_trial_before_a_kink_learns_the_curvature_across_it():
    slope, back = np.array([2.0, 1.0]), np.array([-3.0, 1.0])
    line = opened(np.zeros(2), 5.0, slope)
    line = line.followed(jnp.asarray([-2.0, 0.0]), YES)
    line = line.observed(reading(np.array([-2.0, 0.0]), 7.0, back), YES)
    assert not line.accepted and line.bracketed
    line = line.observed(reading(np.array([-0.5, 0.0]), 4.0, slope), YES)
    assert line.accepted and not line.bracketed
    s, y = np.array([-1.5, 0.0]), back - slope
    np.testing.assert_allclose(line.pairs.solve(jnp.asarray(y), line.gamma), s, atol=1e-12)


def test_a_trial_whose_slope_has_changed_keeps_its_own_pair():
    line = opened(np.zeros(2), 5.0, np.array([2.0, 1.0])).followed(jnp.asarray([-2.0, 0.0]), YES)
    line = line.observed(reading(np.array([-2.0, 0.0]), 7.0, np.array([-3.0, 1.0])), YES)
    line = line.observed(reading(np.array([-0.5, 0.0]), 4.0, np.array([1.0, 1.0])), YES)
    own = np.asarray(line.pairs.solve(jnp.asarray([-1.0, 0.0]), line.gamma))
    np.testing.assert_allclose(own, [-0.5, 0.0], atol=1e-12)


def test_a_short_run_in_more_dimensions_than_it_has_readings_descends_before_it_sweeps():
    ripples = lambda x: jnp.sum(x**2 + 10.0 * (1.0 - jnp.cos(2.0 * jnp.pi * x)))  # noqa: E731
    start = np.random.default_rng(3).normal(size=200) * 0.15
    result = shapeopt.minimize(ripples, start, bounds=(-5.0, 5.0), budget=64)
    first = result.events[1]  # after the first reading
    assert first.mode == "refine" and first.call > 10 and result.fun < 1e-8
