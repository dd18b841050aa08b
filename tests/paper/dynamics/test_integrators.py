"""The step: against dense NumPy, in its limits, and by the order at which its errors fall."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.paper.dynamics import (
    AbstractMetric,
    DiagonalMetric,
    DissipationOperator,
    SemiImplicitStep,
    ShapedPotential,
    SkewOperator,
    Structure,
)

WIDE = (-jnp.inf, jnp.inf, jnp.inf)  # lower, upper, p_max


class DenseMetric(AbstractMetric):
    inverse: jax.Array

    def solve(self, v):
        return self.inverse @ v


def _structure(rng, d, r, zeta):
    """Random operators with every channel on."""
    U, V, B = (jnp.asarray(rng.standard_normal((d, r))) for _ in range(3))
    metric = DiagonalMetric.from_log(jnp.asarray(rng.uniform(-0.5, 0.5, d)))
    dissipation = DissipationOperator.from_raw(B, jnp.asarray(rng.standard_normal(d)))
    u_shp, K_d = jnp.asarray(rng.standard_normal(d)), jnp.asarray(rng.uniform(0, 1, d))
    return Structure(metric, SkewOperator(U, V), dissipation, *map(jnp.asarray, (zeta, 0.7, 1.3)), u_shp, K_d)


@pytest.mark.parametrize("h", [0.0, -0.1, float("nan")])
def test_a_step_size_that_is_not_positive_is_refused_by_name(h):
    with pytest.raises(ValueError, match=r"`h` must be positive; got"):
        SemiImplicitStep(h=h)


def test_semi_implicit_step_is_the_paper_s_formula_with_dense_matrices():
    rng = np.random.default_rng(0)
    d, h, zeta, p_max = 7, 0.05, 0.2, 1.0
    S = _structure(rng, d, 3, zeta)
    q, p, g, q_bar = (rng.standard_normal(d) for _ in range(4))
    potential = ShapedPotential.anchored(jnp.asarray(q_bar), jnp.asarray(2.0))
    result = SemiImplicitStep(h)(q, p, g, potential, S, q - 0.02, q + 0.02, p_max)

    U, V, B, diagonal, inverse = map(
        np.asarray, (S.skew.U, S.skew.V, S.dissipation.B, S.dissipation.diagonal, S.metric.inverse)
    )
    Omega, D, M = U @ V.T - V @ U.T, B @ B.T + np.diag(diagonal), np.diag(1 / inverse)
    e_p = np.linalg.solve(M, p)
    u_port = np.asarray(S.u_shp) - np.asarray(S.K_d) * e_p
    force = -(g + 2.0 * (q - q_bar)) + 0.7 * Omega @ e_p - (1.3 * D + zeta / h * M) @ e_p + u_port
    p_free = p + h * force
    p_new = np.clip(p_free, -p_max, p_max)
    q_free = q + h * np.linalg.solve(M, p_new)
    assert np.any(p_new != p_free) and np.any(np.abs(q_free - q) > 0.02)
    for ours, expected in zip(
        (result.q, result.p, result.q_free, result.p_free, result.e_p, result.v),
        (np.clip(q_free, q - 0.02, q + 0.02), p_new, q_free, p_free, e_p, np.linalg.solve(M, p_new)),
        strict=True,
    ):
        np.testing.assert_allclose(ours, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_full_dissipation_in_the_metric_h2_B_is_the_newton_step(dtype):
    rng = np.random.default_rng(1)
    d, h = 12, 0.05
    root = rng.standard_normal((d, d))
    B = root @ root.T / d + np.eye(d)
    q, p, g = (jnp.asarray(rng.standard_normal(d), dtype) for _ in range(3))
    metric = DenseMetric(jnp.asarray(np.linalg.inv(h**2 * B), dtype))
    structure = Structure.plain(metric, jnp.ones((), dtype), q)
    result = SemiImplicitStep(h)(q, 1e3 * p, g, ShapedPotential.none(q), structure, *WIDE)
    expected = np.asarray(q, float) - np.linalg.solve(B, np.asarray(g, float))
    np.testing.assert_allclose(result.q, expected, atol=50 * np.finfo(dtype).eps, rtol=0)


def test_a_dominant_anchor_is_reached_in_one_step():
    rng = np.random.default_rng(2)
    h, kappa = 0.05, 40.0
    q, p, g, q_bar = (jnp.asarray(rng.standard_normal(9)) for _ in range(4))
    structure = Structure.plain(DiagonalMetric(jnp.full(9, 1 / (h**2 * kappa))), jnp.ones(()), q)
    result = SemiImplicitStep(h)(q, p, g, ShapedPotential.anchored(q_bar, jnp.asarray(kappa)), structure, *WIDE)
    np.testing.assert_allclose(result.q, q_bar - g / kappa, rtol=0, atol=1e-14)


def test_bounds_and_momentum_limit_are_never_left():
    rng = np.random.default_rng(3)
    q, p, g = (jnp.asarray(100 * rng.standard_normal(50)) for _ in range(3))
    q = jnp.clip(q, -5, 5)
    result = SemiImplicitStep(1.0)(q, p, g, ShapedPotential.none(q), _structure(rng, 50, 2, 0.1), -5.0, 5.0, 3.0)
    assert jnp.max(jnp.abs(result.q)) == 5.0
    assert jnp.max(jnp.abs(result.p)) <= 3.0 < jnp.max(jnp.abs(result.p_free))


def test_a_move_is_shortened_to_the_radius_and_left_alone_within_it():
    rng = np.random.default_rng(6)
    q, p, g = (jnp.asarray(rng.standard_normal(8)) for _ in range(3))
    args = (q, p, g, ShapedPotential.none(q), _structure(rng, 8, 2, 0.1), *WIDE)
    free = SemiImplicitStep()(*args)
    length = jnp.linalg.norm(free.q - q)
    short = SemiImplicitStep()(*args, 0.25 * length)
    np.testing.assert_allclose(short.q - q, 0.25 * (free.q - q), rtol=1e-12, atol=1e-15)
    assert jnp.array_equal(SemiImplicitStep()(*args, 1.01 * length).q, free.q)


@pytest.mark.parametrize("radius", [float("inf"), 0.5])
def test_derivatives_of_a_plant_at_rest_are_finite(radius):
    rest = jnp.zeros(3)
    structure = Structure.plain(DiagonalMetric(jnp.ones(3)), jnp.asarray(0.1), rest)

    def moved(p):
        return jnp.sum(SemiImplicitStep()(rest, p, rest, ShapedPotential.none(rest), structure, *WIDE, radius).q)

    np.testing.assert_allclose(jax.grad(moved)(rest), 0.05 * 0.9, rtol=1e-12)


def test_a_step_applies_the_inverse_metric_twice():
    calls = []

    class CountingMetric(AbstractMetric):
        def solve(self, v):
            calls.append(v)
            return v

    q = jnp.ones(3)
    SemiImplicitStep()(q, q, q, ShapedPotential.none(q), Structure.plain(CountingMetric(), jnp.asarray(0.1), q), *WIDE)
    assert len(calls) == 2


def test_compiled_and_batched_steps_equal_single_ones():
    rng = np.random.default_rng(4)
    structure = _structure(rng, 5, 2, 0.1)
    q, p, g = (jnp.asarray(rng.standard_normal((3, 5))) for _ in range(3))

    def one(q, p, g):
        return SemiImplicitStep()(q, p, g, ShapedPotential.none(q), structure, -5.0, 5.0, 2.0)

    batched = jax.jit(jax.vmap(one))(q, p, g)
    single = one(q[1], p[1], g[1])
    for ours, expected in zip(jax.tree.leaves(batched), jax.tree.leaves(single), strict=True):
        np.testing.assert_allclose(ours[1], expected, rtol=1e-12, atol=1e-13)


def _quartic(q):
    return jnp.sum(0.5 * q**2 + 0.25 * q**4)


def _energy_errors(step, time):
    """Largest |H - H_0| of the undamped quartic oscillator."""
    metric = DiagonalMetric(jnp.array([1.0, 0.5]))
    q, p = jnp.array([1.0, -0.5]), jnp.array([0.3, 0.8])
    structure, potential = Structure.plain(metric, jnp.zeros(()), q), ShapedPotential.none(q)

    def body(state, _):
        q, p = state
        g = jax.grad(_quartic)(q)
        result = step(q, p, g, potential, structure, *WIDE)
        return (result.q, result.p), _quartic(q) + metric.kinetic(p)

    _, H = jax.lax.scan(body, (q, p), length=round(time / step.h))
    return float(jnp.max(jnp.abs(H - H[0])))


def test_energy_error_of_the_undamped_plant_falls_in_proportion_to_the_step_size():
    sizes = [0.08, 0.04, 0.02, 0.01]
    errors = [_energy_errors(SemiImplicitStep(h), 4.0) for h in sizes]
    slope = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert abs(slope - 1) < 0.1, (slope, errors)


def test_trajectory_error_of_the_damped_oscillator_falls_in_proportion_to_the_step_size():
    gamma, time, sizes = 0.6, 3.0, [0.1, 0.05, 0.025, 0.0125]
    omega = np.sqrt(1 - gamma**2 / 4)
    exact = np.exp(-gamma * time / 2) * (np.cos(omega * time) + gamma / (2 * omega) * np.sin(omega * time))
    errors = []
    for h in sizes:
        kept = np.exp(-gamma * h)
        q = jnp.ones(1)
        structure, potential = Structure.plain(DiagonalMetric(q), jnp.asarray(1 - kept), q), ShapedPotential.none(q)
        p = 0 * q
        step = SemiImplicitStep(h)

        def body(_, state, step=step, potential=potential, structure=structure):
            result = step(*state, state[0], potential, structure, *WIDE)
            return result.q, result.p

        errors.append(abs(float(jax.lax.fori_loop(0, round(time / h), body, (q, p))[0][0]) - exact))
    slope = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert abs(slope - 1) < 0.15, (slope, errors)


@pytest.mark.parametrize("seed", range(3))
def test_frozen_stage_without_port_input_contracts_at_the_rate_of_its_one_step_matrix(seed):
    """V of eq. dp_modified_lyapunov falls at every step by the factor of the dense map, and in the end at its rate."""
    rng = np.random.default_rng(seed)
    d, h, mixing, length = 6, 0.05, 0.1, 1200
    S = _structure(rng, d, 2, 0.0)
    D = DissipationOperator(0.5 * S.dissipation.B, S.dissipation.diagonal + 0.5)  # assumption (A2): D > 0
    skew = SkewOperator(0.5 * S.skew.U, S.skew.V)
    S = Structure(S.metric, skew, D, S.zeta, S.alpha_J, S.alpha_R, jnp.zeros(d), jnp.zeros(()))
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0]
    A = turn @ np.diag(np.linspace(1.0, 4.0, d)) @ turn.T

    one, none, inverse = np.eye(d), np.zeros((d, d)), np.diag(np.asarray(S.metric.inverse))
    U, V, B = map(np.asarray, (skew.U, skew.V, D.B))
    R = 0.7 * (U @ V.T - V @ U.T) - 1.3 * (B @ B.T + np.diag(np.asarray(D.diagonal)))
    T = np.block([[one, h * inverse], [none, one]]) @ np.block([[one, none], [-h * A, one + h * R @ inverse]])
    P = 0.5 * np.block([[A, mixing * one], [mixing * one, inverse]])
    worst = np.max(np.linalg.eigvals(np.linalg.solve(P, T.T @ P @ T)).real)
    rate = 2 * np.log(np.max(np.abs(np.linalg.eigvals(T))))
    assert np.linalg.eigvalsh(P)[0] > 0
    assert (1 - worst) / h > 0.2  # c_s of eq. dp_discrete_contraction; measured 0.21 to 0.25

    potential = ShapedPotential.none(jnp.zeros(d))

    def body(state, _):
        q, p = state
        lyapunov = 0.5 * q @ A @ q + S.metric.kinetic(p) + mixing * q @ p
        result = SemiImplicitStep(h)(q, p, A @ q, potential, S, *WIDE)
        return (result.q, result.p), lyapunov

    _, lyapunov = jax.lax.scan(body, tuple(jnp.asarray(rng.standard_normal((2, d)))), length=length)
    assert np.max(lyapunov[1:] / lyapunov[:-1]) <= worst * (1 + 1e-9)
    tail = np.polyfit(np.arange(length // 2), np.log(lyapunov[length // 2 :]), 1)[0]
    assert abs(tail / rate - 1) < 0.05, (tail, rate)
