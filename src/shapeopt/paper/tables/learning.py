"""What learning does on the paper's rows: trained policies beside themselves with parts taken away, cell by cell."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...baselines import BASELINES
from ...bench.digest import Digest, by_cell, place_title
from ...bench.layout import MISSING, Entry, Group, Table, mean_and_deviation, number
from ...bench.marks import SOLVED
from ...bench.metrics import METRICS, Better
from ...bench.statistics import Comparison, Verdict, compare_all, mean_interval
from ..protocols import LEARNING_METHODS, PROTOCOLS
from .choice import VERDICTS, lacking, of_protocol
from .sources import paper_figure, printed, source_of

KINDS = ("paper", "tuned")
METRIC = "lowest_gap"
HEADS = (
    "Policy",
    f"{METRICS[METRIC].label} ↓",
    "95 % interval",
    "Hits ↑",
    "kind less this",
    "95 % interval of that",
    "Verdict on the kind",
)
SHOWN = {
    "": "as trained",
    "_seed_1": "second training seed",
    "_seed_2": "third training seed",
    "_initialised": "as initialised",
    "_zero_networks": "networks zero, gains as trained",
    "_blind": "not told where in the box it is",
    "_uncontrolled": "no controller",
    "_forgetful": "nothing written to memory",
    "_described": "told the task's descriptor, in training too",
    "_neighbour": "heads trained in the nearest other dimension",
}
SAID = ("_initialised", "_zero_networks", "_neighbour")  # rows of which a line below the table says who is better
NOTES = (
    "`paper`: trained as the paper has it, the schedule's last weights. `tuned`: trained otherwise, never told "
    "where in the box it is; its card says how. “Kind less this”: the policy as trained less the row's, mean over "
    "the same tasks and starts, with a bootstrap interval (BCa) over tasks; a verdict needs that interval and "
    "Wilcoxon's signed-rank test, with Holm's correction over the cells of a row, to say so (5 %). Gaps below "
    "1e-8 count as that. Hits: of the last position, and for multi-wells of the best value. Parts are taken away "
    "when the policy is run, not when it is trained; the tables “controller”, “memory” and “horizon” have "
    "policies trained without. Networks are for one dimension; what `tuned` learned, which its heads say to all "
    "coordinates alike, is moved to another one, where all other weights are random.",
)


@dataclass(frozen=True)
class Against:
    """A kind against one of its rows, on every cell that has both."""

    kind: str
    row: str
    compared: Mapping[str, Comparison]


def learning_table(found: Sequence[Digest], seed: int = 0) -> Table:
    """Every cell with the paper's figure, the best baseline, both kinds and what is left of them (none in the paper).

    Departs from the paper: it compares a trained policy with ablations alone, never with its own initialisation.
    """
    return _table(found, "paper-learning", "What learning does on the paper's rows", seed)


def learning_box_table(found: Sequence[Digest], seed: int = 0) -> Table:
    """The same policies where optima and starts lie anywhere in the box (none in the paper)."""
    return _table(found, "paper-learning-box", "What is left of it under another distribution of starts", seed)


def _table(found: Sequence[Digest], protocol: str, title: str, seed: int) -> Table:
    mine = of_protocol(found, protocol)
    cells = by_cell(mine)
    against = {(kind, row): _against(cells, kind, row, seed) for kind in KINDS for row in SHOWN if row}
    groups = tuple(
        _group(place, methods, against, baselines_of(found, place), seed) for place, methods in cells.items()
    )
    places = [cell.name for cell in PROTOCOLS[protocol].cells]
    missing = lacking(mine, places, LEARNING_METHODS)
    said = [_sentence(against[kind, row]) for kind in KINDS for row in SAID]
    notes = (*filter(None, said), *(NOTES if groups else ()), *filter(None, [missing]))
    return Table(protocol, title, HEADS, groups, notes)


def _against(cells: Mapping[str, Mapping[str, Digest]], kind: str, row: str, seed: int) -> Against:
    pairs = {
        place: (_gaps(methods[kind]), _gaps(methods[kind + row]))
        for place, methods in cells.items()
        if kind in methods and kind + row in methods
    }
    return Against(kind, row, compare_all(pairs, Better.LOWER, seed=seed) if pairs else {})


def _gaps(one: Digest) -> np.ndarray:
    return np.maximum(one.values[METRIC], SOLVED)


def baselines_of(found: Sequence[Digest], place: str) -> list[Digest]:
    """The baselines on that cell, those that the paper's tables leave out too, from the paper's own protocols."""
    names = ("paper", "paper-science", "multiwell")
    return [one for name in names for one in of_protocol(found, name) if one.place == place and one.method in BASELINES]


def _group(
    place: str,
    methods: Mapping[str, Digest],
    against: Mapping[tuple[str, str], Against],
    baselines: Sequence[Digest],
    seed: int,
) -> Group:
    any_one = next(iter(methods.values()))
    rows = list(filter(None, [_published(any_one)]))
    if baselines:
        best = min(baselines, key=lambda one: float(np.mean(_gaps(one))))
        rows.append(_row(f"best baseline: {best.method}", best, None, seed))
    for kind in KINDS:
        for row, words in SHOWN.items():
            if kind + row in methods:
                compared = against[kind, row].compared.get(place) if row else None
                rows.append(_row(f"{kind}: {words}", methods[kind + row], compared, seed))
    return Group(place_title(any_one.cell), tuple(rows))


def published_entry(cell: Mapping[str, Any], metric: str) -> Entry:
    """The paper's own figure for its SHAPE on a cell, or a dash."""
    protocol = {"multiwell": "multiwell", "ackley": "paper", "levy": "paper", "rastrigin": "paper"}
    source = source_of(protocol.get(cell["family"], "paper-science"))
    return printed(paper_figure(source, Digest("", dict(cell), "paper", 0, {}, 0.0, 0.0, 0.0, {}), metric))


