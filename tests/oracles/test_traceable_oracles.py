"""Every oracle of the table keeps one contract: honest ledger, paired noise, compiled and batched, in both dtypes."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.oracles import ORACLES, AbstractOracle

pytestmark = pytest.mark.grid(4)

DIM = 4
COSTS = {"value_only": 2 * (DIM // 2) + 1, "coordinate": 2 * DIM + 1}  # every other oracle: one call a reading


def objective(q):
    """A quadratic with coupling: two-sided differences of it have no truncation error."""
    return 0.5 * jnp.sum(jnp.arange(1, q.size + 1, dtype=q.dtype) * q**2) + q[0] * q[-1]


def build(name: str, dtype=jnp.float64) -> AbstractOracle:
    return ORACLES[name](objective, jnp.full(DIM, -5, dtype), jnp.full(DIM, 5, dtype))


@eqx.filter_jit
def read(oracle, state, q):
    return oracle.read(state, q)


def point(dtype=jnp.float64):
    return jnp.asarray([1.0, -0.5, 2.0, 0.25], dtype)


@pytest.mark.parametrize("name", ORACLES)
def test_calls_are_the_sum_of_the_costs_of_all_readings(name):
    oracle = build(name)
    state = oracle.init(jax.random.key(0))
    assert int(state.calls) == 0
    costs = []
    for _ in range(3):
        state, reading = read(oracle, state, point())
        costs.append(int(reading.cost))
    assert costs == [COSTS.get(name, 1)] * 3 == [oracle.cost] * 3
    assert (int(state.calls), int(state.readings)) == (sum(costs), 3)


@pytest.mark.parametrize("name", ORACLES)
def test_the_gradient_is_unbiased(name):
    oracle = build(name)

    @jax.jit
    @jax.vmap
    def gradient(key):
        return oracle.read(oracle.init(key), point())[1].gradient

    g = np.asarray(gradient(jax.random.split(jax.random.key(1), 20_000)))
    error = np.abs(g.mean(0) - jax.grad(objective)(point()))
    assert np.all(error <= 4.5 * g.std(0) / np.sqrt(len(g)) + 1e-6)
    assert (g.std(0).max() > 1e-3) == (name not in ("exact", "adjoint", "coordinate"))


@pytest.mark.parametrize("name", ORACLES)
def test_one_key_gives_one_noise_stream_and_every_reading_its_own_noise(name):
    oracle = build(name)

    def gradients(key, n=3):
        state, out = oracle.init(jax.random.key(key)), []
        for _ in range(n):
            state, reading = read(oracle, state, point())
            out.append(np.asarray(reading.gradient))
        return np.stack(out)

    first = gradients(7)
    np.testing.assert_array_equal(first, gradients(7))
    if name not in ("exact", "adjoint", "coordinate"):
        assert not np.array_equal(first[0], first[1])
        assert not np.array_equal(first, gradients(8))


def test_noise_is_paired_wherever_the_optimizers_ask():
    oracle = build("additive")

    def noise(points):
        state, out = oracle.init(jax.random.key(3)), []
        for q in points:
            state, reading = read(oracle, state, q)
            out.append(reading.gradient - jax.grad(objective)(q))
        return np.stack(out)

    here, there = [point(), 2 * point(), point()], [jnp.zeros(DIM), point(), -point()]
    np.testing.assert_allclose(noise(here), noise(there), rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_readings_have_the_dtype_of_the_point(name, dtype):
    oracle = build(name, dtype)
    _, reading = read(oracle, oracle.init(jax.random.key(0)), point(dtype))
    assert (reading.value.dtype, reading.gradient.dtype, reading.cost.dtype) == (dtype, dtype, jnp.int32)
    assert (reading.value.shape, reading.gradient.shape, reading.cost.shape) == ((), (DIM,), ())


@pytest.mark.parametrize("name", ORACLES)
def test_compiled_and_batched_readings_equal_plain_ones(name):
    oracle = build(name)
    keys, points = jax.random.split(jax.random.key(2), 3), jnp.stack([point(), -point(), jnp.ones(DIM)])

    batched = eqx.filter_jit(eqx.filter_vmap(lambda key, q: oracle.read(oracle.init(key), q)))(keys, points)
    for i in range(3):
        plain = read(oracle, oracle.init(keys[i]), points[i])
        np.testing.assert_array_equal(batched[0].calls[i], plain[0].calls)
        for got, want in zip(jax.tree.leaves(batched[1]), jax.tree.leaves(plain[1]), strict=True):
            np.testing.assert_allclose(got[i], want, rtol=1e-9, atol=1e-9)


class Shifted(eqx.Module):
    """An objective that carries arrays, as tasks do."""

    shift: jax.Array

    def __call__(self, q):
        return objective(q - self.shift)


@pytest.mark.parametrize("name", ORACLES)
def test_an_oracle_over_a_batch_of_tasks_reads_each_task(name):
    shifts = jnp.stack([jnp.zeros(DIM), jnp.ones(DIM)])
    box = jnp.full(DIM, -5.0), jnp.full(DIM, 5.0)
    oracles = eqx.filter_vmap(lambda shift: ORACLES[name](Shifted(shift), *box))(shifts)
    key = jax.random.key(4)
    batched = eqx.filter_vmap(read, in_axes=(eqx.if_array(0), None, None))(oracles, oracles.init(key), point())[1]
    for i in range(2):
        oracle = ORACLES[name](Shifted(shifts[i]), *box)
        alone = read(oracle, oracle.init(key), point())[1]
        np.testing.assert_allclose(batched.gradient[i], alone.gradient, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(batched.value[i], alone.value, rtol=1e-12)


@pytest.mark.parametrize("name", ["exact", "minibatch", "value_only", "coordinate"])
@pytest.mark.parametrize(
    "answer, told",
    [(lambda q: q, r"shape \(4,\)"), (lambda q: jax.lax.complex(q[0], q[1]), "complex128"), (lambda q: None, "None")],
)
def test_an_objective_that_is_no_real_scalar_is_named(name, answer, told):
    oracle = ORACLES[name](objective, jnp.full(DIM, -5.0), jnp.full(DIM, 5.0))
    field = "batch_fun" if name == "minibatch" else "fun"
    wrong = (lambda q, indices: answer(q)) if name == "minibatch" else answer
    oracle = eqx.tree_at(lambda o: getattr(o, field), oracle, wrong)
    with pytest.raises(ValueError, match=f"`{field}` must return a real scalar; got .*{told}"):
        oracle.read(oracle.init(jax.random.key(0)), point())


def test_a_value_of_one_element_counts_as_a_scalar():
    oracle = ORACLES["exact"](lambda q: q[:1] ** 2, jnp.full(DIM, -5.0), jnp.full(DIM, 5.0))
    _, reading = oracle.read(oracle.init(jax.random.key(0)), 3 * point())
    assert (reading.value.shape, float(reading.value), float(reading.gradient[0])) == ((), 9.0, 6.0)
