"""The plant's one step and its line of the ledger."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapeopt.core.board import Plant
from shapeopt.dynamics import H_STEP, LEDGER_TERMS, Channels, Limited, Move, close, no_line, step
from shapeopt.ops import HOST

TERM = {name: i for i, name in enumerate(LEDGER_TERMS)}


class Sides:
    """All that a step reads of the board."""

    def __init__(self, d, reach=5.0):
        self.tank = np.inf
        self.lower, self.upper = np.full(d, -reach), np.full(d, reach)


def drawn(seed, d):
    """(plant, solve, channels) of a random metric and random channels."""
    rng = np.random.default_rng(seed)
    B = rng.normal(size=(d, d))
    inverse = B @ B.T / d + 0.1 * np.eye(d)
    plant = Plant(rng.uniform(-4, 4, d), rng.normal(size=d), rng.normal(), rng.normal(size=d), True)
    channels = Channels(*rng.normal(size=(3, d, 2)), rng.normal(size=d))
    return plant, lambda v: inverse @ v, channels


def total(line):
    return sum(line[:-1])


@given(seed=st.integers(0, 10_000), d=st.integers(1, 9), zeta=st.sampled_from([None, 0.0, 0.2, 1.0]))
def test_terms_add_up_to_the_change_of_energy_with_every_channel_active(seed, d, zeta):
    plant, solve, channels = drawn(seed, d)
    kinetic, f_after = 0.5 * plant.p @ solve(plant.p) * 1.7, 3.0  # under the last step's metric
    made = step(HOST, plant, Move(solve=solve, zeta=zeta, channels=channels, radius=0.5), Sides(d), kinetic)
    line = close(HOST, made.line, f_after, True)
    size = np.abs(line).sum() + abs(plant.f) + abs(f_after) + kinetic
    assert abs(total(line) - line[TERM["delta_H"]]) <= 20 * np.finfo(float).eps * size
    after = 0.5 * made.p @ solve(made.p)
    np.testing.assert_allclose(line[TERM["delta_H"]], f_after + after - plant.f - kinetic, rtol=1e-9, atol=1e-12 * size)


@given(seed=st.integers(0, 10_000), d=st.integers(2, 9))
def test_the_skew_channel_does_no_work_and_the_psd_channel_only_takes(seed, d):
    _, _, channels = drawn(seed, d)
    v = np.random.default_rng(seed + 1).normal(size=d)
    skew = channels._replace(B=0 * channels.B, u_port=0 * v)
    drag = channels._replace(U=0 * channels.U, u_port=0 * v)
    assert abs(v @ skew.force(v)) <= 1e-12 * np.linalg.norm(v) * (np.linalg.norm(skew.force(v)) + 1e-300)
    assert np.linalg.norm(skew.force(v)) > 0 and v @ drag.force(v) <= 0


def test_the_step_is_the_paper_s_formula():
    plant, solve, channels = drawn(3, 4)
    made = step(HOST, plant, Move(solve=solve, zeta=0.2, channels=channels), Sides(4, 1e9), 0.0)
    v_0 = 0.8 * solve(plant.p)
    Omega, D = channels.U @ channels.V.T - channels.V @ channels.U.T, channels.B @ channels.B.T
    p = 0.8 * plant.p + H_STEP * (-plant.g + Omega @ v_0 - D @ v_0 + channels.u_port)
    np.testing.assert_allclose(made.p, p, rtol=1e-12)
    np.testing.assert_allclose(made.q, plant.q + H_STEP * solve(p), rtol=1e-12)


def test_an_overdamped_step_in_the_metric_h2_B_is_the_newton_step():
    plant, _, _ = drawn(4, 3)
    hessian = np.diag([2.0, 30.0, 400.0])
    solve = lambda v: np.linalg.solve(H_STEP**2 * hessian, v)  # noqa: E731
    made = step(HOST, plant, Move(solve=solve), Sides(3, 1e9), 0.0)
    np.testing.assert_allclose(made.q, plant.q - np.linalg.solve(hessian, plant.g), rtol=1e-12)


@given(seed=st.integers(0, 10_000), d=st.integers(1, 9))
def test_a_placement_is_one_relocation_and_no_clipping_or_discretisation(seed, d):
    plant, solve, _ = drawn(seed, d)
    target, kinetic, f_after = plant.q + 1.0, 0.3, plant.f + 7.0
    for move in (Move(target), Move(target, True, solve, zeta=0.2, radius=0.1)):
        made = step(HOST, plant, move, Sides(d, 9.0), kinetic)
        line = close(HOST, made.line, f_after, True)
        np.testing.assert_array_equal(made.q, target)
        assert not made.p.any()
        booked = {name: line[i] for name, i in TERM.items()}
        assert booked["relocation"] == f_after - plant.f and booked["dissipation"] == -kinetic
        assert booked["clipping"] == booked["discretisation"] == booked["port_work"] == booked["event_work"] == 0.0
        np.testing.assert_allclose(total(line), booked["delta_H"], rtol=1e-12)


@given(seed=st.integers(0, 10_000), d=st.integers(1, 9))
def test_no_move_leaves_the_bounds_and_steps_keep_to_their_radius(seed, d):
    plant, solve, channels = drawn(seed, d)
    sides = Sides(d, 4.0)
    for move in (Move(plant.q + 100.0), Move(solve=lambda v: 1e6 * solve(v)), Move(solve=solve, zeta=0.0)):
        q = step(HOST, plant, move._replace(channels=channels), sides, 0.0).q
        assert np.all((q >= sides.lower) & (q <= sides.upper))
    short = step(HOST, plant, Move(solve=lambda v: 1e6 * solve(v), radius=0.25), Sides(d, 1e9), 0.0)
    np.testing.assert_allclose(np.linalg.norm(short.q - plant.q), 0.25, rtol=1e-9)


@pytest.mark.parametrize("factor", [np.inf, np.nan, 1e308])
def test_a_step_that_overflows_leads_nowhere_and_its_line_is_finite(factor):
    plant, _, _ = drawn(1, 3)
    with np.errstate(all="ignore"):
        made = step(HOST, plant, Move(solve=lambda v: factor * v, radius=1.0), Sides(3), 0.0)
        line = close(HOST, made.line, 1.0, True)
    np.testing.assert_array_equal(made.q, plant.q)
    assert np.isfinite(line).all()


def test_before_the_first_move_and_after_a_reading_that_is_not_finite_nothing_is_booked():
    assert not np.any(close(HOST, no_line(HOST, np.float64), 3.0, False))
    plant, _, _ = drawn(2, 3)
    made = step(HOST, plant, Move(plant.q + 1.0), Sides(3), 0.0)
    assert not np.any(close(HOST, made.line, np.inf, False))


def test_the_discretisation_of_a_fixed_time_falls_with_the_step():
    """Energy that no term explains, over unit time of an undamped oscillator, is of first order in h."""
    missed = []
    for scale in (1.0, 0.5, 0.25):  # M^-1 = scale^2 and g = scale ... is the same motion with h -> scale h
        q, p, sides, kinetic, lost = np.array([1.0]), np.array([0.0]), Sides(1), 0.0, []
        for _ in range(int(20 / scale)):
            plant = Plant(q, p, 0.5 * float(q @ q) * scale, q * scale, True)
            made = step(HOST, plant, Move(solve=lambda v, s=scale: s * v, zeta=0.0), sides, kinetic)
            line = close(HOST, made.line, 0.5 * float(made.q @ made.q) * scale, True)
            q, p, kinetic = made.q, made.p, made.line.kinetic
            lost.append(line[TERM["discretisation"]] / scale)
        missed.append(np.abs(np.cumsum(lost)).max())
    slopes = np.diff(np.log2(missed))
    np.testing.assert_allclose(slopes, -1.0, atol=0.15)


def test_a_secant_metric_is_a_metric_of_the_step():
    held = Limited.blank(HOST, 4, 3, np.float64)
    plant, _, _ = drawn(6, 3)
    made = step(HOST, plant, Move(solve=lambda v: held.solve(HOST, v, 2.0)), Sides(3, 1e9), 0.0)
    np.testing.assert_allclose(made.q, plant.q - H_STEP**2 * 2.0 * plant.g, rtol=1e-12)
