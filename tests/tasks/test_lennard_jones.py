"""Lennard-Jones clusters: known minima, a finite core, and a distance that sees shapes only."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from shapeopt.tasks import AbstractFamily, LennardJones
from shapeopt.tasks.lennard_jones import CORE, pair_energy

KNOWN = {2: -1.0, 6: -12.712062, 13: -44.326801, 38: -173.928427}  # Cambridge Cluster Database
KEY = jax.random.key(2)


def draw(family: AbstractFamily) -> Any:
    """The family's task of one key, compiled: quicker than drawing it operation by operation."""
    return jax.jit(family.sample)(KEY)


@pytest.mark.parametrize("atoms", list(KNOWN))
def test_reference_cluster_has_the_known_energy_and_feels_no_force(atoms: int) -> None:
    task = draw(LennardJones(3 * atoms))
    value, force = jax.jit(jax.value_and_grad(task))(task.minimiser)
    np.testing.assert_allclose(task.minimum, KNOWN[atoms], atol=1e-6)
    np.testing.assert_allclose(value, task.minimum, rtol=1e-13)
    np.testing.assert_allclose(force, 0.0, atol=1e-11)


def test_reference_cluster_is_stable_and_lies_well_inside_the_box() -> None:
    for atoms in KNOWN:
        family = LennardJones(3 * atoms, varied=True)
        task = draw(family)
        curvature = np.linalg.eigvalsh(jax.jit(jax.hessian(task))(task.minimiser))
        flat = 5 if atoms == 2 else 6  # translations and rotations; a pair has one rotation less
        assert np.all(np.abs(curvature[:flat]) < 1e-8) and np.all(curvature[flat:] > 0.1)
        radius = np.linalg.norm(np.asarray(task.minimiser).reshape(-1, 3), axis=1).max()
        assert radius < family.half_width


def test_energy_equals_the_double_sum() -> None:
    task = draw(LennardJones(18, varied=True))
    epsilon, sigma = float(task.epsilon), float(task.sigma)
    x = 0.9 * np.asarray(task.minimiser).reshape(-1, 3) + np.random.default_rng(0).normal(0, 0.05, (6, 3))
    total = 0.0
    for i in range(6):
        for j in range(i):
            ratio = sigma / np.linalg.norm(x[i] - x[j])
            total += 4 * epsilon * (ratio**12 - ratio**6)
    np.testing.assert_allclose(task(jnp.asarray(x.ravel())), total, rtol=1e-12)


@pytest.mark.grid(3)
@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
@pytest.mark.parametrize("apart", [0.0, 1e-30, 1e-4, 0.1])
def test_coincident_atoms_give_finite_values_and_gradients(dtype, apart: float) -> None:
    task = jax.tree.map(lambda leaf: leaf.astype(dtype), draw(LennardJones(18)))
    q = task.minimiser.at[3:6].set(task.minimiser[:3]).at[3].add(apart)
    value, gradient = jax.value_and_grad(task)(q)
    assert np.isfinite(value) and value > 1e7
    assert np.all(np.isfinite(gradient)) and np.isfinite(jnp.sum(gradient**2))
    if apart >= 1e-4:
        assert gradient[3] < 0 < gradient[0]  # still repels: moving atom 2 further out lowers the energy


def test_pair_energy_is_continuous_with_its_slope_at_the_core() -> None:
    core = CORE**2
    below, above = jnp.array(core * (1 - 1e-9)), jnp.array(core * (1 + 1e-9))
    np.testing.assert_allclose(pair_energy(below), pair_energy(above), rtol=1e-7)
    np.testing.assert_allclose(jax.grad(pair_energy)(below), jax.grad(pair_energy)(above), rtol=1e-7)
    s = jnp.array(2 ** (1 / 3))
    np.testing.assert_allclose([pair_energy(s), jax.grad(pair_energy)(s)], [-1.0, 0.0], atol=1e-12)


@pytest.mark.grid(3)
@pytest.mark.parametrize("atoms", [2, 6, 13])
def test_distance_ignores_pose_and_labels(atoms: int) -> None:
    task = draw(LennardJones(3 * atoms))
    rng = np.random.default_rng(atoms)
    x = np.asarray(task.minimiser).reshape(-1, 3)
    image = rng.permutation(x @ Rotation.random(rng=rng).as_matrix().T + rng.normal(size=3))
    np.testing.assert_allclose(task.distance(jnp.asarray(image.ravel())), 0.0, atol=1e-12)
    np.testing.assert_allclose(task(jnp.asarray(image.ravel())), task.minimum, rtol=1e-12)


def test_distance_never_exceeds_the_displacement_and_sees_a_stretch() -> None:
    task = draw(LennardJones(18))
    for delta in np.random.default_rng(1).normal(0, 0.3, (20, 18)):
        assert 0 < task.distance(task.minimiser + delta) <= np.linalg.norm(delta)
    stretch = task.distance(1.1 * task.minimiser)
    np.testing.assert_allclose(stretch, 0.1 * jnp.linalg.norm(task.minimiser), rtol=1e-9)


def test_unknown_cluster_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"`dimension` must be 3 x atoms, one of \[6, 18, 39, 114\]; got 9"):
        LennardJones(9)
