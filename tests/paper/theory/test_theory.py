"""The statements hold on a shipped policy, with figures and page; a broken operator is caught."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.cli import main
from shapeopt.core import Box
from shapeopt.paper.base import AbstractPolicy
from shapeopt.paper.dynamics import DissipationOperator, ShapedPotential, SkewOperator
from shapeopt.paper.find import load_policy
from shapeopt.paper.theory import defects
from shapeopt.paper.theory.accepted import (
    TerminalCheck,
    check_improvement,
    degenerate_share,
    energy_bound,
    errors_of,
    least_slope_excess,
    terminal_bound,
)
from shapeopt.paper.theory.defects import check_defects, convex_radius
from shapeopt.paper.theory.frozen import FrozenStage, bounds_of, equilibria, freeze, stage_of
from shapeopt.paper.theory.lyapunov import SHARES, Constants, check_rates, fitted_rate
from shapeopt.paper.theory.progress import Proposals, frequencies
from shapeopt.paper.theory.study import Cell, ledger_statement, rate_statement, structure_statement
from shapeopt.paper.theory.watch import watch
from shapeopt.paper.weights import cast_policy
from shapeopt.tasks import StartLaw, make_family


class Symmetric(SkewOperator):
    """A transport that feeds energy in: Omega v = v."""

    def __call__(self, v):
        return v


class Changed(AbstractPolicy):
    """A policy whose controller's structure was tampered with."""

    inner: AbstractPolicy
    part: str = eqx.field(static=True)
    h: float = 0.05
    p_max: float = float("inf")

    def init(self, q, budget, key, descriptor=None):
        return self.inner.init(q, budget, key, descriptor)

    def assess(self, state, plant, action):
        return self.inner.assess(state, plant, action)

    def notice(self, state, plant, action):
        return self.inner.notice(state, plant, action)

    def begin(self, state, plant, action, cause):
        return self.inner.begin(state, plant, action, cause)

    def follow(self, state, plant, action, result):
        return self.inner.follow(state, plant, action, result)

    def control(self, state, plant, action):
        drive = self.inner.control(state, plant, action)
        structure, d = drive.structure, plant.q.size
        if self.part == "D":
            old = structure.dissipation
            broken = DissipationOperator(old.B, old.diagonal.at[0].add(-1e6))
            structure = eqx.tree_at(lambda s: s.dissipation, structure, broken)
        if self.part == "Omega":
            blank = jnp.zeros((d, 1), plant.q.dtype)
            structure = eqx.tree_at(lambda s: (s.skew, s.alpha_J), structure, (Symmetric(blank, blank), jnp.ones(())))
        return drive._replace(structure=structure)


def broken_cell(part):
    policy = Changed(cast_policy(load_policy("paper-ackley-2"), jnp.float64), part)
    return Cell("broken", policy, make_family("ackley", 2, StartLaw.PAPER, varied=True), 24)


