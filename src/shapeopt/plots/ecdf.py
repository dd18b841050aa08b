"""How soon which share of targets is reached: the ECDF of COCO, one panel a budget."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

import numpy as np
from matplotlib.figure import Figure

from ..bench.layout import as_printed
from ..bench.profiles import Targets, ecdf
from ..bench.records import Record
from .cells import cells_of, whole
from .style import Look, add_legend, in_rows, looks, panels, styled, tidy


def draw_ecdf(records: Iterable[Record], targets: Targets | None = None) -> Figure:
    """Share of (run, target) pairs that are reached within so many calls, over all cells of the same budget.

    A method that lacks one of these cells is not in their panel.
    """
    targets = Targets() if targets is None else targets
    reached: dict[int, dict[str, list[tuple[int, np.ndarray]]]] = defaultdict(lambda: defaultdict(list))
    cells: Counter[int] = Counter()
    for drawn in cells_of(records):
        budget = drawn.cell["budget"]
        cells[budget] += 1
        for method, curves in drawn.curves.items():
            reached[budget][method].append((curves.runs, ecdf(curves, targets)))
    shares: dict[int, dict[str, np.ndarray]] = {}
    for budget in sorted(cells):
        counts = {method: len(parts) for method, parts in reached[budget].items()}
        shares[budget] = {method: pooled(reached[budget][method]) for method in whole(counts, cells[budget])}
    with styled():
        return _figure(shares, cells, looks(method for parts in reached.values() for method in parts), targets)


def pooled(parts: list[tuple[int, np.ndarray]]) -> np.ndarray:
    """The share over the runs of all cells, from (runs, share) of each."""
    return np.average([share for _, share in parts], axis=0, weights=[runs for runs, _ in parts])


def _figure(
    shares: Mapping[int, Mapping[str, np.ndarray]], cells: Counter[int], styles: Mapping[str, Look], targets: Targets
) -> Figure:
    figure, grid = panels(in_rows(len(shares)), height=2.2, names=len(styles))
    for axes, (budget, methods) in zip(grid, shares.items(), strict=True):
        for method, share in methods.items():
            axes.step(np.arange(1, budget + 1), share, where="post", **vars(styles[method]))
        axes.set(xscale="log", xlim=(1, max(budget, 2)), ylim=(0, 1.02), xlabel="calls")
        axes.set_title(f"{budget} calls, {cells[budget]} cell{'s' if cells[budget] > 1 else ''}")
        tidy(axes)
    kind = "share of start gap" if targets.relative else "gap"
    low, high = targets.values.min(), targets.values.max()
    grid[0].set_ylabel(f"share of targets reached\n({kind} {as_printed(high)} to {as_printed(low)})")
    ends = {method: [part[method][-1] for part in shares.values() if method in part] for method in styles}
    shown = sorted((method for method in styles if ends[method]), key=lambda method: -np.mean(ends[method]))
    add_legend(figure, styles, shown, [f"{method} lacks cells" for method in styles if not ends[method]])
    return figure
