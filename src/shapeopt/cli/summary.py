"""A result for people: the best point, the distinct minima, why basins were left."""

import math
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

REASONS = {
    "converged": "its bottom was reached",
    "hopeless": "its bottom would not have beaten the best so far",
    "revisit": "it was known from an earlier visit",
    "stall": "further calls brought nothing",
    "clock": "the time planned for it was over",
    "budget": "the calls ran out",
    "nonfinite": "values were not finite",
    "done": "the tactic's script came to its end",
    "rejected": "a test refuted what the tactic looked for",
    "preempted": "another tactic had something better to do",
}
MINIMA_SHOWN = 8
TIMELINE_SHOWN = 12
SAME = 1e-6  # relative improvement of the best that is not worth a line


def print_best(console: Console, result: Any, budget: int, seconds: float, minimum: float) -> None:
    """The best value and where it is, with the gap to the known minimum where there is one."""
    table = Table(box=None, show_header=False, padding=(0, 2))
    table.add_row("best value", f"[bold green]{result.fun:.10g}[/]")
    if math.isfinite(minimum):
        table.add_row("gap", f"{result.fun - minimum:.3g} above the known minimum {minimum:.8g}")
    table.add_row("at x", short_point(result.x))
    table.add_row("calls", f"{result.nfev} of {budget}, {seconds:.1f} s")
    if result.get("confidence"):
        table.add_row("confidence", f"{result.confidence:.0%} that no better basin is unseen")
    if result.get("message"):
        table.add_row("ended", str(result.message).partition(";")[0].rstrip(".").lower())
    console.print(table)


def print_account(console: Console, result: Any, whole: bool = False) -> None:
    """The distinct minima and why basins were left; `whole` leaves no line of the timeline out."""
    if result.minima:
        console.print(_minima_table(result), "")
    left = basins_left(result.events)
    if not left:
        return
    counts = Counter(event.cause for event in left)
    table = make_table(f"Why {_basins(len(left))} left")
    for column in ("times", "cause", "because"):
        table.add_column(column, justify="right" if column == "times" else "left")
    for cause, times in counts.most_common():
        table.add_row(str(times), cause, REASONS.get(cause, ""))
    console.print(table, "")
    table = make_table("When")
    for column in ("calls", "left because", "value", "best so far"):
        table.add_column(column, justify="left" if column == "left because" else "right")
    for row in thinned([*timeline(left), *_end(result, left)], None if whole else TIMELINE_SHOWN):
        table.add_row(*row)
    console.print(table, "")


def print_events(console: Console, events: Sequence[Any]) -> None:
    """Every event in turn, a line each; nothing is cut off where the terminal is narrow."""
    several = any(event.particle for event in events)
    console.print("[bold]Events[/]")
    head = f"{'call':>6} {'who ' if several else ''}{'tactic':<24}{'ended by':<10}{'from':>9}{'to':>10}{'best':>10}"
    console.print(f"[dim]{head}  memory   next anchor[/]", soft_wrap=True)
    for event in events:
        who = f"{event.particle:>3} " if several else ""
        values = f"{event.before:>9.4g}{event.value:>10.4g}{event.best:>10.4g}"
        anchor = "" if event.anchor is None else short_point(event.anchor, 3).partition("  (")[0]
        cuts = f"  port cut {event.cuts}x" if event.cuts else ""
        memory = "written" if event.wrote else ""
        line = f"{event.call:>6} {who}{_stage(event):<24}{event.cause:<10}{values}  {memory:<7}  {anchor}{cuts}"
        console.print(line, soft_wrap=True)
    console.print()


def _stage(event: Any) -> str:
    """The tactic of a stage and its phase; the mode where a policy has no tactics."""
    return ", ".join(filter(None, (event.get("tactic", event.mode), event.get("phase"))))


def basins_left(events: Sequence[Any]) -> list[Any]:
    """The events that left a basin: all but the ends of moves between basins and the end of the run."""
    return [event for event in events if event.mode != "escape" and event.cause != "budget"]


def short_point(x: Any, shown: int = 6) -> str:
    """x on one line, with its middle left out if it is long."""
    numbers = [f"{value:.4g}" for value in x]
    if len(numbers) > shown:
        kept = [*numbers[: shown - 2], "...", numbers[-1]]
        return f"[{', '.join(kept)}]  ({len(numbers)} numbers)".replace("[", r"\[", 1)
    return rf"\[{', '.join(numbers)}]"


def timeline(left: Sequence[Any]) -> Iterator[tuple[str, str, float, float]]:
    """(calls, causes, value, best) of the basins left: one row for each that improved the best, one for those between.

    The value of a row of several basins is their least.
    """
    before = sys.float_info.max
    idle: list[Any] = []
    for event in left:
        if event.best < before - SAME * abs(before):
            if idle:
                yield _together(idle)
            yield _together([event])
            before, idle = event.best, []
        else:
            idle.append(event)
    if idle:
        yield _together(idle)


def _together(events: Sequence[Any]) -> tuple[str, str, float, float]:
    first, last = events[0].call, events[-1].call
    counts = Counter(event.cause for event in events)
    causes = ", ".join(cause if times == 1 else f"{times} {cause}" for cause, times in counts.most_common())
    calls = f"{first}" if first == last else f"{first}-{last}"
    return calls, causes, min(event.value for event in events), events[-1].best


def _minima_table(result: Any) -> Table:
    import numpy as np

    minima = result.minima
    table = make_table(f"{len(minima)} distinct {'minimum' if len(minima) == 1 else 'minima'}")
    for column in ("value", "visits", "distance from the best"):
        table.add_column(column, justify="right")
    for minimum in minima[:MINIMA_SHOWN]:
        distance = float(np.linalg.norm(np.asarray(minimum.x) - np.asarray(result.x)))
        table.add_row(f"{minimum.fun:.6g}", str(minimum.visits), f"{distance:.3g}")
    if len(minima) > MINIMA_SHOWN:
        table.caption = f"and {len(minima) - MINIMA_SHOWN} more, up to {minima[-1].fun:.6g}"
    return table


def _end(result: Any, left: Sequence[Any]) -> Iterator[tuple[str, str, float, float]]:
    """A row for the basin in which the run ended, unless that was left too."""
    trace = result.get("trace")
    if trace is not None and len(trace.value) and left[-1].call < result.nfev:
        yield str(result.nfev), "(the run ended here)", float(trace.value[-1]), result.fun


def thinned(rows: Sequence[tuple[str, str, float, float]], limit: int | None) -> list[tuple[str, str, str, str]]:
    """The rows as words; at most `limit` of them, the first third and the last, with a row that says how many lack."""
    words: list[tuple[str, str, str, str]] = []
    for calls, causes, value, best in rows:
        improved = not words or f"{best:.6g}" != words[-1][3]
        words.append((calls, causes, f"[green]{value:.6g}[/]" if improved else f"{value:.6g}", f"{best:.6g}"))
    if limit is None or len(words) <= limit:
        return words
    head = limit // 3
    tail = limit - head - 1
    gap = ("...", f"({len(words) - head - tail} rows left out)", "", "")
    return [*words[:head], gap, *words[-tail:]]


def make_table(title: str) -> Table:
    """A table as all commands show it; a blank line follows."""
    styles: dict[str, Any] = {"title_style": "bold", "header_style": "dim", "caption_style": "dim"}
    return Table(box=None, title=title, title_justify="left", caption_justify="left", padding=(0, 2, 0, 1), **styles)


def _basins(count: int) -> str:
    return "a basin was" if count == 1 else f"{count} basins were"
