"""One run on one instance, and what training keeps of it."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..core.codes import Cause
from ..minimizer import minimize
from .instance import Instance

LEAST_R = 1e-3  # as in tactics/refine.py
PATIENCE = 3
Unrolled = Callable[[np.ndarray], np.ndarray]
DIFFERENCE = 1e-4  # of a coordinate's width, over which gradients are differenced


@dataclass(frozen=True)
class Run:
    """What a run found.

    Arguments:
        start: value at x0.
        x, fun: the best point and its value.
        improved: (calls, best value) wherever the best value fell.
        ratios: log R of descents that converged.
        tactics: names of those that had a stage.
    """

    start: float
    x: list[float]
    fun: float
    improved: list[tuple[int, float]]
    ratios: list[float]
    tactics: list[str]

    def calls_to(self, target: float, budget: int) -> int:
        """Calls until a value not above the target; budget + 1 where there was none."""
        return next((calls for calls, best in self.improved if best <= target and calls <= budget), budget + 1)


def run_instance(instance: Instance, policy: Any, budget: int, seed: int, x0: Any = None) -> Run:
    """Minimise an instance, and keep what training needs.

    Raises:
        ValueError: if no call brought a finite value; where the objective itself raises, its exception passes.
    """
    fun, own = instance.fun, instance.x0 if x0 is None else x0
    if hasattr(policy, "given") and instance.descriptor is not None:
        policy = policy.given(instance.descriptor)
    found = minimize(
        fun, own, bounds=instance.bounds, jac=instance.jac, budget=budget, policy=policy, seed=seed, on_error="skip"
    )
    values, best, calls = (np.asarray(found.trace[name]) for name in ("value", "best", "calls"))
    finite = np.flatnonzero(np.isfinite(values))
    if not finite.size:
        fun(found.x)  # if it raises there, that says more
        raise ValueError(
            f"`fun` of an instance must have finite values; {found.nfev} calls brought none (seed {seed})."
        )
    start = float(values[finite[0]])
    falls = np.flatnonzero(best < np.append(np.inf, best[:-1]))
    improved = [(int(calls[i]), float(best[i])) for i in falls]
    names = sorted({str(event.tactic) for event in found.events})
    return Run(start, np.ravel(found.x).tolist(), float(found.fun), improved, _ratios(found), names)


def _ratios(found: Any) -> list[float]:
    """log R of the descents of `refine` that converged: what still came after `PATIENCE` readings, as a multiple of
    the last decrease before (the predicted decrease, of which the larger counts in a run, is not in a trace)."""
    ratios, values, calls = [], np.asarray(found.trace.value), np.asarray(found.trace.calls)
    begun = 0
    for event in found.events:
        end = int(np.searchsorted(calls, event.call)) + 1
        if event.tactic == "refine" and event.cause == Cause.CONVERGED.name.lower() and end - begun > PATIENCE + 1:
            lows = np.minimum.accumulate(values[begun:end])
            last = lows[PATIENCE - 1] - lows[PATIENCE]
            if last > 0:
                ratios.append(float(np.log((lows[PATIENCE] - lows[-1]) / last + LEAST_R)))
        begun = end
    return ratios


def values_at(instance: Instance, points: np.ndarray) -> np.ndarray:
    """Values of an instance at rows of points; +inf where there is none."""
    return np.array([_reading(instance, x)[0] for x in points])


def usual_at(instance: Instance, place: np.ndarray, seed: int, unrolled: Unrolled) -> tuple[float, float]:
    """At a place, by widths of coordinates: the size of the force as a share of that at the start, and the fall from
    the start as a share of its force times the distance; NaN without forces. `unrolled` moves periodic coordinates into
    the turn in which distances are measured."""
    problem = instance.problem(seed)
    width = problem.upper - problem.lower
    (f, g), (f_0, g_0) = (_reading(instance, x) for x in (place, problem.x0))
    here, start = np.linalg.norm(g * width), np.linalg.norm(g_0 * width)
    work = start * np.linalg.norm((unrolled(place) - unrolled(problem.x0)) / width)
    if not (np.isfinite(start) and work > 0):
        return np.nan, np.nan
    return float(here / start), float((f_0 - f) / work)


def hessian_at(instance: Instance, x: np.ndarray) -> np.ndarray | None:
    """The Hessian at a place inside the bounds, by differences of gradients; None where there are none."""
    if instance.jac is None:
        return None
    problem = instance.problem(0)
    width = (problem.upper - problem.lower) * DIFFERENCE
    rows = []
    for i, h in enumerate(width):
        ends = [np.clip(x + s * h * np.eye(x.size)[i], problem.lower, problem.upper) for s in (1.0, -1.0)]
        (_, g_up), (_, g_down) = (_reading(instance, end) for end in ends)
        rows.append((g_up - g_down) / (ends[0] - ends[1])[i])
    B = np.array(rows)
    return 0.5 * (B + B.T) if np.isfinite(B).all() else None


def _reading(instance: Instance, x: np.ndarray) -> tuple[float, np.ndarray]:
    """(value, gradient) as the instance gives them; nothing finite where it raises."""
    nothing = np.full(x.size, np.nan)
    try:
        if instance.jac is True:
            value, gradient = instance.fun(x.copy())
        else:
            value, gradient = instance.fun(x.copy()), instance.jac(x.copy()) if callable(instance.jac) else nothing
    except Exception:
        return np.inf, nothing
    value = float(value)
    return (value if np.isfinite(value) else np.inf), np.asarray(gradient, float)


class RunStore:
    """Runs on disk, a line each, so that a training that was stopped goes on; without a file they are kept here."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.runs: dict[str, Run] = {}
        if path is not None and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                try:
                    entry = json.loads(line)
                    self.runs[entry.pop("key")] = Run(**entry)
                except (ValueError, TypeError, KeyError, AttributeError):
                    continue  # a line that a crash cut short is run again

    def keep(self, key: str, run: Run) -> None:
        self.runs[key] = run
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"key": key} | asdict(run)) + "\n")
