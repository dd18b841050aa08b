"""Sums over pairs of bodies: the function of a pair is found from forces, and hops in the model cost no readings."""

import numpy as np
import pytest
from optimizer_runs import cluster, run_on_host

from shapeopt.core.board import PAIR_SUM
from shapeopt.ops import HOST
from shapeopt.optimizer import Policy
from shapeopt.tactics.pair_fit import (
    PairFit,
    body_shape,
    distances,
    fit_reading,
    pair_function,
    slope_and_energy,
    spacing,
)
from shapeopt.tactics.pair_hops import Chain, energies_and_gradient, field_around, hopped

EPS = np.finfo(float).eps
KEY = np.array([1, 2], np.uint32)


def random_pair(seed):
    """(phi, phi') of a Morse well of random place and width, and a random charge."""
    place, width, charge = np.random.default_rng(seed).uniform([2.0, 2.5, 0.0], [3.5, 6.0, 0.5])

    def phi(r):
        e = np.exp(width * (1.0 - r / place))
        return e * (e - 2.0) + charge / r

    def slope(r):
        e = np.exp(width * (1.0 - r / place))
        return -width / place * 2.0 * e * (e - 1.0) - charge / r**2

    return phi, slope


def sum_over_pairs(phi, slope):
    def fun(q):
        x = q.reshape(-1, 3)
        r = distances(HOST, x)
        np.fill_diagonal(r, 1.0)
        energy, pull = phi(r), slope(r) / r
        np.fill_diagonal(energy, 0.0)
        np.fill_diagonal(pull, 0.0)
        return 0.5 * float(energy.sum()), (x * pull.sum(axis=1)[:, None] - pull @ x).reshape(-1)

    return fun


def fitted(fun, d, readings=30):
    """What readings at random places tell."""
    fit, rng = PairFit.blank(HOST, np.float64), np.random.default_rng(d)
    for _ in range(readings):
        q = rng.uniform(-4.9, 4.9, d)
        f, g = fun(q)
        fit = fit_reading(HOST, fit, q, g, bool(np.isfinite(f)), EPS)
    return fit


@pytest.mark.parametrize("d", [21, 39])
def test_the_function_of_a_random_pair_is_found_from_forces(d):
    phi, slope = random_pair(d)
    fit = fitted(sum_over_pairs(phi, slope), d)
    assert fit.trusted
    r = np.linspace(1.6, 7.0, 50)
    slopes, energies = slope_and_energy(HOST, pair_function(HOST, fit.weights, spacing(d // 3)), r, spacing(d // 3))
    assert np.abs(slopes * fit.unit - slope(r)).max() < 0.01 * np.abs(slope(r)).max()
    rises = fit.unit * (energies - energies[0]) - (phi(r) - phi(r[0]))
    assert np.abs(rises).max() < 0.01 * np.abs(phi(r)).max()


def test_two_kinds_of_bodies_are_not_taken_for_one():
    charges = np.where(np.arange(8) % 2 == 0, 1.0, -1.0)
    both = np.outer(charges, charges)
    salt = sum_over_pairs(lambda r: both / r + r**-6, lambda r: -both / r**2 - 6.0 * r**-7)
    fit = fitted(salt, 24, readings=40)
    assert fit.balanced and not fit.trusted


def test_a_trap_and_readings_that_are_not_finite_tell_of_no_bodies():
    fun = sum_over_pairs(*random_pair(0))
    trapped = fitted(lambda q: (fun(q)[0] + 0.01 * q @ q, fun(q)[1] + 0.02 * q), 21)
    broken = fitted(lambda q: (np.nan, np.nan * q), 21)
    assert not trapped.trusted and not broken.trusted
    assert trapped.unit == 0 and broken.unit == 0, "nothing was fitted"


@pytest.mark.parametrize("d", [4, 6, 11, 13, 20, 700])
def test_dimensions_that_are_no_bodies_have_no_model(d):
    assert body_shape(d) is None


def field_of(fun, base, reach=5.0):
    wide = np.full(base.shape, reach)
    return field_around(HOST, fitted(fun, base.size).weights, base, -wide, wide)


def test_the_energies_of_the_model_are_finite_and_their_gradient_is_their_own():
    base = np.random.default_rng(0).uniform(-5.0, 5.0, (7, 3))
    field = field_of(sum_over_pairs(*random_pair(2)), base)
    energies, gradient = energies_and_gradient(HOST, field, base)
    assert np.isfinite(energies).all()
    step = 1e-6 * np.random.default_rng(1).normal(size=base.shape)
    rise = (
        energies_and_gradient(HOST, field, base + step)[0].sum()
        - energies_and_gradient(HOST, field, base - step)[0].sum()
    )
    np.testing.assert_allclose(rise, 2.0 * np.sum(gradient * step), rtol=1e-4)


@pytest.mark.parametrize("reach", [2.0, 5.0])
def test_what_hops_propose_is_a_lower_bottom_inside_the_box(reach):
    fun = sum_over_pairs(*random_pair(1))
    base = reach - np.random.default_rng(0).uniform(0.0, 4.0, (8, 3))
    chain = hopped(HOST, Chain.blank(HOST, 24, np.float64), field_of(fun, base, reach), base, KEY)
    x = chain.lowest.x
    assert np.isfinite(chain.lowest.energy) and np.abs(x).max() <= reach
    assert fun(x.reshape(-1))[0] < fun(base.reshape(-1))[0]


def test_units_of_f_change_no_proposal():
    fun = sum_over_pairs(*random_pair(2))
    other = lambda q: (1024.0 * fun(q)[0] - 7.0, 1024.0 * fun(q)[1])  # noqa: E731
    base = np.random.default_rng(0).uniform(-5.0, 5.0, (7, 3))
    chains = [hopped(HOST, Chain.blank(HOST, 21, np.float64), field_of(f, base), base, KEY) for f in (fun, other)]
    np.testing.assert_allclose(chains[0].lowest.x, chains[1].lowest.x, atol=1e-6)


def test_a_cluster_of_six_atoms_is_solved_in_a_hundred_calls_and_not_without_the_model():
    x0 = np.random.default_rng(1).uniform(-1.6, 1.6, 18)
    made = run_on_host(cluster, x0, 100, lower=-1.6, upper=1.6, keep=True)
    assert made.best < -12.712062 + 1e-4  # octahedron; Cambridge Cluster Database
    assert "pair model" in made.tactics and made.states[-1].board.structure == PAIR_SUM
    plain = run_on_host(cluster, x0, 100, lower=-1.6, upper=1.6, policy=Policy().without("pair model"))
    assert plain.best > -12.7


def test_where_f_is_no_sum_over_pairs_the_model_changes_nothing():
    def turned(x):
        z = np.cos(x) + 0.1 * x.sum()
        return float(z @ z), 2.0 * (0.1 * z.sum() - np.sin(x) * z)

    x0 = np.random.default_rng(2).uniform(-5.0, 5.0, 12)
    with_it, without = (run_on_host(turned, x0, 100, policy=p) for p in (Policy(), Policy().without("pair model")))
    assert with_it.x.tobytes() == without.x.tobytes()
