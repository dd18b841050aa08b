"""Basin hopping: local searches are the inner method's, hops are short, acceptance is Metropolis'."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.baselines import Adam, BasinHopping, CrossEntropy
from shapeopt.core import Box, Reading
from shapeopt.oracles import ExactOracle
from shapeopt.rollout import rollout
from shapeopt.tasks import StartLaw, make_family

D = 2
INNER = Adam(0.05)


def box():
    return Box.around(np.full(D, -10.0), np.full(D, 10.0))  # scale 2


def rippled(x):
    return jnp.sum(0.1 * x**2 + 1 - jnp.cos(2 * jnp.pi * x))


def run(optimizer, steps, key):
    return rollout(optimizer, ExactOracle(rippled), jnp.full(D, 6.3), box(), steps, key, record_points=True)


@jax.jit
def long_run(key):
    return run(BasinHopping(INNER, 20, 0.4, 1e-9), 200, key)


def test_the_first_local_search_is_the_inner_method():
    alone = jax.jit(lambda key: run(INNER, 20, key).steps.x)(jax.random.key(0))
    np.testing.assert_array_equal(long_run(jax.random.key(0)).steps.x[:20], alone)


def test_hops_start_within_reach_of_the_accepted_point_and_cold_acceptance_never_rises():
    steps = long_run(jax.random.key(3)).steps
    x, values = np.asarray(steps.x), np.asarray(steps.value)
    accepted, level, distances = None, np.inf, []
    for start in range(0, 200, 20):
        if accepted is not None:
            distances.append(np.abs(x[start] - accepted).max())
        lowest = start + values[start : start + 20].argmin()
        if values[lowest] <= level:
            accepted, level = x[lowest], values[lowest]
    assert max(distances) <= 0.4 * 2.0 + 1e-12 and min(distances) > 0.0 and max(distances) > 0.4
    assert level < values[:20].min()  # some hop paid


def accepts(rise, temperature, key):
    """Whether a search that found `rise` more than the accepted 0 is accepted; two searches of one reading each."""
    optimizer = BasinHopping(INNER, 1, 1.0, temperature)
    state = optimizer.init(jnp.zeros(D), box(), 2, key)
    for value in (0.0, rise):
        state = optimizer.tell(state, Reading(jnp.asarray(value), jnp.zeros(D), jnp.ones((), jnp.int32)))
    return state.accepted.value == rise


@pytest.mark.parametrize(("rise", "temperature"), [(1.0, 1.0), (1.0, 4.0), (-2.0, 1.0), (np.inf, 1.0)])
def test_acceptance_has_metropolis_probability(rise, temperature):
    keys = jax.random.split(jax.random.key(7), 4000)
    share = np.mean(jax.jit(jax.vmap(lambda key: accepts(rise, temperature, key)))(keys))
    expected = min(1.0, np.exp(-rise / temperature))
    np.testing.assert_allclose(share, expected, atol=4 * np.sqrt(expected * (1 - expected) / 4000) + 1e-12)


def test_it_finds_lower_basins_than_its_inner_method():
    family = make_family("rastrigin", D, law=StartLaw.NEAR)

    def gap(optimizer, key):
        task = family.sample(key)
        return rollout(optimizer, ExactOracle(task), task.start(key), task.box, 400, key).best.value

    keys = jax.random.split(jax.random.key(0), 20)
    hop, alone = jax.jit(
        lambda keys: [jax.vmap(lambda key: gap(o, key))(keys) for o in (BasinHopping(INNER), INNER)]  # noqa: B023
    )(keys)
    assert np.median(hop) < 0.5 * np.median(alone)


def test_wrong_settings_are_refused_by_name():
    with pytest.raises(ValueError, match="`local_steps` must be an integer of at least 1; got 0"):
        BasinHopping(INNER, local_steps=0)
    with pytest.raises(ValueError, match=r"`temperature` must be finite and positive; got 0.0"):
        BasinHopping(INNER, temperature=0.0)
    with pytest.raises(ValueError, match="`elites` must be at most `population` = 4; got 8"):
        CrossEntropy(population=4)
