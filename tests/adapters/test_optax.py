"""`shapeopt.optax.shape`: under jit, in a chain, with trees, inside the bounds; it needs the value."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import shapeopt
from shapeopt.adapters.minibatches import MinibatchWarning
from shapeopt.adapters.optax import _inside
from shapeopt.core import Box

X0 = np.array([2.2, -1.4])
BUDGET = 40


def wavy(x):
    return jnp.sum(x * x + 1 - jnp.cos(4 * x))


def loss(params):
    return wavy(jnp.concatenate([params["a"].reshape(-1), params["b"]]))


def bowl(params):
    return jnp.sum(params["a"] ** 2) + jnp.sum(params["b"] ** 2)


def tree(x=X0, dtype=np.float64):
    return {"a": jnp.asarray(x[:1].reshape(1, 1), dtype), "b": jnp.asarray(x[1:], dtype)}


@functools.cache
def run(name="plain", dtype=np.float64):
    """Values read and parameters after each step."""
    makers = {
        "plain": lambda: shapeopt.optax.shape(BUDGET, seed=3),
        "chain": lambda: optax.chain(optax.identity(), shapeopt.optax.shape(BUDGET, seed=3)),
        "bounds": lambda: shapeopt.optax.shape(BUDGET, bounds=(tree(np.array([0.1, -3])), 2.3), seed=3),
    }
    optimizer = makers[name]()
    params = tree(np.array([2.2, 0.7]), dtype) if name == "bounds" else tree(dtype=dtype)
    objective = bowl if name == "bounds" else loss
    state = jax.jit(optimizer.init)(params)

    @jax.jit
    def step(params, state):
        value, gradient = jax.value_and_grad(objective)(params)
        updates, state = optimizer.update(gradient, state, params, value=value)
        return value, optax.apply_updates(params, updates), state

    values, places = [], [params]
    for _ in range(BUDGET + 2):
        value, params, state = step(params, state)
        values.append(float(value))
        places.append(params)
    return np.array(values), places, state


def test_under_jit_it_does_what_minimize_does():
    values, _, _ = run()
    result = shapeopt.minimize(wavy, X0, budget=BUDGET, seed=3)
    np.testing.assert_allclose(values[:20], result.trace.value[:20], rtol=1e-6, atol=1e-9)


def test_in_a_chain_it_does_the_same():
    np.testing.assert_array_equal(run("chain")[0], run()[0])


def test_the_update_that_spends_the_budget_and_those_after_it_lead_to_the_best():
    values, places, state = run()
    best = min(values[:BUDGET])
    for params in places[BUDGET:]:
        assert float(loss(params)) == pytest.approx(best, abs=1e-12)
    assert float(optax.tree_utils.tree_get(state, "best_value")) == best
    assert float(loss(optax.tree_utils.tree_get(state, "best_params"))) == pytest.approx(best, abs=1e-12)


@pytest.mark.full
def test_no_place_is_outside_the_bounds_and_the_box_is_used():
    _, places, _ = run("bounds")
    a, b = (np.array([np.ravel(params[name])[0] for params in places]) for name in "ab")
    assert a.min() >= 0.1 and a.max() <= 2.3 and b.min() >= -3 and b.max() <= 2.3
    assert np.isclose(a, 0.1, rtol=1e-12).any(), "the lowest place is on the bound"


def test_round_off_does_not_leave_the_bounds():
    rng = np.random.default_rng(0)
    upper = jnp.asarray(rng.uniform(0.1, 9, 20_000))
    x, box = jnp.asarray(rng.uniform(-9, 0, 20_000)), Box.around(np.full(20_000, -9.0), np.asarray(upper))
    assert (x + (upper - x) > upper).any(), "a plain difference leaves them"
    end = x + _inside(x, upper - x, box)
    assert (end <= upper).all()
    np.testing.assert_allclose(end, upper, atol=1e-13)


@pytest.mark.full
def test_the_step_starts_where_the_parameters_are_not_where_they_were_expected():
    optimizer = shapeopt.optax.shape(BUDGET, bounds=(-5, 5))
    state, other = optimizer.init(tree()), tree(np.array([0.3, 0.4]))
    value, gradient = jax.value_and_grad(bowl)(other)
    updates, _ = jax.jit(optimizer.update)(gradient, state, other, value=value)
    step, slope = (np.concatenate([np.ravel(part["a"]), np.ravel(part["b"])]) for part in (updates, gradient))
    np.testing.assert_allclose(step / np.linalg.norm(step), -slope / np.linalg.norm(slope), atol=1e-9)


def test_updates_keep_dtype_and_structure():
    with jax.enable_x64(False):
        values, places, _ = run(dtype=np.float32)
    assert all(leaf.dtype == np.float32 for leaf in jax.tree.leaves(places[-1]))
    assert jax.tree.structure(places[-1]) == jax.tree.structure(places[0])
    assert min(values) < values[0] / 3


def test_value_and_params_are_asked_for():
    optimizer = optax.chain(optax.identity(), shapeopt.optax.shape(BUDGET))
    params = tree()
    state = optimizer.init(params)
    with pytest.raises(ValueError, match="`value` is missing"):
        optimizer.update(params, state, params)
    with pytest.raises(ValueError, match="`params` is missing"):
        optimizer.update(params, state, value=1.0)


@pytest.mark.parametrize(("settings", "words"), [({"budget": 0}, "budget"), ({"bounds": 3}, "bounds")])
def test_wrong_arguments_are_named(settings, words):
    with pytest.raises(ValueError, match=words):
        shapeopt.optax.shape(**settings).init(tree())


def test_another_value_at_the_best_point_is_warned_of_once():
    optimizer = shapeopt.optax.shape(BUDGET, seed=3)
    params = tree()
    state = optimizer.init(params)
    _, read = optimizer.update(jax.grad(loss)(params), state, params, value=loss(params))
    with pytest.warns(MinibatchWarning, match="minibatches") as caught:
        _, again = optimizer.update(jax.grad(loss)(params), read, params, value=loss(params) + 0.5)
        _, _ = optimizer.update(jax.grad(loss)(params), again, params, value=loss(params) + 0.7)
        jax.effects_barrier()
    assert len(caught) == 1 and bool(again.two_values) and not bool(read.two_values)
