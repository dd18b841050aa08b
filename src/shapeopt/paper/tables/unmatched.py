"""Which of the paper's figures of baselines come back in the tables of all its protocols, cell by cell."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...baselines import BASELINES
from ...bench.blocks import Column, Statistic
from ...bench.digest import Digest, by_cell, place_title
from ...bench.layout import MISSING, Entry, Group, Table, number, words
from ...bench.statistics import spread
from ..protocols import PROTOCOLS
from .choice import lacking, of_protocol
from .protocol_tables import COLUMNS
from .published import Published, published
from .sources import SOURCES, paper_figure

RULE = (
    "Every baseline of the paper, every figure that it has of it on that cell, but for the lowest gap of all runs, "
    "which has no deviation. A figure comes back where our mean (on multi-wells also our median) differs from it by at "
    "most one standard deviation over tasks and half a unit of the last digit that is printed. The deviation is the "
    "paper's; it gives none for S1 to S6, the oracles and multi-wells, and the measured one takes its place there. Of "
    "S1 to S6 and the oracles the paper does not say how starts and tasks are drawn; here they lie anywhere in the box."
)


@dataclass(frozen=True)
class Beside:
    """A figure of the paper beside the measured one."""

    one: Digest
    column: Column
    ours: float
    deviation: float
    paper: Published

    @property
    def reach(self) -> float:
        return self.deviation + self.paper.unit / 2

    @property
    def within(self) -> bool:
        return abs(self.ours - self.paper.mean) <= self.reach


def beside(found: Sequence[Digest], protocol: str) -> Iterator[Beside]:
    """All figures that the paper has of baselines on a protocol's cells and that were measured."""
    for one in of_protocol(found, protocol):
        for column in COLUMNS[protocol] if one.method in BASELINES else ():
            if not column.judged or column.statistic is Statistic.LOWEST:
                continue
            paper = paper_figure(SOURCES[protocol], one, column.reference)
            if paper is not None:
                ours = spread(one.values[column.metric])
                mean = ours.median if column.statistic is Statistic.MEDIAN else ours.mean
                yield Beside(one, column, mean, ours.std if paper.std is None else paper.std, paper)


def unmatched_table(found: Sequence[Digest], seed: int = 0) -> Table:
    """A row a cell of the paper's tables: how many of its baselines' figures come back, and the farthest one."""
    groups = []
    for protocol in SOURCES:
        mine = list(beside(found, protocol))
        places = by_cell(one.one for one in _first_columns(mine))
        rows = [_row([one for one in mine if one.one.place == place]) for place in places]
        if rows:
            back = sum(one.within for one in mine)
            title = f"tab. {SOURCES[protocol]}: {back} of {len(mine)} come back, {len(mine) - back} lie outside"
            groups.append(Group(title, tuple(rows)))
    heads = ("Cell", "Figures", "Come back", "Outside", "The farthest: measured, in the paper")
    notes = (*((RULE,) if groups else ()), *filter(None, (_lacking(found, protocol) for protocol in SOURCES)))
    return Table("unmatched", "What of the paper comes back", heads, tuple(groups), notes)


def _lacking(found: Sequence[Digest], protocol: str) -> str:
    """A note that names the baselines of a table of the paper without records."""
    methods = [name for name in BASELINES if name in {row.method for row in published(SOURCES[protocol])}]
    places = [cell.name for cell in PROTOCOLS[protocol].cells]
    return lacking(of_protocol(found, protocol), places, methods)


def _first_columns(entries: Sequence[Beside]) -> list[Beside]:
    """One entry a record."""
    return list({(one.one.place, one.one.method): one for one in entries}.values())


def _row(entries: Sequence[Beside]) -> tuple[Entry, ...]:
    back = sum(one.within for one in entries)
    outside = [one for one in entries if not one.within]
    farthest = max(outside, key=lambda one: abs(one.ours - one.paper.mean) / one.reach, default=None)
    said = MISSING
    if farthest is not None:
        where = f"{farthest.one.method}, {farthest.column.metric}"
        said = f"{where}: {number(farthest.ours)}, {number(farthest.paper.mean)}"
    counts = (str(len(entries)), str(back), str(len(entries) - back))
    return words(place_title(entries[0].one.cell), *counts, said)
