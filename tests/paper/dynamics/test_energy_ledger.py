"""The ledger closes: its terms sum to a change of H that NumPy computes from the states alone."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shapeopt.paper.dynamics import (
    AbstractMetric,
    Centres,
    DiagonalMetric,
    DissipationOperator,
    Energy,
    PendingBalance,
    SemiImplicitStep,
    ShapedPotential,
    SkewOperator,
    Structure,
    close_balance,
    open_balance,
)

CHANNELS = ("dissipation", "damping_injection", "port_work", "event_work", "clipping", "discretisation", "noise")


class DenseMetric(AbstractMetric):
    inverse: jax.Array

    def solve(self, v):
        return self.inverse @ v


def _task(q):
    return np.sum(0.5 * q**2 + np.cos(2 * q))


def _task_gradient(q):
    return q - 2 * np.sin(2 * q)


def _draw_plant(rng, d, dtype, dense):
    """A random potential, structure and metric, in float64 values that `dtype` holds exactly."""

    def normal(*shape, scale=1.0):
        return (scale * rng.standard_normal(shape)).astype(dtype)

    def centres(count):
        widths = np.sqrt(d) * rng.uniform(0.7, 2, count)
        return Centres(*map(jnp.asarray, (normal(count, d), normal(count), widths.astype(dtype))))

    def scalar(low, high):
        return jnp.asarray(rng.uniform(low, high), dtype)

    root = normal(d, d) / np.sqrt(d).astype(dtype)
    inverse = np.exp(normal(d, scale=0.3))
    full = (root @ root.T + np.diag(inverse)).astype(dtype)
    metric = DenseMetric(jnp.asarray(0.5 * (full + full.T))) if dense else DiagonalMetric(jnp.asarray(inverse))
    skew = SkewOperator(jnp.asarray(normal(d, 2, scale=d**-0.5)), jnp.asarray(normal(d, 2)))
    D = DissipationOperator(jnp.asarray(normal(d, 3, scale=d**-0.5)), jnp.asarray(np.abs(normal(d))))
    u_shp, K_d = jnp.asarray(normal(d)), jnp.asarray(np.abs(normal(d)))
    structure = Structure(metric, skew, D, scalar(0.1, 0.9), scalar(0, 2), scalar(0.2, 2), u_shp, K_d)
    return ShapedPotential(jnp.asarray(normal(d)), scalar(0, 3), centres(3), centres(2)), structure


def _hamiltonian(q, p, potential, metric):
    """H by plain float64 sums, and the size of what is summed."""
    q, p = np.asarray(q, float), np.asarray(p, float)
    wide = jax.tree.map(lambda a: np.asarray(a, float), (potential, metric))
    potential, inverse = wide[0], np.asarray(wide[1].inverse)
    kinetic = 0.5 * p @ (inverse @ p if inverse.ndim == 2 else inverse * p)
    ratios = [np.sum((q - c.points) ** 2, 1) / c.widths**2 for c in (potential.memory, potential.barrier)]
    parts = [
        _task(q),
        0.5 * potential.kappa * np.sum((q - potential.q_bar) ** 2),
        np.sum(potential.memory.heights * np.exp(-0.5 * ratios[0])),
        np.sum(potential.barrier.heights * np.maximum(0, 1 - ratios[1]) ** 2),
        kinetic,
    ]
    return sum(parts), sum(map(abs, parts))


@eqx.filter_jit
def _step_and_open(step, q, p, g, f, before, eps, potential, structure, lower, upper, p_max):
    result = step(q, p, g, potential, structure, lower, upper, p_max)
    return result, open_balance(q, f, result, potential, before, eps)


@given(
    d=st.integers(1, 200),
    dtype=st.sampled_from([np.float32, np.float64]),
    dense=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
@example(d=1, dtype=np.float64, dense=False, seed=0)
@example(d=200, dtype=np.float32, dense=True, seed=0)
@settings(max_examples=4)
def test_ledger_sums_to_the_change_of_energy_with_every_channel_active(d, dtype, dense, seed):
    rng = np.random.default_rng(seed)
    potential, structure = _draw_plant(rng, d, dtype, dense)
    old_potential, old_structure = _draw_plant(rng, d, dtype, dense)
    q, p, eps = (rng.standard_normal(d).astype(dtype) for _ in range(3))
    f, g = _task(q.astype(float)).astype(dtype), _task_gradient(q).astype(dtype) + eps
    H_old, size_old = _hamiltonian(q, p, old_potential, old_structure.metric)
    before = Energy(f, jnp.asarray(H_old - _task(q.astype(float)), dtype))
    step = SemiImplicitStep(0.05)

    def run(lower, upper, p_max):
        bounds = (np.asarray(a, dtype) for a in (lower, upper, p_max))
        return _step_and_open(step, q, p, g, f, before, eps, potential, structure, *bounds)

    free, _ = jax.device_get(run(np.full(d, -np.inf), np.full(d, np.inf), np.inf))
    reach = 0.3 * np.max(np.abs(free.q_free - q))
    result, pending = jax.device_get(run(q - reach, q + reach, 0.7 * np.max(np.abs(free.p_free))))
    ledger = close_balance(pending, _task(result.q.astype(float)).astype(dtype))
    H_new, size_new = _hamiltonian(result.q, result.p, potential, structure.metric)

    assert np.any(result.q != result.q_free) and np.max(np.abs(result.p)) < np.max(np.abs(result.p_free))
    assert all(leaf.dtype == dtype for leaf in ledger)
    e_q, v = (np.abs(np.asarray(a, float)) for a in (result.e_q, result.e_p))
    size = size_old + size_new + e_q @ np.abs(q) + v @ np.abs(p) + sum(abs(float(getattr(ledger, c))) for c in CHANNELS)
    tolerance = 10 * np.finfo(dtype).eps * size
    assert abs(float(ledger.total) - (H_new - H_old)) < tolerance
    assert abs(float(ledger.delta_H) - (H_new - H_old)) < tolerance
    for channel in CHANNELS:  # so that leaving out any of them would break the sum
        assert abs(float(getattr(ledger, channel))) > (10 * tolerance if dtype is np.float64 else 0), channel
    assert ledger.dissipation < 0 and ledger.damping_injection < 0


def _run_plant(step, structure, potential, q, p, length, p_max=np.inf, noise=None):
    """The ledgers of a frozen stage on the task. `noise` (length, d) is the error of each reading's force."""
    noise = jnp.zeros((length, *q.shape)) if noise is None else noise

    def f(q):
        return jnp.sum(0.5 * q**2 + jnp.cos(2 * q))

    def body(carry, eps):
        q, p, pending = carry
        ledger = close_balance(pending, f(q))
        result = step(q, p, jax.grad(f)(q) + eps, potential, structure, -5.0, 5.0, p_max)
        return (result.q, result.p, open_balance(q, f(q), result, potential, ledger.after, eps)), ledger

    (q, _, pending), ledgers = jax.lax.scan(body, (q, p, PendingBalance.none(q.dtype)), noise)
    last = close_balance(pending, f(q))
    return jax.tree.map(lambda a, b: jnp.append(a, b), ledgers, last)


