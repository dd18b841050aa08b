"""A function of the user's in a process of its own, so that a call that takes too long can be ended."""

import math
import multiprocessing
import numbers
import os
import signal
import traceback
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from typing import Any

from .orphans import begin_worker

START_SECONDS = 120.0  # for a worker to import what the function needs
GRACE = 1.0  # seconds for one that is dying to be dead


class ProcessDied(RuntimeError):
    """A process ended in the middle of a call."""


class ValueAndGradient:
    """Two functions as one that returns (value, gradient), so that one limit holds for both."""

    def __init__(self, fun: Callable[[Any], Any], jac: Callable[[Any], Any]) -> None:
        self.fun, self.jac = fun, jac

    def __call__(self, x: Any) -> tuple[Any, Any]:
        return self.fun(x.copy()), self.jac(x)


class TimedFunction:
    """`fun`, called in another process; a call of more than `seconds` ends that process and raises a TimeoutError.

    Programs that `fun` started end with it. The next call begins with a fresh process, whose start is not part of the
    limit. An exception of `fun` is raised here too, of the same type where it can travel; a process that dies raises a
    `ProcessDied`. The process is spawned, so `fun` must be something that another process can import.
    """

    def __init__(self, fun: Callable[[Any], Any], seconds: float) -> None:
        given: Any = seconds
        if isinstance(given, bool) or not isinstance(given, numbers.Real) or not float(given) > 0:
            raise ValueError(f"`call_timeout` must be a positive number of seconds; got {seconds!r}.")
        self.fun, self.seconds = fun, float(seconds)
        self._process: Any = None
        self._connection: Connection | None = None

    def __enter__(self) -> "TimedFunction":
        self._start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.end()

    def __call__(self, x: Any) -> Any:
        connection = self._connection or self._start()
        try:
            connection.send(x)
            if not connection.poll(None if math.isinf(self.seconds) else self.seconds):
                raise TimeoutError(f"The objective took longer than `call_timeout` = {self.seconds:g} s.")
            answered, outcome = connection.recv()
        except (EOFError, ConnectionError) as error:
            self._process.join(GRACE)  # so that its own exit code is seen
            code = self.end()
            raise ProcessDied(f"The process of the objective died in this call, with exit code {code}.") from error
        except BaseException:  # too late, or Ctrl-C: what it would answer is not waited for
            self.end()
            raise
        if answered:
            return outcome
        raise outcome

    def _start(self) -> Connection:
        """The way to a fresh process that has said that it is ready; ValueError if there can be none."""
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs, self.fun), daemon=True)
        try:
            process.start()
        except OSError:
            raise
        except Exception as error:
            raise self._not_importable(str(error)) from error
        finally:
            theirs.close()
        self._process, self._connection = process, ours
        if not _is_ready(ours):
            raise self._not_importable(f"its process ended with exit code {self.end()} before the first call")
        return ours

    def end(self) -> int | None:
        """End the process, with all that it started; its exit code."""
        process, connection = self._process, self._connection
        self._process = self._connection = None
        if process is None or connection is None:
            return None
        connection.close()
        _kill_group(process)
        process.join()
        return process.exitcode

    def _not_importable(self, why: str) -> ValueError:
        why = " ".join(why.split())
        why = why if len(why) <= 120 else why[:117] + "..."
        return ValueError(
            f"`call_timeout` needs an objective that another process can import, from a module or from a script whose "
            f'own calls stand under `if __name__ == "__main__":`; got {self.fun!r}: {why}.'
        )


def _is_ready(connection: Connection) -> bool:
    try:
        return connection.poll(START_SECONDS) and connection.recv()
    except (EOFError, ConnectionError):
        return False


def _kill_group(process: Any) -> None:
    """Kill a process and its group, which it leads once it has begun."""
    process.kill()
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


def _serve(connection: Connection, fun: Callable[[Any], Any]) -> None:
    """What the worker does: answer calls until its parent is gone."""
    if hasattr(os, "setsid"):
        os.setsid()
    begin_worker()
    connection.send(True)
    while True:
        try:
            x = connection.recv()
        except EOFError:
            return
        connection.send_bytes(_answer(fun, x))


def _answer(fun: Callable[[Any], Any], x: Any) -> Any:
    """(whether it answered, what it answered or raised), ready to travel."""
    try:
        return ForkingPickler.dumps((True, fun(x)))
    except BaseException as error:
        below = error.__traceback__ and error.__traceback__.tb_next  # without this function's own frame
        error.add_note("In the objective's process:\n" + "".join(traceback.format_tb(below)).rstrip())
        return _travelling(error)


def _travelling(error: BaseException) -> Any:
    """An exception that arrives as what it is, or else as a RuntimeError that says what it was."""
    try:
        told = ForkingPickler.dumps((False, error))
        ForkingPickler.loads(told)
        return told
    except Exception:
        return ForkingPickler.dumps((False, RuntimeError("".join(traceback.format_exception_only(error)).strip())))
