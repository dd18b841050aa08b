"""Where f is a sum over pairs of bodies, its readings tell of which function, and hops in it cost no readings."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.core import Box
from shapeopt.oracles import ExactOracle
from shapeopt.policy import UniversalPolicy, bodies
from shapeopt.policy.base import Plant
from shapeopt.policy.bodies import Bodies
from shapeopt.policy.pair_model import body_shape
from shapeopt.rollout import rollout
from shapeopt.shape import ShapeOptimizer

Pair = Callable[[jax.Array], jax.Array]


def sum_over_pairs(phi: Pair, axes: int) -> Callable[[jax.Array], jax.Array]:
    def fun(q: jax.Array) -> jax.Array:
        x = q.reshape(-1, axes)
        i, j = jnp.triu_indices(len(x), 1)
        return jnp.sum(phi(jnp.sqrt(jnp.sum((x[i] - x[j]) ** 2, axis=-1))))

    return fun


def random_pair(seed: int) -> Pair:
    """A Morse well of random place and width, and a random charge."""
    place, width, charge = np.random.default_rng(seed).uniform([2.0, 2.5, 0.0], [3.5, 6.0, 0.5])

    def phi(r: jax.Array) -> jax.Array:
        e = jnp.exp(width * (1.0 - r / place))
        return e * (e - 2.0) + charge / r

    return phi


def plant(fun: Callable[[jax.Array], jax.Array], q: jax.Array) -> Plant:
    f, g = jax.value_and_grad(fun)(q)
    reach, zero = jnp.full(q.size, 5.0), jnp.zeros(())
    return Plant(q, jnp.zeros_like(q), f, g, jnp.isfinite(f) & jnp.isfinite(g).all(), -reach, reach, zero)


def told(fun: Callable[[jax.Array], jax.Array], d: int, readings: int = 30) -> tuple[Bodies, jax.Array]:
    """What readings at random places tell, and the last of these."""
    places = jax.random.uniform(jax.random.key(d), (readings, d), minval=-4.9, maxval=4.9)
    blank = Bodies.blank(places[0])
    assert blank is not None
    known, _ = jax.lax.scan(lambda known, q: (known.observed(plant(fun, q)), None), blank, places)
    return known, places[-1]


@pytest.mark.parametrize(("d", "axes"), [(21, 3), (39, 3)])
def test_the_function_of_a_random_pair_is_found_from_forces(d, axes):
    phi = random_pair(d)
    known, _ = told(sum_over_pairs(phi, axes), d)
    assert known.model.trusted
    r = jnp.linspace(1.6, 7.0, 50)
    slope, energy = known.model.slope_and_energy(r)
    steepest = float(jnp.max(jnp.abs(jax.vmap(jax.grad(phi))(r))))
    assert np.abs(np.asarray(slope * known.model.unit - jax.vmap(jax.grad(phi))(r))).max() < 0.01 * steepest
    rises = known.model.unit * (energy - energy[0]) - (phi(r) - phi(r[0]))
    assert np.abs(np.asarray(rises)).max() < 0.01 * float(jnp.max(jnp.abs(phi(r))))


def test_two_kinds_of_bodies_are_not_taken_for_one():
    charges = jnp.where(jnp.arange(8) % 2 == 0, 1.0, -1.0)

    def salt(q: jax.Array) -> jax.Array:
        x = q.reshape(-1, 3)
        i, j = jnp.triu_indices(len(x), 1)
        r = jnp.sqrt(jnp.sum((x[i] - x[j]) ** 2, axis=-1))
        return jnp.sum(charges[i] * charges[j] / r + 1.0 / r**6)

    known, _ = told(salt, 24, readings=40)
    assert known.model.balanced and not known.model.trusted


def test_noise_a_trap_and_readings_that_are_not_finite_tell_of_no_bodies():
    fun = sum_over_pairs(random_pair(0), 3)
    trapped, _ = told(lambda q: fun(q) + 0.01 * jnp.sum(q**2), 21)
    broken, _ = told(lambda q: jnp.nan * fun(q), 21)
    assert not trapped.model.trusted and not broken.model.trusted
    assert trapped.model.unit == 0 and broken.model.unit == 0, "nothing was fitted"


@pytest.mark.parametrize("d", [4, 6, 11, 13, 20, 700])
def test_dimensions_that_are_no_bodies_carry_nothing(d):
    assert body_shape(d) is None
    assert Bodies.blank(jnp.zeros(d)) is None


def proposal(fun: Callable[[jax.Array], jax.Array], base: jax.Array, reach: float = 5.0) -> Bodies:
    known, _ = told(fun, base.size)
    wide, key = jnp.full(base.size, reach), jax.random.key_data(jax.random.key(1))
    return known.proposed(base, -wide, wide, key, jnp.ones((), bool))


@pytest.mark.parametrize("reach", [2.0, 5.0])
def test_what_hops_propose_is_a_lower_bottom_inside_the_box(reach):
    fun = sum_over_pairs(random_pair(1), 3)
    corner = reach - jax.random.uniform(jax.random.key(0), (24,), maxval=4.0)
    found = proposal(fun, corner, reach)
    assert found.found
    assert np.abs(found.target).max() <= reach
    assert fun(found.target) < fun(corner)
    if reach == 5.0:  # else bodies lie on the bounds
        assert np.abs(jax.grad(fun)(found.target)).max() < 1e-3


def test_units_of_f_change_no_proposal():
    fun = sum_over_pairs(random_pair(2), 3)
    base = jax.random.uniform(jax.random.key(0), (21,), minval=-5.0, maxval=5.0)
    plain, other = proposal(fun, base), proposal(lambda q: 1024.0 * fun(q) - 7.0, base)
    np.testing.assert_allclose(plain.target, other.target, atol=1e-6)


def best_values(fun: Callable[[jax.Array], jax.Array], d: int, half: float, budget: int, runs: int = 1) -> np.ndarray:
    """Best value so far after every call of some runs from uniform starts."""
    box = Box.around(np.full(d, -half), np.full(d, half))
    optimizer = ShapeOptimizer(UniversalPolicy(), record_energy=False)

    def run(key: jax.Array) -> jax.Array:
        x0 = jax.random.uniform(key, (d,), minval=-half, maxval=half)
        return rollout(optimizer, ExactOracle(fun), x0, box, budget, key).steps.value

    values = jax.jit(jax.vmap(run))(jax.random.split(jax.random.key(0), runs))
    return np.asarray(values)


def test_a_morse_cluster_is_solved_in_a_hundred_calls():
    def morse(r: jax.Array) -> jax.Array:
        e = jnp.exp(6.0 * (1.0 - r))
        return e * (e - 2.0)

    best = best_values(sum_over_pairs(morse, 3), 21, half=1.6, budget=100, runs=8).min(axis=1)
    assert np.mean(best < -16.207580 + 1e-3) >= 0.75  # Cambridge Cluster Database, rho = 6, 7 atoms


@pytest.mark.parametrize("d", [30])
def test_where_f_is_no_sum_over_pairs_nothing_but_round_off_changes(d, monkeypatch):
    turn = np.linalg.qr(np.random.default_rng(5).normal(size=(d, d)))[0]

    def turned(q: jax.Array) -> jax.Array:
        x = turn @ (q - 0.7)
        return jnp.sum(x**2 + 10.0 * (1.0 - jnp.cos(2.0 * jnp.pi * x)))

    aware = best_values(turned, d, half=5.0, budget=150)
    monkeypatch.setattr(bodies, "body_shape", lambda d: None)
    np.testing.assert_allclose(aware, best_values(turned, d, half=5.0, budget=150), rtol=1e-5)
