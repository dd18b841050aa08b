"""What this project set out to reach on the paper's rows, cell by cell: the paper's method and the best baseline."""

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.stats

from ...bench.digest import Digest, by_cell, place_title
from ...bench.layout import MISSING, Entry, Group, Table, mean_and_deviation, number
from ...bench.marks import SOLVED
from ...bench.metrics import METRICS, Better
from ...bench.statistics import mean_interval
from ..protocols import MULTIWELL_CALLS, PAPER_BASELINES, PROTOCOLS
from .choice import lacking, of_protocol
from .sources import paper_figure, printed, source_of

POLICIES = ("paper", "universal")
HEADS = (
    "Cell",
    "Goal",
    "paper: SHAPE",
    "Best baseline",
    "its figure",
    "measured",
    "95 % interval",
    "Hits ↑",
    "Hit-traj. ↑",
    "against SHAPE",
    "against baselines",
)
NOTES = (
    "A goal is met where our figure is at least as good as the other; for multi-wells, better than SHAPE's. “Lowest "
    "gap” is what the paper calls best gap: of all positions of a run, the last one with them; gaps below 1e-8 are as "
    "good as each other. The best baseline is that of the paper's baselines, as measured here, with the best figure. "
    "The interval is of our figure, by bootstrap over tasks; “in the interval”: so is the other figure. Hits: of the "
    "last position within 0.2 of a minimiser, and for multi-wells of the best value below 1e-2; Hit-traj.: of any "
    "position. The paper's figures: tab. summary:synthetic:benchmarks, tab. real:world:example:summary, "
    "tab. multiwell_fair_budget.",
)


def median_interval(values: np.ndarray, *, seed: int, level: float = 0.95) -> tuple[float, float]:
    """Bootstrap interval (percentiles) of the median; the whole line for a single number."""
    if values.size < 2:
        return -np.inf, np.inf
    drawn = scipy.stats.bootstrap(
        (values,), np.median, confidence_level=level, n_resamples=4999, method="percentile", rng=seed
    )
    low, high = (float(end) for end in drawn.confidence_interval)
    return low, high


class Statistic(enum.Enum):
    """How many tasks' numbers become one, and the interval that goes with it."""

    MEAN = (np.mean, mean_interval)
    MEDIAN = (np.median, median_interval)

    def of(self, values: np.ndarray) -> float:
        return float(self.value[0](values))

    def interval(self, values: np.ndarray, seed: int) -> tuple[float, float]:
        return self.value[1](values, seed=seed) if np.isfinite(values).all() else (-np.inf, np.inf)


@dataclass(frozen=True)
class Goal:
    """A figure of a cell that must be as good as the paper's, or `better`, and as the best baseline's."""

    protocol: str
    place: str
    metric: str = "lowest_gap"
    paper: str = "best_gap"
    statistic: Statistic = Statistic.MEAN
    better: bool = False

    @property
    def title(self) -> str:
        median = ", median" if self.statistic is Statistic.MEDIAN else ""
        return f"{METRICS[self.metric].label}{median} {'↓' if self._lower else '↑'}"

    @property
    def _lower(self) -> bool:
        return METRICS[self.metric].better is Better.LOWER

    def figure(self, one: Digest) -> float:
        values = one.values[self.metric]
        return self.statistic.of(np.where(np.isnan(values), np.inf, values) if self._lower else values)

    def cost(self, figure: float) -> float:
        """Lower is better; gaps that are all as good are one."""
        return max(figure, SOLVED) if self._lower else -figure

    def met(self, ours: float, other: float, strictly: bool) -> bool:
        a, b = self.cost(ours), self.cost(other)
        return a < b if strictly else a <= b


WELLS = next(cell.name for cell in PROTOCOLS["multiwell"].cells if cell.budget == MULTIWELL_CALLS)
GOALS = (
    *(Goal(name, cell.name) for name in ("paper", "paper-science") for cell in PROTOCOLS[name].cells),
    Goal("multiwell", WELLS, "hit_best", "hit_best", better=True),
    Goal("multiwell", WELLS, "lowest_gap", "best_gap_median", Statistic.MEDIAN, better=True),
)


@dataclass(frozen=True)
class Result:
    """What became of a goal; None where one side is not known."""

    goal: Goal
    beats_paper: bool | None
    beats_baselines: bool | None


