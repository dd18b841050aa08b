"""No mark without a test behind it."""

import numpy as np
import pytest

from shapeopt.bench.layout import Mark
from shapeopt.bench.marks import leaders

RNG = np.random.default_rng(0)
BASE = RNG.uniform(1, 2, 20)


def test_one_that_is_better_than_every_other_is_marked_alone():
    assert leaders({"a": BASE, "b": BASE + 1, "c": BASE + 2}, "best_gap", seed=0) == {"a": Mark.BEST}


def test_those_that_cannot_be_told_from_the_best_lead_together():
    noise = np.where(np.arange(20) % 2, 0.3, -0.3)
    marks = leaders({"a": BASE, "b": BASE + noise + 0.01, "c": BASE + 2}, "best_gap", seed=0)
    assert marks == {"a": Mark.LEADING, "b": Mark.LEADING}


def test_nobody_is_marked_where_nobody_can_be_told_apart():
    assert leaders({"a": BASE, "b": BASE[::-1]}, "best_gap", seed=0) == {}
    assert leaders({"a": BASE, "b": BASE}, "best_gap", seed=0) == {}


def test_two_tasks_prove_nothing_however_far_apart():
    assert leaders({"a": np.array([1.0, 1.1]), "b": np.array([100.0, 101.0])}, "best_gap", seed=0) == {}


@pytest.mark.parametrize(("rivals", "marks"), [(1, {"a": Mark.BEST}), (10, {})])
def test_the_more_rivals_the_more_it_takes(rivals, marks):
    wins = BASE[:8]  # eight wins of eight: p = 2 / 2^8, which Holm multiplies by the number of rivals
    values = {"a": wins} | {f"b{i}": wins + 1 + 0.1 * i for i in range(rivals)}
    assert leaders(values, "best_gap", seed=0) == marks


def test_higher_hits_are_better():
    hits = np.repeat([0.0, 0.5], 10)
    assert leaders({"a": hits, "b": hits + 0.5}, "hit_best", seed=0) == {"b": Mark.BEST}


def test_gaps_that_solve_the_task_are_all_as_good():
    values = {"a": 1e-12 * BASE, "b": 1e-9 * BASE, "c": BASE}
    assert leaders(values, "best_gap", seed=0) == {"a": Mark.LEADING, "b": Mark.LEADING}


def test_what_is_not_finite_is_worst_and_what_is_not_known_takes_no_part():
    values = {"a": np.full(20, np.nan), "b": np.where(BASE > 1.9, np.inf, BASE), "c": BASE + 1e-2, "d": BASE + 5}
    assert "a" not in leaders(values, "best_gap", seed=0)
    assert leaders({"a": values["a"], "b": BASE}, "best_gap", seed=0) == {}
    assert leaders({"b": np.full(20, np.inf), "c": BASE}, "best_gap", seed=0) == {"c": Mark.BEST}
