"""Calls of an objective that are under way at the same time, on any `concurrent.futures.Executor`.

A call is journaled when it is submitted and when it is answered; one whose worker died has cost its call and brings
nothing. A pool of Python's own processes, which breaks with the first of them, is replaced by `Processes`.
"""

import os
from collections.abc import Callable
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from dataclasses import dataclass
from multiprocessing.reduction import ForkingPickler
from typing import Any, NamedTuple

import numpy as np

from ..core.problem import Layout
from ..workers.processes import Processes
from ..workers.timed import ProcessDied
from .flat import Flat, FlatPair
from .host import HostOracle
from .journal import FAILURE, Journal, Kept

KILLED = "KilledWorker"  # Dask's exception, which is not imported for this
MOST_DEATHS = 8  # in a row, after which the run is given up


class Call(NamedTuple):
    """A call under way."""

    number: int
    particle: int
    x: np.ndarray


@dataclass(frozen=True)
class Remote:
    """x -> what `fun` and `jac` answer there, checked; for another process. `traced`: the gradient is JAX's."""

    fun: Callable[..., Any]
    jac: Any
    layout: Layout
    traced: bool = False

    def __call__(self, x: np.ndarray) -> Kept:
        if self.traced:
            from .traced import traced_pair

            pair: Any = traced_pair(self.fun, self.jac, self.layout, x.dtype)
            return HostOracle(pair, x, True).answer(x)
        fun, jac = self.fun, self.jac
        if not self.layout.flat:
            fun = Flat(fun, self.layout) if jac is None else FlatPair(fun, None if jac is True else jac, self.layout)
            jac = None if jac is None else True
        return HostOracle(fun, x, jac).answer(x)


class Calls:
    """What is under way, oldest first, and what came of it. `ask`: x -> Kept."""

    def __init__(
        self, executor: Executor, ask: Callable[[np.ndarray], Kept], journal: Journal | None, on_error: str
    ) -> None:
        self.ask, self.journal, self.on_error = ask, journal, on_error
        self._executor = executor
        self._replaced: Processes | None = None
        self._under_way: dict[Future[Kept], Call] = {}
        self._known: list[tuple[Call, Kept]] = []
        self._deaths = 0

    def __enter__(self) -> "Calls":
        return self

    def __exit__(self, *exception: object) -> None:
        """Calls that have not begun are not made; those that have are waited for."""
        for future in self._under_way:
            future.cancel()
        if self._replaced is not None:
            self._replaced.shutdown(wait=False, cancel_futures=True)
        wait([future for future in self._under_way if not future.cancelled()])

    def __bool__(self) -> bool:
        return bool(self._under_way or self._known)

    def submit(self, call: Call) -> None:
        """Begin a call, unless the journal knows how it ended."""
        kept = None if self.journal is None else self.journal.begin_one(call.number, call.x)
        if kept is not None:
            self._known.append((call, kept))
        else:
            self._begin(call)

    def ended(self) -> list[tuple[Call, Kept]]:
        """Calls that have ended, at least one; an exception of the objective is raised unless it is to be skipped."""
        if self._known:
            known, self._known = self._known, []
            return known
        done, _ = wait(self._under_way, return_when=FIRST_COMPLETED)
        outcomes = []
        for future in sorted(done, key=lambda one: self._under_way[one].number):
            call = self._under_way.pop(future)
            try:
                kept = future.result()
            except BrokenExecutor as error:
                self._replace_pool(error)
                self._begin(call)
                continue
            except Exception as error:
                kept = self._failed(error)
            else:
                self._deaths = 0
            kept = kept if self.journal is None else self.journal.keep_one(call.number, kept)
            outcomes.append((call, kept))
        return outcomes or self.ended()

    def _failed(self, error: Exception) -> Kept:
        """The outcome of a call that raised, where the run goes on."""
        died = isinstance(error, ProcessDied) or type(error).__name__ == KILLED
        self._deaths = self._deaths + 1 if died else 0
        if self._deaths >= MOST_DEATHS or (not died and self.on_error == "raise"):
            raise error
        return Kept(FAILURE)

    def _begin(self, call: Call) -> None:
        try:
            future = self._executor.submit(self.ask, call.x.copy())
        except BrokenExecutor as error:
            self._replace_pool(error)
            future = self._executor.submit(self.ask, call.x.copy())
        self._under_way[future] = call

    def _replace_pool(self, error: BrokenExecutor) -> None:
        """Go on with processes that do not die together, of which each call that was lost gets one."""
        if self._replaced is None:
            if not isinstance(self._executor, ProcessPoolExecutor):
                raise error
            self._replaced = Processes(width(self._executor))
            self._executor = self._replaced


def width(workers: Executor) -> int:
    """How many calls an executor makes at the same time."""
    if (client := getattr(workers, "_client", None)) is not None and hasattr(client, "nthreads"):  # Dask's
        return max(1, sum(client.nthreads().values()))
    counts = (getattr(workers, name, None) for name in ("max_workers", "_max_workers"))
    return next((count for count in counts if isinstance(count, int)), os.cpu_count() or 1)


def are_threads(workers: Executor) -> bool:
    """Whether an executor calls in this process."""
    return isinstance(workers, ThreadPoolExecutor)


def require_importable(ask: Callable[..., Any]) -> None:
    """ValueError if a process can't be handed `ask`."""
    try:
        ForkingPickler.dumps(ask)
    except Exception as error:
        raise ValueError(
            "`workers` in processes need an objective that another process can import, from a module or from a script "
            f'whose own calls stand under `if __name__ == "__main__":`; a number of threads needs none: {error}.'
        ) from error
