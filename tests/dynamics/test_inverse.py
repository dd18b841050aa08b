"""The secant model of the inverse Hessian: what it equals, that it stays positive definite, that it forgets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapeopt.dynamics import Limited
from shapeopt.ops import HOST
from shapeopt.ops.device import DEVICE


def random_pairs(seed, d, count, spread=1.0):
    rng = np.random.default_rng(seed)
    B = rng.normal(size=(d, d))
    hessian = B @ B.T / d + 0.1 * np.diag(10.0 ** rng.uniform(-spread, spread, d))
    moves = rng.normal(size=(count, d)) * 10.0 ** rng.uniform(-4, 1, (count, 1))
    return [(s, hessian @ s) for s in moves]


def dense_inverse(pairs, gamma, d):
    """BFGS updates of gamma I, one after another (Nocedal and Wright, eq. 6.17)."""
    H = gamma * np.eye(d)
    for s, y in pairs:
        rho = 1.0 / (s @ y)
        V = np.eye(d) - rho * np.outer(y, s)
        H = V.T @ H @ V + rho * np.outer(s, s)
    return H


def filled(pairs, capacity, d, dtype=np.float64, ops=HOST):
    held = Limited.blank(ops, capacity, d, dtype)
    for s, y in pairs:
        s, y = ops.xp.asarray(s.astype(dtype)), ops.xp.asarray(y.astype(dtype))
        held = held.add(ops, s, y, s @ y)
    return held


@pytest.mark.parametrize("ops", [HOST, DEVICE], ids=["host", "device"])
@pytest.mark.parametrize(("d", "count"), [(1, 3), (5, 2), (5, 11), (80, 7)])
def test_solve_equals_the_dense_bfgs_product_of_the_last_pairs(d, count, ops):
    pairs = random_pairs(0, d, count)
    held = filled(pairs, 4, d, ops=ops)
    H = dense_inverse(pairs[-4:], 0.3, d)
    v = np.random.default_rng(1).normal(size=d)
    np.testing.assert_allclose(held.solve(ops, ops.xp.asarray(v), 0.3), H @ v, rtol=1e-8, atol=1e-10)


@given(seed=st.integers(0, 10_000), d=st.integers(1, 200), dtype=st.sampled_from([np.float32, np.float64]))
def test_it_is_positive_definite_and_symmetric(seed, d, dtype):
    held = filled(random_pairs(seed, d, 6, spread=0.5), 4, d, dtype)
    v, w = np.random.default_rng(seed).normal(size=(2, d)).astype(dtype)
    Hv, Hw = (held.solve(HOST, one, dtype(0.5)) for one in (v, w))
    assert v @ Hv > 0
    size = np.linalg.norm(v) * np.linalg.norm(Hw) + np.linalg.norm(w) * np.linalg.norm(Hv)
    assert abs(w @ Hv - v @ Hw) <= 2e3 * np.finfo(dtype).eps * size


def test_pairs_before_a_reset_have_no_effect():
    held, v = filled(random_pairs(2, 6, 3), 4, 6).reset(HOST), np.arange(6.0)
    np.testing.assert_allclose(held.solve(HOST, v, 0.7), 0.7 * v)
    s, y = 2.0 * np.ones(6), np.ones(6)
    after = held.add(HOST, s, y, s @ y)
    np.testing.assert_allclose(after.solve(HOST, v, 0.7), dense_inverse([(s, y)], 0.7, 6) @ v)


def test_the_last_pair_is_met_exactly():
    pairs = random_pairs(4, 7, 9)
    held = filled(pairs, 4, 7)
    np.testing.assert_allclose(held.solve(HOST, pairs[-1][1], 0.1), pairs[-1][0], rtol=1e-9, atol=1e-12)
