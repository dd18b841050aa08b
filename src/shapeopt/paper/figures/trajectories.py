"""Where methods went: all of them on one landscape a family (figure 2d), and on a line of wells (figure
multiwell:viz:panel)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ...plots.style import PAGE, Look, add_legend, looks, panels, styled, tidy
from .landscape import draw_landscape, mark_minimum
from .sheets import Sheet

FLOOR = 1e-10  # gaps below are drawn here


def draw_trajectories(sheets: Sequence[Sheet]) -> Figure:
    """Every method's path on each family's landscape, from the ring at its start to the dot at its best point."""
    styles = looks(method for sheet in sheets for method in sheet.about["methods"])
    with styled():
        figure, grid = panels([len(sheets)], height=2.1, names=len(styles))
        figure.set_size_inches(PAGE, 2.1)
        for axes, sheet in zip(grid, sheets, strict=True):
            draw_landscape(axes, sheet, sheet["landscape"])
            for method, look in styles.items():
                points, best = sheet[f"{method}/points"], int(np.argmin(sheet[f"{method}/values"]))
                axes.plot(*points.T, color=look.color, ls=look.linestyle, lw=0.6, alpha=0.75)
                axes.plot(*points[best], marker="o", ms=3.4, color=look.color, mec="white", mew=0.5, zorder=5)
            axes.plot(*sheet["start"], marker="o", ms=5, mfc="none", mec="black", mew=1.0, zorder=5)
            mark_minimum(axes, sheet)
            cell = sheet.about["cell"]
            axes.set_title(f"{cell['family']}, {cell['budget']} calls")
        add_legend(figure, styles, list(styles), ["ring: start; dot: best", "star: minimum"])
        return figure


def draw_multiwell(sheets: Sequence[Sheet]) -> Figure:
    """The wells, where each method stood after each call, and the best gap so far."""
    (sheet,) = sheets
    styles = looks(sheet.about["methods"])
    with styled():
        figure, (wells, places, bests) = panels([3], height=2.0, names=len(styles))
        figure.set_size_inches(PAGE, 2.2)
        x = np.linspace(sheet["lower"][0], sheet["upper"][0], sheet["landscape"].size)
        wells.plot(x, sheet["landscape"].ravel(), color="0.55", lw=1.0, zorder=1)
        for method, look in styles.items():
            _follow(sheet, method, look, wells, places, bests)
        wells.plot(sheet["minimiser"][0], sheet["minimum"], marker="*", ms=8, mfc="#F0E442", mec="black", mew=0.6)
        places.axhline(sheet["minimiser"][0], color="0.7", lw=0.8, zorder=0)
        wells.set(title="potential, best points", xlabel="x", ylabel="value")
        places.set(title="where each reads", xlabel="calls", ylabel="x")
        bests.set(title="best so far", xlabel="calls", ylabel="gap", yscale="log")
        for axes in (wells, places, bests):
            tidy(axes)
        add_legend(figure, styles, list(styles), ["star, grey line: minimum"])
        return figure


def _follow(sheet: Sheet, method: str, look: Look, wells: Any, places: Any, bests: Any) -> None:
    points, values, calls = (sheet[f"{method}/{part}"] for part in ("points", "values", "calls"))
    line: Mapping[str, Any] = {
        "color": look.color,
        "ls": look.linestyle,
        "lw": 0.7 * look.linewidth,
        "zorder": look.zorder,
    }
    best = int(np.argmin(values))
    wells.plot(points[best, 0], values[best], marker="o", ms=4, color=look.color, mec="white", mew=0.5, zorder=3)
    places.plot(calls, points[:, 0], **line)
    bests.plot(calls, np.maximum(np.minimum.accumulate(values) - sheet["minimum"], FLOOR), **line)
