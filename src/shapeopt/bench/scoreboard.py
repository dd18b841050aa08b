"""The scoreboard: suites x methods from the records of a folder, as tables."""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..peers import PEERS
from .layout import MISSING, Entry, Group, Table, number, words
from .suite_methods import FITS
from .suite_metrics import SOLVED, Ratio, Scores, best_of, ratio, score
from .suite_names import parts_of
from .suite_records import Runs, load_suite, suites_in


@dataclass(frozen=True, eq=False)
class Board:
    """One half of one suite: scores of all methods, the method that is judged, and its best single peer."""

    scores: Scores
    method: str
    rival: str | None
    ratio: Ratio | None
    audit: str  # what the counters say that should not be; "" if nothing


@dataclass(frozen=True)
class Loss:
    """A problem on which the judged method is behind the best single peer."""

    suite: str
    problem: str
    area: float
    peers_area: float

    @property
    def command(self) -> str:
        """What runs it again and prints its events."""
        return shlex.join(["shapeopt", "bench", "show", self.suite, self.problem])


def read_boards(folder: Path, half: str, method: str = "universal", suites: Sequence[str] = ()) -> list[Board]:
    """The boards of all suites of which the folder has runs of `method`.

    Args:
        folder: of the records.
        half: "dev" or "test".
        method: the one that is judged.
        suites: only these; none stands for all.
    """
    boards = []
    for name in suites or suites_in(folder, half):
        runs = load_suite(folder, name, half)
        if runs.get(method):
            boards.append(board(name, half, runs, method))
            boards += [board_of(scores, method, "") for scores in _parts(boards[-1].scores)]
    return boards


def _parts(scores: Scores) -> list[Scores]:
    parts = [scores.only(names, part) for part, names in parts_of(scores.suite).items()]
    return [one for one in parts if one.problems]


def board(suite: str, half: str, found: dict[str, Runs], method: str) -> Board:
    """`method` on the problems that it has, beside the others."""
    return board_of(score(suite, half, found, sorted(found[method])), method, audit(found))


def board_of(scores: Scores, method: str, objections: str) -> Board:
    """A board from scores; `objections` is what the audit of the runs said."""
    rival = best_of(scores, [name for name in scores.methods if is_peer(name) and name != method])
    return Board(scores, method, rival, ratio(scores, method, rival) if rival else None, objections)


def is_peer(method: str) -> bool:
    """Whether it is a peer that is compared with: specialists see more of a problem than others do."""
    return method in PEERS and not PEERS[method].specialist


def audit(found: dict[str, Runs]) -> str:
    """Runs that left the bounds, passed the budget, or counted otherwise than the objective did."""
    faults = []
    for method, runs in found.items():
        outside = sum(run.outside > 0 for run in runs.values())
        over = sum(run.overshoot > 0 for run in runs.values())
        counts = sum(run.reported != run.reported_asked for run in runs.values())
        told = {"outside the bounds": outside, "beyond the budget": over, "with another count of their own": counts}
        parts = [f"{count} {what}" for what, count in told.items() if count]
        faults += [f"{method}: runs {', '.join(parts)}"] if parts else []
    return "; ".join(faults)


def losses(boards: Iterable[Board], count: int = 10) -> list[Loss]:
    """The problems that the judged method loses by most, over all boards."""
    found = []
    for one in boards:
        if one.rival is None or one.scores.part:
            continue
        areas = one.scores.areas
        ours, theirs = areas[one.scores.row(one.method)], areas[one.scores.row(one.rival)]
        found += [Loss(one.scores.suite, *row) for row in zip(one.scores.problems, ours, theirs, strict=True)]
    behind = [loss for loss in found if loss.area < loss.peers_area]
    return sorted(behind, key=lambda loss: loss.area - loss.peers_area)[:count]


