"""Which share of problems is solved: within so many calls, or within so many times the quickest method's calls."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

import numpy as np
from matplotlib.figure import Figure

from ..bench.profiles import data_profile, performance_profile
from ..bench.records import Record
from .cells import Drawn, cells_of, whole
from .ecdf import pooled
from .style import add_legend, looks, panels, styled, tidy

TAU = 1e-3  # one of Moré and Wild's; a run is solved within this share of the way from its start to the best known
POINTS = 300
RATIOS = np.logspace(0, 3, POINTS)
GROUPS = np.logspace(-3, 4, POINTS)  # one call in a thousand dimensions, to 20,000 calls in one


def draw_data_profile(records: Iterable[Record], tau: float = TAU) -> Figure:
    """Share of runs solved within so many groups of dimension + 1 calls (Moré and Wild 2009)."""

    def profile(drawn: Drawn) -> dict[str, np.ndarray]:
        return data_profile(drawn.curves, drawn.cell["dimension"], tau, GROUPS)

    return _draw(records, profile, GROUPS, "calls / (dimension + 1)", tau)


def draw_performance_profile(records: Iterable[Record], tau: float = TAU) -> Figure:
    """Share of runs solved within so many times the calls of the quickest method (Dolan and Moré 2002)."""

    def profile(drawn: Drawn) -> dict[str, np.ndarray]:
        return performance_profile(drawn.curves, tau, RATIOS)

    return _draw(records, profile, RATIOS, "calls / calls of the quickest method", tau)


def _draw(
    records: Iterable[Record],
    profile: Callable[[Drawn], dict[str, np.ndarray]],
    x: np.ndarray,
    xlabel: str,
    tau: float,
) -> Figure:
    """One panel, over the runs of all cells; a method that lacks a cell is left out."""
    parts: dict[str, list[tuple[int, np.ndarray]]] = defaultdict(list)
    cells = 0
    for drawn in cells_of(records):
        cells += 1
        for method, share in profile(drawn).items():
            parts[method].append((drawn.curves[method].runs, share))
    shares = {method: pooled(parts[method]) for method in whole({m: len(rows) for m, rows in parts.items()}, cells)}
    with styled():
        styles = looks(parts)
        figure, (axes,) = panels([min(len(shares), 1)], height=2.2, names=len(styles))
        for method, share in shares.items():
            axes.step(x, share, where="post", **vars(styles[method]))
        axes.set(xscale="log", xlim=_moving(x, shares), ylim=(0, 1.02), xlabel=xlabel)
        axes.set_ylabel(f"share of runs solved\n(within {tau:g} of the best known)")
        tidy(axes)
        order = sorted(shares, key=lambda method: -shares[method][-1])
        add_legend(figure, styles, order, [f"{method} lacks cells" for method in parts if method not in shares])
        return figure


def _moving(x: np.ndarray, shares: Mapping[str, np.ndarray]) -> tuple[float, float]:
    """The part of the axis on which some share changes, and a little on its right."""
    moved = np.flatnonzero(np.any([np.diff(share) > 0 for share in shares.values()], axis=0))
    first, last = (moved[0], moved[-1] + 1) if moved.size else (0, len(x) - 1)
    return float(x[first]), float(x[min(last + 5, len(x) - 1)])
