"""What may end a run before its budget is spent: a callback, a target, a tolerance, a confidence."""

from collections.abc import Callable
from typing import Any

from ..core import Status
from ..core.result import Result
from ..core.stopping import Stopping, Watch
from .host import HostRun

Callback = Callable[[Result], Any]


class Ends:
    """Looks at a run after each reading; `probed` coordinates are probed in each where values are all that is read."""

    def __init__(self, run: HostRun, callback: Callback | None, limits: Stopping, probed: int) -> None:
        self._run, self._callback = run, callback
        self._watch = Watch(limits, probed) if limits else None

    def look(self) -> Status | None:
        """Why the run ends now; None: it goes on."""
        run, watch = self._run, self._watch
        if self._callback is None and watch is None:
            return None
        events = run.new_events()
        if self._callback is not None and _stops(self._callback, run, events):
            return Status.STOPPED_BY_CALLBACK
        return None if watch is None else watch.look(run.best, run.calls, events, run.confidence)


def _stops(callback: Callback, run: HostRun, events: list[Result]) -> bool:
    progress = run.progress()
    progress.events = events
    try:
        return callback(progress) is True
    except StopIteration:
        return True