def goals_table(found: Sequence[Digest], seed: int = 0) -> Table:
    """The goals, one block of rows a policy (tab. summary:synthetic:benchmarks, tab. real:world:example:summary).

    Departs from the paper: the baselines' figures are our own measurements.
    """
    cells = {name: by_cell(of_protocol(found, name)) for name in dict.fromkeys(goal.protocol for goal in GOALS)}
    groups, notes = [], []
    for policy in POLICIES:
        rows = [_row(goal, policy, cells[goal.protocol].get(goal.place, {}), seed) for goal in GOALS]
        there = [row for row in rows if row]
        if there:
            groups.append(Group(f"policy {policy}", tuple(row for row, _ in there)))
            notes += _summaries(policy, [result for _, result in there])
        notes += filter(None, [_lacking(found, policy)])
    return Table(
        "goals", "Goals on the paper's rows", HEADS, tuple(groups), (*notes, *NOTES) if groups else tuple(notes)
    )


def _row(goal: Goal, policy: str, methods: Mapping[str, Digest], seed: int) -> tuple[tuple[Entry, ...], Result] | None:
    if policy not in methods:
        return None
    one = methods[policy]
    ours, paper = goal.figure(one), paper_figure(source_of(goal.protocol), one, goal.paper)
    rivals = [methods[name] for name in PAPER_BASELINES if name in methods]
    rival = min(rivals, key=lambda rival: goal.cost(goal.figure(rival)), default=None)
    result = Result(
        goal,
        None if paper is None else goal.met(ours, paper.mean, goal.better),
        None if rival is None else goal.met(ours, goal.figure(rival), False),
    )
    low, high = goal.statistic.interval(one.values[goal.metric], seed)
    hits = "hit_best" if goal.protocol == "multiwell" else "hit_final"
    entries = (
        Entry(place_title(one.cell)),
        Entry(goal.title),
        printed(paper),
        Entry(MISSING if rival is None else rival.method),
        Entry(MISSING) if rival is None else mean_and_deviation(goal.figure(rival), None),
        mean_and_deviation(ours, None),
        Entry(f"{number(low)} to {number(high)}"),
        *(mean_and_deviation(float(np.mean(one.values[name])), None) for name in (hits, "hit_trajectory")),
        _met(result.beats_paper, None if paper is None else low <= paper.mean <= high),
        _met(result.beats_baselines, None if rival is None else low <= goal.figure(rival) <= high),
    )
    return entries, result


def _met(met: bool | None, close: bool | None) -> Entry:
    if met is None:
        return Entry(MISSING)
    return Entry(("met" if met else "missed") + (", in the interval" if close else ""))


def _summaries(policy: str, results: Sequence[Result]) -> list[str]:
    """A sentence on the cells by gap, and one on the multi-wells."""
    wells = [result for result in results if result.goal.protocol == "multiwell"]
    cells = [result for result in results if result not in wells]
    parts = ((f"{policy}, cells", cells), (f"{policy}, figures of the multi-wells", wells))
    return [_summary(what, part) for what, part in parts if part]


def _summary(what: str, results: Sequence[Result]) -> str:
    """How many goals are met, and which are not."""
    met = [
        [result for result in results if result.beats_paper],
        [result for result in results if result.beats_baselines],
        [result for result in results if result.beats_paper and result.beats_baselines],
    ]
    paper, baselines, both = (f"{len(part)} of {len(results)}" for part in met)
    missed = [_missed(result) for result in results if result not in met[-1]]
    said = f"{what}: SHAPE's figure is met in {paper}, the best baseline's in {baselines}, both in {both}."
    return said + (f" Not both: {'; '.join(missed)}." if missed else "")


def _missed(result: Result) -> str:
    sides = {"SHAPE": result.beats_paper, "baselines": result.beats_baselines}
    return f"{result.goal.place} ({', '.join(name for name, met in sides.items() if not met)})"


def _lacking(found: Sequence[Digest], policy: str) -> str:
    mine = [one for name in ("paper", "paper-science", "multiwell") for one in of_protocol(found, name)]
    return lacking(mine, list(dict.fromkeys(goal.place for goal in GOALS)), [policy])
