"""Two methods over all cells of a protocol, or one against all others: by how much, how surely, on how many tasks."""

import enum
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .digest import Digest, by_cell, cell_title, methods_of
from .layout import Entry, Group, Table, number, words
from .metrics import METRICS, Better
from .statistics import TOLERANCE, Comparison, Tolerance, Verdict, compare_all

FLOOR = 1e-12  # gaps below are one: what is left of f - f* is round-off there
LOG_TOLERANCE = Tolerance(relative=0.0, floor=float(np.log10(1 + TOLERANCE.relative)))  # the same three digits


class Scale(enum.Enum):
    """What is subtracted: the numbers, or the logarithms (base 10) of the numbers, not below FLOOR."""

    PLAIN = "plain"
    LOG = "log"


@dataclass(frozen=True)
class Contest:
    """One cell: `method` against `rival` on its tasks."""

    method: str
    rival: str
    first: Digest
    comparison: Comparison


def contests(
    found: Sequence[Digest],
    method: str,
    against: Sequence[str] = (),
    metric: str = "best_gap",
    scale: Scale = Scale.LOG,
    *,
    seed: int = 0,
) -> list[Contest]:
    """`method` against each of `against` (all others if none are named) on every cell that both have.

    Holm's correction is over all of these comparisons together.
    """
    _require_names(found, method, against, metric, scale)
    rivals = list(against) or [name for name in methods_of(found) if name != method]
    cells = by_cell(found)
    both = {
        (rival, place): (methods[method], methods[rival])
        for rival in rivals
        for place, methods in cells.items()
        if method in methods and rival in methods
    }
    pairs = {key: (_numbers(a, metric, scale), _numbers(b, metric, scale)) for key, (a, b) in both.items()}
    known = {key: pair for key, pair in pairs.items() if not np.isnan(pair).all()}
    tolerance = LOG_TOLERANCE if scale is Scale.LOG else TOLERANCE
    told = compare_all(known, METRICS[metric].better, seed=seed, tolerance=tolerance)
    return [Contest(method, key[0], both[key][0], comparison) for key, comparison in told.items()]


def comparison_table(
    found: Sequence[Digest],
    method: str,
    against: Sequence[str] = (),
    metric: str = "best_gap",
    scale: Scale = Scale.LOG,
    *,
    seed: int = 0,
) -> Table:
    """`contests` as a table, one block a rival, with a line that sums each up."""
    fought = contests(found, method, against, metric, scale, seed=seed)
    rivals = list(dict.fromkeys(contest.rival for contest in fought))
    parts = {rival: [contest for contest in fought if contest.rival == rival] for rival in rivals}
    unit = f"log10 of {metric}" if scale is Scale.LOG else metric
    return Table(
        name=f"compare-{method}",
        title=f"{method} against {', '.join(rivals)}: {unit}",
        columns=("Cell", "Difference", "95 % interval", "p (Holm)", "Verdict", "Wins", "Ties", "Losses"),
        groups=tuple(Group(f"against {rival}", tuple(map(_row, part))) for rival, part in parts.items()),
        notes=(*(summary(part) for part in parts.values()), _how(metric, scale, len(fought))),
    )


def summary(fought: Sequence[Contest]) -> str:
    """One line: in how many cells the first is better, worse, or can't be told apart, and the count of tasks."""
    if not fought:
        return "No cell has both methods."
    verdicts = Counter(contest.comparison.ranks for contest in fought)
    wins, ties, losses = (sum(getattr(contest.comparison, kind) for contest in fought) for kind in TALLIES)
    return (
        f"{fought[0].method} against {fought[0].rival}: better in {verdicts[Verdict.BETTER]}, worse in "
        f"{verdicts[Verdict.WORSE]}, not told apart in {verdicts[Verdict.TIE]} of {len(fought)} cells; "
        f"{wins} wins, {ties} ties, {losses} losses over tasks."
    )


TALLIES = ("wins", "ties", "losses")
BY_RANKS = ", by ranks"
TRUSTED = (
    "Verdicts are the test's. Where it is significant and the interval of the mean includes 0 they say so (by ranks): "
    "the test is trusted there, as it weighs every task alike while a few tasks with large differences decide the mean."
)


def _numbers(one: Digest, metric: str, scale: Scale) -> np.ndarray:
    """One number a task."""
    values = one.values[metric]
    return np.log10(np.maximum(values, FLOOR)) if scale is Scale.LOG else values


def _row(contest: Contest) -> tuple[Entry, ...]:
    told = contest.comparison
    low, high = told.interval
    return (
        Entry(cell_title(contest.first.cell)),
        Entry(f"{told.mean_difference:+.3g}", numbers=(told.mean_difference,)),
        Entry(f"{number(low)} to {number(high)}"),
        Entry(number(told.p_holm, 2), numbers=(told.p_holm,)),
        *words(_verdict(told), *(str(getattr(told, kind)) for kind in TALLIES)),
    )


def _verdict(told: Comparison) -> str:
    """What the test says, and whether it says so alone."""
    return told.ranks.value + (BY_RANKS if told.ranks is not told.verdict else "")


def _how(metric: str, scale: Scale, count: int) -> str:
    good = "negative" if METRICS[metric].better is Better.LOWER else "positive"
    floor = f", gaps below {FLOOR:g} counted as that" if scale is Scale.LOG else ""
    return (
        f"Differences are first minus second, so that {good} is good{floor}; their mean over tasks has a bootstrap "
        f"interval (BCa). p: Wilcoxon's signed-rank test with Holm's correction over all {count} comparisons. "
        f"{TRUSTED} Wins, ties and losses count tasks; numbers that agree to three digits tie."
    )


def _require_names(found: Sequence[Digest], method: str, against: Sequence[str], metric: str, scale: Scale) -> None:
    if metric not in METRICS:
        raise ValueError(f"`metric` must be one of {', '.join(METRICS)}; got {metric!r}.")
    if scale is Scale.LOG and not metric.endswith("gap"):
        raise ValueError(f"`scale` must be plain for what is not a gap; got log of {metric!r}.")
    for name, values in (("method", [method]), ("against", against)):
        for value in values:
            if value not in methods_of(found):
                raise ValueError(f"`{name}` must be one of {', '.join(methods_of(found))}; got {value!r}.")
    if method in against:
        raise ValueError(f"`against` must not have the method itself; got {method!r}.")
