"""Before and after: calls to a target on instances that training never saw, from the same starts.

A target is a gap of 1e-1 ... of the start's, above the lowest value that any run found on the instance. A run that did
not get there counts as one call more than the budget, which favours the slower of two policies.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .run import Run

TARGETS = (1e-1, 1e-2, 1e-3, 1e-5)
DRAWS = 2000


@dataclass(frozen=True)
class Row:
    """One target: median calls and share of instances solved, before and after; the ratio of the medians, and its 95 %
    bootstrap interval over instances."""

    target: float
    before: float
    after: float
    solved_before: float
    solved_after: float
    ratio: float
    low: float
    high: float


def floors(*policies: Sequence[Run]) -> np.ndarray:
    """The lowest value found on each instance."""
    return np.min([[run.fun for run in runs] for runs in policies], axis=0)


def calls_to(runs: Sequence[Run], lowest: np.ndarray, share: float, budget: int) -> np.ndarray:
    """Calls of each run to a gap of `share` of the start's; budget + 1 where it did not get there."""
    return np.array(
        [run.calls_to(low + share * (run.start - low), budget) for run, low in zip(runs, lowest, strict=True)]
    )


def compare(before: Sequence[Run], after: Sequence[Run], budget: int, lowest: np.ndarray | None = None) -> list[Row]:
    """The table of two policies on the same instances."""
    lowest = floors(before, after) if lowest is None else lowest
    rows = []
    for share in TARGETS:
        was, now = (calls_to(runs, lowest, share, budget) for runs in (before, after))
        rows.append(_row(share, was, now, budget))
    return rows


def _row(share: float, before: np.ndarray, after: np.ndarray, budget: int) -> Row:
    draws = np.random.default_rng(0).integers(len(before), size=(DRAWS, len(before)))
    ratios = np.median(after[draws], axis=1) / np.median(before[draws], axis=1)
    low, high = np.quantile(ratios, [0.025, 0.975])
    medians = float(np.median(before)), float(np.median(after))
    solved = float(np.mean(before <= budget)), float(np.mean(after <= budget))
    return Row(share, *medians, *solved, medians[1] / medians[0], float(low), float(high))


def area(runs: Sequence[Run], lowest: np.ndarray, budget: int) -> float:
    """Share of targets reached, from 1e-1 to 1e-6 of the start's gap, averaged over the logarithm of calls."""
    calls = np.concatenate([calls_to(runs, lowest, 10.0**-power, budget) for power in range(1, 7)])
    return float(np.mean(1.0 - np.log(np.minimum(calls, budget)) / np.log(budget)))


def as_plain(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The rows for a card."""
    return [asdict(row) for row in rows]


def lines(rows: Sequence[Row], count: int) -> list[str]:
    """The table as text."""
    head = " gap left  calls before    after  ratio   95 % interval  solved before, after"
    body = [
        f"{row.target:9.0e}  {row.before:12.1f}  {row.after:7.1f}  {row.ratio:5.2f}  "
        f"[{row.low:5.2f}, {row.high:5.2f}]  {row.solved_before:6.0%}, {row.solved_after:.0%}"
        for row in rows
    ]
    return [f"{count} held-out problems, median calls to a share of the start's gap", head, *body]
