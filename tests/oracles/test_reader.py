"""A reader gives what a compiled run would read, counts every call, and refuses the first one too many."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import io_callback

from shapeopt.core import AbstractOptimizer, Box
from shapeopt.oracles import (
    ORACLES,
    AbstractOracle,
    AdditiveNoise,
    BudgetExhausted,
    CoordinateDifferenceOracle,
    ExactOracle,
    NoisyOracle,
    Reader,
    ValueOnlyOracle,
)
from shapeopt.rollout import rollout

DIM = 4
POINTS = np.linspace(-3, 3, 5 * DIM).reshape(5, DIM) ** 3 / 10
FIRST_ORDER = ("exact", "additive", "minibatch")


def objective(q):
    return 0.5 * jnp.sum(jnp.arange(1, q.size + 1, dtype=q.dtype) * q**2) + q[0] * q[-1]


def box(dtype=np.float64, half=5.0) -> Box:
    return Box.around(np.full(DIM, -half, dtype), np.full(DIM, half, dtype))


def build(name: str) -> AbstractOracle:
    return ORACLES[name](objective, jnp.full(DIM, -5.0), jnp.full(DIM, 5.0))


def reader(oracle, budget=1000, seed=0) -> Reader:
    return Reader(oracle, box(), budget, jax.random.key(seed))


class Script(AbstractOptimizer):
    """Asks at given points, whatever it is told, and shows the gradients."""

    points: jax.Array

    def init(self, x0, box, budget, key):
        return jnp.zeros((), jnp.int32), jnp.zeros_like(x0)

    def ask(self, state):
        return self.points[state[0]]

    def tell(self, state, reading):
        return state[0] + 1, reading.gradient

    def info(self, state):
        return state[1]


@pytest.mark.grid(4)
@pytest.mark.parametrize("name", ORACLES)
def test_a_reader_and_a_compiled_run_with_one_key_read_the_same(name):
    oracle, key = build(name), jax.random.key(11)
    if name == "additive":
        oracle = NoisyOracle(objective, AdditiveNoise(0.2), value_sigma=0.3)
    trace = rollout(Script(jnp.asarray(POINTS)), oracle, jnp.asarray(POINTS[0]), box(), 5 * oracle.cost, key)
    read = Reader(oracle, box(), 5 * oracle.cost, key)
    answers = [read.value_and_gradient(x) for x in POINTS]
    np.testing.assert_allclose([value for value, _ in answers], trace.steps.value, rtol=1e-12)
    np.testing.assert_allclose([gradient for _, gradient in answers], trace.steps.info, rtol=1e-7, atol=1e-7)
    np.testing.assert_array_equal(read.calls_after, trace.steps.calls)
    assert read.best_value == pytest.approx(float(trace.best.value), rel=1e-12)
    np.testing.assert_array_equal(read.best_x, trace.best.x)


@pytest.mark.parametrize("name", FIRST_ORDER)
def test_the_value_alone_is_the_one_that_the_whole_reading_would_bring(name):
    oracle = build(name)
    if name == "additive":
        oracle = NoisyOracle(objective, AdditiveNoise(0.2), value_sigma=0.3)
    whole, alone = reader(oracle), reader(oracle)
    for x in POINTS:
        assert alone.value(x) == pytest.approx(whole.value_and_gradient(x)[0], rel=1e-13)
    assert alone.calls == whole.calls == 5


@pytest.mark.parametrize(
    "oracle",
    [
        ValueOnlyOracle(objective, 2),
        ValueOnlyOracle(objective, 2, include_value=False),
        CoordinateDifferenceOracle(objective, DIM),
        NoisyOracle(CoordinateDifferenceOracle(objective, DIM), AdditiveNoise(0.2)),
    ],
)
def test_a_value_only_oracle_answers_the_value_at_the_point_itself_for_one_call(oracle):
    read = reader(oracle)
    assert read.value(POINTS[1]) == pytest.approx(float(objective(jnp.asarray(POINTS[1]))), rel=1e-14)
    assert (read.calls, read.readings) == (1, 1)
    read.value_and_gradient(POINTS[1])
    assert (read.calls, read.readings) == (1 + oracle.cost, 2)


def test_values_alone_of_a_value_only_oracle_carry_its_noise():
    read = reader(ValueOnlyOracle(objective, 2, value_sigma=0.5), budget=4000)
    noise = np.array([read.value(POINTS[1]) for _ in range(4000)]) - float(objective(jnp.asarray(POINTS[1])))
    assert abs(noise.mean()) < 4.5 * 0.5 / np.sqrt(4000)
    assert noise.std() == pytest.approx(0.5, rel=0.05)


def test_the_objective_is_called_as_often_as_is_counted():
    asked = []

    def heard(q):
        io_callback(lambda point: asked.append(np.array(point)), None, q)
        return objective(q)

    read = reader(CoordinateDifferenceOracle(heard, DIM), budget=30)
    with pytest.raises(BudgetExhausted):
        for x in POINTS:
            read.value(x)
            read.value_and_gradient(x)
    jax.effects_barrier()
    assert len(asked) == read.calls == 30
    np.testing.assert_array_equal(asked[0], POINTS[0])


def test_a_reading_that_does_not_fit_is_refused_before_it_begins():
    read = reader(CoordinateDifferenceOracle(objective, DIM), budget=10)
    read.value_and_gradient(POINTS[0])
    with pytest.raises(BudgetExhausted, match="A reading of 9 calls does not fit: 9 of 10 are spent"):
        read.value_and_gradient(POINTS[1])
    assert (read.calls, read.readings, read.exhausted) == (9, 1, True)
    read.value(POINTS[1])  # one call is left
    with pytest.raises(BudgetExhausted):
        read.value(POINTS[1])
    assert read.calls == 10


def test_points_outside_the_box_are_moved_to_it_and_counted():
    read = reader(ExactOracle(objective))
    outside = np.array([-7.0, 1.0, 6.0, np.nan])
    value = read.value(outside)
    inside = np.array([-5.0, 1.0, 5.0, -5.0])
    np.testing.assert_array_equal(read.points, [inside])
    assert value == pytest.approx(float(objective(jnp.asarray(inside))), rel=1e-14)
    read.value(inside)
    assert read.outside == 1


def test_all_that_was_read_is_remembered_and_the_best_is_the_lowest_finite_value():
    values = jnp.asarray([3.0, jnp.nan, 2.0, -jnp.inf, 2.5, jnp.inf])
    read = reader(ExactOracle(lambda q: jnp.take(values, q[0].astype(jnp.int32)) + 0 * q[1]))
    points = np.array([[i, 0.5, 0, 0] for i in range(6)])
    for i, x in enumerate(points):
        read.value(x) if i % 2 else read.value_and_gradient(x)
    points_read = read.points
    np.testing.assert_array_equal(points_read, np.minimum(points, 5))
    np.testing.assert_array_equal(read.values, values)
    np.testing.assert_array_equal(read.calls_after, [1, 2, 3, 4, 5, 6])
    assert read.best_value == 2.0
    np.testing.assert_array_equal(read.best_x, points[2])


def test_the_readers_memory_is_its_own():
    read, x = reader(ExactOracle(objective)), POINTS[0].copy()
    _, gradient = read.value_and_gradient(x)
    x[:] = gradient[:] = 0
    np.testing.assert_array_equal(read.points, POINTS[:1])
    np.testing.assert_array_equal(read.best_x, POINTS[0])


class Shifted(eqx.Module):
    """An objective that carries arrays, as tasks do, and tells when it is traced."""

    shift: jax.Array
    traced: list = eqx.field(static=True)

    def __call__(self, q):
        self.traced.append(q.shape)
        return jnp.sum((q - self.shift) ** 2)


class Log(list):
    __hash__ = object.__hash__  # static fields of a compiled function must be hashable


def test_readers_of_different_tasks_of_one_family_share_one_program():
    traced = Log()
    for shift in (0.0, 1.0, 2.0):
        read = reader(ExactOracle(Shifted(jnp.full(DIM, shift), traced)))
        value, gradient = read.value_and_gradient(np.full(DIM, 3.0))
        assert value == pytest.approx(DIM * (3 - shift) ** 2)
        np.testing.assert_allclose(gradient, 2 * (3 - shift) * np.ones(DIM))
        assert read.value(np.zeros(DIM)) == pytest.approx(DIM * shift**2)
    assert len(traced) == 2  # the pair, and the value alone


@pytest.mark.parametrize("name", ORACLES)
def test_readers_of_one_oracle_share_one_program(name):
    traced = Log()

    def counted(q):
        traced.append(1)
        return jnp.sum(q**2)

    oracle = ORACLES[name](counted, jnp.full(DIM, -5.0), jnp.full(DIM, 5.0))
    reader(oracle).value_and_gradient(np.ones(DIM))
    once = len(traced)
    reader(oracle).value_and_gradient(np.zeros(DIM))
    assert len(traced) == once > 0


def test_bounds_that_are_numpy_arrays_do_not_keep_an_oracle_from_being_read():
    oracle = CoordinateDifferenceOracle(objective, DIM, None, np.full(DIM, -5.0), np.full(DIM, 5.0))
    _, gradient = reader(oracle).value_and_gradient(POINTS[1])
    np.testing.assert_allclose(gradient, jax.grad(objective)(jnp.asarray(POINTS[1])), rtol=1e-6, atol=1e-8)


def test_the_dtype_follows_the_box():
    single = Reader(ExactOracle(objective), box(np.float32), 10, jax.random.key(0))
    value, gradient = single.value_and_gradient(POINTS[1])
    assert (single.points.dtype, single.values.dtype, gradient.dtype) == (np.float32,) * 3
    assert value == pytest.approx(float(objective(jnp.asarray(POINTS[1]))), rel=1e-6)


def test_a_box_in_float64_is_read_in_float64_where_jax_is_in_float32():
    oracle, wide = ExactOracle(lambda q: q[0] - 1), box()
    with jax.enable_x64(False):
        read = Reader(oracle, wide, 10, jax.random.key(0))
        value, gradient = read.value_and_gradient([1 + 1e-12, 0, 0, 0])
    assert value == pytest.approx(1e-12, rel=1e-3)
    assert gradient.dtype == np.float64


def test_the_time_inside_the_objective_grows_with_the_readings():
    read, seen = reader(ExactOracle(objective)), [0.0]
    for x in POINTS:
        read.value(x)
        seen.append(read.seconds)
    assert np.all(np.diff(seen) > 0)


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="`budget` must not be negative; got -1"):
        reader(ExactOracle(objective), budget=-1)
    with pytest.raises(ValueError, match=r"`x` must have shape \(4,\), as the box; got \(3,\)"):
        reader(ExactOracle(objective)).value(np.zeros(3))
