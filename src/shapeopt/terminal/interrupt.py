"""Ctrl-C: the first asks a run to end where it safely can, the second ends it at once."""

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any


class Interrupt:
    """While entered, takes Ctrl-C for a run that looks at `asked` between its stretches and before a user's function.

    A KeyboardInterrupt that strikes inside JAX may be swallowed or crash the process at its end, and one inside a
    reading loses what the reading has told; so only a second Ctrl-C raises it. Where Ctrl-C is ignored (a background
    job of a shell) it stays so.
    """

    def __init__(self, notify: Callable[[], None]) -> None:
        self.asked = False
        self._notify = notify
        self._previous: Any = None

    def __enter__(self) -> "Interrupt":
        main = threading.current_thread() is threading.main_thread()
        if main and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            self._previous = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(self, *exception: object) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)

    def _handle(self, signum: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        self._notify()
