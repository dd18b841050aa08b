"""What the paper's policy loses without a part of it: paired over tasks, with intervals, beside what the paper says."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...bench.digest import QUICK, Digest, by_cell, place_title
from ...bench.layout import MISSING, Entry, Group, Table, mean_and_deviation, number, words
from ...bench.marks import SOLVED
from ...bench.metrics import METRICS, Better
from ...bench.protocol_tables import FEW
from ...bench.statistics import Comparison, compare_all, spread
from ..protocols import PROTOCOLS
from .choice import VERDICTS, lacking, of_protocol
from .sources import CONTROLLER, MULTIWELL, paper_entry, paper_figure

WHOLE = "paper"
# our metric, and what the paper calls it; hits are those of the paper's rule, and of the best value for multi-wells
MEASURES = (
    ("lowest_gap", "best_gap"),
    ("final_gap", "final_gap"),
    ("hit_final", "hit_final"),
    ("hit_best", "hit_best"),
)
HOW = (
    "Difference: the ablated policy less the whole one, mean over the same tasks and starts, with a bootstrap interval "
    "(BCa) over tasks. The verdict is of the ablated policy; worse or better needs that interval and Wilcoxon's "
    "signed-rank test, with Holm's correction over the cells of a metric, to say so (5 %). Gaps below 1e-8 count as "
    "that. Each policy was trained with what it has."
)
BESIDE = (
    "Columns that begin with “paper” have the paper's own figures (tab. ackley_memory_controller_ablation_main; for "
    "multi-wells, tab. multiwell_fair_budget); its verdict is which of them is larger, as it gives no deviations."
)


@dataclass(frozen=True)
class Ablation:
    """A protocol with the whole policy and one that lacks something, said in `words`."""

    name: str
    method: str
    words: str

    @property
    def protocol(self) -> str:
        return f"ablation-{self.name}"


@dataclass(frozen=True)
class Pair:
    """One metric on one cell: the whole policy's digest, the ablated one's, and what the test says of the second."""

    metric: str
    paper: str
    whole: Digest
    ablated: Digest
    compared: Comparison


CONTROLLERS = Ablation("controller", "paper_without_controller", "without the controller")
MEMORIES = Ablation("memory", "paper_without_memory", "without memory")
HORIZONS = Ablation("horizon", "paper_horizon_4", "with stages of 4 readings instead of 6")


def controller_table(found: Sequence[Digest], seed: int = 0) -> Table:
    """The paper's policy without its controller (tab. ackley_memory_controller_ablation_main).

    Departs from the paper: it gives means alone.
    """
    return _table(CONTROLLERS, found, seed)


def memory_table(found: Sequence[Digest], seed: int = 0) -> Table:
    """The paper's policy without its memory (tab. multiwell_fair_budget).

    Departs from the paper: it has this ablation on multi-wells alone, and means without deviations.
    """
    return _table(MEMORIES, found, seed)


def horizon_table(found: Sequence[Digest], seed: int = 0) -> Table:
    """The paper's policy with a shorter event horizon; the paper has no figures of that."""
    return _table(HORIZONS, found, seed)


def _table(ablation: Ablation, found: Sequence[Digest], seed: int) -> Table:
    mine = of_protocol(found, ablation.protocol)
    pairs = _pairs(ablation, mine, seed)
    quick = (FEW,) if any(one.protocol.endswith(QUICK) for one in mine) else ()
    said = (*_sentences(ablation, pairs), HOW, BESIDE) if pairs else ()
    places = [cell.name for cell in PROTOCOLS[ablation.protocol].cells]
    missing = lacking(mine, places, (WHOLE, ablation.method)) if not quick else ""
    head = ablation.words
    return Table(
        name=ablation.name,
        title=f"The paper's policy {head}",
        columns=(
            "Metric",
            "whole",
            "paper: whole",
            head,
            f"paper: {head}",
            "Difference",
            "95 % interval",
            "p (Holm)",
            "Verdict",
            "paper: Verdict",
        ),
        groups=tuple(_group(pairs, place) for place in dict.fromkeys(pair.whole.place for pair in pairs)),
        notes=(*quick, *said, *filter(None, [missing])),
    )


