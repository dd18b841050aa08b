"""Pictures of suites: the ECDF of targets over calls, and the data profile of Moré and Wild (2009)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from ..bench.layout import as_printed
from ..bench.scoreboard import Board
from ..bench.suite_metrics import TAUS, Scores
from .style import add_legend, in_rows, looks, panels, save, styled, tidy

SHOWN = 8  # methods of a picture beside the judged one: those with the largest area
TAU = 1e-3  # at which the data profile counts a problem as solved
POINTS = 200

Curve = Callable[[Scores, int], tuple[np.ndarray, np.ndarray]]


def draw_suites(boards: Sequence[Board], folder: Path) -> list[Path]:
    """Write both pictures of every suite.

    Args:
        boards: of one half, as `read_boards` returns them.
        folder: where `SUITE-HALF-ecdf.png` and `SUITE-HALF-data-profile.png` go.

    Returns:
        The paths of the pictures.
    """
    paths = []
    for one in boards:
        if one.scores.part:
            continue
        name = f"{one.scores.suite}-{one.scores.half}"
        paths.append(save(draw_suite_ecdf([one]), folder / f"{name}-ecdf.png"))
        paths.append(save(draw_suite_data_profile([one]), folder / f"{name}-data-profile.png"))
    return paths


def draw_suite_ecdf(boards: Sequence[Board]) -> Figure:
    """Share of (problem, target) pairs reached within so many calls, one panel a suite."""
    label = f"share of targets reached\n({as_printed(TAUS[0])} to {as_printed(TAUS[-1])} of the start's gap)"
    return _figure(boards, ecdf_curve, "calls", label)


def draw_suite_data_profile(boards: Sequence[Board]) -> Figure:
    """Share of problems solved to 1e-3 within so many groups of dimension + 1 calls, one panel a suite."""
    return _figure(boards, profile_curve, "calls / (dimension + 1)", f"share of problems solved\n(to {TAU:g})")


def ecdf_curve(scores: Scores, row: int) -> tuple[np.ndarray, np.ndarray]:
    """Calls, and the share of all (problem, target) pairs that are reached by then."""
    calls = np.unique(np.geomspace(1, scores.budgets.max(), POINTS).round())
    return calls, _share(scores.hits[row].ravel(), calls)


def profile_curve(scores: Scores, row: int) -> tuple[np.ndarray, np.ndarray]:
    """Calls by dimension + 1, and the share of problems that are solved by then."""
    solved = scores.hits[row][:, int(np.argmin(np.abs(np.log(TAUS / TAU))))] / (scores.dimensions + 1)
    units = np.geomspace(1 / (scores.dimensions.max() + 1), (scores.budgets / (scores.dimensions + 1)).max(), POINTS)
    return units, _share(solved, units)


def _share(hits: np.ndarray, at: np.ndarray) -> np.ndarray:
    return np.searchsorted(np.sort(hits), at, side="right") / len(hits)


def _figure(boards: Sequence[Board], curve: Curve, xlabel: str, ylabel: str) -> Figure:
    shown = {one.scores.title: _shown(one) for one in boards}
    with styled():
        styles = looks(dict.fromkeys(method for methods in shown.values() for method in methods))
        figure, grid = panels(in_rows(len(boards)), height=2.2, names=len(styles))
        ends: dict[str, list[float]] = {}
        for axes, one in zip(grid, boards, strict=True):
            for method in shown[one.scores.title]:
                x, share = curve(one.scores, one.scores.row(method))
                axes.step(x, share, where="post", **vars(styles[method]))
                ends.setdefault(method, []).append(float(share[-1]))
            axes.set(xscale="log", xlim=(x[0], x[-1]), ylim=(0, 1.02), xlabel=xlabel)
            axes.set_title(f"{one.scores.suite}, {one.scores.half}: {len(one.scores.problems)} problems")
            tidy(axes)
        grid[0].set_ylabel(ylabel)
        add_legend(figure, styles, _by_end(ends))
        return figure


def _by_end(ends: Mapping[str, Iterable[float]]) -> list[str]:
    return sorted(ends, key=lambda method: -float(np.mean(list(ends[method]))))


def _shown(one: Board) -> list[str]:
    """The judged method, and the best of the others by area."""
    means = dict(zip(one.scores.methods, one.scores.areas.mean(axis=1), strict=True))
    others = sorted((method for method in means if method != one.method), key=lambda method: -means[method])
    return [one.method, *others[:SHOWN]]
