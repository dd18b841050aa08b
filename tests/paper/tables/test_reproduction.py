"""Which of the paper's baseline entries count as reproduced."""

import numpy as np
import pytest

from shapeopt.bench.digest import Digest
from shapeopt.bench.metrics import METRICS as ALL
from shapeopt.paper.protocols import PROTOCOLS
from shapeopt.paper.tables.published import find, published
from shapeopt.paper.tables.reproduction import BASELINES, METRICS, outside_table, reproduced, reproduction_table
from shapeopt.paper.tables.sources import SYNTHETIC

CELLS = PROTOCOLS["paper"].cells


def as_the_paper(cell, method, **other):
    """A digest with the paper's own means, but for `other`."""
    values = {name: np.full(4, np.nan) for name in ALL}
    for metric in METRICS:
        figure = find(SYNTHETIC, cell.family.name, cell.family.dimension, "", method, metric)
        values[metric] = np.full(4, other.get(metric, figure.mean))
    return Digest("paper", cell.describe(), method, 0, values, 0.0, 0.0, 0.0, {})


@pytest.fixture(scope="module")
def whole():
    return [as_the_paper(cell, method) for cell in CELLS for method in BASELINES]


def test_the_paper_s_own_figures_all_come_back(whole):
    table = reproduction_table(whole)
    assert [entry.text for entry in table.rows[0]] == ["ackley", *["25 of 25"] * 4, "100 of 100", "100 %"]
    assert [entry.text for entry in table.rows[-1]] == ["all", *["75 of 75"] * 4, "300 of 300", "100 %"]
    assert outside_table(whole).rows == [] and not any("missing" in note for note in table.notes)


@pytest.mark.parametrize(
    ("metric", "mean", "within"),
    [
        ("final_distance", 2.337 + 0.279 + 0.0004, True),  # one deviation, and half of the third decimal
        ("final_distance", 2.337 + 0.279 + 0.0006, False),
        ("final_distance", 2.337 - 0.279 - 0.0004, True),
        ("final_distance", 2.337 - 0.279 - 0.0006, False),
        ("final_distance", np.inf, False),
    ],
)
def test_an_entry_comes_back_within_a_deviation_and_half_a_printed_digit(metric, mean, within):
    (entry,) = (e for e in reproduced([as_the_paper(CELLS[0], "gd", **{metric: mean})]) if e.metric == metric)
    assert entry.within is within


def test_a_printed_power_of_ten_has_its_own_last_digit():
    cell = next(cell for cell in CELLS if cell.name.startswith("rastrigin-500"))
    assert find(SYNTHETIC, "rastrigin", 500, "", "gd", "final_gap").unit == 100  # 1.21e4
    reach = 2963.870 + 50
    for sign in (1, -1):
        for excess, within in ((-1, True), (1, False)):
            one = as_the_paper(cell, "gd", final_gap=1.21e4 + sign * (reach + excess))
            assert next(e for e in reproduced([one]) if e.metric == "final_gap").within is within


def test_entries_that_do_not_come_back_are_listed_the_farthest_first(whole):
    moved = [
        as_the_paper(CELLS[0], "gd", final_gap=6.493 + 3 * 1.035),
        as_the_paper(CELLS[0], "adam", final_gap=5.973 + 9 * 0.982),
        *[one for one in whole if one.place != CELLS[0].name or one.method not in ("gd", "adam")],
    ]
    assert [entry.text for entry in reproduction_table(moved).rows[0]][:2] == ["ackley", "23 of 25"]
    rows = [[entry.text for entry in row] for row in outside_table(moved).rows]
    assert [row[:4] for row in rows] == [["ackley", "2", "adam", "final_gap"], ["ackley", "2", "gd", "final_gap"]]
    assert rows[1][4:] == ["9.60 ± 0.0", "6.493 ± 1.035", "3.00"]


def test_only_the_paper_s_baselines_count_and_missing_ones_are_named():
    ours = as_the_paper(CELLS[0], "gd")
    shape = Digest("paper", CELLS[0].describe(), "universal", 0, ours.values, 0.0, 0.0, 0.0, {})
    table = reproduction_table([ours, shape])
    assert [entry.text for entry in table.rows[-1]][-2:] == ["5 of 5", "100 %"]
    assert any("momentum (every cell)" in note for note in table.notes)


def test_the_unit_is_that_of_the_last_printed_digit_of_every_figure():
    for row in published(SYNTHETIC):
        digits = row.mean / row.unit
        assert abs(digits - round(digits)) < 1e-6 and row.unit in (
            1e-3,
            100,
            1000,
            1e-11,
            1e-10,
            1e-9,
            1e-8,
            1e-7,
            1e-6,
        )