def _pairs(ablation: Ablation, mine: Sequence[Digest], seed: int) -> list[Pair]:
    """Every metric on every cell that both have, cell by cell."""
    both = {
        place: (methods[WHOLE], methods[ablation.method])
        for place, methods in by_cell(mine).items()
        if WHOLE in methods and ablation.method in methods
    }
    pairs = []
    for metric, paper in MEASURES:
        numbers = {
            place: (_numbers(ablated, metric), _numbers(whole, metric)) for place, (whole, ablated) in both.items()
        }
        known = {place: pair for place, pair in numbers.items() if not np.isnan(pair).all()}
        for place, compared in compare_all(known, METRICS[metric].better, seed=seed).items():
            pairs.append(Pair(metric, paper, *both[place], compared))
    return pairs


def _numbers(one: Digest, metric: str) -> np.ndarray:
    values = one.values[metric]
    return np.maximum(values, SOLVED) if metric.endswith("gap") else values


def _group(pairs: Sequence[Pair], place: str) -> Group:
    mine = [pair for pair in pairs if pair.whole.place == place]
    return Group(place_title(mine[0].whole.cell), tuple(map(_row, mine)))


def _row(pair: Pair) -> tuple[Entry, ...]:
    compared, metric = pair.compared, METRICS[pair.metric]
    figures = [spread(one.values[pair.metric]) for one in (pair.whole, pair.ablated)]
    ours = [mean_and_deviation(figure.mean, figure.std) for figure in figures]
    theirs = [paper_entry(_source(one), one, pair.paper) for one in (pair.whole, pair.ablated)]
    arrow = "↓" if metric.better is Better.LOWER else "↑"
    return (
        Entry(f"{metric.label} {arrow}"),
        *(ours[0], theirs[0], ours[1], theirs[1]),
        Entry(f"{compared.mean_difference:+.3g}", numbers=(compared.mean_difference,)),
        Entry(f"{number(compared.interval[0])} to {number(compared.interval[1])}"),
        Entry(number(compared.p_holm, 2), numbers=(compared.p_holm,)),
        *words(VERDICTS[compared.verdict], _paper_verdict(pair) or MISSING),
    )


def _source(one: Digest) -> str:
    return MULTIWELL if one.cell["family"] == "multiwell" else CONTROLLER


def _paper_verdict(pair: Pair) -> str:
    """What the paper's figures say of the ablated policy; "" where it has none."""
    figures = [paper_figure(_source(one), one, pair.paper) for one in (pair.ablated, pair.whole)]
    if figures[0] is None or figures[1] is None:
        return ""
    worse = (figures[0].mean > figures[1].mean) == (METRICS[pair.metric].better is Better.LOWER)
    return "worse" if worse else "better"


def _sentences(ablation: Ablation, pairs: Sequence[Pair]) -> list[str]:
    """One on each metric, and one on each cell where the paper's figures say otherwise."""
    lines = []
    for metric, _ in MEASURES:
        mine = [pair for pair in pairs if pair.metric == metric]
        parts = [_cells(word, [p for p in mine if p.compared.verdict is verdict]) for verdict, word in VERDICTS.items()]
        if mine:
            lines.append(f"{METRICS[metric].label}, {ablation.words}: {'; '.join(filter(None, parts))}.")
    other = [pair for pair in pairs if _paper_verdict(pair) not in ("", VERDICTS[pair.compared.verdict])]
    if other:
        cells = [f"{place_title(pair.whole.cell)} ({METRICS[pair.metric].label})" for pair in other]
        lines.append(f"Where the paper's figures say otherwise: {'; '.join(cells)}.")
    return lines


def _cells(word: str, pairs: Sequence[Pair]) -> str:
    return f"{word} on {', '.join(place_title(pair.whole.cell) for pair in pairs)}" if pairs else ""
