"""Objectives that answer many points at once: fun(points), (n, d) -> (n,)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.arrays import is_jax
from .host import HostOracle


class Rows:
    """A vectorised function as a function of one point, which is not asked again for what `fetch` has asked together.

    `fun` answers an array of n rows with n values, or with n rows of gradients, or with a pair of both. Equal ones
    share compiled code, where `fun` computes with JAX.
    """

    def __init__(self, fun: Callable[[Any], Any]) -> None:
        self.fun = fun
        self._fetched: dict[bytes, list[Any]] = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rows) and self.fun == other.fun

    def __hash__(self) -> int:
        return hash(self.fun)

    def __call__(self, x: Any) -> Any:
        waiting = self._fetched.get(x.tobytes(), []) if isinstance(x, np.ndarray) else []
        if not waiting:
            return self._answers(x[None])[0]
        answer = waiting.pop(0)  # a place that is read twice was asked for twice
        if isinstance(answer, Exception):
            raise answer
        return answer

    def fetch(self, points: np.ndarray) -> None:
        """Ask for all these points in one go. An exception waits until one of them is read, where it is counted."""
        try:
            answers = self._answers(points.copy())
        except Exception as error:
            answers = [error] * len(points)
        self._fetched = {}
        for x, answer in zip(points, answers, strict=True):
            self._fetched.setdefault(x.tobytes(), []).append(answer)

    def _answers(self, points: Any) -> list[Any]:
        """An answer for each point."""
        answer = self.fun(points)
        parts = answer if isinstance(answer, tuple) else (answer,)
        arrays = [part if is_jax(part) else np.asarray(part) for part in parts]
        for part in arrays:
            if part.ndim == 0 or len(part) != len(points):
                raise ValueError(f"`fun` must answer {len(points)} points with as many rows; got shape {part.shape}.")
        rows = zip(*arrays, strict=True)
        return list(rows) if isinstance(answer, tuple) else [row for (row,) in rows]


def fetch_round(rows: list[Rows], oracle: HostOracle, points: np.ndarray) -> None:
    """Ask `rows` for all that the oracle will ask at the next `points`, as far as its limit lets it.

    Not while a journal still answers: where it ends nobody knows before.
    """
    if oracle.journal is not None and not oracle.journal.live:
        return
    left = np.inf if oracle.limit is None else oracle.limit - oracle.calls
    wanted: list[np.ndarray] = []
    for i, x in enumerate(points):
        asked = [] if i == 0 and oracle.knows(x) else [x]
        left -= len(asked)
        if left < 0:
            break
        wanted += asked
    if wanted:
        for one in rows:
            one.fetch(np.array(wanted))