def overview_table(boards: Sequence[Board]) -> Table:
    """A row a suite: the judged method beside its best single peer."""
    half = boards[0].scores.half if boards else ""
    return Table(
        name=f"scoreboard-{half}",
        title=f"Scoreboard, {half} halves",
        columns=(
            "Suite",
            "Problems",
            "Area ↑",
            "Best single peer",
            "its area",
            "Ratio ↑",
            "95 % interval",
            "Wins",
            "Ties",
            "Losses",
            *(f"Solved to {tau:g} ↑" for tau in SOLVED),
            "ms a run",
        ),
        groups=(Group("", tuple(_overview_row(one) for one in boards)),),
        notes=(HOW, *(f"{one.scores.suite}: {one.audit}" for one in boards if one.audit)),
    )


def suite_table(one: Board) -> Table:
    """A row a method, best area first."""
    order = np.argsort(-one.scores.areas.mean(axis=1), kind="stable")
    return Table(
        name=f"{one.scores.suite}-{one.scores.half}{'-' + one.scores.part if one.scores.part else ''}",
        title=f"Suite {one.scores.title}, {one.scores.half} half: {len(one.scores.problems)} problems",
        columns=("Method", "Area ↑", *(f"Solved to {tau:g} ↑" for tau in SOLVED), "ms a run", "Problems", "Ratio"),
        groups=(Group("", tuple(_suite_row(one, int(i)) for i in order)),),
    )


HOW = (
    "Area: under the share of targets reached over log(calls), mean over problems. Ratio: of mean areas, to the best "
    "single peer that has every problem; its interval is a bootstrap over groups of problems. Wins and losses count "
    "problems; areas within 0.005 tie. Pairs are the judged method's and the peer's."
)


def _overview_row(one: Board) -> tuple[Entry, ...]:
    scores, mine = one.scores, one.scores.row(one.method)
    area = float(scores.areas[mine].mean())
    head = (Entry(scores.title), Entry(str(len(scores.problems))), _figure(area))
    if one.rival is None or one.ratio is None:
        rest = words(*[MISSING] * 7)
    else:
        theirs, told = float(scores.areas[scores.row(one.rival)].mean()), one.ratio
        rest = (
            Entry(one.rival),
            _figure(theirs),
            _figure(told.value),
            Entry(f"{told.low:.2f} to {told.high:.2f}", numbers=(told.low, told.high)),
            *words(str(told.wins), str(told.ties), str(told.losses)),
        )
    rows = [mine] + ([scores.row(one.rival)] if one.rival else [])
    solved = [_pair([float(scores.solved(tau)[row].mean()) for row in rows], "{:.2f}") for tau in SOLVED]
    return (*head, *rest, *solved, _pair([_median_ms(scores, row) for row in rows], "{:.0f}"))


def _suite_row(one: Board, row: int) -> tuple[Entry, ...]:
    scores, method = one.scores, one.scores.methods[row]
    marks = "".join([" (judged)" if method == one.method else "", " (specialist)" if _is_specialist(method) else ""])
    there = scores.there[row]
    told = ratio(scores, one.method, method) if method != one.method and there.any() else None
    return (
        Entry(method + marks),
        _figure(float(scores.areas[row].mean())),
        *(
            Entry(f"{share:.2f}", numbers=(share,))
            for share in (float(scores.solved(tau)[row].mean()) for tau in SOLVED)
        ),
        Entry(f"{_median_ms(scores, row):.0f}"),
        Entry(f"{int(there.sum())}"),
        Entry(MISSING) if told is None else Entry(f"{told.value:.2f} ({told.low:.2f} to {told.high:.2f})"),
    )


def _is_specialist(method: str) -> bool:
    return method == FITS or (method in PEERS and PEERS[method].specialist)


def _median_ms(scores: Scores, row: int) -> float:
    seconds = scores.wall[row][scores.there[row]]
    return float(1e3 * np.median(seconds)) if seconds.size else float("nan")


def _figure(value: float) -> Entry:
    return Entry(number(value, 3), numbers=(value,))


def _pair(values: Sequence[float], form: str) -> Entry:
    return Entry(" / ".join(form.format(value) for value in values), numbers=tuple(values))