def test_chained_balances_account_for_a_whole_run_and_only_the_first_has_an_event():
    rng = np.random.default_rng(0)
    potential, structure = _draw_plant(rng, 4, np.float64, False)
    q, p = jnp.asarray(rng.standard_normal((2, 4)))
    ledgers = _run_plant(
        SemiImplicitStep(0.05), structure, potential, q, p, 200, 1.0, jnp.asarray(rng.standard_normal((200, 4)))
    )
    np.testing.assert_allclose(ledgers.total, ledgers.delta_H, atol=1e-12)
    assert ledgers.total[0] == 0  # no step had been made
    shaped = potential.value(q) + structure.metric.kinetic(p)
    np.testing.assert_allclose(ledgers.event_work[1], shaped, rtol=1e-13)
    np.testing.assert_allclose(ledgers.event_work[2:], 0, atol=1e-13)
    np.testing.assert_allclose(jnp.sum(ledgers.total), sum(ledgers.after)[-1] - ledgers.task_after[0], rtol=1e-11)


def test_skew_channel_does_no_work():
    """However strong Omega is, it changes the first-order terms of no channel: only the O(h^2) defect sees it."""
    rng = np.random.default_rng(1)
    potential, structure = _draw_plant(rng, 8, np.float64, False)
    q, p, g = jnp.asarray(rng.standard_normal((3, 8)))

    def ledger(alpha_J, h):
        S = eqx.tree_at(lambda s: s.alpha_J, structure, jnp.asarray(alpha_J))
        result = SemiImplicitStep(h)(q, p, g, potential, S, -jnp.inf, jnp.inf, jnp.inf)
        opened = open_balance(q, jnp.zeros(()), result, potential)
        return close_balance(opened, jnp.dot(g, result.q - q)), result  # a linear task: no defect of its own

    (still, _), (turned, moved) = ledger(0.0, 1e-3), ledger(5.0, 1e-3)
    assert np.linalg.norm(moved.p - ledger(0.0, 1e-3)[1].p) > 1e-3  # the channel did act
    for channel in set(CHANNELS) - {"discretisation"}:
        assert getattr(still, channel) == getattr(turned, channel), channel
    extra = [abs(ledger(5.0, h)[0].discretisation - ledger(0.0, h)[0].discretisation) for h in (1e-3, 5e-4)]
    assert 1.9 < np.log2(extra[0] / extra[1]) < 2.1


