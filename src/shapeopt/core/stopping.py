"""When a run ends before its budget is spent: at a target, when its best value has settled, or when it is sure."""

import bisect
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .codes import Status

LEAST_READINGS = 50  # before which `tol` ends nothing


@dataclass(frozen=True)
class Stopping:
    """What ends a run early; None: nothing of the kind.

    Args:
        target: a value; the run ends when the best one is not above it.
        tol: the run ends when the best value fell by no more than `tol` (relative, where the value is above 1) in the
            second half of its calls, in which a descent began and ended.
        confidence: a probability; the run ends when that of having seen the best basin is not below it.

    Raises:
        ValueError: if one of them is no number of its kind.
    """

    target: float | None = None
    tol: float | None = None
    confidence: float | None = None

    def __post_init__(self) -> None:
        if self.target is not None and not (_is_real(self.target) and not math.isnan(self.target)):
            raise ValueError(f"`target` must be a number; got {self.target!r}.")
        if self.tol is not None and not (_is_real(self.tol) and 0 <= self.tol < math.inf):
            raise ValueError(f"`tol` must be a number that is not negative; got {self.tol!r}.")
        if self.confidence is not None and not (_is_real(self.confidence) and 0 < self.confidence < 1):
            raise ValueError(f"`confidence` must be a number between 0 and 1; got {self.confidence!r}.")

    def __bool__(self) -> bool:
        return any(limit is not None for limit in (self.target, self.tol, self.confidence))


class Watch:
    """Looks at a run after each reading; `probed` coordinates are probed in each where values are all that is read."""

    def __init__(self, stopping: Stopping, probed: int = 0) -> None:
        self.stopping = stopping
        self._settled = None if stopping.tol is None else Settled(stopping.tol, probed)

    def look(self, best: float, calls: int, events: Iterable[Any], confidence: float) -> Status | None:
        """Why the run ends now; None: it goes on. `events` are those since the last look."""
        limits = self.stopping
        settled = self._settled is not None and self._settled.look(best, calls, events)
        if limits.target is not None and best <= limits.target:
            return Status.TARGET_REACHED
        if limits.confidence is not None and confidence >= limits.confidence:
            return Status.CONFIDENT
        return Status.SETTLED if settled else None


class Settled:
    """Whether the best value fell by no more than `tol` in the second half of the calls, though a whole descent lay in
    it: a long look around after a descent settles nothing."""

    def __init__(self, tol: float, probed: int) -> None:
        self.tol, self.least = tol, LEAST_READINGS * (2 * probed + 1)
        self._begun: dict[int, int] = {}  # the call after which each particle's stage began
        self._descent = 0  # the latest beginning of a refining stage that has ended
        self._calls: list[int] = []
        self._bests: list[float] = []

    def look(self, best: float, calls: int, events: Iterable[Any]) -> bool:
        self._calls.append(calls)
        self._bests.append(best)
        for event in events:
            if event.mode == "refine":
                self._descent = max(self._descent, self._begun.get(event.particle, 0))
            self._begun[event.particle] = event.call
        half = self._bests[bisect.bisect_left(self._calls, calls / 2)]
        fell = half - best <= self.tol * max(1.0, abs(best))
        return bool(calls >= self.least and fell and 2 * self._descent >= calls)


def _is_real(x: Any) -> bool:
    return isinstance(x, int | float) or (hasattr(x, "dtype") and x.ndim == 0 and x.dtype.kind in "iuf")
