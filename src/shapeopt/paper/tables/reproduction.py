"""How much of what the paper printed of its baselines comes back, entry by entry."""

from collections.abc import Sequence
from dataclasses import dataclass

from ...bench.digest import Digest
from ...bench.layout import MISSING, Entry, Group, Table, mean_and_deviation, words
from ...bench.protocols import DIMENSIONS
from ...bench.protocols import SYNTHETIC as FAMILIES
from ...bench.statistics import Spread, spread
from ..protocols import PROTOCOLS
from .choice import lacking, of_protocol
from .published import Published
from .sources import SYNTHETIC, paper_figure, printed

BASELINES = ("gd", "momentum", "nag", "rmsprop", "adam")  # the rows of the paper's table, other than its own
METRICS = ("final_distance", "final_gap", "hit_final", "auc_distance", "auc_gap")
RULE = (
    "An entry comes back where our mean differs from the paper's by at most the paper's standard deviation over tasks, "
    "and half a unit of the last digit that it printed."
)


@dataclass(frozen=True)
class Reproduced:
    """An entry of the paper's table beside the measured one."""

    one: Digest
    metric: str
    ours: Spread
    paper: Published

    @property
    def within(self) -> bool:
        """|measured - paper's| <= paper's deviation + half of its last digit's unit."""
        return abs(self.ours.mean - self.paper.mean) <= (self.paper.std or 0.0) + self.paper.unit / 2


def reproduced(found: Sequence[Digest]) -> list[Reproduced]:
    """Every entry of which both sides are there (tab. summary:synthetic:benchmarks).

    Departs from the paper: the setting that it states is not the one that gives its figures; `paper` is.
    """
    entries = []
    for one in of_protocol(found, "paper"):
        for metric in METRICS if one.method in BASELINES else ():
            paper = paper_figure(SYNTHETIC, one, metric)
            if paper is not None:
                entries.append(Reproduced(one, metric, spread(one.values[metric]), paper))
    return entries


def reproduction_table(found: Sequence[Digest], seed: int = 0) -> Table:
    """How many entries of the paper's baselines come back, by family and dimension."""
    entries = reproduced(found)
    rows = [_counts(family, [entry for entry in entries if entry.one.cell["family"] == family]) for family in FAMILIES]
    return Table(
        name="reproduction",
        title="Entries of the paper's baselines that come back",
        columns=("Family", *(f"d = {d}" for d in DIMENSIONS), "all", "share"),
        groups=(Group("", (*rows, _counts("all", entries))) if entries else Group("", ()),),
        notes=(RULE, *filter(None, [_lacking(found)])),
    )


def outside_table(found: Sequence[Digest], seed: int = 0) -> Table:
    """The entries that do not come back, the farthest first."""
    missed = [entry for entry in reproduced(found) if not entry.within]
    rows = [_missed(entry) for entry in sorted(missed, key=_distance, reverse=True)]
    return Table(
        name="outside",
        title=f"Entries of the paper's baselines that do not come back: {len(missed)}",
        columns=("Family", "d", "Method", "Metric", "measured", "paper", "difference in the paper's deviations"),
        groups=(Group("", tuple(rows)),),
        notes=(RULE, *filter(None, [_lacking(found)])),
    )


def _counts(name: str, entries: Sequence[Reproduced]) -> tuple[Entry, ...]:
    by_dimension = [[entry for entry in entries if entry.one.cell["dimension"] == d] for d in DIMENSIONS]
    counts = [f"{sum(entry.within for entry in part)} of {len(part)}" if part else MISSING for part in by_dimension]
    within = sum(entry.within for entry in entries)
    share = f"{100 * within / len(entries):.0f} %" if entries else MISSING
    return words(name, *counts, f"{within} of {len(entries)}", share)


def _missed(entry: Reproduced) -> tuple[Entry, ...]:
    cell, paper = entry.one.cell, entry.paper
    return (
        *words(cell["family"], str(cell["dimension"]), entry.one.method, entry.metric),
        mean_and_deviation(entry.ours.mean, entry.ours.std),
        printed(paper),
        mean_and_deviation(_distance(entry), None),
    )


def _distance(entry: Reproduced) -> float:
    """In the paper's deviations; infinite where it printed none, or 0."""
    return abs(entry.ours.mean - entry.paper.mean) / entry.paper.std if entry.paper.std else float("inf")


def _lacking(found: Sequence[Digest]) -> str:
    return lacking(of_protocol(found, "paper"), [cell.name for cell in PROTOCOLS["paper"].cells], BASELINES)
