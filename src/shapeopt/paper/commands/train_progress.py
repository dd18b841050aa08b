"""What `shapeopt train` shows while it goes on: a live bar on a terminal, plain lines elsewhere, or nothing."""

import sys
import time
from typing import Any, Protocol

from ...terminal.progress import Silent, is_live

LINES = 20  # plain lines that a whole run prints at most, when it is quick
PATIENCE = 30.0  # seconds after which a slow run prints a line anyway
STOPPING = "stopping after this update; Ctrl-C again stops at once"


class Display(Protocol):
    """`show` gets a `training.Progress`."""

    def __enter__(self) -> "Display": ...

    def __exit__(self, *exception: object) -> None: ...

    def show(self, progress: Any) -> None: ...

    def stopping(self) -> None: ...


class Lines:
    """A line for every twentieth of the updates, or when nothing was said for a while; on standard error."""

    def __init__(self) -> None:
        self.spoke, self.due = time.monotonic(), 1

    def __enter__(self) -> "Lines":
        return self

    def __exit__(self, *exception: object) -> None: ...

    def show(self, progress: Any) -> None:
        now = time.monotonic()
        if progress.done < min(self.due, progress.total) and now - self.spoke < PATIENCE:
            return
        part = max(1, progress.total // LINES)
        self.due, self.spoke = (progress.done // part + 1) * part, now
        line = f"{progress.done}/{progress.total} {progress.phase}  {losses(progress)}  {scores(progress)}"
        print(f"{line}  {speed(progress)}", file=sys.stderr, flush=True)

    def stopping(self) -> None:
        print(STOPPING, file=sys.stderr, flush=True)


class Live:
    """Two lines that rich keeps up to date on standard error and clears at the end."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

        self.progress = Progress(
            SpinnerColumn(),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("[cyan]{task.fields[phase]}[/]"),
            TextColumn("[bold]{task.fields[scores]}[/]"),
            TextColumn("{task.fields[speed]}"),
            TextColumn("\n  {task.fields[losses]}"),
            console=Console(stderr=True, highlight=False),
            transient=True,
        )
        self.task = self.progress.add_task("", total=None, phase="compiling", scores="", speed="", losses="")

    def __enter__(self) -> "Live":
        self.progress.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.progress.stop()

    def show(self, progress: Any) -> None:
        words: dict[str, Any] = {"phase": progress.phase, "losses": losses(progress)}
        words |= {"scores": scores(progress), "speed": speed(progress)}
        self.progress.update(self.task, completed=progress.done, total=progress.total, **words)

    def stopping(self) -> None:
        self.progress.update(self.task, phase=STOPPING)


def losses(progress: Any) -> str:
    """The loss, with its terms in phase III."""
    terms = " ".join(f"{name} {value:.3g}" for name, value in progress.terms.items())
    return f"loss {progress.loss:.4g}" + (f" ({terms})" if terms else "")


def scores(progress: Any) -> str:
    return f"validation {progress.validation:.4f}, best {progress.best:.4f}"


def speed(progress: Any) -> str:
    """Updates a second and the time left."""
    minutes, seconds = divmod(round(progress.seconds_left), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{progress.per_second:.2g} updates/s, {hours}:{minutes:02}:{seconds:02} left"


def make_display(quiet: bool) -> Display:
    """The display that fits standard error."""
    if quiet:
        return Silent()
    return Live() if is_live() else Lines()
