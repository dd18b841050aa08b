"""Which of the paper's figures come back, over all its tables."""

import numpy as np
import pytest

from shapeopt.baselines import BASELINES
from shapeopt.bench.digest import Digest
from shapeopt.bench.metrics import METRICS
from shapeopt.paper.protocols import PROTOCOLS
from shapeopt.paper.tables.protocol_tables import COLUMNS
from shapeopt.paper.tables.sources import SOURCES, paper_figure
from shapeopt.paper.tables.unmatched import beside, unmatched_table


def as_the_paper(protocol, cell, method, moved=0.0, metric="final_gap", spread=0.5):
    """A digest with the paper's own means, but for `metric`, and so much deviation over tasks."""
    values = {name: np.full(4, np.nan) for name in METRICS}
    bare = Digest(protocol, cell.describe(), method, 0, values, 0.0, 0.0, 0.0, {})
    for column in COLUMNS[protocol]:
        figure = paper_figure(SOURCES[protocol], bare, column.reference)
        if figure is not None and not column.reference.endswith("_median"):
            mean = figure.mean + (moved if column.metric == metric else 0.0)
            values[column.metric] = mean + spread * np.array([-1, 1, -1, 1])
    return bare


def rows(table):
    return [[entry.text for entry in row] for row in table.rows]


def test_the_paper_s_own_figures_all_come_back_and_the_lowest_of_all_runs_is_not_judged():
    cells = PROTOCOLS["settings"].cells
    found = [as_the_paper("settings", cell, "adam") for cell in cells]
    table = unmatched_table(found)
    assert [row[1:4] for row in rows(table)] == [["5", "5", "0"]] * len(cells)
    assert table.groups[0].heading.endswith(": 30 of 30 come back, 0 lie outside")


@pytest.mark.parametrize(("moved", "within"), [(0.49, True), (0.52, False)])
def test_where_the_paper_has_no_deviation_ours_takes_its_place(moved, within):
    one = as_the_paper("settings", PROTOCOLS["settings"].cells[0], "adam", moved)
    (entry,) = (entry for entry in beside([one], "settings") if entry.column.metric == "final_gap")
    assert entry.paper.std is None and entry.within is within


def test_where_the_paper_has_a_deviation_ours_does_not_count_and_the_farthest_figure_is_named():
    cell = PROTOCOLS["paper-science"].cells[0]
    found = [as_the_paper("paper-science", cell, name, 40.0, spread=100.0) for name in ("adam", "gd")]
    ((_, figures, _, outside, farthest),) = rows(unmatched_table(found))
    assert (figures, outside) == ("14", "2") and ", final_gap: 4" in farthest


def test_methods_of_ours_and_calls_are_no_figures_of_baselines():
    cell = PROTOCOLS["multiwell"].cells[0]
    assert not list(beside([as_the_paper("multiwell", cell, "paper")], "multiwell"))
    metrics = {entry.column.metric for entry in beside([as_the_paper("multiwell", cell, "adam")], "multiwell")}
    assert metrics and "calls" not in metrics and "adam" in BASELINES
