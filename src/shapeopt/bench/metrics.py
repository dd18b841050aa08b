"""Numbers of a cell: gaps, distances, hits, minima found, calls and time (eq. exp:metrics_main).

A run of N calls has positions q_0 ... q_N: it reads q_0 ... q_{N-1} (columns 0 ... N - 1 of `Curves`), and q_N is where
its last update left it. An AUC is a mean over q_0 ... q_N: the paper's equation leaves q_0 out, yet its figures for
the baselines only come out with it. A metric is one number a run, or one a task.
"""

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from .curves import Curves


class Better(enum.Enum):
    """Which way a metric is good."""

    LOWER = "lower"
    HIGHER = "higher"


class Quantity(enum.Enum):
    """What a hit is judged by."""

    GAP = "gap"
    DISTANCE = "distance"


@dataclass(frozen=True)
class HitRule:
    """A position hits where its gap, or its distance to a known minimiser, is below `tolerance`.

    Departs from the paper: it has a tolerance by family and states none.
    """

    quantity: Quantity
    tolerance: float

    def __post_init__(self) -> None:
        if not isinstance(self.quantity, Quantity):
            raise ValueError(f"`quantity` must be one of {', '.join(map(str, Quantity))}; got {self.quantity!r}.")
        if not 0 < self.tolerance < np.inf:
            raise ValueError(f"`tolerance` must be finite and positive; got {self.tolerance}.")


PAPER_HIT = HitRule(Quantity.DISTANCE, 0.2)  # reproduces the hit rates of the paper's baselines, judged at q_N
GAP_HIT = HitRule(Quantity.GAP, 1e-2)  # the project's own bar, judged at the incumbent


def final_gap(curves: Curves) -> np.ndarray:
    """f(q_N) - f* (eq. exp:metrics_main)."""
    return _worst_where_broken(curves.final_gap)


def best_gap(curves: Curves) -> np.ndarray:
    """The gap of what the run returns: the point with the lowest observed value.

    Departs from the paper: q_N, which was never read, is not a candidate; `lowest_gap` has it.
    """
    return _worst_where_broken(curves.best_gap[:, -1])


def lowest_gap(curves: Curves) -> np.ndarray:
    """min over k = 0 ... N of f(q_k) - f*, whatever was observed (eq. exp:metrics_main)."""
    return np.fmin(_settled(curves.gap).min(axis=1), final_gap(curves))


def auc_gap(curves: Curves) -> np.ndarray:
    """Mean over k = 0 ... N of f(q_k) - f* (eq. exp:metrics_main).

    Departs from the paper: its equation begins at k = 1, its figures at k = 0.
    """
    return _area(_settled(curves.gap), final_gap(curves))


def auc_best_gap(curves: Curves) -> np.ndarray:
    """The same of the incumbent's gap; q_N brings no reading, so that the last incumbent counts twice."""
    return _area(_settled(curves.best_gap), best_gap(curves))


def auc_lowest_gap(curves: Curves) -> np.ndarray:
    """The same of the lowest gap of q_0 ... q_k."""
    return _area(np.minimum.accumulate(_settled(curves.gap), axis=1), lowest_gap(curves))


def final_distance(curves: Curves) -> np.ndarray:
    """Distance of q_N to the nearest known minimiser; nan where none is known."""
    return _worst_where_broken(curves.final_distance)


def auc_distance(curves: Curves) -> np.ndarray:
    """Mean over k = 0 ... N of the distance of q_k."""
    return _area(_settled(curves.distance), final_distance(curves))


def hit_final(curves: Curves, rule: HitRule) -> np.ndarray:
    """Whether q_N hits, as 0 or 1; nan where that is not known."""
    final = final_gap(curves) if rule.quantity is Quantity.GAP else final_distance(curves)
    return _below(final, rule.tolerance)


def hit_trajectory(curves: Curves, rule: HitRule) -> np.ndarray:
    """Whether any of q_0 ... q_N hits."""
    if rule.quantity is Quantity.GAP:
        return _below(lowest_gap(curves), rule.tolerance)
    return _below(np.fmin(_settled(curves.distance).min(axis=1), final_distance(curves)), rule.tolerance)


def hit_best(curves: Curves, rule: HitRule) -> np.ndarray:
    """Whether what the run returns hits; nan under a rule of distance, as the incumbent's is not kept."""
    known = rule.quantity is Quantity.GAP
    return _below(best_gap(curves), rule.tolerance) if known else np.full(curves.runs, np.nan)


def calls_to_target(curves: Curves, rule: HitRule) -> np.ndarray:
    """Calls until the incumbent (under a rule of distance, the last reading) first hits; inf where it never does."""
    along = curves.best_gap if rule.quantity is Quantity.GAP else curves.distance
    hits = along < rule.tolerance
    return np.where(hits.any(axis=1), 1.0 + hits.argmax(axis=1), np.inf)


def expected_calls(curves: Curves, rule: HitRule) -> np.ndarray:
    """By task, the calls that all runs spent until they hit or ended, over the number of hits (COCO's ERT)."""
    first = curves.by_task(calls_to_target(curves, rule))
    hits = np.isfinite(first).sum(axis=1)
    spent = np.minimum(first, curves.by_task(curves.calls)).sum(axis=1)
    return np.where(hits > 0, spent / np.maximum(hits, 1), np.inf)


