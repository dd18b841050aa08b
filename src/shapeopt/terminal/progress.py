"""What a run shows while it goes on: a live bar on a terminal, a few plain lines elsewhere, or nothing."""

import os
import sys
import time
from typing import Any, Protocol

LINES = 10  # plain lines that a whole run prints at most, when it is quick
PATIENCE = 30.0  # seconds after which a slow run prints a line anyway


class Display(Protocol):
    """`show` gets the best value, the calls spent and a word for what goes on."""

    def __enter__(self) -> "Display": ...

    def __exit__(self, *exception: object) -> None: ...

    def show(self, best: float, calls: int, word: str) -> None: ...

    def stopping(self) -> None: ...


class Silent:
    """Shows nothing."""

    def __enter__(self) -> "Silent":
        return self

    def __exit__(self, *exception: object) -> None: ...

    def show(self, *told: Any) -> None: ...

    def stopping(self) -> None: ...


class Lines:
    """A line for every tenth of the budget, or when nothing was said for a while; on standard error."""

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.began = self.spoke = time.monotonic()
        self.due = 0

    def __enter__(self) -> "Lines":
        return self

    def __exit__(self, *exception: object) -> None: ...

    def show(self, best: float, calls: int, word: str) -> None:
        now = time.monotonic()
        if calls < self.due and now - self.spoke < PATIENCE:
            return
        tenth = max(1, self.budget // LINES)
        self.due, self.spoke = (calls // tenth + 1) * tenth, now
        line = f"{calls}/{self.budget} calls  best {best:.6g}  {word}  {now - self.began:.1f} s"
        print(line, file=sys.stderr, flush=True)

    def stopping(self) -> None:
        print("stopping soon; Ctrl-C again stops at once", file=sys.stderr, flush=True)


class Live:
    """A bar that rich keeps up to date on standard error and clears at the end."""

    def __init__(self, budget: int, unit: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        self.budget = budget
        self.progress = Progress(
            SpinnerColumn(),
            BarColumn(bar_width=24),
            TextColumn(f"{{task.fields[left]}} {unit} left"),
            TextColumn("best [bold]{task.fields[best]}[/]"),
            TextColumn("[cyan]{task.fields[word]}[/]"),
            TimeElapsedColumn(),
            console=Console(stderr=True, highlight=False),
            transient=True,
        )
        self.task = self.progress.add_task("", total=budget, left=budget, best="-", word="starting")

    def __enter__(self) -> "Live":
        self.progress.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.progress.stop()

    def show(self, best: float, calls: int, word: str) -> None:
        shown: dict[str, Any] = {"left": self.budget - calls, "best": f"{best:.6g}", "word": word}
        self.progress.update(self.task, completed=calls, **shown)

    def stopping(self) -> None:
        self.progress.update(self.task, word="stopping (Ctrl-C again: at once)")


def make_display(budget: int, quiet: bool = False, unit: str = "calls") -> Display:
    """The display that fits standard error."""
    if quiet:
        return Silent()
    return Live(budget, unit) if is_live() else Lines(budget)


def is_live() -> bool:
    """Whether standard error is a terminal that can rewrite its lines."""
    dumb = os.environ.get("TERM", "").lower() in ("", "dumb", "unknown")
    return sys.stderr.isatty() and not dumb
