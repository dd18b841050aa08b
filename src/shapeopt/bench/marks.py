"""Which entries of a column may be marked: never one without a test behind it."""

from collections.abc import Mapping

import numpy as np

from .layout import Mark
from .metrics import METRICS, Better
from .statistics import Verdict, compare_all

SOLVED = 1e-8  # gaps below are all as good: COCO's last target


def leaders(values: Mapping[str, np.ndarray], metric: str, *, seed: int) -> dict[str, Mark]:
    """Marks by method, from one number a task of each: BEST for one that is better than every other.

    The method with the best mean is compared with each of the others, and Holm's correction is over them. If some can't
    be told from it, they lead together; if that holds for all, nobody is marked.
    """
    better, floor = METRICS[metric].better, SOLVED if metric.endswith("gap") else -np.inf
    known = {method: np.maximum(row, floor) for method, row in values.items() if not np.isnan(row).all()}
    if len(known) < 2:
        return {}
    first = min(known, key=lambda method: _cost(known[method], better))
    pairs = {method: (known[first], numbers) for method, numbers in known.items() if method != first}
    told = compare_all(pairs, better, seed=seed)
    even = [method for method, comparison in told.items() if comparison.verdict is not Verdict.BETTER]
    if len(even) == len(pairs):
        return {}
    return {method: Mark.LEADING for method in (first, *even)} if even else {first: Mark.BEST}


def _cost(numbers: np.ndarray, better: Better) -> float:
    """The mean, lower is better; numbers that are not finite are the worst."""
    sign = 1 if better is Better.LOWER else -1
    return float(np.mean(np.where(np.isfinite(numbers), sign * numbers, np.inf)))
