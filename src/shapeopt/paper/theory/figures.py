"""Pictures of the checks; needs matplotlib (the extra `report`)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatterSciNotation, LogLocator, NullFormatter

from ...plots.style import COLOURS, DASHES, FIRST, Look, add_legend, in_rows, panels, styled, tidy
from .study import Study

SEEN, BOUND = Look(COLOURS[1], "-", 0.7, 2.0), Look(FIRST, "-", 1.4, 3.0)
OTHER = Look(COLOURS[0], DASHES[0], 1.2, 2.5)
DECADES = 1e-8  # of V that are shown


def draw_rates(studies: Sequence[Study]) -> Figure:
    """V of every frozen stage against its own bound: time in units of 1 / c, so that all have the same one."""
    with styled():
        figure, grid = panels(in_rows(len(studies)), height=1.6, names=3)
        for axes, one in zip(grid, studies, strict=True):
            for check in one.rates:
                V = check.V / check.V[0]
                axes.plot(check.constants.c * check.time, np.where(V > DECADES, V, np.nan), **vars(SEEN))
            t = np.linspace(0.0, 4.0, 50)
            axes.plot(t, np.exp(-t), **vars(BOUND))
            axes.set(yscale="log", xlim=(0.0, 4.0), ylim=(DECADES, 3.0), title=one.cell.name)
            tidy(axes)
        figure.supxlabel("time, in units of 1 / c", fontsize=7)
        figure.supylabel("V / V(0)", fontsize=7)
        looks = {"bound exp(-c t)": BOUND, "frozen stages": SEEN}
        add_legend(figure, looks, list(looks))
        return figure


def draw_defects(studies: Sequence[Study]) -> Figure:
    """A column for each policy: one-step defect against h, and floors against port, clips and noise, with bounds."""
    shown = [one for one in studies if one.defects is not None]
    with styled():
        figure, grid = panels([len(shown)] * 4, height=1.35, names=3)
        for column, one in enumerate(shown):
            check: Any = one.defects
            rows = [grid[column + len(shown) * row] for row in range(4)]
            _defect_panel(rows[0], check)
            for axes, sweep in zip(rows[1:], (check.port, check.clip, check.noise), strict=True):
                _floor_panel(axes, sweep, sweep is not check.noise)
            rows[0].set_title(one.cell.name)
        labels = ("defect against h", "floor against beta", "floor against\nthe cut", "floor against\nh tr(W Xi)")
        for row, label in enumerate(labels):
            grid[row * len(shown)].set_ylabel(label)
        looks = {"bound": BOUND, "measured": SEEN, "slope 2": OTHER}
        add_legend(figure, looks, list(looks))
        return figure


def draw_progress_bound(studies: Sequence[Study]) -> Figure:
    """The share of runs that have not improved by delta, and its bounds, against the number of proposals."""
    with styled():
        figure, grid = panels(in_rows(len(studies)), height=1.6, names=4)
        wide = Look(SEEN.color, "-", 1.4, 2.5)
        for axes, one in zip(grid, studies, strict=True):
            check = one.progress
            s = np.arange(len(check.theta) + 1)
            for curve, look in ((check.bound, BOUND), (check.exponential, OTHER), (check.failure, wide)):
                axes.plot(s, np.concatenate([[1.0], curve]), marker=".", ms=3, **vars(look))
            axes.set(ylim=(0.0, 1.05), title=one.cell.name)
            axes.xaxis.get_major_locator().set_params(integer=True)
            tidy(axes)
        figure.supxlabel("proposals S", fontsize=7)
        figure.supylabel("P(F_S > F_0 - delta)", fontsize=7)
        looks = {"product bound": BOUND, "exp(-rho S)": OTHER, "measured": wide}
        add_legend(figure, looks, list(looks))
        return figure


def _few_ticks(axes: Any) -> None:
    axes.xaxis.set_major_locator(LogLocator(numticks=4))
    axes.xaxis.set_major_formatter(LogFormatterSciNotation())
    axes.xaxis.set_minor_formatter(NullFormatter())


def _defect_panel(axes: Any, check: Any) -> None:
    for h, defect, C_1 in zip(check.h, check.defect, check.C_1, strict=True):
        axes.plot(h, defect, marker=".", ms=3, **vars(SEEN))
        axes.plot(h, C_1 * h**2, **vars(BOUND))
    h, defect = check.h[0], check.defect[0]
    axes.plot(h, 0.3 * defect[-1] * (h / h[-1]) ** 2, **vars(OTHER))
    axes.set(xscale="log", yscale="log")
    tidy(axes)
    _few_ticks(axes)


def _floor_panel(axes: Any, sweep: Any, lines: bool) -> None:
    """`lines` joins the points, where a larger x is always the harder case."""
    bounded, seen = (look if lines else replace(look, linestyle="none") for look in (BOUND, SEEN))
    for x, floor, bound in zip(sweep.x, sweep.floor, sweep.bound, strict=True):
        order = np.argsort(x)
        keep = order[(x > 0)[order]]
        axes.plot(x[keep], np.maximum(floor[keep], 1e-300), marker=".", ms=3, **vars(seen))
        axes.plot(x[keep], bound[keep], marker="_", ms=4, **vars(bounded))
    axes.set(xscale="log", yscale="log")
    tidy(axes)
    _few_ticks(axes)
