"""`shapeopt.Command`: an external program as an objective."""

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

PLACE = "{x}"
SHOWN = 300  # characters of a program's output in an error


class CommandFailed(RuntimeError):
    """The program did not answer: it failed, took too long, or printed something else than numbers."""


@dataclass(frozen=True)
class Command:
    """Runs a program for each call and reads its answer from its standard output.

    The word `{x}` becomes one argument for each coordinate; inside a longer word (`--at={x}`) the coordinates are
    joined by commas. No shell is involved: nothing is expanded, piped or redirected. The answer is one number, or with
    `gradient` the value and then the gradient (say `jac=True` to `minimize`), separated by blanks, commas or line ends;
    "nan" says that there is no value.

    Args:
        command: the program and its arguments, as in a shell, with `{x}` where the coordinates go.
        gradient: whether the program prints the gradient after the value.
        time_limit: seconds after which the program is killed, with all that it has started; None: no limit.

    Raises:
        ValueError: if the command has no `{x}`, if its program can't be run, or if the limit is not positive. A call
            raises `CommandFailed` where the program fails, takes too long or prints something else than numbers.

    Example:
        simulate = shapeopt.Command("./sim --steps 100 {x}", time_limit=60)
        result = shapeopt.minimize(simulate, bounds=[(-5, 5)] * 3, budget=200, on_error="skip")
    """

    command: str
    _: KW_ONLY
    gradient: bool = False
    time_limit: float | None = None

    def __post_init__(self) -> None:
        try:
            words = self.words
        except ValueError as error:
            raise ValueError(f"`command` must be words as in a shell; {self.command!r}: {error}.") from None
        if not any(PLACE in word for word in words):
            raise ValueError(f"`command` must say with {PLACE} where the coordinates go; got {self.command!r}.")
        if shutil.which(words[0]) is None:
            raise ValueError(f"`command` must begin with a program that can be run; {words[0]!r} can't.")
        if self.time_limit is not None and not self.time_limit > 0:
            raise ValueError(f"`time_limit` must be positive; got {self.time_limit!r}.")

    @property
    def words(self) -> list[str]:
        return shlex.split(self.command)

    def __call__(self, x: Any) -> Any:
        numbers = [repr(float(number)) for number in np.ravel(np.asarray(x))]
        answer = self._numbers(self._run(numbers), 1 + len(numbers) if self.gradient else 1)
        return (answer[0], np.array(answer[1:])) if self.gradient else answer[0]

    def _run(self, numbers: list[str]) -> str:
        """What the program prints."""
        words: list[str] = []
        for word in self.words:
            words += numbers if word == PLACE else [word.replace(PLACE, ",".join(numbers))]
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
        try:
            process = subprocess.Popen(words, **pipes, text=True, errors="replace", start_new_session=True)
        except OSError as error:
            raise CommandFailed(f"{self.words[0]} could not be started: {error}") from error
        try:
            out, err = process.communicate(timeout=self.time_limit)
        except subprocess.TimeoutExpired:
            _end(process)
            raise CommandFailed(f"{self.words[0]} took longer than {self.time_limit:g} s and was ended") from None
        except BaseException:
            _end(process)
            raise
        if process.returncode:
            raise CommandFailed(f"{self.words[0]} ended with exit code {process.returncode}{_shown(err)}")
        return out

    def _numbers(self, out: str, wanted: int) -> list[float]:
        try:
            numbers = [float(word) for word in re.split(r"[\s,]+", out.strip())]
        except ValueError:
            raise CommandFailed(f"{self.words[0]} must print numbers alone{_shown(out)}") from None
        if len(numbers) != wanted:
            told = "the value and the gradient, so" if self.gradient else "the value alone (both with --jac), so"
            raise CommandFailed(f"{self.words[0]} must print {told} {wanted} in all; it printed {len(numbers)} numbers")
        return numbers


def _end(process: subprocess.Popen[str]) -> None:
    """Kill a program with all that it has started, where the system knows such groups."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL) if hasattr(os, "killpg") else process.kill()
    process.communicate()


def _shown(output: str) -> str:
    text = output.strip()
    return f"; it printed {text[-SHOWN:]!r}" if text else "; it printed nothing"
