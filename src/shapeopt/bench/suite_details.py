"""Tables of one half of a suite beside its scoreboard: how early problems are solved, and kind by kind."""

from collections.abc import Iterable

import numpy as np

from .layout import MISSING, Entry, Group, Table, number
from .scoreboard import Board, is_peer, suite_table
from .suite_metrics import SOLVED, TAUS, Scores
from .suite_names import SuiteNames

CALLS = (50, 100, 200, 500, 1000)
SHOWN = 5  # peers beside the judged method
LOCAL = ("cobyqa_scaled", "multistart_scaled", "bipop_cma", "nelder_mead_scaled")  # by values, with restarts


def detailed_tables(one: Board) -> list[Table]:
    """All that is told of one half of a suite: every method, how early, and kind by kind where it has kinds."""
    return [suite_table(one), early_table(one), *kinds_table(one)]


def early_table(one: Board) -> Table:
    """The share of problems that are solved to .001 within so many calls: the judged method and the best peers."""
    scores = one.scores
    limits = [calls for calls in CALLS if calls <= scores.budgets.max()]
    hits = scores.hits[:, :, int(np.argmin(np.abs(np.log(TAUS / SOLVED[0]))))]
    shares = np.array([[np.mean(row <= calls) for calls in limits] for row in hits]).reshape(len(hits), len(limits))
    order = [scores.row(one.method), *_best_peers(scores, SHOWN)]
    return Table(
        name=f"{_name(one)}-early",
        title=f"Suite {scores.title}, {scores.half} half: share solved to {SOLVED[0]:g} within so many calls",
        columns=("Method", *(f"{calls} ↑" for calls in limits)),
        groups=(Group("", tuple(_row(scores.methods[row], shares[row], "{:.2f}") for row in order)),),
    )


def kinds_table(one: Board) -> list[Table]:
    """Areas by dimension and kind of objective beside the best peers, as one table; none where a suite has no kinds."""
    scores = one.scores
    suite = SuiteNames().get(scores.suite)
    kinds = {problem.name: problem.kind for problem in suite.problems if problem.kind} if suite else {}
    if not kinds:
        return []
    names = np.array([kinds.get(name, "") for name in scores.problems])
    cells = [(d, kind) for d in sorted(set(scores.dimensions.tolist())) for kind in dict.fromkeys(kinds.values())]
    rows = [_kind_row(one, kind, d, (scores.dimensions == d) & (names == kind)) for d, kind in cells]
    return [
        Table(
            name=f"{_name(one)}-kinds",
            title=f"Suite {scores.title}, {scores.half} half: areas by kind",
            columns=("Kind", "Area ↑", "Best local peer", "Ratio to it ↑", "Best of all peers", "Ratio to that ↑"),
            groups=(Group("", tuple(row for row in rows if row)),),
            notes=(f"Local peers, with restarts: {', '.join(name for name in LOCAL if name in scores.methods)}.",),
        )
    ]


def _kind_row(one: Board, kind: str, d: int, which: np.ndarray) -> tuple[Entry, ...]:
    """The judged method's area on some problems, beside the best local peer and the best of all; () for no problems."""
    if not which.any():
        return ()
    scores = one.scores
    areas = scores.areas[:, which].mean(axis=1)
    mine, peers = float(areas[scores.row(one.method)]), [name for name in scores.methods if is_peer(name)]
    told: list[Entry] = []
    for some in ([name for name in peers if name in LOCAL], peers):
        best = max(some, key=lambda name: areas[scores.row(name)], default=None)
        theirs = float(areas[scores.row(best)]) if best else float("nan")
        share = mine / theirs if theirs else float("inf")
        told += [Entry(f"{best or MISSING} {number(theirs)}"), Entry(number(share), numbers=(share,))]
    return (Entry(f"{kind}, d = {d}"), _area(mine), *told)


def _best_peers(scores: Scores, count: int) -> list[int]:
    order = np.argsort(-scores.areas.mean(axis=1), kind="stable")
    return [int(row) for row in order if is_peer(scores.methods[row])][:count]


def _row(method: str, values: Iterable[float], form: str) -> tuple[Entry, ...]:
    return (Entry(method), *(Entry(form.format(value), numbers=(float(value),)) for value in values))


def _area(value: float) -> Entry:
    return Entry(number(value, 3), numbers=(value,))


def _name(one: Board) -> str:
    return "-".join(filter(None, (one.scores.suite, one.scores.half, one.scores.part)))
