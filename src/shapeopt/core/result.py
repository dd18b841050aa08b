"""What a run gives back: a SciPy `OptimizeResult` with the minima, the events, the trace and the energy ledger."""

import sys
import textwrap
from typing import Any

import numpy as np

from .codes import REGULAR, STATUS_MESSAGES, Cause, Mode, Status

MODE_NAMES = tuple(mode.name.lower() for mode in Mode)
CAUSE_NAMES = tuple(cause.name.lower() for cause in Cause)
LEDGER_TERMS = (
    "dissipation",
    "damping_injection",
    "port_work",
    "event_work",
    "clipping",
    "relocation",
    "discretisation",
    "noise",
    "delta_H",
)
NOISY = " Gradients are noisy: at one point, two of them differ (see `gradient_fit`)."
NO_GRADIENT = " No gradient was finite (see `gradient_fit`)."
MISFIT = " The gradient does not agree with the values: it is wrong, or drowned in noise (see `gradient_fit`)."


class Result(dict):
    """A `scipy.optimize.OptimizeResult` to whoever asks, made without SciPy, whose import would take half a second.

    A dictionary whose entries are attributes too. `isinstance` holds once SciPy's class is loaded; it prints as that,
    and a run's result in some lines, with its long entries counted.
    """

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(name) from error

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __delattr__(self, name: str) -> None:
        del self[name]

    @property
    def __class__(self) -> type:
        return getattr(sys.modules.get("scipy.optimize"), "OptimizeResult", Result)

    def __reduce__(self) -> tuple[Any, ...]:
        return Result, (dict(self),)

    def __dir__(self) -> list[str]:
        return list(self)

    def __repr__(self) -> str:
        if "trace" in self and "minima" in self:
            return _on_one_screen(self)
        from scipy.optimize import OptimizeResult

        return repr(OptimizeResult(self)) if self else "Result()"  # SciPy can't show one without entries


class RunRecord:
    """The readings of a run, gathered on the host in stretches."""

    def __init__(self) -> None:
        self._stretches: dict[str, list[np.ndarray]] = {}

    def extend(self, **columns: np.ndarray) -> None:
        """A stretch of readings, in columns of equal length."""
        for name, rows in columns.items():
            self._stretches.setdefault(name, []).append(rows)

    def column(self, name: str) -> np.ndarray:
        if name not in self._stretches:
            return np.zeros(0)
        if len(self._stretches[name]) > 1:
            self._stretches[name] = [np.concatenate(self._stretches[name])]
        return self._stretches[name][0]

    def __contains__(self, name: str) -> bool:
        return name in self._stretches


def _misfit(gradient_fit: Result | None, noise: float | None) -> str:
    """What a message says of gradients that are not those of the values."""
    if gradient_fit is None or gradient_fit.agrees:
        return ""
    if not gradient_fit.moves:
        return NO_GRADIENT
    return NOISY if noise else MISFIT


def make_result(
    *,
    x: Any,
    fun: float,
    calls: int,
    gradients: int,
    record: RunRecord,
    minima: list[Result],
    log: Any,
    allowance: float | None,
    stages: list[Result] | None,
    points: np.ndarray | None,
    gradient_fit: Result | None,
    status: Status,
    restore: Any,
    last: tuple[int, int] | None = None,
    tactics: tuple[str, ...] = (),
    value_precision: float | None = None,
    confidence: float | None = None,
    noise: float | None = None,
    mean: float | None = None,
    standard_error: float | None = None,
) -> Result:
    """The result; `log` has the run's events, `restore` gives a flat point the user's structure. `points` are flat, a
    row a reading. `tactics` are the names of the policy's, and `last` the indices of the last stage's and its phase.
    `value_precision` is the unit of the last digit of values; None where nobody looked. `confidence` is
    the probability that no better basin is unseen. `noise` is the standard deviation of what is read, 0 where two
    readings at one point agreed, and None where no point was read twice. `mean` is the estimated mean of noisy values
    at x, with its standard error; None where x is the lowest reading."""
    finite = bool(np.isfinite(fun))
    status = status if finite or status == Status.FAILED else Status.NO_FINITE_VALUE
    best = record.column("best")
    calls_spent, modes = record.column("calls").astype(int), _names(record, "mode", MODE_NAMES)
    trace = Result(value=record.column("value"), best=best, calls=calls_spent, mode=modes)
    if tactics:
        trace["tactic"] = _names(record, "tactic", tactics)
    if points is not None:
        trace["x"] = points
    energy = Result({term: record.column(term) for term in LEDGER_TERMS if term in record})
    events = list(log.entries)
    if status == Status.BUDGET_SPENT and len(best):
        end = int(calls_spent[-1]), str(modes[-1]), float(trace.value[-1]), float(best[-1])
        events.append(log.end(*end, last))
    diagnosed: dict[str, Any] = {} if stages is None else {"stages": stages}
    diagnosed |= {} if confidence is None else {"confidence": confidence}
    return Result(
        x=restore(np.asarray(x)),
        fun=float(fun),
        success=finite and status in REGULAR,
        status=int(status),
        message=STATUS_MESSAGES[status] + _misfit(gradient_fit, noise),
        nfev=int(calls),
        njev=int(gradients),
        nit=len(events),
        minima=minima,
        events=events,
        trace=trace,
        energy=energy,
        passivity=None if allowance is None else account_of_port(record, allowance),
        gradient_fit=gradient_fit,
        value_precision=value_precision,
        noise=noise,
        mean=mean,
        standard_error=standard_error,
        **diagnosed,
    )


