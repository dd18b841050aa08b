"""How the best gap falls with calls, one panel a cell."""

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..bench.digest import natural, place_title
from ..bench.profiles import quantile_gap_at
from ..bench.records import Record
from .cells import Drawn, cells_of
from .style import Look, add_legend, band_note, banded, in_rows, looks, panels, styled, tidy

FLOOR = 1e-10  # gaps below are drawn here
POINTS = 120


@dataclass(frozen=True)
class Quartiles:
    """A cell's curves in short: the 25 %, 50 % and 75 % of the best gap at some calls, by method."""

    cell: Mapping[str, Any]
    calls: np.ndarray
    gaps: dict[str, np.ndarray]  # (3, calls)


def draw_progress(records: Iterable[Record]) -> Figure:
    """Median of the best gap against calls, with the quartiles as a band."""
    rows = _rows(map(_quartiles, cells_of(records)))
    found = [one for row in rows for one in row]
    styles = looks(method for one in found for method in one.gaps)
    with styled():
        figure, grid = panels([len(row) for row in rows], height=1.5, names=len(styles))
        for axes, one in zip(grid, found, strict=True):
            _panel(axes, one, styles)
        figure.supxlabel("calls", fontsize=7)
        figure.supylabel("median best gap", fontsize=7)
        add_legend(figure, styles, list(styles), [band_note("band", styles)])
        return figure


def quartiles(curves: Mapping[str, Any], calls: np.ndarray) -> dict[str, np.ndarray]:
    """(3, calls) by method, not below FLOOR; what is not finite is nan, so that nothing is drawn."""
    parts = [quantile_gap_at(curves, list(calls), share) for share in (0.25, 0.5, 0.75)]
    rows = {method: np.stack([part[method] for part in parts]) for method in curves}
    return {method: np.where(np.isfinite(row), np.maximum(row, FLOOR), np.nan) for method, row in rows.items()}


def _quartiles(drawn: Drawn) -> Quartiles:
    calls = np.unique(np.geomspace(1, drawn.cell["budget"], POINTS).round().astype(int))
    return Quartiles(drawn.cell, calls, quartiles(drawn.curves, calls))


def _rows(found: Iterable[Quartiles]) -> list[list[Quartiles]]:
    """A row for all dimensions of what else is the same (budgets may follow the dimension); else rows of four."""
    groups: dict[tuple[Any, ...], list[Quartiles]] = {}
    for one in sorted(found, key=lambda one: natural(one.cell["name"])):
        groups.setdefault(_without_dimension(one.cell), []).append(one)
    rows = []
    for key in sorted(groups):
        by_budget = itertools.groupby(sorted(groups[key], key=_budget), _budget)
        dimensions = {one.cell["dimension"] for one in groups[key]}
        rows += [groups[key]] if len(dimensions) == len(groups[key]) else [list(same) for _, same in by_budget]
    if any(len(row) > 1 for row in rows):
        return rows
    flat, ends = [row[0] for row in rows], np.cumsum([0, *in_rows(len(rows))])
    return [flat[first:last] for first, last in itertools.pairwise(ends)]


def _without_dimension(cell: Mapping[str, Any]) -> tuple[Any, ...]:
    return natural(place_title(cell).replace(f"{cell['family']} {cell['dimension']}", cell["family"], 1))


def _budget(one: Quartiles) -> int:
    return one.cell["budget"]


def _panel(axes: Any, one: Quartiles, styles: Mapping[str, Look]) -> None:
    for method, (low, median, high) in one.gaps.items():
        axes.plot(one.calls, median, **vars(styles[method]))
        if method in banded(styles):
            axes.fill_between(one.calls, low, high, color=styles[method].color, alpha=0.15, lw=0)
    axes.set(xscale="log", yscale="log", xlim=(1, one.calls[-1]))
    family, _, options = place_title(one.cell).partition(", ")
    axes.set_title("\n".join([family, ", ".join(filter(None, [options, f"{one.cell['budget']} calls"]))]), fontsize=6)
    tidy(axes)
