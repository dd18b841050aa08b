"""What a run gives back: a SciPy `OptimizeResult` with the minima, the events, the trace and the energy ledger."""

from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from .codes import STATUS_MESSAGES, Cause, Mode, Status

LEDGER_TERMS = (
    "dissipation",
    "damping_injection",
    "port_work",
    "event_work",
    "clipping",
    "discretisation",
    "noise",
    "delta_H",
)


class RunRecord:
    """The readings of a run, gathered on the host one by one or in stretches."""

    def __init__(self) -> None:
        self._stretches: dict[str, list[np.ndarray]] = {}
        self._names: tuple[str, ...] = ()
        self._rows: list[tuple[Any, ...]] = []

    def append(self, names: tuple[str, ...], row: tuple[Any, ...]) -> None:
        """One reading; cheap, since a host objective pays for it at every call."""
        self._names = names
        self._rows.append(row)

    def extend(self, **columns: np.ndarray) -> None:
        """A stretch of readings, in columns of equal length."""
        for name, rows in columns.items():
            self._stretches.setdefault(name, []).append(rows)

    def column(self, name: str) -> np.ndarray:
        self._settle_rows()
        return np.concatenate(self._stretches[name]) if name in self._stretches else np.zeros(0)

    def __contains__(self, name: str) -> bool:
        self._settle_rows()
        return name in self._stretches

    def _settle_rows(self) -> None:
        if self._rows:
            rows, self._rows = self._rows, []
            self.extend(
                **{name: np.array(column) for name, column in zip(self._names, zip(*rows, strict=True), strict=True)}
            )


def make_result(
    *,
    x: Any,
    fun: float,
    calls: int,
    gradients: int,
    record: RunRecord,
    minima: list[OptimizeResult],
    status: Status,
    restore: Any,
) -> OptimizeResult:
    """The result; `restore` gives a flat point the user's structure."""
    finite = bool(np.isfinite(fun))
    status = status if finite or status == Status.FAILED else Status.NO_FINITE_VALUE
    best = record.column("best")
    calls_spent, modes = record.column("calls").astype(int), _names(record, "mode", Mode)
    trace = OptimizeResult(value=record.column("value"), best=best, calls=calls_spent, mode=modes)
    energy = OptimizeResult({term: record.column(term) for term in LEDGER_TERMS if term in record})
    events = list_events(record, restore)
    return OptimizeResult(
        x=restore(np.asarray(x)),
        fun=float(fun),
        success=finite and status in (Status.BUDGET_SPENT, Status.STOPPED_BY_CALLBACK),
        status=int(status),
        message=STATUS_MESSAGES[status],
        nfev=int(calls),
        njev=int(gradients),
        nit=len(events),
        minima=minima,
        events=events,
        trace=trace,
        energy=energy,
    )


def list_events(record: RunRecord, restore: Any) -> list[OptimizeResult]:
    """One entry for each stage that ended: after which call, in which mode, why, at what value, and where it went."""
    causes, modes = record.column("cause").astype(int), record.column("mode").astype(int)
    calls, values, best = record.column("calls").astype(int), record.column("value"), record.column("best")
    points = record.column("next_x") if "next_x" in record else None
    return [
        OptimizeResult(
            call=int(calls[i]),
            mode=Mode(modes[i]).name.lower(),
            cause=Cause(causes[i]).name.lower(),
            value=float(values[i]),
            best=float(best[i]),
            anchor=None if points is None else restore(points[i]),
        )
        for i in np.flatnonzero(causes)
    ]


def list_minima(archive: Any, x: np.ndarray, fun: float, box: Any, restore: Any) -> list[OptimizeResult]:
    """The distinct basins, best first. The best point joins them if its basin was not closed before the run ended."""
    values = np.asarray([] if archive is None else archive.values)
    rows = [
        (float(values[i]), np.asarray(box.outward(archive.points[i])), int(archive.visits[i]))
        for i in np.flatnonzero(np.isfinite(values))
    ]
    if np.isfinite(fun) and not any(value <= fun for value, _, _ in rows):
        rows.append((float(fun), np.asarray(x), 1))
    rows.sort(key=lambda row: row[0])
    return [OptimizeResult(x=restore(point), fun=value, visits=visits) for value, point, visits in rows]


def _names(record: RunRecord, column: str, vocabulary: Any) -> np.ndarray:
    names = np.array([member.name.lower() for member in vocabulary])
    codes = record.column(column).astype(int)
    return names[codes] if codes.size else codes.astype(str)
