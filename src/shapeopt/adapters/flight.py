"""Evaluations in flight: whoever asks gets a point that nobody else has, and tells what came out when it is known."""

import threading
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ..asktell import Shape


class Flight:
    """A value-only run whose points are handed out by tag; safe to use from several threads.

    A budget that is spent grows by what is asked beyond it.
    """

    def __init__(self, shape: "Shape") -> None:
        self.shape = shape
        self._flying: dict[Hashable, np.ndarray] = {}
        self._lock = threading.Lock()

    def take(self, tag: Hashable) -> np.ndarray | None:
        """A point for `tag`; None where all that can be asked now is in flight."""
        with self._lock:
            if self.shape.left <= len(self._flying):
                self.shape.extend(self.shape.best.nfev + len(self._flying) + 1)
            held = {x.tobytes() for x in self._flying.values()}
            for x in self.shape.ask(len(held) + 1):
                if x.tobytes() not in held:
                    self._flying[tag] = x
                    return x
            return None

    def land(self, tag: Hashable, value: Any) -> None:
        """What came out at the point of `tag`, NaN where nothing did; a tag without a point says nothing to the run."""
        with self._lock:
            x = self._flying.pop(tag, None)
            if x is not None:
                self.shape.tell(x, float(value))
