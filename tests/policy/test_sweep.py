"""The sweep finds the lowest place of every coordinate of a sum, and is only made where f looks like one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shapeopt
from shapeopt.policy import UniversalPolicy
from shapeopt.policy.base import Plant
from shapeopt.policy.draws import draw
from shapeopt.policy.moves import KINDS
from shapeopt.policy.sweep import Course, Sweep, coupling_of, other_place, sweep_length, tentative_place

D = 30
SHIFT = np.random.default_rng(3).uniform(-4.5, 4.5, D)
START = np.random.default_rng(4).uniform(-5.0, 5.0, D)
TURN = np.linalg.qr(np.random.default_rng(5).normal(size=(D, D)))[0]


def ripples(x: jax.Array) -> jax.Array:
    return jnp.sum((x - SHIFT) ** 2 + 10.0 * (1.0 - jnp.cos(2.0 * jnp.pi * (x - SHIFT))))


def reading(fun, q: jax.Array) -> Plant:
    f, g = jax.value_and_grad(fun)(q)
    reach, zero = jnp.full(q.size, 5.0), jnp.zeros(())
    return Plant(q, jnp.zeros_like(q), f, g, jnp.isfinite(f) & jnp.isfinite(g).all(), -reach, reach, zero)


def swept(fun, base: np.ndarray, readings: int, split: bool = False) -> tuple[np.ndarray, float, np.ndarray]:
    """(lowest places, promise, path) of a sweep."""
    first, yes = reading(fun, jnp.asarray(base)), jnp.ones((), bool)

    def go_on(sweep: Sweep, _: None) -> tuple[Sweep, jax.Array]:
        return sweep.observed(reading(fun, sweep.target)), sweep.target

    course = Course(first.q, first.g, first.lower, first.upper, jnp.asarray(split))
    blank = Sweep.blank(first.q).opened(course, jnp.asarray(float(readings)), yes)
    sweep, path = jax.lax.scan(go_on, blank, length=readings)
    lowest, promise = sweep.lowest()
    return np.asarray(lowest), float(promise), np.asarray(path)


def test_noise_that_is_known_is_not_taken_for_coupling():
    base, keys = reading(ripples, jnp.asarray(START)), jax.random.split(jax.random.key(1), 2)
    draws = draw(jax.random.key_data(keys[0]), jnp.asarray(0), D, len(KINDS), jnp.dtype(float))
    first, second, third = 20.0 * jax.random.normal(keys[1], (3, D))
    base_g = base.g + 0.5 * (first + second)
    there = reading(ripples, tentative_place(base.q, base_g, draws, base.lower, base.upper))
    noisy = there._replace(g=there.g + third)
    unaware, aware = (float(coupling_of(base.q, base_g, noisy, jnp.asarray(sigma))) for sigma in (0.0, 20.0))
    assert unaware > 0.2 > 2.0 * aware


def couplings(fun, start: np.ndarray | None = None) -> np.ndarray:
    """What the two tests say, from twenty starts or twenty times from one: a row of first and second ones."""

    def both(key: jax.Array) -> jax.Array:
        start_key, none = jax.random.split(key)[0], jnp.zeros(())
        base = reading(fun, jax.random.uniform(start_key, (D,), minval=-5.0, maxval=5.0) if start is None else start)
        draws = draw(jax.random.key_data(key), jnp.asarray(0), D, len(KINDS), jnp.dtype(float))
        tried = reading(fun, tentative_place(base.q, base.g, draws, base.lower, base.upper))
        other = reading(fun, other_place(base.q, tried.q, base.lower, base.upper))
        return jnp.stack([coupling_of(base.q, base.g, tried, none), coupling_of(tried.q, tried.g, other, none, 1.0)])

    return np.asarray(jax.vmap(both)(jax.random.split(jax.random.key(0), 20))).T


@pytest.mark.parametrize(("readings", "split"), [(40, False), (64, False), (128, False), (128, True), (201, True)])
def test_every_coordinate_of_a_sum_finds_its_lowest_basin(readings, split):
    lowest, _, _ = swept(ripples, START, readings, split)
    assert np.abs(lowest - SHIFT).max() < 0.25


@pytest.mark.parametrize("split", [False, True])
def test_the_promise_is_the_fall_of_a_quadratic_sum_and_its_bottom_is_exact(split):
    stiffness = np.geomspace(1e-3, 1e3, D)
    bowl = lambda x: 0.5 * jnp.sum(stiffness * (x - SHIFT) ** 2)  # noqa: E731
    lowest, promise, _ = swept(bowl, START, 20, split)
    np.testing.assert_allclose(lowest, SHIFT, atol=1e-9)
    np.testing.assert_allclose(promise, float(bowl(START)), rtol=1e-9)


@pytest.mark.parametrize("split", [False, True])
def test_where_nothing_is_lower_the_base_is_kept_and_nothing_is_promised(split):
    lowest, promise, _ = swept(ripples, SHIFT, 64, split)
    np.testing.assert_allclose(lowest, SHIFT, atol=1e-9)
    assert abs(promise) < 1e-9


def test_the_path_goes_through_the_whole_box_in_equal_steps_and_stays_inside():
    _, _, path = swept(ripples, START, 49)
    assert np.abs(path).max() <= 5.0
    for i, start in enumerate(START):
        gaps = np.diff(np.sort(np.append(path[:, i], start)))
        np.testing.assert_allclose(gaps, 0.2, rtol=1e-9)


def test_a_reading_that_is_not_finite_is_passed_over():
    with_a_hole = lambda x: jnp.where((x[0] > 1.0) & (x[0] < 1.4), jnp.nan, ripples(x))  # noqa: E731
    lowest, promise, _ = swept(with_a_hole, START, 128)
    assert np.isfinite(lowest).all() and np.isfinite(promise)
    assert np.median(np.abs(lowest - SHIFT)) < 0.25


def test_coupling_tells_a_sum_from_a_function_of_a_sum_and_both_from_turned_axes():
    quadratic = lambda x: jnp.sum(np.arange(1.0, D + 1.0) * (x - SHIFT) ** 2)  # noqa: E731
    of_a_sum = lambda x: jnp.log1p(quadratic(x))  # noqa: E731
    turned = lambda x: ripples(TURN @ x)  # noqa: E731
    sums, functions, turns = (couplings(fun) for fun in (ripples, of_a_sum, turned))
    assert sums.max() < 1e-12 and functions.max() < 1e-9 and turns.min() > 0.35


def test_the_second_test_tells_a_well_from_a_sum_though_its_bottom_looks_like_one():
    well = lambda x: -jnp.exp(-jnp.sum((x - SHIFT) ** 2) / 40.0)  # noqa: E731
    first, second = couplings(well, SHIFT)
    assert first.max() < 1e-6 and second.min() > 0.35


def test_the_second_test_leaves_what_the_first_one_moved_and_moves_the_others_far_inside_the_box():
    base, tried = jnp.asarray(START), jnp.asarray(np.where(np.arange(D) % 2, START, 0.5 * START))
    lower, upper = jnp.full(D, -5.0), jnp.full(D, 5.0)
    other = np.asarray(other_place(base, tried, lower, upper))
    np.testing.assert_array_equal(other[::2], tried[::2])
    assert np.abs(other - START)[1::2].min() > 3.8 and np.abs(other).max() <= 5.0


def test_a_test_moves_some_coordinates_and_not_all_and_stays_inside():
    for d in (2, 3, 30):
        for seed in range(20):
            key = jax.random.key(seed)
            q = jax.random.uniform(key, (d,), minval=-5.0, maxval=5.0)
            plant = reading(lambda x: jnp.sum(x), q)
            draws = draw(jax.random.key_data(key), jnp.asarray(0), d, len(KINDS), jnp.dtype(float))
            place = tentative_place(plant.q, plant.g, draws, plant.lower, plant.upper)
            assert 0 < np.sum(np.asarray(place != q)) < d and np.abs(place).max() <= 5.0


def test_a_sweep_takes_less_than_half_of_a_run_unless_that_would_be_too_coarse():
    lengths = [float(sweep_length(jnp.asarray(n))) for n in (44.0, 100.0, 500.0, 2000.0)]
    assert lengths == [32.0, 45.0, 64.0, 128.0]


def test_a_hundred_calls_find_the_minimum_of_a_rippled_sum_of_a_hundred_coordinates_wherever_it_is():
    for place in (-3.9, 4.1):
        fun = lambda x: jnp.sum((x - place) ** 2 - 10.0 * jnp.cos(2.0 * jnp.pi * (x - place)) + 10.0)  # noqa: B023, E731
        start = np.random.default_rng(0).uniform(-5.0, 5.0, 100)
        assert shapeopt.minimize(fun, start, bounds=(-5.0, 5.0), budget=100).fun < 1e-8


def test_a_short_run_is_not_tested():
    result = shapeopt.minimize(lambda x: jnp.sum(x**2), np.full(6, 3.0), bounds=(-5.0, 5.0), budget=43)
    tested = shapeopt.minimize(lambda x: jnp.sum(x**2), np.full(6, 3.0), bounds=(-5.0, 5.0), budget=44)
    assert result.events[1].mode != "escape" and tested.events[1].mode == "escape"


def test_the_path_of_a_sweep_stays_in_place_where_noise_makes_every_better_point_the_base():
    shape = shapeopt.Shape(bounds=[(-5.0, 5.0)] * D, budget=200, policy=UniversalPolicy(sigma=0.1))
    places, read = [], jax.jit(jax.value_and_grad(ripples))
    while shape.left:
        places.append(shape.ask())
        shape.tell(places[-1], *read(places[-1]))
    steps = np.diff(np.asarray(places), axis=0) % 10.0
    even = np.abs(steps - 10.0 / 65.0).max(axis=1) < 1e-9
    assert even.sum() >= 63  # the 64 readings of a sweep, one after the other
