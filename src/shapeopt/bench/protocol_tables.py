"""The tables that show the records of one protocol: every method on every cell, or one row a method."""

from collections.abc import Mapping, Sequence

import numpy as np

from .blocks import Column, Reference, Statistic, full_table, marks_of
from .cells import Protocol
from .digest import QUICK, Digest, by_cell, methods_of
from .layout import Entry, Group, Mark, Table, mean_and_deviation, words
from .protocols import PROTOCOLS
from .statistics import spread

MEDIAN = Statistic.MEDIAN
GENERAL = (
    Column("best_gap"),
    Column("best_gap", statistic=MEDIAN),
    Column("hit_best"),
    Column("auc_best_gap"),
    Column("expected_calls", statistic=MEDIAN),
    Column("wasted_budget", judged=False),
    Column("optimizer_seconds", statistic=MEDIAN),
)
OVERVIEW = (
    "ECDF area: share of (run, target) pairs reached, 51 targets from 100 to 1e-8, averaged over the logarithm of "
    "calls, or over calls, then over the method's cells. Hits: share of runs whose returned point hits (the last "
    "position, where hits are judged by distance), likewise. Leads: cells in which its best gap is better than every "
    "other method's, or can't be told from the best, by the tests of the full table."
)
FEW = "A quick run: far too few tasks for any conclusion."


def protocol_table(
    found: Sequence[Digest],
    seed: int = 0,
    protocols: Mapping[str, Protocol] = PROTOCOLS,
    columns: Sequence[Column] | None = None,
    notes: Sequence[str] = (),
    reference: Reference | None = None,
) -> Table:
    """Every method on every cell of one protocol.

    Args:
        found: digests of one protocol.
        seed: of the bootstrap behind the marks.
        protocols: where the protocol's description is looked up.
        columns: the metrics that are shown; None: the usual ones.
        notes: further notes below the table.
        reference: published figures to stand beside measured ones.
    """
    name = _only_protocol(found)
    known = protocols.get(name.removesuffix(QUICK)) or PROTOCOLS.get(name.removesuffix(QUICK))
    title = f"Protocol {name}" + (f": {known.about}" if known else "")
    shown = _general(found) if columns is None else columns
    return full_table(f"protocol-{name}", title, found, shown, seed, (*quick_note(found), *notes), reference)


def overview_table(found: Sequence[Digest], seed: int = 0) -> Table:
    """One row a method: area under the ECDF, hits, and in how many cells it leads by best gap, alone or with others."""
    protocol, cells = _only_protocol(found), by_cell(found)
    marks = [marks_of(methods, GENERAL[0], seed) for methods in cells.values()]
    rows = [(*words(name), *_overview(name, found, marks)) for name in methods_of(found)]
    areas = {row[0].text: row[2].numbers[0] for row in rows}
    return Table(
        name=f"overview-{protocol}",
        title=f"Protocol {protocol}, all {len(cells)} cells",
        columns=(
            "Method",
            "Cells",
            "ECDF area, log calls ↑",
            "ECDF area, calls ↑",
            "Hits ↑",
            "Leads alone ↑",
            "Leads with others ↑",
        ),
        groups=(Group("", tuple(sorted(rows, key=lambda row: -areas[row[0].text]))),),
        notes=(OVERVIEW, *quick_note(found)),
    )


def _overview(name: str, found: Sequence[Digest], marks: Sequence[Mapping[str, Mark]]) -> tuple[Entry, ...]:
    mine = [one for one in found if one.method == name]
    hits = [spread(one.values["hit_best"]).mean for one in mine]
    hits = [spread(one.values["hit_final"]).mean if np.isnan(hit) else hit for one, hit in zip(mine, hits, strict=True)]
    led = [[mark.get(name) for mark in marks].count(kind) for kind in (Mark.BEST, Mark.LEADING)]
    areas = ([one.area for one in mine], [one.area_over_calls for one in mine])
    figures = tuple(float(np.mean(rows)) for rows in (*areas, hits))
    return (*words(str(len(mine))), *(mean_and_deviation(figure, None) for figure in figures), *words(*map(str, led)))


def _general(found: Sequence[Digest]) -> tuple[Column, ...]:
    """The usual columns; hits are of the last position where no returned point can be judged."""
    known = any(not np.isnan(one.values["hit_best"]).all() for one in found)
    return tuple(column if known or column.metric != "hit_best" else Column("hit_final") for column in GENERAL)


def _only_protocol(found: Sequence[Digest]) -> str:
    names = sorted({one.protocol for one in found})
    if len(names) != 1:
        raise ValueError(f"`found` must be records of one protocol; got {', '.join(names) or 'none'}.")
    return names[0]


def quick_note(found: Sequence[Digest]) -> tuple[str, ...]:
    """What must be said of records of a quick run."""
    return (FEW,) if any(one.protocol.endswith(QUICK) for one in found) else ()
