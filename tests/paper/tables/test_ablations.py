"""Ablations: paired differences with intervals, verdicts that a test stands behind, the paper's figures beside them."""

import numpy as np
import pytest

from shapeopt.bench.digest import Digest
from shapeopt.bench.layout import MISSING
from shapeopt.bench.metrics import METRICS
from shapeopt.paper.protocols import PROTOCOLS
from shapeopt.paper.tables.ablations import controller_table, horizon_table, memory_table

TASKS = 16
WAVE = np.linspace(0, 1, TASKS)


def made(method, place, protocol, **numbers):
    """A digest with these numbers, one a task."""
    cell = next(cell for cell in PROTOCOLS[protocol].cells if cell.name == place)
    values = {name: numbers.get(name, np.full(TASKS, np.nan)) for name in METRICS}
    return Digest(protocol, cell.describe(), method, 0, values, 0.0, 0.0, 0.0, {})


def pair(place, whole, without, name="controller", method="paper_without_controller", metric="lowest_gap"):
    protocol = f"ablation-{name}"
    return [made("paper", place, protocol, **{metric: whole}), made(method, place, protocol, **{metric: without})]


CELLS = [cell.name for cell in PROTOCOLS["ablation-controller"].cells]
WELLS = PROTOCOLS["ablation-memory"].cells[-1].name


def rows(table):
    return [dict(zip(table.columns, (entry.text for entry in row), strict=True)) for row in table.rows]


def test_a_row_has_both_figures_the_paired_difference_its_interval_and_the_paper_s():
    table = controller_table(pair(CELLS[0], 1 + WAVE, 3 + WAVE + 0.5 * WAVE**2))
    (row,) = rows(table)
    assert row["whole"].startswith("1.50 ± ") and row["without the controller"].startswith("3.67 ± ")
    assert (row["paper: whole"], row["paper: without the controller"]) == ("0.794", "2.865")
    low, high = map(float, row["95 % interval"].split(" to "))
    assert 2.0 < low < float(row["Difference"]) < high < 2.3, "paired: narrower than the spread over tasks"
    assert (row["Verdict"], row["paper: Verdict"]) == ("worse", "worse")
    assert table.groups[0].heading == "ackley 2, paper, varied"


@pytest.mark.parametrize(
    ("shift", "verdict"),
    [(0.5 + WAVE, "worse"), (-0.5 - WAVE, "better"), (0.1 * np.cos(np.pi * np.arange(TASKS)), "not told apart")],
)
def test_a_verdict_is_of_the_ablated_policy_and_a_sentence_says_it(shift, verdict):
    table = controller_table(pair(CELLS[1], 5 + WAVE, 5 + WAVE + shift))
    assert rows(table)[0]["Verdict"] == verdict
    assert f"Lowest gap, without the controller: {verdict} on ackley 20, paper, varied." in table.notes
    otherwise = "Where the paper's figures say otherwise: ackley 20, paper, varied (Lowest gap)."
    assert (otherwise in table.notes) == (verdict != "worse")


def test_fewer_hits_are_worse():
    found = pair(WELLS, 0.6 + 0.1 * WAVE, 0.3 + 0.1 * WAVE, "memory", "paper_without_memory", "hit_best")
    (row,) = rows(memory_table(found))
    assert row["Metric"] == "Hit-best ↑" and float(row["Difference"]) == pytest.approx(-0.3)
    assert (row["paper: whole"], row["paper: without memory"]) == ("0.602", "0.3")
    assert (row["Verdict"], row["paper: Verdict"]) == ("worse", "worse")


def test_without_memory_the_paper_has_figures_of_multi_wells_alone():
    found = pair(CELLS[0], 1 + WAVE, 2 + WAVE, "memory", "paper_without_memory")
    found += pair(WELLS, 1 + WAVE, 2 + WAVE, "memory", "paper_without_memory")
    table = memory_table(found)
    assert [row["paper: without memory"] for row in rows(table)] == [MISSING, "1.066"]
    assert [row["paper: Verdict"] for row in rows(table)] == [MISSING, "worse"]


def test_another_horizon_has_no_figures_in_the_paper():
    table = horizon_table(pair(CELLS[0], 1 + WAVE, 2 + WAVE, "horizon", "paper_horizon_4"))
    (row,) = rows(table)
    assert row["paper: with stages of 4 readings instead of 6"] == row["paper: Verdict"] == MISSING
    assert row["Verdict"] == "worse"


def test_solved_gaps_are_as_good_as_each_other():
    (row,) = rows(controller_table(pair(CELLS[0], 1e-12 * (1 + WAVE), 1e-9 * (1 + WAVE))))
    assert row["Verdict"] == "not told apart" and row["Difference"] == "+0"


def test_records_that_are_missing_are_named_and_half_a_pair_makes_no_row():
    table = controller_table(pair(CELLS[0], 1 + WAVE, 2 + WAVE) + pair(CELLS[1], WAVE, WAVE)[:1])
    assert len(table.rows) == 1
    assert table.notes[-1] == (
        f"Records missing: paper ({CELLS[2]}); paper_without_controller ({CELLS[1]}, {CELLS[2]})."
    )
    of_another = [made("paper", PROTOCOLS["paper"].cells[0].name, "paper", lowest_gap=WAVE)]
    assert controller_table(of_another).rows == []
