"""Curves that are not gaps: minima that runs have been at (figure minima:counting), distances and hits on scientific
tasks (figure real:world:display)."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ...bench.curves import Curves
from ...bench.digest import natural, place_title
from ...bench.records import Record
from ...plots.cells import Drawn, cells_of
from ...plots.style import PAGE, Look, NothingToDraw, add_legend, looks, panels, styled, tidy

RANKS = 24  # of the lowest minima, those that are shown


def draw_minima(records: Iterable[Record]) -> Figure:
    """For each cell: how many different minima a run has been at after so many calls, and which share of all runs has
    been at the lowest, the second lowest, ... of them."""
    found = [one for one in cells_of(records) if all(c.minimum_index is not None for c in one.curves.values())]
    if not found:
        raise NothingToDraw("`records` must have cells that count minima; got none.")
    styles = looks(method for one in found for method in one.curves)
    with styled():
        figure, grid = panels([2 for _ in found], height=1.7, names=len(styles))
        figure.set_size_inches(0.75 * PAGE, 1.75 * len(found))
        for one, (counts, shares) in zip(found, np.reshape(np.array(grid, object), (-1, 2)), strict=True):
            _minima_panels(one, styles, counts, shares)
        add_legend(figure, styles, list(styles))
        return figure


def been_at(curves: Curves) -> np.ndarray:
    """(runs, minima): after how many calls a run was first at each minimum; inf where never."""
    index = curves.minimum_index
    assert index is not None
    first = np.full((curves.runs, int(index.max(initial=0)) + 1), np.inf)
    rows, columns = np.nonzero(index >= 0)
    np.minimum.at(first, (rows, index[rows, columns]), columns + 1.0)
    return first


def _minima_panels(one: Drawn, styles: Mapping[str, Look], counts: Any, shares: Any) -> None:
    runs, budget = one.cell["tasks"] * one.cell["starts"], one.cell["budget"]
    calls = np.arange(1, budget + 1)
    for method, curves in one.curves.items():
        first, look = been_at(curves), vars(styles[method])
        arrived = np.sort(first[np.isfinite(first)])
        counts.step(calls, np.searchsorted(arrived, calls, side="right") / runs, where="post", **look)
        share = np.isfinite(first).mean(axis=0)[:RANKS]
        shares.plot(1 + np.arange(len(share)), share, marker="o", ms=1.5, **look)
    counts.set(title=f"{place_title(one.cell)}, {runs} starts", xlabel="calls", ylabel="minima visited by a run")
    shares.set(title="which ones", xlabel="minimum, lowest first", ylabel="share of runs", ylim=(-0.02, 1.02))
    tidy(counts)
    tidy(shares)


def draw_science(records: Iterable[Record]) -> Figure:
    """Above, the mean distance to the nearest known minimum against calls; below, the share of runs that has hit it."""
    found = sorted(cells_of(records), key=lambda one: natural(one.cell["name"]))
    if not found:
        raise NothingToDraw("`records` must have something to draw; got none.")
    styles = looks(method for one in found for method in one.curves)
    with styled():
        figure, grid = panels([len(found), len(found)], height=1.5, names=len(styles))
        figure.set_size_inches(PAGE, 3.4)
        for k, one in enumerate(found):
            _science_panels(one, styles, grid[k], grid[len(found) + k])
        grid[0].set_ylabel("mean distance")
        grid[len(found)].set_ylabel("share of runs that hit")
        figure.supxlabel("calls", fontsize=7)
        add_legend(figure, styles, list(styles))
        return figure


def _science_panels(one: Drawn, styles: Mapping[str, Look], distances: Any, hits: Any) -> None:
    rule, calls = one.cell["rule"], np.arange(1, one.cell["budget"] + 1)
    for method, curves in one.curves.items():
        judged = curves.distance if rule["quantity"] == "distance" else curves.best_gap
        hit = np.maximum.accumulate(np.nan_to_num(judged, nan=np.inf) < rule["tolerance"], axis=1)
        distances.plot(calls, _mean(curves.distance), **vars(styles[method]))
        hits.plot(calls, hit.mean(axis=0), **vars(styles[method]))
    distances.set_title(f"{one.cell['family'].replace('_', ' ')}\nd = {one.cell['dimension']}", fontsize=6)
    distances.set_yscale("log")
    hits.set_ylim(-0.02, 1.02)
    tidy(distances)
    tidy(hits)


def _mean(rows: np.ndarray) -> np.ndarray:
    """Mean over the runs whose distance is known; nan where none is."""
    known = np.isfinite(rows)
    return np.where(known, rows, 0.0).sum(axis=0) / np.where(known.any(axis=0), known.sum(axis=0), np.nan)
