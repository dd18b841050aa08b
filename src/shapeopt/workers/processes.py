"""An executor of processes of which one may die without the others."""

import math
import queue
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any

from .timed import TimedFunction


class Processes(Executor):
    """Calls in `count` processes; one that dies costs its call (a `ProcessDied`), and a fresh one takes its place.

    It can be handed to `shapeopt.minimize` as `workers`, for an objective that keeps Python itself busy: threads would
    wait for each other there. What is called, and its arguments, must be something that another process can import.

    Args:
        count: the number of processes; each starts with its first call.
        seconds: what one call may take; one that takes longer is ended with all that it started, and raises a
            TimeoutError.

    Raises:
        ValueError: if `count` is not at least 1 or `seconds` not positive.

    Example:
        with shapeopt.Processes(8) as workers:
            result = shapeopt.minimize(mypackage.model.loss, x0, bounds=(-5, 5), workers=workers)
    """

    def __init__(self, count: int, seconds: float = math.inf) -> None:
        if not isinstance(count, int) or isinstance(count, bool) or count < 1:
            raise ValueError(f"`count` must be a whole number of at least 1; got {count!r}.")
        self.max_workers = count
        self._all = [TimedFunction(_apply, seconds) for _ in range(count)]
        self._idle: queue.SimpleQueue[TimedFunction] = queue.SimpleQueue()
        for process in self._all:
            self._idle.put(process)
        self._threads = ThreadPoolExecutor(count)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Call `fn` in the next process that is free.

        Args:
            fn: something that another process can import.
            *args: its arguments.
            **kwargs: its arguments by name.

        Returns:
            The future of its answer.
        """
        return self._threads.submit(self._call, (fn, args, kwargs))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes once their calls have; with `wait` False at once."""
        self._threads.shutdown(wait=wait, cancel_futures=cancel_futures)
        for process in self._all:
            process.end()

    def _call(self, job: tuple[Any, ...]) -> Any:
        process = self._idle.get()
        try:
            return process(job)
        finally:
            self._idle.put(process)


def _apply(job: tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]) -> Any:
    fn, args, kwargs = job
    return fn(*args, **kwargs)
