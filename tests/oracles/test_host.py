"""Host oracles: an independent counter agrees, limits hold, strangers' functions are never traced."""

from decimal import Decimal
from fractions import Fraction

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapeopt.core.problem import read_problem
from shapeopt.oracles import BudgetExhausted, FiniteDifferences, HostOracle, traced_pair


class Counted:
    """An objective that counts its own calls and remembers its arguments."""

    def __init__(self, answer):
        self.answer, self.seen = answer, []

    def __call__(self, x):
        self.seen.append(x)
        return self.answer(x)


def sphere(x):
    return float(np.sum(np.asarray(x) ** 2))


X = np.array([1.0, -2.0, 0.5])
LAYOUT = read_problem(X, None, np.random.default_rng(0)).layout
SCHEMES = [None, FiniteDifferences("2-point"), FiniteDifferences("3-point")]


@pytest.mark.parametrize("scheme, cost", list(zip(SCHEMES, [1, 4, 7], strict=True)))
def test_value_only_calls_equal_an_independent_count(scheme, cost):
    fun = Counted(sphere)
    oracle = HostOracle(fun, X, differences=scheme)
    for n in range(1, 4):
        reading = oracle.read(X)
        assert int(reading.cost) == oracle.cost == cost
        assert oracle.calls == len(fun.seen) == n * cost