def _published(one: Digest) -> tuple[Entry, ...] | None:
    figure = published_entry(one.cell, "best_gap")
    if figure.text == MISSING or "-box" in one.place:
        return None
    return (Entry("SHAPE in the paper"), figure, *(Entry(MISSING),) * (len(HEADS) - 2))


def _row(words: str, one: Digest, compared: Comparison | None, seed: int) -> tuple[Entry, ...]:
    gaps = one.values[METRIC]
    low, high = mean_interval(gaps, seed=seed) if np.isfinite(gaps).all() else (-np.inf, np.inf)
    hits = one.values["hit_best" if one.cell["family"] == "multiwell" else "hit_final"]
    difference, interval, verdict = Entry(MISSING), Entry(MISSING), Entry(MISSING)
    if compared is not None:
        difference = Entry(f"{compared.mean_difference:+.3g}", numbers=(compared.mean_difference,))
        interval = Entry(f"{number(compared.interval[0])} to {number(compared.interval[1])}")
        verdict = Entry(VERDICTS[compared.verdict])
    return (
        Entry(words),
        mean_and_deviation(float(np.mean(gaps)), None),
        Entry(f"{number(low)} to {number(high)}"),
        mean_and_deviation(float(np.mean(hits)), None),
        difference,
        interval,
        verdict,
    )


def _sentence(against: Against) -> str:
    """In how many cells the kind beats the row, and where it does not."""
    if not against.compared:
        return ""
    better = [place for place, one in against.compared.items() if one.verdict is Verdict.BETTER]
    others = [f"{place} ({VERDICTS[one.verdict]})" for place, one in against.compared.items() if place not in better]
    said = f"`{against.kind}` beats {SHOWN[against.row]} in {len(better)} of {len(against.compared)} cells"
    return said + (f"; not in {', '.join(others)}." if others else ".")
