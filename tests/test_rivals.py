"""Rivals of the hand-made rules: landscapes and families are what they say, and nothing learned is the rule itself."""

import json
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

import controller  # noqa: E402
import planner_rivals as rivals  # noqa: E402
from planner_families import families  # noqa: E402
from sampled_landscapes import sample  # noqa: E402

from shapeopt.tactics import Refine  # noqa: E402


def slope_error(fun, x, seed):
    """How far the gradient along a random direction is from a difference of values, relative to both."""
    v = np.random.default_rng(seed).normal(size=x.size)
    h = 1e-6
    (up, _), (down, _), (f, g) = fun(x + h * v), fun(x - h * v), fun(x)
    return abs((up - down) / (2 * h) - g @ v) / (abs(g @ v) + 1e-4 * np.linalg.norm(g) + 1e-7 * abs(f))


@pytest.mark.parametrize("seed", range(12))
def test_gradients_of_sampled_landscapes_are_those_of_their_values(seed):
    one = sample(seed)
    assert slope_error(one.fun, one.x0, seed) < 1e-3


def test_gradients_of_families_are_those_of_their_values():
    made = families()
    assert len(made) >= 40 and len({one.name for one in made}) == len(made)
    for one in made:
        x = np.random.default_rng(0).uniform(-5, 5, 4)
        assert slope_error(one.sample(4, 3), x, 1) < 1e-3, one.name


def test_a_controller_of_zeros_is_the_hand_made_rule_and_another_is_not():
    one = sample(0)
    rule, zero = (controller.descend(tactic, one, 60) for tactic in (Refine(), controller.ControlledRefine()))
    np.testing.assert_allclose(zero[:20], rule[:20], rtol=1e-6)
    size = controller.MAKE["controller"][1]
    weights = np.random.default_rng(0).normal(size=size)
    assert not np.allclose(controller.descend(controller.with_weights(weights), one, 60)[:20], rule[:20], rtol=1e-6)
    constants = controller.with_constants(np.zeros(len(controller.CONSTANTS)))
    assert all(getattr(constants, name) == pytest.approx(getattr(Refine(), name, 0.0)) for name in controller.CONSTANTS)


def test_corrections_are_bounded_whatever_the_weights():
    size = controller.MAKE["controller"][1]
    dial = controller.with_weights(1e6 * np.ones(size)).dial
    dial.begin(10, True)
    assert (np.abs(dial.c) <= controller.WIDTHS).all()


def test_the_table_is_chosen_on_other_families_alone():
    """The second variant is best on one family only: a table that had seen it would choose it there."""
    made = rivals.cells()
    found = np.zeros((len(made), 2))
    found[:, 0] = 0.1
    own = [i for i, cell in enumerate(made) if cell.family == made[0].family]
    found[own, 1] = 1.0
    assert (rivals.tabled(found, made, lambda cell: cell.reading)[own] == 0.1).all()


def test_the_bandit_draws_among_escapes_and_counts_what_they_brought():
    policy = rivals.bandit()
    cell = next(one for one in rivals.cells() if one.reading == "gradients" and 2 <= one.dimension <= 5)
    values, used = rivals.run(cell, policy, 0)
    assert len(values) == cell.budget and "hop" in used
    assert sum(readings for _, readings in policy.planner.gains.values()) > 10
    assert set(policy.planner.gains) <= set(policy.planner.escapes)


def test_the_page_has_what_the_records_have():
    tables = runpy.run_path(str(ROOT / "docs" / "make_tables.py"))
    page = (ROOT / "docs" / "train_family.md").read_text()
    assert all(part in page for part in tables["not_learned"]())
    record = json.loads((ROOT / "benchmarks" / "records" / "planner_rivals.json").read_text())
    assert record["families"] >= 40
