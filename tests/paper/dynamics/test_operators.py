"""Structure by construction: Omega is skew, D is positive semidefinite, M is positive definite."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shapeopt.paper.dynamics import Centres, DiagonalMetric, DissipationOperator, SkewOperator, Structure

dims = st.integers(1, 200)
ranks = st.sampled_from([0, 1, 4])
dtypes = st.sampled_from([np.float32, np.float64])
seeds = st.integers(0, 2**32 - 1)
scales = st.sampled_from([1e-3, 1.0, 1e3])


@given(dims, ranks, dtypes, seeds, scales)
@settings(max_examples=25)
def test_skew_operator_matches_its_dense_matrix_and_does_no_work(d, r, dtype, seed, scale):
    rng = np.random.default_rng(seed)
    U, V, v = (scale * rng.standard_normal(s).astype(dtype) for s in ((d, r), (d, r), (d,)))
    Omega_v = np.asarray(jax.jit(lambda U, V, v: SkewOperator(U, V)(v))(U, V, v))
    assert Omega_v.dtype == dtype
    U, V, v = (a.astype(np.float64) for a in (U, V, v))
    size = np.abs(U) @ (np.abs(V).T @ np.abs(v)) + np.abs(V) @ (np.abs(U).T @ np.abs(v))
    eps = np.finfo(dtype).eps
    np.testing.assert_array_less(np.abs(Omega_v - (U @ V.T - V @ U.T) @ v), 8 * eps * size + 1e-300)
    assert abs(v @ Omega_v) <= 8 * eps * (np.abs(v) @ size)


@given(dims, ranks, dtypes, seeds, scales)
@settings(max_examples=25)
def test_dissipation_operator_matches_its_dense_matrix_and_never_gives_energy(d, r, dtype, seed, scale):
    rng = np.random.default_rng(seed)
    B, raw, v = (scale * rng.standard_normal(s).astype(dtype) for s in ((d, r), (d,), (d,)))

    @jax.jit
    def apply(B, raw, v):
        D = DissipationOperator.from_raw(B, raw)
        return D(v), D.power(v), D.diagonal

    Dv, power, diagonal = (np.asarray(a) for a in apply(B, raw, v))
    assert Dv.dtype == power.dtype == dtype
    assert np.all(diagonal >= 0)
    B, v, diagonal = (a.astype(np.float64) for a in (B, v, diagonal))
    size = np.abs(B) @ (np.abs(B).T @ np.abs(v)) + diagonal * np.abs(v)
    eps = np.finfo(dtype).eps
    np.testing.assert_array_less(np.abs(Dv - (B @ B.T + np.diag(diagonal)) @ v), 8 * eps * size + 1e-300)
    assert power >= 0
    assert abs(power - v @ Dv) <= 16 * eps * (np.abs(v) @ size)


@given(dims, dtypes, seeds, st.sampled_from([1.0, 30.0, 1e4]))
@settings(max_examples=20)
def test_diagonal_metric_is_positive_definite_for_any_log_mass(d, dtype, seed, scale):
    rng = np.random.default_rng(seed)
    log_mass, v = (scale * rng.standard_normal(d)).astype(dtype), rng.standard_normal(d).astype(dtype)

    @jax.jit
    def apply(log_mass, v):
        M = DiagonalMetric.from_log(log_mass)
        return M.inverse, M.solve(v), M.kinetic(v)

    inverse, solved, kinetic = (np.asarray(a) for a in apply(log_mass, v))
    assert solved.dtype == kinetic.dtype == dtype
    assert np.all((inverse > 0) & np.isfinite(inverse) & np.isfinite(1 / inverse))
    assert kinetic > 0
    np.testing.assert_allclose(kinetic, 0.5 * np.sum(v.astype(float) * solved), rtol=1e-5)


def test_log_mass_is_the_logarithm_of_the_mass():
    M = DiagonalMetric.from_log(jnp.log(jnp.array([2.0, 0.5])))
    np.testing.assert_allclose(M.solve(jnp.array([1.0, 1.0])), [0.5, 2.0], rtol=1e-14)


def test_zero_operators_have_rank_zero_and_no_effect():
    v = jnp.arange(1.0, 4.0)
    skew, D = SkewOperator.zero(3, v.dtype), DissipationOperator.zero(3, v.dtype)
    assert skew.U.shape == D.B.shape == (3, 0)
    assert not skew(v).any() and not D(v).any() and D.power(v) == 0


def test_port_law_subtracts_the_injected_damping():
    y = jnp.array([1.0, -2.0])
    structure = Structure.plain(DiagonalMetric(jnp.ones(2)), jnp.zeros(()), y)
    assert not structure.port_input(y).any()
    zero = jnp.zeros(())
    for K_d in (jnp.array(0.5), jnp.array([0.5, 0.5])):
        given = Structure(structure.metric, structure.skew, structure.dissipation, zero, zero, zero, jnp.ones(2), K_d)
        np.testing.assert_allclose(given.port_input(y), [0.5, 2.0])


@pytest.mark.parametrize(
    ("build", "named"),
    [
        (lambda: SkewOperator(jnp.zeros((3, 1)), jnp.zeros((3, 2))), r"`U` and `V`.*\(3, 1\) and \(3, 2\)"),
        (lambda: DissipationOperator(jnp.zeros((3, 1)), jnp.zeros(2)), r"`diagonal`.*\(2,\)"),
        (lambda: Centres(jnp.zeros((2, 3)), jnp.zeros(3), jnp.zeros(2)), r"`heights`.*\(3,\)"),
    ],
)
def test_mismatched_shapes_are_refused_by_name(build, named):
    with pytest.raises(ValueError, match=named):
        build()
