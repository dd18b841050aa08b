"""What goes wrong at the command line, in one line each."""

import difflib
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

PACKAGE = Path(__file__).parents[1]


class UsageError(Exception):
    """A wrong argument; the message is shown alone, on one line, and the exit code is 2."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """'; did you mean ...?' where something known is close to `word`, else nothing."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""


def raised_here(error: BaseException, where: Path = PACKAGE) -> bool:
    """Whether `error` was raised by a line of this package (or of a file of it), as its checks of arguments are."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    return last is not None and Path(last.tb_frame.f_code.co_filename).is_relative_to(where)


def relayed(error: BaseException) -> bool:
    """Whether `error` came out of the process in which an objective is timed."""
    return raised_here(error, PACKAGE / "workers" / "timed.py")


def traceback_below(error: BaseException, code: object) -> TracebackType | None:
    """The part of the traceback inside the innermost call of the function whose code is `code`; all of it if none."""
    step, found = error.__traceback__, error.__traceback__
    while step is not None:
        if step.tb_frame.f_code is code and step.tb_next is not None:
            found = step.tb_next
        step = step.tb_next
    return found
