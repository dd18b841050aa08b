"""How soon methods get how far: ECDFs over calls and targets, data and performance profiles, gap against budget.

All of it is for people who must choose a budget, where one number at one budget would hide the crossing of two curves.
A cell is a mapping from method to `Curves` of the same runs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from .curves import Curves
from .statistics import quantile

Cell = Mapping[str, Curves]


def coco_targets() -> np.ndarray:
    """51 targets 10^2, 10^1.8, ..., 10^-8 (Hansen et al., COCO: performance assessment, 2016)."""
    return np.logspace(2, -8, 51)


@dataclass(frozen=True, eq=False)
class Targets:
    """Gaps to reach: as they are, or as shares of the gap at the run's start."""

    values: np.ndarray = field(default_factory=coco_targets)
    relative: bool = False

    def __post_init__(self) -> None:
        if self.values.ndim != 1 or self.values.size == 0 or not np.all(self.values > 0):
            raise ValueError(f"`values` must be a list of positive targets; got {self.values}.")


def calls_to_targets(curves: Curves, targets: Targets) -> np.ndarray:
    """(runs, targets): calls after which the incumbent's gap first is at or below each target; inf where never."""
    best, start = _known_best(curves), start_gap(curves)
    scaled = targets.relative & np.isfinite(start) & (start > 0)  # round-off may leave a start below 0
    unit = np.where(scaled, start, 1.0)
    return np.stack([_first_call(best, target * unit) for target in targets.values], axis=1)


def ecdf(curves: Curves, targets: Targets) -> np.ndarray:
    """(budget,): share of all (run, target) pairs that are reached after 1, 2, ... calls."""
    reached = calls_to_targets(curves, targets)
    counts = np.bincount(reached[np.isfinite(reached)].astype(int), minlength=curves.budget + 1)[1:]
    return np.cumsum(counts) / reached.size


def area(profile: np.ndarray, log_calls: bool = True) -> float:
    """Area under an ECDF from 1 to N calls as a share of all that there is, over the logarithm of calls or over calls.

    The ECDF is a step function: its value after k calls holds until call k + 1.
    """
    calls = np.arange(1, len(profile) + 1, dtype=float)
    if len(profile) == 1:
        return float(profile[0])
    widths = np.diff(np.log(calls) if log_calls else calls)
    return float(np.sum(profile[:-1] * widths) / np.sum(widths))


def ecdfs(cell: Cell, targets: Targets) -> dict[str, np.ndarray]:
    """`ecdf` of every method."""
    return {method: ecdf(curves, targets) for method, curves in cell.items()}


def areas(cell: Cell, targets: Targets, log_calls: bool = True) -> dict[str, float]:
    """`area` under the ECDF of every method."""
    return {method: area(profile, log_calls) for method, profile in ecdfs(cell, targets).items()}


def calls_to_solve(cell: Cell, tau: float) -> dict[str, np.ndarray]:
    """(runs,) by method: calls until the gap is within tau of the best that any method reached, inf where never.

    g <= g_L + tau (g_0 - g_L),  g_0 at the start, g_L the lowest of all methods (Moré and Wild 2009)
    """
    if not 0 < tau < 1:
        raise ValueError(f"`tau` must lie in (0, 1); got {tau}.")
    _require_same_runs(cell)
    best = {method: _known_best(curves) for method, curves in cell.items()}
    lowest = np.min([rows[:, -1] for rows in best.values()], axis=0)
    start = np.min([start_gap(curves) for curves in cell.values()], axis=0)
    known = np.isfinite(start) & np.isfinite(lowest)
    gained = np.where(known, start, 0.0) - np.where(known, lowest, 0.0)
    goal = lowest + tau * np.maximum(gained, 0.0)
    return {method: _first_call(rows, goal) for method, rows in best.items()}


def data_profile(cell: Cell, dimension: int, tau: float, groups: np.ndarray) -> dict[str, np.ndarray]:
    """Share of runs that are solved within `groups` times dimension + 1 calls, by method (Moré and Wild 2009)."""
    spent = np.asarray(groups, float)[:, None] * (dimension + 1)
    return {method: np.mean(calls <= spent, axis=1) for method, calls in calls_to_solve(cell, tau).items()}


def performance_profile(cell: Cell, tau: float, ratios: np.ndarray) -> dict[str, np.ndarray]:
    """Share of runs that are solved within `ratios` times the calls of the quickest method (Dolan and Moré 2002)."""
    calls = calls_to_solve(cell, tau)
    quickest = np.min(list(calls.values()), axis=0)
    limit = np.asarray(ratios, float)[:, None] * quickest
    return {method: np.mean((spent <= limit) & np.isfinite(spent), axis=1) for method, spent in calls.items()}


def quantile_gap_at(cell: Cell, budgets: Sequence[int], share: float = 0.5) -> dict[str, np.ndarray]:
    """The quantile over runs (the median unless told) of the incumbent's gap after each of `budgets` calls."""
    if not 0 <= share <= 1:
        raise ValueError(f"`share` must lie in [0, 1]; got {share}.")
    return {
        method: np.array([quantile(column, share) for column in _at(curves, budgets).T])
        for method, curves in cell.items()
    }


def start_gap(curves: Curves) -> np.ndarray:
    """(runs,): gap of the first complete reading; +inf where there is none."""
    first = (~np.isnan(curves.gap)).argmax(axis=1)[:, None]
    gap = np.take_along_axis(curves.gap, first, axis=1)[:, 0]
    return np.where(np.isnan(gap), np.inf, gap)


def _known_best(curves: Curves) -> np.ndarray:
    """The incumbent's gap, +inf before the first reading."""
    return np.where(np.isnan(curves.best_gap), np.inf, curves.best_gap)


def _first_call(best: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """(runs,): calls after which a run's gap first is at or below its goal."""
    reached = (best <= goal[:, None]) & np.isfinite(best)
    return np.where(reached.any(axis=1), 1.0 + reached.argmax(axis=1), np.inf)


def _at(curves: Curves, budgets: Sequence[int]) -> np.ndarray:
    columns = np.asarray(budgets) - 1
    if columns.size == 0 or columns.min() < 0 or columns.max() >= curves.budget:
        raise ValueError(f"`budgets` must lie in [1, {curves.budget}], the cell's budget; got {budgets}.")
    return _known_best(curves)[:, columns]


def _require_same_runs(cell: Cell) -> None:
    shapes = {method: (curves.runs, curves.tasks) for method, curves in cell.items()}
    if len(set(shapes.values())) != 1:
        raise ValueError(f"`cell` must have methods on the same runs; got (runs, tasks) {shapes}.")
