"""What moves SHAPE: the landscape as its stages saw it (figure navigation:display), and the forces of one stage (figure
2d:example:vector:field:display)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ...core import Mode
from ...plots.style import COLOURS, PAGE, styled
from .landscape import draw_landscape, mark_minimum
from .sheets import Sheet

PATH, ANCHOR = COLOURS[0], COLOURS[1]
FIELDS = {
    "velocity": "learned velocity",
    "descent": "oracle's descent",
    "anchor_force": "anchor force",
    "port_force": "port force",
    "sum": "anchor + port",
}


def draw_shaped(sheets: Sequence[Sheet]) -> Figure:
    """Above, the true landscape and the run so far; below, f + U_shp of the stage under way, with its anchor."""
    (sheet,) = sheets
    shown = sheet.about["calls"]
    with styled():
        figure = Figure(figsize=(PAGE, 3.7), layout="constrained")
        grid = figure.subplots(2, len(shown), sharex=True, sharey=True)
        for k, (call, row) in enumerate(zip(shown, sheet["rows"], strict=True)):
            true, shaped = grid[:, k]
            points = sheet["points"]
            draw_landscape(true, sheet, sheet["landscape"])
            true.plot(*points[:call].T, color=PATH, lw=0.6)
            true.plot(*points[call - 1], marker="o", ms=4, color=PATH, mec="white", mew=0.5)
            mark_minimum(true, sheet)
            draw_landscape(shaped, sheet, sheet["landscape"] + sheet["added"][k])
            shaped.plot(*points[row : call + 1].T, color=PATH, lw=0.9, marker=".", ms=2.5)
            shaped.plot(*sheet["anchors"][k], marker="s", ms=5, mfc="none", mec=ANCHOR, mew=1.4)
            true.set_title(f"after {call} calls")
            shaped.set_title(Mode(int(sheet["modes"][k])).name.lower())
        grid[0, 0].set_ylabel("true landscape f")
        grid[1, 0].set_ylabel("as the stage sees it, f + U$_{shp}$")
        return figure


def draw_field(sheets: Sequence[Sheet]) -> Figure:
    """Forces on a plant at rest all over the box, in one frozen stage; arrows show directions, faint ones are weak."""
    (sheet,) = sheets
    with styled():
        figure = Figure(figsize=(PAGE, 1.75), layout="constrained")
        grid = figure.subplots(1, len(FIELDS), sharex=True, sharey=True)
        for axes, (channel, title) in zip(grid, FIELDS.items(), strict=True):
            draw_landscape(axes, sheet, sheet["landscape"])
            _arrows(axes, sheet["places"], sheet[channel], PATH)
            mark_minimum(axes, sheet)
            axes.plot(*sheet["anchor"], marker="s", ms=4, mfc="none", mec=ANCHOR, mew=1.2, zorder=5)
            axes.set_title(title)
        return figure


def _arrows(axes: Any, places: np.ndarray, force: np.ndarray, colour: str) -> None:
    """Arrows of one length each, fainter where the force is small."""
    size = np.linalg.norm(force, axis=1)
    unit = force / np.maximum(size, 1e-300)[:, None]
    faint = 0.15 + 0.85 * np.clip(size / max(np.quantile(size, 0.9), 1e-300), 0, 1)
    drawn = {"angles": "xy", "scale_units": "xy", "scale": 1.5, "width": 0.008, "headwidth": 3.5, "zorder": 3}
    axes.quiver(*places.T, *unit.T, color=colour, alpha=np.where(size > 0, faint, 0.0), **drawn)
