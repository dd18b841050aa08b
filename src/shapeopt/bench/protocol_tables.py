"""The tables that show the records of one protocol: every method on every cell, or one row a method."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from ..baselines import BASELINES
from .blocks import Column, Statistic, full_table, marks_of
from .digest import QUICK, Digest, by_cell, lacking, methods_of, of_protocol
from .layout import Entry, Group, Mark, Table, mean_and_deviation, words
from .paper_figures import SOURCES, source_of
from .protocols import PROTOCOLS
from .published import published
from .statistics import spread

MEDIAN, LOWEST = Statistic.MEDIAN, Statistic.LOWEST
GENERAL = (
    Column("best_gap"),
    Column("best_gap", statistic=MEDIAN),
    Column("hit_best"),
    Column("auc_best_gap"),
    Column("expected_calls", statistic=MEDIAN),
    Column("wasted_budget", judged=False),
    Column("optimizer_seconds", statistic=MEDIAN),
)
SUMMARY = (
    Column("final_distance", "final_distance"),
    Column("final_gap", "final_gap"),
    Column("lowest_gap", "best_gap"),
    Column("hit_final", "hit_final"),
    Column("auc_distance", "auc_distance"),
    Column("auc_gap", "auc_gap"),
    Column("auc_lowest_gap", "auc_best_gap"),
)
ABLATION = (
    Column("final_distance", "final_distance"),
    Column("final_gap", "final_gap"),
    Column("lowest_gap", "best_gap_lowest", LOWEST),
    Column("hit_final", "hit_final"),
    Column("hit_trajectory", "hit_trajectory"),
    Column("distinct_minima", "distinct_minima"),
    Column("minima_hits", "minima_hits"),
)
WELLS = (
    Column("hit_best", "hit_best"),
    Column("final_gap", "final_gap"),
    Column("lowest_gap", "best_gap"),
    Column("lowest_gap", "best_gap_median", MEDIAN),
    Column("calls", "calls", judged=False),
)
COLUMNS: Mapping[str, tuple[Column, ...]] = MappingProxyType(
    {"paper": SUMMARY, "paper-science": SUMMARY, "settings": ABLATION, "oracles": ABLATION, "multiwell": WELLS}
)
MINIMA = "Minima are counted within each task and averaged over tasks; the paper does not say over what its counts are."
OVERVIEW = (
    "ECDF area: share of (run, target) pairs reached, 51 targets from 100 to 1e-8, averaged over the logarithm of "
    "calls, or over calls, then over the method's cells. Hits: share of runs whose returned point hits (the last "
    "position, where hits are judged by distance), likewise. Leads: cells in which its best gap is better than every "
    "other method's, or can't be told from the best, by the tests of the full table."
)
FEW = "A quick run: far too few tasks for any conclusion."


def protocol_table(found: Sequence[Digest], seed: int = 0) -> Table:
    """Every method on every cell of one protocol."""
    protocol = _only_protocol(found)
    columns = COLUMNS.get(protocol.removesuffix(QUICK), _general(found))
    about = PROTOCOLS[protocol.removesuffix(QUICK)].about if protocol.removesuffix(QUICK) in PROTOCOLS else ""
    title = f"Protocol {protocol}" + (f": {about}" if about else "")
    return full_table(
        f"protocol-{protocol}", title, found, columns, source_of(protocol), seed, notes_of(found, columns)
    )


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
        notes=(OVERVIEW, *notes_of(found, ())),
    )


def _overview(name: str, found: Sequence[Digest], marks: Sequence[Mapping[str, Mark]]) -> tuple[Entry, ...]:
    mine = [one for one in found if one.method == name]
    hits = [spread(one.values["hit_best"]).mean for one in mine]
    hits = [spread(one.values["hit_final"]).mean if np.isnan(hit) else hit for one, hit in zip(mine, hits, strict=True)]
    led = [[mark.get(name) for mark in marks].count(kind) for kind in (Mark.BEST, Mark.LEADING)]
    areas = ([one.area for one in mine], [one.area_over_calls for one in mine])
    figures = tuple(float(np.mean(rows)) for rows in (*areas, hits))
    return (*words(str(len(mine))), *(mean_and_deviation(figure, None) for figure in figures), *words(*map(str, led)))


def synthetic_table(found: Sequence[Digest], seed: int = 0) -> Table:
    """Ackley, Lévy and Rastrigin by dimension (tab. summary:synthetic:benchmarks)."""
    return _whole_protocol("synthetic", "Synthetic families by dimension", "paper", found, seed)


def science_table(found: Sequence[Digest], seed: int = 0) -> Table:
    """Clusters, phase retrieval and control by dimension (tab. real:world:example:summary)."""
    return _whole_protocol("science", "Scientific tasks by dimension", "paper-science", found, seed)


def multiwell_table(found: Sequence[Digest], seed: int = 0) -> Table:
    """Multi-wells under one budget for all (tab. multiwell_fair_budget)."""
    return _whole_protocol("multiwell", "Multi-wells", "multiwell", found, seed)


def settings_table(found: Sequence[Digest], seed: int = 0) -> Table:
    """S1 to S6: tasks, starts and calls traded (tab. ackley_budget_particle_ablation_full)."""
    return _whole_protocol("settings", "Ackley, settings S1 to S6", "settings", found, seed)


def oracle_table(found: Sequence[Digest], seed: int = 0) -> Table:
    """Exact, noisy and value-only readings (tab. ackley_oracle_ablation_full)."""
    return _whole_protocol("oracles", "Ackley, three oracles", "oracles", found, seed)


def _whole_protocol(name: str, title: str, protocol: str, found: Sequence[Digest], seed: int) -> Table:
    mine = of_protocol(found, protocol)
    notes = (*notes_of(mine, COLUMNS[protocol]), lacking_of(protocol, mine))
    return full_table(name, title, mine, COLUMNS[protocol], source_of(protocol), seed, notes)


def _general(found: Sequence[Digest]) -> tuple[Column, ...]:
    """The usual columns; hits are of the last position where no returned point can be judged."""
    known = any(not np.isnan(one.values["hit_best"]).all() for one in found)
    return tuple(column if known or column.metric != "hit_best" else Column("hit_final") for column in GENERAL)


def _only_protocol(found: Sequence[Digest]) -> str:
    names = sorted({one.protocol for one in found})
    if len(names) != 1:
        raise ValueError(f"`found` must be records of one protocol; got {', '.join(names) or 'none'}.")
    return names[0]


def notes_of(found: Sequence[Digest], columns: Sequence[Column]) -> tuple[str, ...]:
    """What must be said below a table of these records with these columns."""
    quick = (FEW,) if any(one.protocol.endswith(QUICK) for one in found) else ()
    return (*quick, *((MINIMA,) if columns is ABLATION else ()))


def lacking_of(protocol: str, found: Sequence[Digest]) -> str:
    """A note that names the records of a built-in protocol that are not there."""
    whole = PROTOCOLS[protocol]
    whole = whole.quick() if found and found[0].protocol.endswith(QUICK) else whole
    paper = {row.method for row in published(SOURCES[protocol])} & BASELINES.keys()
    methods = [*whole.methods, *(name for name in BASELINES if name in paper and name not in whole.methods)]
    return lacking(found, [cell.name for cell in whole.cells], methods)
