"""`universal` samples where basins are small for the box, and knows what shows that they are."""

from collections.abc import Callable
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np

from shapeopt.oracles import ExactOracle
from shapeopt.policy import UniversalPolicy
from shapeopt.policy.heads import Advice
from shapeopt.policy.moves import ANYWHERE, DIFFERENCE, KINDS, Station, moves_few
from shapeopt.policy.route import is_ripple
from shapeopt.rollout import rollout
from shapeopt.shape import ShapeOptimizer
from shapeopt.tasks import cube

D, RUNS = 10, 8
TURN = np.linalg.qr(np.random.default_rng(0).normal(size=(D, D)))[0]


def ripples(x: jax.Array) -> jax.Array:
    """Ackley's function in turned axes: basins are a tenth of the box wide."""
    z = TURN @ (x - 1.0)
    return -20.0 * jnp.exp(-0.2 * jnp.sqrt(jnp.mean(z**2) + 1e-9)) - jnp.exp(jnp.mean(jnp.cos(2 * jnp.pi * z)))


def samples(f: Callable, budget: int) -> np.ndarray:
    """How many readings each of some runs sampled with."""

    def one(key: jax.Array) -> jax.Array:
        start, run = jax.random.split(key)
        x0 = jax.random.uniform(start, (D,), minval=-5.0, maxval=5.0)
        optimizer = ShapeOptimizer(UniversalPolicy(), record_energy=False)
        end = rollout(optimizer, ExactOracle(f), x0, cube(D, 5.0, "float64"), budget, run).end
        return end.state.policy.sampler.read

    return np.asarray(jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(0), RUNS)))


def test_small_basins_are_sampled_around():
    assert np.mean(samples(ripples, 150) > 0) >= 0.75


def met(kind: int, way: float, elsewhere: bool = True) -> bool:
    """Whether a basin into which `kind` led, by a way of so much, passes for a small one."""
    line = SimpleNamespace(q=jnp.full(D, way), origin=jnp.zeros(D))
    state = SimpleNamespace(line=line, kind=jnp.asarray(kind), base=jnp.zeros(D), readings=jnp.asarray(300.0))
    state.advice = Advice.none(float)
    return bool(is_ripple(state, jnp.asarray(elsewhere)))


def test_short_ways_into_other_basins_show_ripples_unless_they_are_short_anyway():
    whole = (Station.OPENING, 0, ANYWHERE)
    assert all(met(kind, 0.4) for kind in whole) and not any(met(kind, 0.6) for kind in whole)
    assert not any(met(kind, 0.4, elsewhere=False) for kind in whole)
    few = [i for i, kind in enumerate(KINDS) if kind.few]
    assert not any(met(kind, 0.4) for kind in (*few, DIFFERENCE, Station.LOWEST))


def test_moves_of_few_coordinates_are_told_from_others_and_from_stations():
    found = [bool(moves_few(jnp.asarray(kind))) for kind in range(-9, len(KINDS))]
    assert found == [False] * 9 + [kind.few for kind in KINDS]
