"""The paper's rows in one table: its own SHAPE, the best baseline, what training reached, and what it began with."""

from collections.abc import Mapping, Sequence

import numpy as np

from ...bench.cells import Cell
from ...bench.digest import Digest, by_cell
from ...bench.layout import MISSING, Entry, Group, Table, number
from ...bench.metrics import Better
from ...bench.statistics import Comparison, Verdict, compare_all, mean_interval
from ..protocols import PROTOCOLS
from .choice import of_protocol
from .learning import KINDS, METRIC, baselines_of, published_entry

HEADS = (
    "Cell",
    "SHAPE in the paper",
    "Best baseline",
    "As written, mean over seeds (range)",
    "Best trained",
    "Its networks zero",
    "As initialised",
    "Best trained less networks zero",
    "Verdict",
)
SEEDS = ("", "_seed_1", "_seed_2")
UNTRAINED = "not trained yet"
SUCCESS = "hit_best"  # what decides multi-wells; elsewhere the lowest gap does
NOTES = (
    "Lowest gaps, lower is better; on multi-wells the share of runs whose best value is within .01 of the minimum, "
    "higher is better. In brackets: 95 % bootstrap intervals over tasks. “Best baseline”: of the paper's seventeen, "
    "basin hopping and CEM, as far as recorded. “As written”: trained as the paper has it, by its training seeds. "
    "“Best trained”: of the first seeds of `paper` and `tuned`, the one with the better mean. The difference is paired "
    "over the same tasks and starts; a verdict needs its interval and Wilcoxon's test, with Holm's correction over "
    "cells, to say so (5 %).",
)


def training_table(found: Sequence[Digest], seed: int = 0) -> Table:
    """A row a cell of the paper, whether its policy was trained or not (none in the paper).

    Departs from the paper: it shows no initialisation, no networks of zeros and no second training seed.
    """
    cells, places = by_cell(of_protocol(found, "paper-learning")), PROTOCOLS["paper-learning"].cells
    best = {place: _best(methods) for place, methods in cells.items() if _best(methods)}
    verdicts = _compared(cells, best, "_zero_networks", seed)
    begun = _compared(cells, best, "_initialised", seed)
    rows = [
        _row(cell, cells.get(cell.name, {}), best.get(cell.name, ""), verdicts, found, seed)
        for cell in places
        if cell.name in best or baselines_of(found, cell.name)
    ]
    said = [_sentence(verdicts, "its networks zero"), _sentence(begun, "its initialisation")]
    absent = [cell.name for cell in places if cell.name not in best]
    missing = f"Policies missing, not trained yet: {', '.join(absent)}." if absent else ""
    notes = (*filter(None, said), *filter(None, [missing]), *(NOTES if rows else ()))
    return Table("training", "What training reached on the paper's rows", HEADS, (Group("", tuple(rows)),), notes)


def _values(one: Digest) -> np.ndarray:
    return one.values[SUCCESS if one.cell["family"] == "multiwell" else METRIC]


def _cost(one: Digest) -> np.ndarray:
    """Lower is better, whatever decides the cell."""
    return -_values(one) if one.cell["family"] == "multiwell" else _values(one)


def _best(methods: Mapping[str, Digest]) -> str:
    """The better kind of those that were trained for a cell; "" if none was."""
    there = [kind for kind in KINDS if kind in methods]
    return min(there, key=lambda kind: float(np.mean(_cost(methods[kind]))), default="")


def _compared(
    cells: Mapping[str, Mapping[str, Digest]], best: Mapping[str, str], row: str, seed: int
) -> dict[str, Comparison]:
    pairs = {
        place: (_cost(cells[place][kind]), _cost(cells[place][kind + row]))
        for place, kind in best.items()
        if kind + row in cells[place]
    }
    return compare_all(pairs, Better.LOWER, seed=seed) if pairs else {}


def _row(
    cell: Cell,
    methods: Mapping[str, Digest],
    best: str,
    verdicts: Mapping[str, Comparison],
    found: Sequence[Digest],
    seed: int,
) -> tuple[Entry, ...]:
    title = f"{cell.family.name} {cell.family.dimension}"
    metric = "hit_best" if cell.family.name == "multiwell" else "best_gap"
    beside = baselines_of(found, cell.name)
    champion = min(beside, key=lambda one: float(np.mean(_cost(one))), default=None)
    rival = Entry(MISSING) if champion is None else _figure(champion, seed, f"{champion.method} ")
    shown = [methods.get(f"{best}{row}") if best else None for row in ("_zero_networks", "_initialised")]
    entries = [Entry(MISSING) if one is None else _figure(one, seed) for one in shown]
    trained = _figure(methods[best], seed, f"{best} ") if best else Entry(UNTRAINED)
    compared = verdicts.get(cell.name)
    return (
        Entry(title),
        published_entry(cell.describe(), metric),
        rival,
        _over_seeds([methods[f"paper{ending}"] for ending in SEEDS if f"paper{ending}" in methods]),
        trained,
        *entries,
        *_verdict(compared, cell.family.name == "multiwell"),
    )


def _verdict(compared: Comparison | None, raised: bool) -> tuple[Entry, Entry]:
    """The difference in the units of the cell, and what it says."""
    if compared is None:
        return Entry(MISSING), Entry(MISSING)
    sign, (low, high) = (-1.0, compared.interval[::-1]) if raised else (1.0, compared.interval)
    words = {Verdict.BETTER: "better", Verdict.WORSE: "worse", Verdict.TIE: "not told apart"}[compared.verdict]
    text = f"{sign * compared.mean_difference:+.3g} ({number(sign * low)} to {number(sign * high)})"
    return Entry(text, numbers=(sign * compared.mean_difference,)), Entry(words)


def _figure(one: Digest, seed: int, before: str = "") -> Entry:
    values = _values(one)
    low, high = mean_interval(values, seed=seed) if np.isfinite(values).all() else (-np.inf, np.inf)
    mean = float(np.mean(values))
    return Entry(f"{before}{number(mean)} ({number(low)} to {number(high)})", numbers=(mean,))


def _over_seeds(found: Sequence[Digest]) -> Entry:
    """Mean over training seeds and its range."""
    if not found:
        return Entry(UNTRAINED)
    means = [float(np.mean(_values(one))) for one in found]
    seeds = f"{len(means)} seeds, {number(min(means))} to {number(max(means))}" if len(means) > 1 else "1 seed"
    return Entry(f"{number(float(np.mean(means)))} ({seeds})", numbers=(float(np.mean(means)),))


def _sentence(compared: Mapping[str, Comparison], what: str) -> str:
    if not compared:
        return ""
    better = [place for place, one in compared.items() if one.verdict is Verdict.BETTER]
    others = [place for place in compared if place not in better]
    said = f"The best trained policy beats {what} in {len(better)} of {len(compared)} trained cells"
    return said + (f"; training does NOT beat {what} in {', '.join(others)}." if others else ".")