def wasted_budget(curves: Curves) -> np.ndarray:
    """1 - (call of the incumbent's last change) / budget; 1 for a run that never had one."""
    best = np.where(np.isfinite(curves.best_gap), curves.best_gap, np.inf)  # what is not finite is no improvement
    before = np.pad(best[:, :-1], ((0, 0), (1, 0)), constant_values=np.inf)
    last = np.where(best != before, np.arange(1, curves.budget + 1), 0).max(axis=1)
    return np.where(np.isnan(best_gap(curves)), np.nan, 1 - last / curves.budget)


def distinct_minima(curves: Curves) -> np.ndarray:
    """By task, how many known local minima its runs were at (tab. ackley_budget_particle_ablation_full)."""
    if curves.minimum_index is None:
        return np.full(curves.tasks, np.nan)
    groups = curves.by_task(curves.minimum_index)
    return np.array([len(np.unique(group[group >= 0])) for group in groups], float)


def minima_hits(curves: Curves) -> np.ndarray:
    """By task, after how many of its runs' calls the last reading was at a known local minimum."""
    if curves.minimum_index is None:
        return np.full(curves.tasks, np.nan)
    spent = np.arange(curves.budget) < curves.calls[:, None]
    return curves.by_task((curves.minimum_index >= 0) & spent).sum(axis=(1, 2)).astype(float)


def calls(curves: Curves) -> np.ndarray:
    """Calls spent."""
    return curves.calls.astype(float)


def objective_seconds(curves: Curves) -> np.ndarray:
    """Seconds of the objective a call, in the whole cell; the same for each run."""
    return np.full(curves.runs, curves.seconds_objective / max(curves.calls.sum(), 1))


def optimizer_seconds(curves: Curves) -> np.ndarray:
    """Seconds of the method itself a call, in the whole cell; the same for each run."""
    return np.full(curves.runs, curves.seconds_optimizer / max(curves.calls.sum(), 1))


@dataclass(frozen=True)
class Metric:
    """How a metric is computed, which way it is good, and what a table calls it."""

    function: Callable[[Curves, HitRule], np.ndarray]
    better: Better
    label: str


def _without_rule(function: Callable[[Curves], np.ndarray]) -> Callable[[Curves, HitRule], np.ndarray]:
    return lambda curves, rule: function(curves)


METRICS: Mapping[str, Metric] = MappingProxyType(
    {
        "final_distance": Metric(_without_rule(final_distance), Better.LOWER, "Final dist."),
        "final_gap": Metric(_without_rule(final_gap), Better.LOWER, "Final gap"),
        "best_gap": Metric(_without_rule(best_gap), Better.LOWER, "Best gap"),
        "lowest_gap": Metric(_without_rule(lowest_gap), Better.LOWER, "Lowest gap"),
        "hit_final": Metric(hit_final, Better.HIGHER, "Hit-final"),
        "hit_trajectory": Metric(hit_trajectory, Better.HIGHER, "Hit-traj."),
        "hit_best": Metric(hit_best, Better.HIGHER, "Hit-best"),
        "auc_distance": Metric(_without_rule(auc_distance), Better.LOWER, "AUC dist."),
        "auc_gap": Metric(_without_rule(auc_gap), Better.LOWER, "AUC gap"),
        "auc_best_gap": Metric(_without_rule(auc_best_gap), Better.LOWER, "AUC best gap"),
        "auc_lowest_gap": Metric(_without_rule(auc_lowest_gap), Better.LOWER, "AUC lowest gap"),
        "distinct_minima": Metric(_without_rule(distinct_minima), Better.HIGHER, "Minima"),
        "minima_hits": Metric(_without_rule(minima_hits), Better.HIGHER, "Minima hits"),
        "calls": Metric(_without_rule(calls), Better.LOWER, "Calls"),
        "expected_calls": Metric(expected_calls, Better.LOWER, "Calls to target"),
        "wasted_budget": Metric(_without_rule(wasted_budget), Better.LOWER, "Wasted budget"),
        "objective_seconds": Metric(_without_rule(objective_seconds), Better.LOWER, "Objective s/call"),
        "optimizer_seconds": Metric(_without_rule(optimizer_seconds), Better.LOWER, "Optimizer s/call"),
    }
)


def summarise(curves: Curves, rule: HitRule) -> dict[str, np.ndarray]:
    """Every metric, one number a task: the mean over its runs where the metric is a run's.

    The paper's mean and standard deviation are those of these numbers over the tasks.
    """
    return {name: per_task(curves, metric.function(curves, rule)) for name, metric in METRICS.items()}


def per_task(curves: Curves, values: np.ndarray) -> np.ndarray:
    """Means over a task's runs of what is one number a run; what is one number a task stays."""
    if values.shape == (curves.runs,):
        return curves.by_task(values).mean(axis=1)
    return values


def _settled(rows: np.ndarray) -> np.ndarray:
    """The curve of where the run stands: at its first point until that is read; the worst where a value is broken."""
    known = ~np.isnan(rows)
    first = np.take_along_axis(rows, known.argmax(axis=1)[:, None], axis=1)
    unread = ~np.logical_or.accumulate(known, axis=1)
    return _worst_where_broken(np.where(unread, first, rows))


def _worst_where_broken(values: np.ndarray) -> np.ndarray:
    """nan as +inf, unless nothing is known in the whole cell (no minimum, or no minimiser)."""
    missing = np.isnan(values)
    return values if missing.all() else np.where(missing, np.inf, values)


def _area(rows: np.ndarray, final: np.ndarray) -> np.ndarray:
    """Mean over q_0 ... q_N: all columns, and the final position."""
    return (rows.sum(axis=1) + final) / (rows.shape[1] + 1)


def _below(values: np.ndarray, tolerance: float) -> np.ndarray:
    return np.where(np.isnan(values), np.nan, values < tolerance)
