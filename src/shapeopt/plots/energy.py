"""Where the energy went: the ledger of a run, summed up over its calls."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..core.result import LEDGER_TERMS
from .style import COLOURS, DASHES, FIRST, Look, NothingToDraw, add_legend, panels, styled, tidy

TERMS = LEDGER_TERMS[:-1]
LINEAR = 1e-3  # share of the largest sum below which the axis is linear


def draw_energy(energy: Mapping[str, np.ndarray], calls: Sequence[int], events: Sequence[Any] = ()) -> Figure:
    """Each term of `result.energy` summed up to each call, and H itself, to which they add up.

    `calls` is `result.trace.calls`; a thin line stands where each of `events` left a stage.
    """
    if not len(calls):
        raise NothingToDraw("`energy` must be that of a run that read something; got an empty one.")
    sums = {term: np.cumsum(energy[term]) for term in TERMS if np.any(energy.get(term, 0.0))}
    change, total = np.cumsum(energy["delta_H"]), np.sum(list(sums.values()), axis=0)
    styles = {
        term.replace("_", " "): Look(COLOURS[i % len(COLOURS)], DASHES[i % len(DASHES)], 1.0, 2.0)
        for i, term in enumerate(TERMS)
        if term in sums
    }
    styles |= {"change of H": Look(FIRST, "-", 1.6, 3.0), "sum of the terms": Look("#FFFFFF", (0, (1, 2.5)), 0.8, 4.0)}
    curves = [*sums.values(), change, total]
    with styled():
        figure, (axes,) = panels([1], height=2.2, names=len(styles) + 1)
        figure.set_size_inches(5.2, 2.4)
        for look, curve in zip(styles.values(), curves, strict=True):
            axes.plot(calls, curve, **vars(look))
        for event in events:
            axes.axvline(event.call, color="#CCCCCC", lw=0.3, zorder=1.0)
        largest = max(float(np.max(np.abs(curve))) for curve in curves)
        axes.set_yscale("symlog", linthresh=10.0 ** np.ceil(np.log10(max(LINEAR * largest, 1e-200))), linscale=0.5)
        axes.set(xlabel="calls", ylabel="energy since the start, in units of f")
        tidy(axes)
        worst = float(np.max(np.abs(total - change)))
        styles["sum of the terms"] = Look("#999999", (0, (1, 2.5)), 0.8, 4.0)  # white on black in the picture
        add_legend(figure, styles, list(styles), [f"they differ by {worst:.1e}"])
        return figure
