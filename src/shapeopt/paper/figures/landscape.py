"""How every figure shows a landscape of two dimensions: quiet, so that what moves on it is seen."""

from typing import Any

import numpy as np

from .sheets import Sheet

LEVELS = 14
SHARE = 0.15  # of the median height: below it heights are nearly linear, above it logarithmic


def draw_landscape(axes: Any, sheet: Sheet, values: np.ndarray) -> None:
    """Contours of `values` over the sheet's box; a dark place is low."""
    height = np.log1p((values - values.min()) / (SHARE * (np.median(values) - values.min()) or 1.0))
    x, y = (np.linspace(*ends, size) for ends, size in zip(_ends(sheet), values.shape[::-1], strict=True))
    axes.contourf(x, y, height, levels=LEVELS, cmap="Greys_r", alpha=0.55, zorder=0)
    axes.set(aspect="equal", xlim=_ends(sheet)[0], ylim=_ends(sheet)[1])
    for side in ("top", "right"):
        axes.spines[side].set_visible(True)
    axes.tick_params(length=2, pad=1.5)


def mark_minimum(axes: Any, sheet: Sheet) -> None:
    axes.plot(*sheet["minimiser"], marker="*", ms=8, mfc="#F0E442", mec="black", mew=0.6, zorder=6, ls="none")


def _ends(sheet: Sheet) -> list[tuple[float, float]]:
    return [(float(low), float(high)) for low, high in zip(sheet["lower"], sheet["upper"], strict=True)]
