"""The paper's settings and oracles on Ackley in short: SHAPE beside the strongest baseline."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ...bench.blocks import Column, entry, marks_of
from ...bench.digest import Digest, by_cell
from ...bench.layout import MISSING, Entry, Group, Mark, Table, number, words
from ...bench.statistics import Comparison, compare_all, spread
from .choice import VERDICTS, of_protocol
from .protocol_tables import ABLATION, BESIDE, lacking_of, notes_of
from .sources import ORACLES, SETTINGS, SHAPES, paper_entry

DUEL = ("Difference", "95 % interval", "Verdict")
HOW = (
    "Difference: SHAPE's final gap less that baseline's, mean over the same tasks and starts, with a bootstrap "
    "interval (BCa) over tasks. The verdict is of SHAPE and needs that interval and Wilcoxon's signed-rank test, with "
    "Holm's correction over the rows (5 %)."
)
FINAL, LOWEST, TRAJECTORY, MINIMA = ABLATION[1], ABLATION[2], ABLATION[4], ABLATION[5]


def settings_compact_table(found: Sequence[Digest], seed: int = 0) -> Table:
    """S1 to S6, SHAPE and the strongest baseline (tab. ablation_ackley_compact_transposed)."""
    return _compact("settings-compact", "Ackley, S1 to S6 in short", "settings", SETTINGS, found, seed)


def oracle_compact_table(found: Sequence[Digest], seed: int = 0) -> Table:
    """Three oracles, SHAPE and the strongest baseline (tab. ackley_oracle_ablation_compact_transposed)."""
    return _compact("oracles-compact", "Ackley, three oracles in short", "oracles", ORACLES, found, seed)


def _compact(name: str, title: str, protocol: str, source: str, found: Sequence[Digest], seed: int) -> Table:
    """One row a cell and policy: SHAPE's figures, the baseline that ends lowest, and what tells the two apart."""
    columns = (FINAL, LOWEST, TRAJECTORY, MINIMA)
    mine = of_protocol(found, protocol)
    duels = {(ours.place, ours.method): (ours, rival) for ours, rival in _duels(mine)}
    gaps = {key: (a.values[FINAL.metric], b.values[FINAL.metric]) for key, (a, b) in duels.items()}
    comparison = compare_all({key: pair for key, pair in gaps.items() if not np.isnan(pair).all()}, seed=seed)
    heads = [head for column in columns for head in (f"SHAPE: {column.head}", f"paper: {column.reference_head}")]
    cells = by_cell(mine)
    rows = [
        (*_figures(ours, cells[ours.place], columns, source, seed), *_against(rival, source, comparison.get(key)))
        for key, (ours, rival) in duels.items()
    ]
    return Table(
        name=name,
        title=title,
        columns=("Cell", "Policy", *heads, "Strongest baseline", "its final gap ↓", "paper: its final gap", *DUEL),
        groups=(Group("", tuple(rows)),),
        notes=(
            BESIDE.format(source=source),
            HOW,
            *notes_of(mine, ABLATION),
            *filter(None, [lacking_of(protocol, mine)]),
        ),
    )


def _duels(mine: Sequence[Digest]) -> Iterator[tuple[Digest, Digest]]:
    """Each of SHAPE's policies on each cell, with the baseline that ends lowest there."""
    for methods in by_cell(mine).values():
        rivals = [one for name, one in methods.items() if name not in SHAPES]
        for name, one in methods.items():
            if name in SHAPES and rivals:
                yield one, min(rivals, key=lambda rival: spread(rival.values[FINAL.metric]).mean)


def _figures(
    ours: Digest, methods: Mapping[str, Digest], columns: Sequence[Column], source: str, seed: int
) -> list[Entry]:
    row = [Entry(ours.place), Entry(ours.method)]
    for column in columns:
        mark = marks_of(methods, column, seed).get(ours.method, Mark.NONE)
        row += [Entry(entry(ours, column).text, mark, entry(ours, column).numbers)]
        row += [paper_entry(source, ours, column.reference)]
    return row


def _against(rival: Digest, source: str, comparison: Comparison | None) -> list[Entry]:
    row = [Entry(rival.method), entry(rival, FINAL), paper_entry(source, rival, FINAL.reference)]
    if comparison is None:
        return [*row, *words(MISSING, MISSING, MISSING)]
    low, high = comparison.interval
    difference = Entry(f"{comparison.mean_difference:+.3g}", numbers=(comparison.mean_difference,))
    return [*row, difference, *words(f"{number(low)} to {number(high)}", VERDICTS[comparison.verdict])]