def account_of_port(record: RunRecord, allowance: float) -> Result:
    """What the port fed in, net of the damping injection, and what was dissipated, after each reading; and the calls of
    the readings to which a step with a cut input led."""
    terms = (record.column(name) for name in ("port_work", "damping_injection") if name in record)
    injected = np.cumsum(sum(terms, np.zeros(())) * np.ones_like(record.column("dissipation")))
    dissipated = -np.cumsum(record.column("dissipation"))
    cut = record.column("calls")[np.flatnonzero(record.column("cut"))].astype(int)
    return Result(allowance=allowance, injected=injected, dissipated=dissipated, cut=cut)


def list_minima(archive: Any, x: np.ndarray, fun: float, box: Any, restore: Any) -> list[Result]:
    """The distinct basins, best first. The best point joins them if its basin was not closed before the run ended."""
    rows = []
    if archive is not None:
        filled = np.isfinite(archive.values)
        values, points, visits = (np.asarray(part)[filled] for part in (archive.values, archive.points, archive.visits))
        rows = list(zip(values.tolist(), box.outward(points), visits.tolist(), strict=True))
    if np.isfinite(fun) and not any(value <= fun for value, _, _ in rows):
        rows.append((float(fun), np.asarray(x), 1))
    rows.sort(key=lambda row: row[0])
    return [Result(x=restore(point), fun=value, visits=visits) for value, point, visits in rows]


def _names(record: RunRecord, column: str, vocabulary: tuple[str, ...]) -> np.ndarray:
    codes = record.column(column).astype(int)
    return np.array(vocabulary)[codes] if codes.size else codes.astype(str)


def _on_one_screen(result: Result) -> str:
    """A run's result in lines of at most 100 characters; of what is very long, how much there is of it."""
    rows: dict[str, Any] = {name: result[name] for name in ("message", "success", "status", "cost") if name in result}
    if "cost" not in result:  # else `fun` is a vector of residuals
        rows["fun"] = result.get("fun")
    rows["x"] = _short(result.get("x"))
    rows |= {name: result[name] for name in ("nfev", "njev", "nit", "confidence", "constr_violation") if name in result}
    height = "cost" if "cost" in result else "fun"
    basins = [f"{one[height]:.6g} ({one.visits}x)" for one in result["minima"][:MINIMA_SHOWN]]
    more = ", ..." if len(result["minima"]) > MINIMA_SHOWN else ""
    rows["minima"] = f"{len(result['minima'])}: {', '.join(basins)}{more}"
    rows["events"] = f"{len(result.get('events', ()))} ends of stages"
    rows["trace"] = f"{len(result['trace'].value)} readings: {', '.join(result['trace'])}"
    others = [name for name, value in result.items() if name not in rows and value is not None]
    rows["also"] = ", ".join(others)
    wide = max(map(len, rows))
    return "\n".join(_wrapped(f"{name:>{wide}}: ", str(value)) for name, value in rows.items() if value != "")


def _wrapped(head: str, text: str) -> str:
    """The text behind its name, on as many lines as it needs, of which the first ones are kept."""
    return textwrap.fill(
        text,
        WIDE,
        initial_indent=head,
        subsequent_indent=" " * len(head),
        break_on_hyphens=False,
        max_lines=LINES_SHOWN,
        placeholder=" ...",
    )


def _short(x: Any) -> str:
    if not isinstance(x, np.ndarray):
        return " ".join(repr(x).split())
    return np.array2string(x, precision=8, threshold=10, edgeitems=3, max_line_width=10_000).replace("\n", "")


MINIMA_SHOWN, WIDE, LINES_SHOWN = 5, 100, 6  # basins, characters of a line, and lines of one entry
