"""Value-only oracles: the estimate, its honest cost, and probes that stay inside the bounds."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapeopt.oracles import CoordinateDifferenceOracle, ValueOnlyOracle
from shapeopt.oracles.probes import probe_pairs, reaches


def smooth(q):
    return jnp.sum(jnp.sin(q)) + 0.3 * q[0] * q[-1] ** 2


@eqx.filter_jit
def read(oracle, q, seed=0):
    return oracle.read(oracle.init(jax.random.key(seed)), q)[1]


@pytest.mark.parametrize("dtype, rtol", [(jnp.float32, 5e-3), (jnp.float64, 1e-8)])
def test_as_many_directions_as_coordinates_give_the_full_gradient(dtype, rtol):
    q = jnp.linspace(-2, 2, 5, dtype=dtype)
    true = jax.grad(smooth)(q)
    for oracle in (ValueOnlyOracle(smooth, 5), CoordinateDifferenceOracle(smooth, 5)):
        reading = read(oracle, q)
        np.testing.assert_allclose(reading.gradient, true, rtol=rtol, atol=rtol)
        np.testing.assert_allclose(reading.value, smooth(q), rtol=1e-6)


def test_error_of_two_sided_differences_falls_with_the_square_of_the_radius():
    q = jnp.linspace(-1, 2, 4)
    radii = np.array([0.2, 0.1, 0.05])
    for oracle in (ValueOnlyOracle, CoordinateDifferenceOracle):
        errors = [
            np.linalg.norm(read(oracle(smooth, 4, jnp.asarray(r)), q).gradient - jax.grad(smooth)(q)) for r in radii
        ]
        slope = np.polyfit(np.log(radii), np.log(errors), 1)[0]
        assert 1.9 < slope < 2.1


@pytest.mark.parametrize("m", [1, 3])
def test_few_directions_are_unbiased_inside_and_in_a_corner(m):
    slope = jnp.asarray([1.0, -2.0, 0.5, 4.0, 0.0])
    lower, upper = -jnp.ones(5), jnp.ones(5)
    oracle = ValueOnlyOracle(lambda x: x @ slope, m, 0.1 * jnp.asarray([1.0, 3, 0.1, 1, 1]), lower, upper)
    many = jax.jit(jax.vmap(lambda q, s: read(oracle, q, s).gradient, in_axes=(None, 0)))
    for q in (jnp.zeros(5), jnp.asarray([1.0, -1.0, 1.0, -1.0, 1.0])):
        g = np.asarray(many(q, jnp.arange(10_000)))
        assert np.all(np.abs(g.mean(0) - slope) <= 4.5 * g.std(0) / np.sqrt(len(g)))


def test_orthonormal_directions_vary_less_than_independent_ones():
    """m orthonormal directions leave out the (d - m) others: squared error |g|^2 (d/m - 1)."""
    slope, d, m = jnp.asarray([1.0, -2.0, 0.5, 4.0]), 4, 2
    oracle = ValueOnlyOracle(lambda x: x @ slope, m)
    g = np.asarray(jax.jit(jax.vmap(lambda s: read(oracle, jnp.zeros(d), s).gradient))(jnp.arange(2_000)))
    errors = np.sum((g - slope) ** 2, axis=1)
    np.testing.assert_allclose(errors.mean(), float(slope @ slope) * (d / m - 1), rtol=0.05)


@pytest.mark.parametrize("include_value, extra", [(True, 1), (False, 0)])
def test_a_reading_evaluates_the_objective_as_often_as_it_charges(include_value, extra):
    seen = []  # how many points each batched evaluation holds, seen by the objective itself

    @jax.custom_batching.custom_vmap
    def counted(q):
        return q @ q

    @counted.def_vmap
    def _(axis_size, in_batched, q):
        seen.append(axis_size)
        return jnp.sum(q * q, axis=1), True

    for oracle, calls in (
        (ValueOnlyOracle(counted, 2, 0.1, include_value=include_value), 4 + extra),
        (CoordinateDifferenceOracle(counted, 3, 0.1, include_value=include_value), 6 + extra),
    ):
        seen.clear()
        reading = read(oracle, jnp.ones(3))
        assert sum(seen) == calls == oracle.cost == int(reading.cost)
        np.testing.assert_allclose(reading.value, 3.0, atol=0.011)


def test_value_noise_enters_every_probe():
    oracle = CoordinateDifferenceOracle(lambda q: 0 * q[0], 2, radius=0.5, value_sigma=1.0)
    readings = jax.jit(jax.vmap(lambda s: read(oracle, jnp.zeros(2), s)))(jnp.arange(20_000))
    np.testing.assert_allclose(readings.value.std(), 1.0, rtol=0.03)
    np.testing.assert_allclose(readings.gradient.std(0), np.sqrt(2), rtol=0.03)  # (eta+ - eta-) / (2 radius)
    assert np.all(np.abs(readings.gradient.mean(0)) < 4.5 * np.sqrt(2 / 20_000))


def test_a_fixed_coordinate_has_gradient_zero_and_the_others_are_unharmed():
    lower, upper = jnp.asarray([-1.0, 0.5]), jnp.asarray([1.0, 0.5])
    for oracle in (
        ValueOnlyOracle(smooth, 2, None, lower, upper),
        CoordinateDifferenceOracle(smooth, 2, None, lower, upper),
    ):
        g = read(oracle, jnp.asarray([0.2, 0.5])).gradient
        assert float(g[1]) == 0
        assert abs(float(g[0] - jax.grad(smooth)(jnp.asarray([0.2, 0.5]))[0])) < 1e-7


@st.composite
def cornered(draw, dims=(1, 2, 3, 5)):
    """A box (any place, any width down to none) and a point inside it, on a face or in a corner."""
    d = draw(st.sampled_from(dims))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    numbers = lambda low, high: np.array(draw(st.lists(st.floats(low, high), min_size=d, max_size=d)), dtype)  # noqa: E731
    widths = st.sampled_from([0.0, 1e-30, 1e-12, 1e-3, 1.0, 1e4, np.inf])
    lower = numbers(-1e3, 1e3)
    upper = (lower + np.array(draw(st.lists(widths, min_size=d, max_size=d)), dtype)).astype(dtype)
    top = np.where(np.isfinite(upper), upper, lower + dtype(10))
    share = np.array(draw(st.lists(st.sampled_from([0, 0.3, 1 - 1e-7, 1]), min_size=d, max_size=d)), dtype)
    q = np.clip(lower + share * (top - lower), lower, top).astype(dtype)
    return lower, upper, q, draw(st.sampled_from([None, 1e-9, 1e-2, 1e3])), draw(st.integers(0, 99))


@pytest.mark.full
@given(cornered())
def test_probes_never_leave_the_bounds_and_span_the_direction(case):
    lower, upper, q, radius, seed = case
    u = np.linalg.qr(np.random.default_rng(seed).standard_normal((q.size, q.size)))[0].astype(q.dtype)
    for xp in (np, jnp):
        args = [xp.asarray(v) for v in (q, u)]
        up, down = reaches(args[0], radius, lower, upper, xp)
        plus, minus = (np.asarray(v) for v in probe_pairs(args[0], args[1], up, down, lower, upper, xp))
        assert plus.dtype == minus.dtype == q.dtype
        assert np.all((plus >= lower) & (plus <= upper) & (minus >= lower) & (minus <= upper))
        ulp = np.finfo(q.dtype).eps * np.maximum(np.abs(plus), np.abs(minus)).max()
        assert np.all(np.abs(plus - minus - np.asarray(up + down) * u) <= 4 * ulp)


def test_round_off_does_not_carry_a_probe_over_a_bound():
    rng = np.random.default_rng(0)
    q, lower, upper = rng.uniform(-1, 1, 2000), rng.uniform(-5, -1, 2000), rng.uniform(1, 5, 2000)
    assert np.any(q + (upper - q) > upper) and np.any(q - (q - lower) < lower)
    plus, minus = probe_pairs(q, np.ones((1, 2000)), *reaches(q, 1e3, lower, upper, np), lower, upper, np)
    assert np.all(plus <= upper) and np.all(minus >= lower)


@pytest.mark.full
@given(cornered(dims=(3,)))  # one shape, so that compiled code is used again
def test_the_compiled_oracle_gives_a_finite_gradient_at_any_corner(case):
    lower, upper, q, radius, seed = case
    reach = None if radius is None else jnp.asarray(radius, q.dtype)
    oracle = ValueOnlyOracle(jnp.sum, q.size, reach, jnp.asarray(lower), jnp.asarray(upper))
    reading = read(oracle, jnp.asarray(q), jnp.asarray(seed))
    assert bool(jnp.all(jnp.isfinite(reading.gradient)))


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: ValueOnlyOracle(smooth, 0), "`directions` must be at least 1; got 0"),
        (lambda: ValueOnlyOracle(smooth, 1, 0.0), "`radius` must be finite and positive; got 0.0"),
        (lambda: ValueOnlyOracle(smooth, 1, None, 1.0, -1.0), "`lower` must be at most `upper` = -1.0; got 1.0"),
        (lambda: ValueOnlyOracle(smooth, 1, value_sigma=-1.0), "`value_sigma` must be .*got -1.0"),
        (lambda: CoordinateDifferenceOracle(smooth, 0), "`directions` must be at least 1; got 0"),
        (lambda: CoordinateDifferenceOracle(smooth, 1, np.nan), "`radius` must be finite and positive; got nan"),
        (lambda: read(ValueOnlyOracle(smooth, 4), jnp.ones(3)), "`directions` must be at most the dimension 3; got 4"),
        (
            lambda: read(CoordinateDifferenceOracle(smooth, 4), jnp.ones(3)),
            "`directions` must be the dimension 3; got 4",
        ),
    ],
)
def test_wrong_use_names_the_argument_and_the_value(make, message):
    with pytest.raises(ValueError, match=message):
        make()