@pytest.fixture
def quick_compilation():
    """Runs here are short, and most of their time would be compilation."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


@pytest.mark.full
@pytest.mark.parametrize("part", ["D", "Omega"])
def test_a_broken_operator_is_caught(part, quick_compilation):
    cell = broken_cell(part)
    runs = watch(cell.name, cell.policy, cell.family, 2, cell.budget, 0)
    guilty = {"D": "D not positive semidefinite", "Omega": "Omega not skew"}[part]
    found = structure_statement(runs)
    assert not found.holds and len(found.found) == 2 and found.found[1].startswith(guilty)
    assert not ledger_statement(runs).holds
    checked = check_rates(freeze(runs, runs.stages[1:4]))
    assert checked[2], "stages that (A2) is not true of; where the bound on p cuts nearly all of it, D hardly acts"
    assert part == "D" or len(checked[2]) == 3
    assert not rate_statement(*checked).holds


@pytest.mark.full
def test_one_command_writes_the_report_and_all_statements_hold(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("shapeopt.paper.theory.study.STAGES", 8)
    monkeypatch.setattr("shapeopt.paper.theory.study.STEPPED", 1)
    assert main(["theory", str(tmp_path / "out"), "--policies", "paper-ackley-2", "--runs", "40"]) == 0
    page = (tmp_path / "out" / "report.md").read_text()
    assert "**broken**" not in page and page.count("| held |") == 9
    for name in ("rates", "defects", "progress"):
        assert f"({name}.svg)" in page and (tmp_path / "out" / f"{name}.svg").stat().st_size > 10_000
    assert capsys.readouterr().out.count("held") == 9


@pytest.mark.parametrize("words", [["--policies", "nobody"], ["--runs", "1"], ["--policies", "paper-ackley"]])
def test_wrong_arguments_are_named(tmp_path, words, capsys):
    assert main(["theory", str(tmp_path), *words]) == 2
    assert words[0] in capsys.readouterr().err


@pytest.mark.full
def test_stages_improve_only_where_the_best_is_accepted(quick_compilation):
    policy = cast_policy(load_policy("paper-ackley-2"), jnp.float64)
    runs = watch("whole", policy, make_family("ackley", 2, StartLaw.PAPER, varied=True), 4, 24, 0)
    found = check_improvement(runs)
    assert found.holds and found.stages > 4 and found.last_rises > 0
    assert not check_improvement(replace(runs, best=runs.f)).holds  # the last value in place of the best


def test_a_sequence_that_stands_still_off_a_critical_point_has_errors_that_do_not_fade():
    q = np.zeros((9, 2))
    np.testing.assert_array_equal(errors_of(q, np.ones(9), np.ones(9), 1.0, 1.0), np.ones(8))
    falling = 0.5 ** np.arange(9)
    errors = errors_of(falling[:, None], falling**2, 2 * falling, 0.5, 4.0)  # gradient descent on q^2
    np.testing.assert_array_equal(errors, 0.0)
    assert least_slope_excess(falling**2, 2 * falling, errors, 0.5, 4.0) < 0
    assert least_slope_excess(np.ones(9), np.ones(9), np.zeros(8), 1.0, 1.0) > 0  # errors that hide the slope


def test_a_residual_says_nothing_of_the_distance_to_a_degenerate_minimum():
    constant = Constants.of(bounds_of(stage_of(bowl([4.0, 4.0], 2.0), 0)), 4.0)
    assert terminal_bound(constant, 4.0 * 0.1) >= 0.1  # on the bowl itself, |grad U| = 4 |q|
    assert degenerate_share(constant) > 1e5
    assert energy_bound(constant, 0.5 * 4.0 * 0.1**2) >= 0.1
    assert not TerminalCheck(1.1, 0.5, 1e6).holds


class Bowl(eqx.Module):
    curvatures: jax.Array
    box: Box

    def __call__(self, x):
        return 0.5 * jnp.sum(self.curvatures * x**2)


def bowl(curvatures, drag):
    """A frozen stage on a quadratic bowl with M = I; stacked, one."""
    d = len(curvatures)
    eye, zero, box = np.eye(d), np.zeros(d), Box.around(np.full(d, -5.0), np.full(d, 5.0))
    task, potential = Bowl(jnp.asarray(curvatures), box), ShapedPotential.none(jnp.zeros(d))
    start = np.linspace(1.0, 2.0, d)
    stage = FrozenStage(task, potential, start, zero, eye, eye, 0.0 * eye, drag * eye, zero, zero)
    return jax.tree.map(lambda leaf: np.asarray(leaf)[None], stage)


class Blurred(eqx.Module):
    """A bowl around `shift`, whose values near there are round-off."""

    shift: jax.Array
    box: Box

    def __call__(self, x):
        return jnp.sum(0.5 * x * x - self.shift * x)


def test_an_equilibrium_is_exact_where_values_no_longer_tell():
    one = jax.tree.map(lambda leaf: leaf[0], bowl([1.0, 1.0], 2.0))
    shifts = np.random.default_rng(0).uniform(0.5, 2.5, (32, 2))
    stages = [one._replace(task=Blurred(shift, one.task.box)) for shift in shifts]
    found = equilibria(jax.tree.map(lambda *leaves: np.stack(leaves), *stages))
    np.testing.assert_allclose(found, shifts, rtol=0, atol=1e-14)


class Pinhole(eqx.Module):
    """A bowl so narrow that its sides bend down before the smallest ball ends."""

    box: Box

    def __call__(self, x):
        return jnp.sum(0.5 * x**2 - 1e9 * x**4)


def test_a_stage_whose_potential_is_convex_in_no_ball_is_not_stepped():
    wide = bowl([1.0, 1.0], 2.0)
    narrow = wide._replace(task=Pinhole(wide.task.box))
    rng = np.random.default_rng(0)
    assert convex_radius(wide, rng)[0] > 0 and convex_radius(narrow, rng)[0] == 0
    assert check_defects(narrow, check_rates(wide)[0], 0.05, 0) is None


@pytest.mark.full
def test_a_stage_that_is_not_strongly_convex_along_its_marches_is_left_out(monkeypatch, quick_compilation):
    stages = jax.tree.map(lambda *leaves: np.concatenate(leaves), bowl([1.0, 1.0], 2.0), bowl([4.0, 4.0], 2.0))
    real, seen = defects._convexity, []
    monkeypatch.setattr(defects, "_convexity", lambda at: seen.append(0) or (-1.0 if len(seen) == 1 else real(at)))
    found = check_defects(stages, check_rates(stages)[0], 0.05, 0)
    assert found is not None and [constant.mu for constant in found.constants] == [pytest.approx(4.0)]


def test_the_fitted_rate_is_that_of_the_damped_oscillator_and_above_the_bound():
    checks, flat, broken = check_rates(bowl([25.0, 25.0], 2.0))
    assert (flat, broken) == ([], []) and checks[0].share == SHARES[0]
    assert checks[0].fitted == pytest.approx(2.0, rel=0.05)  # V falls with e^(-d t) below critical damping
    assert checks[0].constants.mu == pytest.approx(25.0)
    assert checks[0].holds and checks[0].constants.c < 2.0


def test_the_stated_constants_are_those_of_the_proof():
    constants = Constants.of(bounds_of(stage_of(bowl([9.0, 9.0], 2.0), 0)), 9.0)
    A = 1.0 + 2.0**2 / 9.0
    assert constants.epsilon == pytest.approx(min(2.0 / (4 * A), 1.5))
    assert constants.c == pytest.approx(min(2 / 3 * constants.epsilon, 2 / 3))
    assert pytest.approx(1 / 4 + constants.epsilon / 9.0) == constants.C


def test_a_rate_is_fitted_until_round_off():
    t = np.linspace(0.0, 50.0, 400)
    assert fitted_rate(t, np.exp(-1.5 * t) + 1e-16) == pytest.approx(1.5, rel=1e-3)


def test_frequencies_are_over_the_runs_that_still_wait():
    useful = np.array([[1, 0], [1, 1], [0, 1], [0, 0]] * 6, float)
    reached = np.array([[1, 0], [0, 1], [0, 0], [0, 0]] * 6, float)
    best = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [1.0, 1.0]] * 6)
    theta, r = frequencies(Proposals(useful, reached, best, np.ones(24), np.full(24, 0.5)))
    np.testing.assert_allclose(theta, [0.5, 2 / 3])
    np.testing.assert_allclose(r, [0.5, 0.5])