@pytest.mark.parametrize("jac", [True, lambda x: 2 * x])
def test_a_gradient_makes_a_reading_cost_one(jac):
    fun = Counted(lambda x: (sphere(x), 2 * x) if jac is True else sphere(x))
    oracle = HostOracle(fun, X, jac)
    reading = oracle.read(X)
    assert (oracle.calls, len(fun.seen), int(reading.cost)) == (1, 1, 1)
    assert float(reading.value) == sphere(X)
    np.testing.assert_array_equal(reading.gradient, 2 * X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("jac", [None, lambda x: [2.0 * v for v in x]])
def test_readings_are_numpy_values_of_the_dtype_of_x(dtype, jac):
    scheme = FiniteDifferences("3-point") if jac is None else None
    reading = HostOracle(sphere, X.astype(dtype), jac, differences=scheme).read(X)
    assert (reading.value.dtype, reading.gradient.dtype, reading.cost.dtype) == (dtype, dtype, np.int32)
    assert isinstance(reading.gradient, np.ndarray)
    np.testing.assert_allclose(reading.gradient, 2 * X, atol=1e-2 if dtype == np.float32 else 1e-8)


def test_differences_along_all_coordinates_give_the_true_gradient():
    fun, x = (lambda x: np.sin(x).sum() + x[0, 0] * x[1, 1]), np.array([[0.1, 0.2], [0.3, -2.0]])
    true = np.cos(x) + np.array([[x[1, 1], 0], [0, x[0, 0]]])
    for name, atol in (("2-point", 1e-6), ("3-point", 1e-8)):
        oracle = HostOracle(fun, x, differences=FiniteDifferences(name))
        np.testing.assert_allclose(oracle.read(x).gradient, true, atol=atol)


def test_a_reading_without_a_gradient_has_force_zero():
    reading = HostOracle(sphere, X).read(X)
    assert float(reading.value) == sphere(X) and int(reading.cost) == 1
    np.testing.assert_array_equal(reading.gradient, np.zeros(3))


@given(st.integers(0, 30), st.sampled_from(SCHEMES))
def test_no_call_is_ever_made_past_the_limit(limit, scheme):
    fun = Counted(sphere)
    oracle = HostOracle(fun, X, differences=scheme, limit=limit)
    for _ in range(limit // oracle.cost):
        oracle.read(X)
    with pytest.raises(BudgetExhausted, match=f"{oracle.calls} of {limit} are spent"):
        oracle.read(X)
    assert len(fun.seen) == oracle.calls == limit // oracle.cost * oracle.cost <= limit


def test_a_raised_limit_lets_the_run_go_on():
    oracle = HostOracle(sphere, X, limit=1)
    oracle.read(X)
    oracle.limit = 2
    oracle.read(X)
    assert oracle.calls == 2


@given(st.lists(st.sampled_from([-1.0, -1 + 1e-9, 0.0, 1.0]), min_size=3, max_size=3))
def test_host_probes_never_leave_the_bounds(corner):
    for name in ("2-point", "3-point"):
        fun = Counted(sphere)
        scheme = FiniteDifferences(name, lower=-1.0, upper=np.array([1.0, 1.0, np.inf]))
        HostOracle(fun, X, differences=scheme).read(np.array(corner))
        seen = np.stack(fun.seen)
        assert np.all(seen >= -1) and np.all(seen[:, :2] <= 1)


def test_an_exception_passes_unchanged_and_its_call_is_counted():
    error = ZeroDivisionError("the simulator fell over")

    def fall(x):
        if len(fun.seen) == 3:
            raise error
        return sphere(x)

    fun = Counted(fall)
    oracle = HostOracle(fun, X, differences=FiniteDifferences("2-point"))
    with pytest.raises(ZeroDivisionError) as caught:
        oracle.read(X)
    assert caught.value is error
    assert oracle.calls == len(fun.seen) == 3


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_pass_through(bad):
    for scheme in SCHEMES:
        np.testing.assert_equal(float(HostOracle(lambda x: bad, X, differences=scheme).read(X).value), bad)
    reading = HostOracle(lambda x: 0.0, X, jac=lambda x: bad * np.ones(3)).read(X)
    np.testing.assert_equal(reading.gradient, bad * np.ones(3))


def test_a_value_too_large_for_the_dtype_becomes_infinite():
    reading = HostOracle(lambda x: (1e300, [1e300]), np.ones(1, np.float32), jac=True).read(np.ones(1))
    assert np.isposinf(reading.value) and np.isposinf(reading.gradient[0])


@pytest.mark.parametrize(
    "answer, value",
    [(3, 3.0), (10**30, 1e30), (Fraction(3, 4), 0.75), (Decimal("0.5"), 0.5), (10**400, np.inf), (-(10**400), -np.inf)],
)
def test_a_number_of_any_kind_is_a_value(answer, value):
    assert HostOracle(lambda x: answer, X).read(X).value == value


def test_an_objective_may_write_into_its_argument():
    def overwrite(x):
        x[:] = 0
        return 1.0

    oracle, x = HostOracle(overwrite, X, jac=lambda x: x), X.copy()
    np.testing.assert_array_equal(oracle.read(x).gradient, X)
    np.testing.assert_array_equal(x, X)


@pytest.mark.parametrize(
    "fun, jac, message",
    [
        (lambda x: x, None, r"`fun` must return a real scalar; got shape \(3,\)"),
        (lambda x: 1 + 2j, None, r"`fun` must return a real scalar; got dtype complex128: \(1\+2j\)"),
        (lambda x: None, None, "`fun` must return a real scalar; got dtype object: None"),
        (lambda x: "low", None, "`fun` must return a real scalar; got .*'low'"),
        (
            lambda x: [1, [2, 3]],
            None,
            r"`fun` must return a real scalar; got a pair, \[1, .*needs `jac=True`",
        ),
        (lambda x: [1, 2, [3, 4]], None, r"`fun` must return a real scalar; got \[1, 2, \[3, 4\]\]"),
        (lambda x: 1.0, True, r"`fun` must return a pair \(value, gradient\); got 1.0"),
        (lambda x: (1.0, x[:2]), True, r"`jac` must return a gradient of shape \(3,\); got shape \(2,\)"),
        (sphere, lambda x: 1j * x, r"`jac` must return a real gradient of shape \(3,\); got dtype complex128"),
        (sphere, lambda x: None, r"`jac` must return a real gradient of shape \(3,\); got dtype object: None"),
    ],
)
def test_a_wrong_answer_names_who_gave_it_and_what_it_was(fun, jac, message):
    oracle = HostOracle(fun, X, jac)
    with pytest.raises(ValueError, match=message):
        oracle.read(X)
    assert oracle.calls == 1


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: HostOracle(3, X), "`fun` must be callable; got 3"),
        (lambda: HostOracle(sphere, X, jac="2-point"), "`jac` must be None, True or a callable; got '2-point'"),
        (lambda: HostOracle(sphere, X, limit=-1), "`limit` must not be negative; got -1"),
        (lambda: HostOracle(sphere, [1, 2]), "`x_like` must have a real floating dtype; got int64"),
        (lambda: HostOracle(sphere, X).read(np.ones(2)), r"`x` must have shape \(3,\).*got \(2,\)"),
        (lambda: FiniteDifferences("4-point"), "`scheme` must be one of 2-point, 3-point, cs; got '4-point'"),
    ],
)
def test_wrong_use_names_the_argument_and_the_value(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    "answer, jac, traceable",
    [
        (lambda x: jnp.sum(x**2), None, True),
        (lambda x: (x**2).sum(), None, False),
        (lambda x: (jnp.sum(x**2), 2 * jnp.asarray(x)), True, True),
        (lambda x: (jnp.sum(x**2), 2 * x), True, False),
        (lambda x: jnp.sum(x**2), lambda x: 2 * jnp.asarray(x), True),
        (lambda x: jnp.sum(x**2), lambda x: 2 * x, False),
        (lambda x: np.sum(np.asarray(x) ** 2), None, False),
        (lambda x: float(jnp.sum(x**2)), None, False),
    ],
)
def test_traceability_is_learned_from_one_call_with_a_numpy_array(answer, jac, traceable):
    fun = Counted(answer)
    oracle = HostOracle(fun, X, jac)
    assert oracle.first_reading(X) is traceable
    (x,) = fun.seen
    assert type(x) is np.ndarray and x.dtype == X.dtype and oracle.calls == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_jax_computes_in_the_precision_of_x_where_the_caller_has_not_asked_for_it(dtype):
    seen = []

    def fun(x):
        value = jnp.sum(jnp.sin(x) / 3)
        seen.append(value.dtype)
        return value if len(seen) == 1 or isinstance(x, jax.core.Tracer) else float(value)

    x = X.astype(dtype)
    with jax.enable_x64(False):
        oracle = HostOracle(fun, x)
        oracle.first_reading(x)
        oracle.read_traced(x, traced_pair(fun, None, LAYOUT, dtype))
        reading = oracle.read(x)
    assert set(seen) == {np.dtype(dtype)} and reading.gradient.dtype == reading.value.dtype == dtype
    np.testing.assert_allclose(reading.gradient, np.cos(x) / 3, rtol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("asked", [False, True])
def test_a_traced_first_reading_is_one_call_and_a_second_one_after_a_plain_answer(asked):
    fun = Counted(lambda x: jnp.sum(x**2))
    oracle, spent = HostOracle(fun, X, limit=2 + asked), 1 + asked
    assert not asked or oracle.first_reading(X)
    assert oracle.read_traced(X, traced_pair(fun, None, LAYOUT, X.dtype)) and oracle.calls == spent
    reading = oracle.read(X)
    assert (oracle.calls, int(reading.cost), float(reading.value)) == (spent, 1, sphere(X))
    np.testing.assert_array_equal(reading.gradient, 2 * X)
    second = oracle.read(2 * X)
    assert (oracle.calls, int(second.cost), float(second.value)) == (spent + 1, 1, sphere(2 * X))
    assert type(second.gradient) is np.ndarray and second.gradient.flags.writeable
    assert not oracle.fits(X) and oracle.best_value == sphere(X)


@pytest.mark.parametrize("jac", [True, lambda x: 3 * jnp.asarray(x)])
def test_the_users_own_gradient_is_kept_and_not_differentiated(jac):
    fun = (lambda x: (jnp.sum(x**2), 3 * jnp.asarray(x))) if jac is True else lambda x: jnp.sum(x**2)
    oracle = HostOracle(fun, X, jac)
    assert oracle.first_reading(X) and oracle.read_traced(X, traced_pair(fun, jac, LAYOUT, X.dtype))
    for n, x in enumerate((X, 2 * X), start=1):
        np.testing.assert_array_equal(oracle.read(x).gradient, 3 * x)
        assert oracle.calls == n


def test_the_traced_pair_of_a_structure_is_flat():
    start = {"b": np.ones((1, 2)), "a": np.array([3.0])}
    problem = read_problem(start, None, np.random.default_rng(0))
    pair = traced_pair(lambda t: jnp.sum(t["a"]) ** 2 + jnp.sum(t["b"]), None, problem.layout, problem.x0.dtype)
    value, gradient = pair(problem.x0)
    assert value == 11.0 and gradient.tolist() == [6.0, 1.0, 1.0]


@pytest.mark.parametrize(
    "fun",
    [
        lambda x: jnp.sum(x**2) if x[0] > 0 else jnp.sum(x),
        lambda x: jnp.asarray(np.sum(np.asarray(x) ** 2)),
        lambda x: jnp.sum(jnp.asarray(x[x > -9]) ** 2),
        lambda x: jnp.sum(jnp.asarray(x.tolist()) ** 2),
    ],
    ids=["branches", "NumPy inside", "mask", "method of NumPy"],
)
def test_an_objective_that_cannot_be_traced_is_read_by_values_and_the_attempt_is_a_call(fun):
    counted = Counted(fun)
    oracle = HostOracle(counted, X)
    assert oracle.first_reading(X) and not oracle.read_traced(X, traced_pair(counted, None, LAYOUT, X.dtype))
    assert oracle.calls == len(counted.seen) == 2 and isinstance(counted.seen[1], jax.core.Tracer)
    reading = oracle.read(X)
    assert oracle.calls == len(counted.seen) == 2
    assert float(reading.value) == sphere(X)
    np.testing.assert_array_equal(reading.gradient, 0 * X)


def test_an_answer_that_jax_did_not_compute_is_no_constant_of_a_compiled_program():
    drawn = np.random.default_rng(0)
    oracle = HostOracle(lambda x: drawn.uniform(), X)
    assert not oracle.read_traced(X, traced_pair(oracle.fun, None, LAYOUT, X.dtype)) and oracle.calls == 1
    assert len({float(oracle.read(X).value) for _ in range(5)}) == 5


def test_without_room_for_a_value_after_it_a_first_trace_is_not_tried():
    fun = Counted(lambda x: jnp.sum(x**2))
    oracle = HostOracle(fun, X, limit=1)
    assert not oracle.read_traced(X, traced_pair(fun, None, LAYOUT, X.dtype)) and oracle.calls == len(fun.seen) == 0


def test_a_trace_that_could_not_be_paid_is_not_tried():
    fun = Counted(lambda x: jnp.sum(x**2))
    oracle = HostOracle(fun, X, limit=1)
    assert oracle.first_reading(X) and not oracle.read_traced(X, traced_pair(fun, None, LAYOUT, X.dtype))
    assert oracle.calls == len(fun.seen) == 1


def test_a_value_of_an_objective_that_imported_jax_in_its_first_call_gives_way_to_the_exact_one():
    def fun(x):
        value = jnp.sum(jnp.sin(x) / 3)
        return value if isinstance(value, jax.core.Tracer) else jnp.asarray(float(np.float32(value)))

    oracle = HostOracle(fun, X)
    assert oracle.first_reading(X) and oracle.read_traced(X, traced_pair(fun, None, LAYOUT, X.dtype))
    reading = oracle.read(X)
    assert float(reading.value) == oracle.best_value == pytest.approx(np.sum(np.sin(X) / 3), rel=1e-15)


def test_equal_objectives_share_compiled_code(caplog):
    class Shifted(eqx.Module):
        by: jax.Array

        def __call__(self, x):
            return jnp.sum((x - self.by) ** 2)

    first = traced_pair(Shifted(jnp.asarray(1.0)), None, LAYOUT, X.dtype)(X)[0]
    with jax.log_compiles(True), caplog.at_level("WARNING"):
        second = traced_pair(Shifted(jnp.asarray(2.0)), None, LAYOUT, X.dtype)(X)[0]
    assert first == sphere(X - 1) and second == sphere(X - 2)
    assert not [record for record in caplog.records if "Finished XLA compilation" in record.message]


@pytest.mark.parametrize("jac", [None, lambda x: 2 * x])
def test_the_first_reading_is_paid_once(jac):
    fun = Counted(sphere)
    oracle = HostOracle(fun, X, jac, limit=1)
    assert oracle.traceable is None
    assert oracle.first_reading(X) is False and oracle.traceable is False
    assert oracle.calls == len(fun.seen) == 1
    reading = oracle.read(X)
    assert oracle.calls == len(fun.seen) == int(reading.cost) == 1
    assert float(reading.value) == sphere(X)
    oracle.limit = 2
    assert int(oracle.read(X).cost) == 1
    assert oracle.calls == len(fun.seen) == 2


def test_a_first_reading_elsewhere_is_not_mistaken_for_this_one():
    oracle = HostOracle(sphere, X, jac=lambda x: 2 * x)
    oracle.first_reading(X)
    assert float(oracle.read(2 * X).value) == sphere(2 * X)
    assert oracle.calls == 2


@pytest.mark.parametrize("answer", [float, jnp.asarray])
def test_an_objective_that_cannot_take_a_numpy_array_is_asked_again_with_jax_and_both_are_counted(answer):
    fun = Counted(lambda x: answer(jnp.sum(x.at[0].add(1.0) ** 2)))
    oracle = HostOracle(fun, X)
    assert oracle.first_reading(X) is (answer is not float)
    assert oracle.calls == len(fun.seen) == 2
    assert isinstance(fun.seen[0], np.ndarray) and isinstance(fun.seen[1], jax.Array)
    with jax.enable_x64(False):
        assert int(oracle.read(X).cost) == oracle.calls == len(fun.seen) == 2
        oracle.read(2 * X)
    assert all(isinstance(x, jax.Array) and x.dtype == X.dtype for x in fun.seen[1:])


def test_an_objective_that_writes_into_its_argument_is_asked_once():
    def in_place(x):
        x[0] += 1
        return sphere(x)

    fun = Counted(in_place)
    oracle = HostOracle(fun, X)
    assert oracle.first_reading(X) is False and oracle.calls == len(fun.seen) == 1
    assert oracle.best_value == sphere(X + np.eye(3)[0])


def test_an_objective_that_fails_either_way_shows_its_first_failure():
    def fall(x):
        raise TypeError(f"not for {type(x).__name__}")

    oracle = HostOracle(fall, X)
    with pytest.raises(TypeError, match="not for ndarray"):
        oracle.first_reading(X)
    assert oracle.calls == 2


def test_at_the_limit_an_exception_passes_instead_of_a_second_call():
    def fall(x):
        raise TypeError("no fault of the array's")

    oracle = HostOracle(fall, X, limit=1)
    with pytest.raises(TypeError, match="fault"):
        oracle.first_reading(X)
    assert oracle.calls == 1


def test_a_failure_of_the_objective_itself_is_not_retried():
    def fall(x):
        raise ZeroDivisionError("the simulator fell over")

    oracle = HostOracle(fall, X)
    with pytest.raises(ZeroDivisionError, match="fell over"):
        oracle.first_reading(X)
    assert oracle.calls == 1


def test_a_first_reading_needs_room_for_one_call():
    fun = Counted(sphere)
    with pytest.raises(BudgetExhausted, match="0 of 0 are spent"):
        HostOracle(fun, X, limit=0).first_reading(X)
    assert fun.seen == []
