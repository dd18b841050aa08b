"""What a larger budget buys, from runs that were told it: one panel for each set of cells that differ in it alone."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..bench.digest import natural, place_title
from ..bench.records import Record
from .cells import cells_of
from .progress import quartiles
from .style import Look, NothingToDraw, add_legend, band_note, banded, in_rows, looks, panels, styled, tidy

ASIDE = 1.05  # factor between neighbours on the axis of budgets


def draw_budget(records: Iterable[Record]) -> Figure:
    """Median of the best gap at the end against the budget, with the quartiles as bars."""
    places: dict[str, dict[int, dict[str, np.ndarray]]] = defaultdict(dict)
    for drawn in cells_of(records):
        budget = drawn.cell["budget"]
        places[place_title(drawn.cell)][budget] = quartiles(drawn.curves, np.array([budget]))
    several = {place: budgets for place, budgets in places.items() if len(budgets) > 1}
    if not several:
        raise NothingToDraw("`records` must have cells that differ in their budget alone; got none.")
    styles = looks(method for budgets in several.values() for gaps in budgets.values() for method in gaps)
    with styled():
        figure, grid = panels(in_rows(len(several)), height=1.6, names=len(styles))
        for axes, place in zip(grid, sorted(several, key=natural), strict=True):
            _panel(axes, several[place], styles)
            axes.set_title(place)
        figure.supxlabel("budget (calls)", fontsize=7)
        figure.supylabel("median best gap at the end", fontsize=7)
        add_legend(figure, styles, list(styles), [band_note("bars", styles)])
        return figure


def _panel(axes: Any, ends: Mapping[int, Mapping[str, np.ndarray]], styles: Mapping[str, Look]) -> None:
    for i, (method, look) in enumerate(styles.items()):
        budgets = sorted(budget for budget in ends if method in ends[budget])
        gaps = np.array([ends[budget][method][:, 0] for budget in budgets]).reshape(-1, 3)
        axes.plot(budgets, gaps[:, 1], marker="o", ms=2, **vars(look))
        if method in banded(styles):
            beside = ASIDE ** (i - (len(banded(styles)) - 1) / 2)  # so that bars do not hide each other
            axes.vlines(np.array(budgets) * beside, gaps[:, 0], gaps[:, 2], color=look.color, lw=0.6)
    axes.set(xscale="log", yscale="log")
    tidy(axes)
    axes.set_xticks(sorted(ends), [str(budget) for budget in sorted(ends)])
    axes.set_xticks([], minor=True)
