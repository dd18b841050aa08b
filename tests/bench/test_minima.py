"""Local minima of small tasks against ones found another way, and the index of the nearest."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize

from shapeopt.bench.minima import local_minima, nearest_minimum
from shapeopt.tasks import AbstractTask, Ackley, Multiwell, Rastrigin, Rosenbrock, StartLaw, cube

CENTRE = np.array([0.1234567, -1.2345678])


class Bare(AbstractTask):
    """Any function on [-3, 3]^2, with nothing known about it."""

    fun: Callable = eqx.field(static=True)
    minimum: float = np.nan
    minimiser: None = None

    def __call__(self, q):
        return self.fun(q)

    @property
    def box(self):
        return cube(2, 3.0, np.float64)

    def start(self, key):
        return jnp.zeros(2)

    def distance(self, q):
        return jnp.asarray(jnp.nan)


def draw(family, seed=0):
    return jax.jit(family.sample)(jax.random.key(seed))


def rastrigin_line(shift):
    """Minima of x^2 - 10 cos(2 pi x) along one shifted coordinate of [-5, 5], by bracketing the slope's zeros."""
    slope = lambda x: 2 * x + 20 * np.pi * np.sin(2 * np.pi * x)  # noqa: E731
    places = [scipy.optimize.brentq(slope, k - 0.25, k + 0.25, xtol=1e-14) for k in range(-10, 11)]
    return [shift + x for x in places if abs(shift + x) < 5]


@pytest.mark.full
def test_rastrigin_has_exactly_the_lattice_of_its_coordinates_minima():
    task = draw(Rastrigin(2))
    lines = [rastrigin_line(float(s)) for s in task.s]
    lattice = np.array([(x, y) for x in lines[0] for y in lines[1]])
    found = local_minima(task)
    assert len(found) == len(lattice)
    index = nearest_minimum(found, lattice, 1e-6)
    assert sorted(index) == list(range(len(lattice)))


@pytest.mark.full
def test_ackley_s_minima_are_where_descents_end_and_the_kink_is_the_first_of_them():
    task = draw(Ackley(2, law=StartLaw.NEAR))
    found = local_minima(task)
    np.testing.assert_allclose(found[0], task.s, atol=1e-9)
    values = np.asarray(jax.vmap(task)(jnp.asarray(found)))
    assert np.all(np.diff(values) >= -1e-12) and 95 <= len(found) <= 121  # ten or eleven ripples a side
    both = jax.jit(jax.value_and_grad(task))
    for q0 in np.random.default_rng(0).uniform(-4, 4, (40, 2)):
        end = scipy.optimize.minimize(lambda q: tuple(map(np.asarray, both(q))), q0, jac=True, method="L-BFGS-B").x
        if np.abs(end).max() < 4.9:
            assert nearest_minimum(end, found, 1e-3) >= 0


@pytest.mark.full
def test_a_one_dimensional_task_has_as_many_minima_as_wells():
    task = draw(Multiwell(wells=6))
    found = local_minima(task)
    np.testing.assert_allclose(np.sort(found[:, 0]), task.knots[1::2], atol=1e-6)
    np.testing.assert_allclose(found[0], task.minimiser, atol=1e-6)


@pytest.mark.full
def test_a_curved_valley_has_one_minimum_and_the_bounds_make_none():
    task = draw(Rosenbrock(2))
    np.testing.assert_allclose(local_minima(task), task.minimisers, atol=1e-6)


@pytest.mark.parametrize("fun", [lambda q: jnp.sum(jnp.abs(q - CENTRE)), lambda q: jnp.sum((q - CENTRE) ** 4)])
def test_a_kink_and_a_flat_bottom_are_found_without_being_known(fun):
    np.testing.assert_allclose(local_minima(Bare(fun)), CENTRE[None], atol=1e-7)


def test_ripples_of_twenty_grid_cells_are_all_told_apart():
    found = local_minima(Bare(lambda q: -jnp.sum(jnp.cos(2 * jnp.pi * q / 0.3))))
    lattice = 0.3 * np.stack(np.meshgrid(*[np.arange(-9, 10)] * 2), axis=-1).reshape(-1, 2)
    assert sorted(nearest_minimum(found, lattice, 1e-6)) == list(range(19**2))


@pytest.mark.parametrize(
    "fun", [lambda q: jnp.maximum(jnp.sum((q - CENTRE) ** 2) - 0.02, 0.0), lambda q: (q[0] - 0.3) ** 2 - q[1] ** 2]
)
def test_a_plateau_and_a_saddle_are_no_minima(fun):
    assert local_minima(Bare(fun)).shape == (0, 2)


def test_single_precision_tasks_have_the_same_minima():
    task = draw(Rastrigin(2))
    narrow = jax.tree.map(lambda leaf: leaf.astype(jnp.float32), task)
    wide = jax.tree.map(lambda leaf: leaf.astype(jnp.float64), narrow)
    np.testing.assert_allclose(local_minima(narrow), local_minima(wide), atol=1e-7)


def test_nearest_is_the_nearest_within_the_radius_and_minus_one_beyond():
    minima = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 2.0]])
    points = np.array([[[0.2, 0.0], [0.6, 0.0]], [[1.0, 1.5], [5.0, 5.0]]])
    index = nearest_minimum(points, minima, 0.45)
    np.testing.assert_array_equal(index, [[0, 1], [-1, -1]])
    assert index.dtype == np.int32
    np.testing.assert_array_equal(nearest_minimum(points, minima, 0.55), [[0, 1], [2, -1]])
    np.testing.assert_array_equal(nearest_minimum(np.array([[np.nan, 0.0], [0.0, 0.0]]), minima, 1.0), [-1, 0])
    np.testing.assert_array_equal(nearest_minimum(points, np.empty((0, 2)), 1.0), np.full((2, 2), -1))


def test_what_can_not_be_searched_is_refused():
    with pytest.raises(ValueError, match="`task` must have one or two dimensions; got 3"):
        local_minima(draw(Rastrigin(3)))
    with pytest.raises(ValueError, match=r"`radius` must be positive; got 0.0"):
        nearest_minimum(np.zeros((1, 2)), np.zeros((1, 2)), 0.0)
