"""The cross-entropy method: rounds, refits, and what happens to values that are not finite."""

import jax
import jax.numpy as jnp
import numpy as np

from shapeopt.baselines import CrossEntropy
from shapeopt.core import Box
from shapeopt.oracles import ExactOracle
from shapeopt.rollout import rollout

D = 3
X0, CENTRE = np.array([2.0, -1.0, 0.5]), np.array([-1.0, 2.0, 0.0])


def bowl(x):
    return jnp.sum((x - CENTRE) ** 2)


def holed(x):
    """nan on half of the box, and there lies the minimum of the bowl."""
    return jnp.where(x[0] < 0.0, jnp.nan, 1.0) * bowl(x)


def run(fun, budget, optimizer=CrossEntropy()):  # noqa: B008
    box = Box.around(np.full(D, -5.0), np.full(D, 5.0))
    go = lambda x, key: rollout(optimizer, ExactOracle(fun), x, box, budget, key, record_points=True)  # noqa: E731
    return jax.jit(go)(jnp.asarray(X0), jax.random.key(2))


def test_the_law_is_refitted_to_the_elites_after_a_round():
    trace = run(bowl, 40)
    x, values, law = np.asarray(trace.steps.x), np.asarray(trace.steps.value), trace.end.state.law
    elites = x[np.argsort(values)[:8]]
    np.testing.assert_allclose(law.mean, 0.7 * elites.mean(axis=0) + 0.3 * X0, rtol=1e-12)
    np.testing.assert_allclose(law.std, 0.7 * elites.std(axis=0) + 0.3 * 2.5, rtol=1e-12)


def test_within_a_round_the_law_stands_and_samples_have_its_spread():
    trace = run(bowl, 400, CrossEntropy(population=401, elites=2, spread=0.1))
    np.testing.assert_array_equal(trace.end.state.law.mean, X0)
    x = np.asarray(trace.steps.x)
    np.testing.assert_array_equal(x[0], X0)
    np.testing.assert_allclose(x[1:].mean(axis=0), X0, atol=0.1)
    np.testing.assert_allclose(x[1:].std(axis=0), 0.5, rtol=0.15)


def test_it_closes_in_on_a_bowl():
    assert run(bowl, 800).best.value < 1e-4


def test_values_that_are_not_finite_are_never_elites():
    trace = run(holed, 400)
    state = trace.end.state
    assert np.isnan(trace.steps.value).any() and np.all(np.isfinite(state.law.mean)) and np.all(state.law.std > 0)
    assert state.law.mean[0] > 0.0 and trace.best.value < 1.1  # the best that half of the box allows is 1


def test_a_round_without_a_finite_value_leaves_the_law():
    law = run(lambda x: jnp.nan * jnp.sum(x), 40).end.state.law
    np.testing.assert_allclose(law.mean, X0, rtol=1e-12)
    np.testing.assert_allclose(law.std, 2.5, rtol=1e-12)