def test_momentum_clipping_in_a_diagonal_metric_never_adds_energy_and_bounds_the_kinetic_loss():
    rng = np.random.default_rng(2)
    for _ in range(5):
        potential, structure = _draw_plant(rng, 20, np.float64, False)
        q, p, g = jnp.asarray(rng.standard_normal((3, 20)))
        result = SemiImplicitStep()(q, p, g, potential, structure, -jnp.inf, jnp.inf, 0.5)
        lost = structure.metric.kinetic(result.p) - structure.metric.kinetic(result.p_free)
        assert lost < result.work.clipping < 0


def test_a_shortened_move_is_clipping_work_and_the_ledger_still_closes():
    rng = np.random.default_rng(5)
    potential, structure = _draw_plant(rng, 6, np.float64, True)
    q, p = rng.standard_normal((2, 6))
    g = jnp.asarray(_task_gradient(q))
    free, short = (
        SemiImplicitStep()(q, p, g, potential, structure, -5.0, 5.0, np.inf, radius) for radius in (np.inf, 0.01)
    )
    assert np.linalg.norm(free.q - q) > 0.02
    opened = [open_balance(jnp.asarray(q), jnp.asarray(_task(q)), result, potential) for result in (free, short)]
    assert abs(opened[0].clipping) < 1e-14 < 1e-4 < abs(opened[1].clipping)
    ledger = close_balance(opened[1], jnp.asarray(_task(np.asarray(short.q))))
    H, H_new = (_hamiltonian(*at, potential, structure.metric)[0] for at in ((q, p), (short.q, short.p)))
    np.testing.assert_allclose(ledger.total, H_new - H, rtol=1e-11, atol=1e-13)


def test_unknown_noise_sits_in_the_discretisation():
    rng = np.random.default_rng(3)
    potential, structure = _draw_plant(rng, 5, np.float64, False)
    q, p, g, eps = jnp.asarray(rng.standard_normal((4, 5)))
    result = SemiImplicitStep()(q, p, g + eps, potential, structure, -5.0, 5.0, jnp.inf)
    f, f_new = jnp.asarray(1.0), jnp.asarray(0.7)
    known = close_balance(open_balance(q, f, result, potential, eps=eps), f_new)
    unknown = close_balance(open_balance(q, f, result, potential), f_new)
    assert unknown.noise == 0 and known.noise != 0 and known.event_work == 0
    np.testing.assert_allclose(unknown.discretisation, known.discretisation + known.noise, rtol=1e-12)
    np.testing.assert_allclose(unknown.total, known.total, rtol=1e-12)


def test_a_state_that_is_put_back_is_event_work():
    q, back = jnp.array([1.0, 2.0]), jnp.array([0.5, 0.0])
    structure = Structure.plain(DiagonalMetric(jnp.ones(2)), jnp.zeros(()), q)
    potential = ShapedPotential.none(q)
    result = SemiImplicitStep()(back, jnp.zeros(2), jnp.ones(2), potential, structure, -5.0, 5.0, jnp.inf)
    pending = open_balance(back, jnp.asarray(3.0), result, potential, Energy(jnp.asarray(7.0), jnp.asarray(0.5)))
    ledger = close_balance(pending, jnp.asarray(2.5))
    np.testing.assert_allclose(ledger.event_work, (3.0 - 7.0) + (0.0 - 0.5))
    np.testing.assert_allclose(ledger.total, 2.5 + structure.metric.kinetic(result.p) - 7.5, rtol=1e-12)


def test_accumulated_discretisation_defect_falls_linearly_with_the_step():
    rng = np.random.default_rng(4)
    potential, structure = _draw_plant(rng, 3, np.float64, False)
    structure = eqx.tree_at(lambda s: s.zeta, structure, jnp.zeros(()))
    q, p = jnp.asarray(rng.standard_normal((2, 3)))
    sizes = [0.02, 0.01, 0.005]
    defects = [
        abs(jnp.sum(_run_plant(SemiImplicitStep(h), structure, potential, q, p, round(2 / h)).discretisation))
        for h in sizes
    ]
    slope = np.polyfit(np.log(sizes), np.log(defects), 1)[0]
    assert abs(slope - 1) < 0.15, (slope, defects)


def test_without_a_step_a_balance_closes_to_zeros():
    ledger = close_balance(PendingBalance.none(jnp.float32), jnp.asarray(3.0, jnp.float32))
    assert ledger.total == ledger.delta_H == ledger.discretisation == 0
    assert ledger.after == (3.0, 0.0)
    assert ledger.total.dtype == jnp.float32
