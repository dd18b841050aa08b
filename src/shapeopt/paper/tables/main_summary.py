"""The main table: each family's dimensions averaged, SHAPE beside the strongest of the others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...bench.digest import Digest, by_cell, cell_title
from ...bench.layout import MISSING, Entry, Group, Mark, Table, mean_and_deviation, words
from ...bench.marks import leaders
from ...bench.metrics import METRICS
from ...bench.statistics import spread
from ..protocols import MULTIWELL_CALLS, PROTOCOLS
from .choice import lacking, of_protocol
from .published import find, published
from .sources import FAMILIES as PAPER_FAMILIES
from .sources import MAIN, SHAPES, printed

HEADS = ("Final dist. ↓", "Final gap ↓", "Lowest gap ↓", "Hit rate ↑", "AUC gap ↓", "Calls")
PAPER_NAMES = ("final_distance", "final_gap", "best_gap", "hit_final", "auc_gap", "calls")
NOTES = (
    "Uniform averages over the dimensions of their means over tasks. The strongest of the others has the lowest "
    "average of lowest gaps; the paper's choice is shown, too, where it is another. Methods that lack a dimension are "
    "left out, and marks are among all the others. “paper” columns: tab. main:result_placeholder, only where all of "
    "its dimensions are here.",
)


@dataclass(frozen=True)
class Part:
    """A row group: a family of one of the protocols, and the metrics of its columns."""

    protocol: str
    family: str
    metrics: tuple[str, ...] = ("final_distance", "final_gap", "lowest_gap", "hit_final", "auc_gap", "calls")

    def cells(self) -> list[str]:
        wanted = [cell for cell in PROTOCOLS[self.protocol].cells if cell.family.name == self.family]
        chosen = [cell for cell in wanted if self.family != "multiwell" or cell.budget == MULTIWELL_CALLS]
        return [cell.name for cell in chosen]


PARTS = (
    Part("multiwell", "multiwell", ("final_distance", "final_gap", "lowest_gap", "hit_best", "auc_gap", "calls")),
    *(Part("paper", family) for family in ("ackley", "levy", "rastrigin")),
    *(Part("paper-science", family) for family in ("lennard_jones", "phase_retrieval", "double_integrator")),
)


def main_summary(found: Sequence[Digest], seed: int = 0) -> Table:
    """SHAPE and the strongest of the others by family (tab. main:result_placeholder).

    Departs from the paper: the best of a column is marked only where a test says so.
    """
    groups, missing = [], []
    for part in PARTS:
        mine = [one for one in of_protocol(found, part.protocol) if one.place in part.cells()]
        averages = _averages(mine, part)
        if averages:
            groups.append(_group(part, mine, averages, seed))
        lack = lacking(mine, part.cells(), ["universal"])
        missing += [f"{part.family}: {lack[0].lower()}{lack[1:]}"] if lack else []
    return Table(
        name="main",
        title="Main summary",
        columns=("Method", *(head for pair in zip(HEADS, _paper_heads(), strict=True) for head in pair)),
        groups=tuple(groups),
        notes=(*NOTES, *missing),
    )


def _averages(mine: Sequence[Digest], part: Part) -> dict[str, dict[str, np.ndarray]]:
    """Method -> metric -> one number a task, averaged over cells; a method that lacks a cell is left out."""
    cells = by_cell(mine)
    common = [name for name in next(iter(cells.values()), {}) if all(name in methods for methods in cells.values())]
    return {
        name: {metric: _average([cells[place][name].values[metric] for place in cells]) for metric in part.metrics}
        for name in common
    }


def _average(numbers: Sequence[np.ndarray]) -> np.ndarray:
    """The i-th tasks of all cells together; one number, which nothing can be tested on, where cells differ in tasks."""
    if len({len(row) for row in numbers}) == 1:
        return np.mean(numbers, axis=0)
    return np.array([np.mean([spread(row).mean for row in numbers])])


def _group(part: Part, mine: Sequence[Digest], averages: Mapping[str, Mapping[str, np.ndarray]], seed: int) -> Group:
    marks: dict[str, Mapping[str, Mark]] = {}
    for metric in part.metrics:
        numbers = {name: row[metric] for name, row in averages.items()}
        marks[metric] = leaders(numbers, metric, seed=seed) if metric != "calls" else {}
    whole = {one.place for one in mine} == set(part.cells())
    rows = []
    for name in _shown(part, averages):
        row = list(words(name))
        for metric, paper in zip(part.metrics, PAPER_NAMES, strict=True):
            ours = mean_and_deviation(spread(averages[name][metric]).mean, None, marks[metric].get(name, Mark.NONE))
            row += [ours, _paper(part, name, metric if paper == "hit_final" else paper) if whole else Entry(MISSING)]
        rows.append(tuple(row))
    return Group(_heading(mine), tuple(rows))


def _shown(part: Part, averages: Mapping[str, Mapping[str, np.ndarray]]) -> list[str]:
    """SHAPE's policies, the strongest of the others, and the paper's choice."""
    shapes = [name for name in averages if name in SHAPES]
    others = [name for name in averages if name not in SHAPES]
    strongest = sorted(others, key=lambda name: spread(averages[name]["lowest_gap"]).mean)[:1]
    family = PAPER_FAMILIES.get(part.family, part.family)
    chosen = {row.method for row in published(MAIN) if row.family == family}
    return [*shapes, *strongest, *(name for name in others if name in chosen and name not in strongest)]


def _paper(part: Part, method: str, metric: str) -> Entry:
    family = PAPER_FAMILIES.get(part.family, part.family)
    rows = [row for row in published(MAIN) if row.family == family]
    name = SHAPES.get(method, method)
    figure = find(MAIN, family, rows[0].dimension, rows[0].setting, name, metric) if rows else None
    return printed(figure)


def _heading(mine: Sequence[Digest]) -> str:
    cells = [next(iter(methods.values())).cell for methods in by_cell(mine).values()]
    if len(cells) == 1:
        return cell_title(cells[0])
    dimensions = ", ".join(str(cell["dimension"]) for cell in cells)
    return f"{cells[0]['family']} {dimensions}; {'/'.join(dict.fromkeys(str(cell['budget']) for cell in cells))} calls"


def _paper_heads() -> list[str]:
    return [f"paper: {METRICS[name].label if name != 'hit_final' else 'Hit rate'}" for name in PAPER_NAMES]
