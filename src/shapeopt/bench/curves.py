"""What every measurement is made of: the gaps and distances of a cell's runs, call by call.

A cell is one method on one family under one protocol. Readings may cost several calls; here they lie on the axis of
calls, so that methods with different oracles can be laid side by side.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Curves:
    """What a method did in one cell: one row a run (runs of task 0 first), column k = after k + 1 calls.

    A gap of +inf is a value that was not finite; nan is not known: no reading was complete yet, or no minimum is known.
    """

    gap: np.ndarray  # (runs, budget) true f - f* at the point of the last complete reading
    best_gap: np.ndarray  # (runs, budget) true gap at the incumbent, the point with the lowest observed value so far
    distance: np.ndarray  # (runs, budget) distance of the last complete reading's point to the nearest known minimiser
    final_gap: np.ndarray  # (runs,) gap where the method stands after its last update, which is never read
    final_distance: np.ndarray  # (runs,)
    calls: np.ndarray  # (runs,) calls spent
    minimum_index: np.ndarray | None  # (runs, budget) int32, the known local minimum that the point is at; -1 if none
    tasks: int
    seconds_objective: float
    seconds_optimizer: float

    def __post_init__(self) -> None:
        if self.gap.ndim != 2 or 0 in self.gap.shape:
            raise ValueError(f"`gap` must have shape (runs, budget), neither of them 0; got shape {self.gap.shape}.")
        if not 1 <= self.tasks <= self.runs or self.runs % self.tasks:
            raise ValueError(f"`tasks` must divide the {self.runs} runs; got {self.tasks}.")
        for name in ("best_gap", "distance", "minimum_index"):
            _require_shape(name, getattr(self, name), self.gap.shape)
        for name in ("final_gap", "final_distance", "calls"):
            _require_shape(name, getattr(self, name), self.gap.shape[:1])
        for name in ("gap", "best_gap"):
            _require_nan_only_first(name, getattr(self, name))
        if self.calls.min() < 0 or self.calls.max() > self.budget:
            raise ValueError(f"`calls` must lie in [0, {self.budget}], the budget; got {self.calls}.")

    @property
    def runs(self) -> int:
        return self.gap.shape[0]

    @property
    def budget(self) -> int:
        return self.gap.shape[1]

    @property
    def starts(self) -> int:
        """Runs of a task."""
        return self.runs // self.tasks

    def by_task(self, values: np.ndarray) -> np.ndarray:
        """(runs, ...) as (tasks, starts, ...)."""
        return values.reshape(self.tasks, self.starts, *values.shape[1:])

    @staticmethod
    def from_readings(
        calls_after: np.ndarray,
        observed: np.ndarray,
        gap: np.ndarray,
        distance: np.ndarray,
        final_gap: np.ndarray,
        final_distance: np.ndarray,
        *,
        budget: int,
        tasks: int,
        minimum_index: np.ndarray | None = None,
        seconds_objective: float = float("nan"),
        seconds_optimizer: float = float("nan"),
    ) -> "Curves":
        """Curves from arrays of shape (runs, readings); `calls_after` may be (readings,) where all runs share it.

        `calls_after` counts the calls after each reading, 0 where a run had stopped; `observed` is the value that the
        method was told, `gap` the true f - f* at that point.
        """
        calls_after = np.broadcast_to(calls_after, np.shape(gap))
        gap = _broken_is_worst(np.where(calls_after > 0, gap, np.nan))
        best = incumbent_gap(np.asarray(observed, float), gap)
        near = None if minimum_index is None else np.asarray(minimum_index, np.int32)
        return Curves(
            gap=on_calls(calls_after, gap, budget, np.nan),
            best_gap=on_calls(calls_after, best, budget, np.nan),
            distance=on_calls(calls_after, np.asarray(distance, float), budget, np.nan),
            final_gap=np.asarray(final_gap, float),
            final_distance=np.asarray(final_distance, float),
            calls=calls_after.max(axis=1, initial=0),
            minimum_index=None if near is None else on_calls(calls_after, near, budget, -1),
            tasks=tasks,
            seconds_objective=seconds_objective,
            seconds_optimizer=seconds_optimizer,
        )


def on_calls(calls_after: np.ndarray, values: np.ndarray, budget: int, missing: float) -> np.ndarray:
    """Readings on the axis of calls: one that ended after c calls stands from column c - 1 until the next one ends."""
    values = np.asarray(values)
    read = np.broadcast_to(calls_after, values.shape)
    _require_calls(read, budget)
    if not values.size:  # not one reading fitted into the budget
        return np.full((len(values), budget), missing, values.dtype)
    row, reading = np.nonzero(read)
    latest = np.full((len(values), budget), -1)
    latest[row, read[row, reading] - 1] = reading
    latest = np.maximum.accumulate(latest, axis=1)
    found = np.take_along_axis(values, np.maximum(latest, 0), axis=1)
    return np.where(latest < 0, np.asarray(missing, values.dtype), found)


def incumbent_gap(observed: np.ndarray, gap: np.ndarray) -> np.ndarray:
    """The true gap at the lowest finite observed value so far, reading by reading; +inf while there is none."""
    if not gap.size:
        return gap
    lowest = np.minimum.accumulate(np.where(np.isfinite(observed), observed, np.inf), axis=1)
    before = np.pad(lowest[:, :-1], ((0, 0), (1, 0)), constant_values=np.inf)
    at = np.maximum.accumulate(np.where(lowest < before, np.arange(gap.shape[1]), -1), axis=1)
    worst = np.where(np.isnan(gap).all(axis=1, keepdims=True), np.nan, np.inf)
    return np.where(at < 0, worst, np.take_along_axis(gap, np.maximum(at, 0), axis=1))


def _broken_is_worst(gap: np.ndarray) -> np.ndarray:
    """A nan beside known gaps is a value that was not finite: +inf. A row of nan alone has no known minimum."""
    known = ~np.isnan(gap)
    return np.where(known.any(axis=1, keepdims=True) & ~known, np.inf, gap)


def _require_calls(read: np.ndarray, budget: int) -> None:
    if read.min(initial=0) < 0 or read.max(initial=0) > budget:
        raise ValueError(f"`calls_after` must lie in [0, {budget}], the budget; got {read.min()} to {read.max()}.")
    rises = np.diff(read, axis=1) > 0
    if not np.all(rises | (read[:, 1:] == 0)) or np.any((read[:, :-1] == 0) & (read[:, 1:] > 0)):
        raise ValueError(f"`calls_after` must rise from reading to reading, then be 0; got {read}.")


def _require_shape(name: str, values: np.ndarray | None, shape: tuple[int, ...]) -> None:
    if values is not None and values.shape != shape:
        raise ValueError(f"`{name}` must have shape {shape}; got {values.shape}.")


def _require_nan_only_first(name: str, rows: np.ndarray) -> None:
    known = ~np.isnan(rows)
    if np.any(known[:, :-1] & ~known[:, 1:]):
        raise ValueError(f"`{name}` must not be nan after its first known column; +inf is a value that is not finite.")
