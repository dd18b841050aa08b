"""The generators of training landscapes: variety, dimensions, and that their known minimum stands."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.tasks import LandscapeFamily, make_family
from shapeopt.tasks.generated import GENERATED, CrookedBowl, PlantedSpins, Plateau, ScatteredWells

KEYS = jax.random.split(jax.random.key(2), 16)
KINDS = pytest.mark.parametrize("kind", GENERATED, ids=lambda kind: kind.name)


@pytest.mark.grid(5)
@KINDS
def test_parameters_differ_from_task_to_task(kind) -> None:
    landscapes = jax.jit(jax.vmap(LandscapeFamily(3, kind=kind).sample))(KEYS[:4]).landscape
    at = jax.vmap(lambda f: f(jnp.array([0.7, -0.4, 1.1])))(landscapes)
    assert len(np.unique(at)) == 4


@pytest.mark.grid(5)
@KINDS
def test_value_is_exactly_zero_at_the_shift_and_positive_elsewhere(kind) -> None:
    def lowest(key):
        task = LandscapeFamily(3, kind=kind).sample(key)
        far = jax.random.uniform(key, (300, 3), minval=-5.0, maxval=5.0)
        near = task.s + 1e-3 * jax.random.normal(key, (300, 3))
        return task(task.s), jnp.min(jax.vmap(task)(jnp.concatenate([far, near]))), jax.grad(task)(task.s)

    at_shift, elsewhere, slope = jax.jit(jax.vmap(lowest))(KEYS)
    assert np.all(at_shift == 0.0) and np.all(elsewhere > 0) and np.all(np.isfinite(slope))


@pytest.mark.grid(5)
@pytest.mark.parametrize("dimension", [1, 100])
@KINDS
def test_every_dimension_has_finite_values_and_slopes(kind, dimension: int) -> None:
    if dimension < kind.least:
        with pytest.raises(ValueError, match=f"`dimension` must be an integer of at least {kind.least}; got 1"):
            LandscapeFamily(dimension, kind=kind)
        return
    family = LandscapeFamily(dimension, kind=kind)

    @jax.jit
    def read(key):
        task = family.sample(key)
        return jax.value_and_grad(task)(task.start(key))

    value, gradient = read(KEYS[0])
    assert np.isfinite(value) and value > 0 and np.all(np.isfinite(gradient)) and np.any(gradient != 0)


def test_scattered_wells_are_5_to_40_inside_the_box_and_the_first_is_the_deepest() -> None:
    tasks = jax.jit(jax.vmap(make_family("scattered_wells", 2, rotated=True).sample))(
        jax.random.split(jax.random.key(0), 200)
    )
    wells: ScatteredWells = tasks.landscape
    counts = np.sum(np.asarray(wells.depths) > 0, axis=1)
    assert counts.min() == 5 and counts.max() == 40
    assert np.all(wells.depths[:, 0] == 1) and np.all(wells.depths[:, 1:] < 0.96)
    at = np.einsum("nji,nwj->nwi", tasks.R, wells.centres) + np.asarray(tasks.s)[:, None]
    assert np.abs(at).max() <= 5 + 1e-9


def test_a_plateau_s_terraces_rise_everywhere_and_unevenly() -> None:
    drawn = Plateau.draw(KEYS[0], jnp.ones((100, 1)))
    terraces = dataclasses.replace(drawn, A=jnp.zeros(()), c=jnp.ones(()), which=jnp.array([0.0, 0.0, 0.0, 1.0]))
    u = jnp.linspace(0.1, 2.0, 2001)
    values = jax.vmap(lambda u: terraces(jnp.sqrt(u / drawn.stiffness)))(u)
    assert np.all(np.diff(values) > 0)
    assert np.diff(values).max() > 8 * np.diff(values).min()


def test_crooked_bowls_are_steeper_on_one_side_and_ill_conditioned() -> None:
    bowls: CrookedBowl = jax.jit(jax.vmap(make_family("crooked_bowl", 20).sample))(KEYS).landscape
    ratio = np.asarray(bowls.below / bowls.above)
    assert ratio.min() < 0.05 and ratio.max() > 20
    spread = np.max(bowls.below * bowls.above, axis=1) / np.min(bowls.below * bowls.above, axis=1)
    assert np.sqrt(spread).max() > 1e4 > 100 > np.sqrt(spread).min()
    assert bowls.p.min() >= 1.2 and bowls.p.max() <= 4.0


def test_planted_spins_depend_on_differences_of_angles_but_for_the_field() -> None:
    spins: PlantedSpins = jax.jit(make_family("planted_spins", 6).sample)(KEYS[0]).landscape
    np.testing.assert_allclose(spins.pairs @ jnp.ones(6), np.zeros(12), atol=1e-12)
    x = jnp.linspace(-3.0, 2.0, 6)
    turned = jnp.mean(2 * spins.field * (jnp.sin((x + 0.6) / 6) ** 2 - jnp.sin(x / 6) ** 2))
    np.testing.assert_allclose(spins(x + 0.6) - spins(x), turned, rtol=1e-9)
    with pytest.raises(ValueError, match="`rotated` is not an option of the family 'planted_spins'; got True"):
        make_family("planted_spins", 6, rotated=True)


def test_curve_fit_is_a_mean_of_squares_of_the_model_s_error() -> None:
    fit = jax.jit(make_family("curve_fit", 7).sample)(KEYS[1]).landscape
    assert fit.theta.shape == (3, 3)  # two of the nine parameters stay as planted
    x = jnp.arange(7.0) / 7
    moved = fit.theta + fit.spread * jnp.concatenate([x, jnp.zeros(2)]).reshape(3, 3)
    error = np.asarray(fit.model(moved) - fit.model(fit.theta))
    np.testing.assert_allclose(fit(x), np.mean(error**2) + fit.bowl * np.mean(x**2), rtol=1e-9)
