"""How good a method is on a suite: how many targets it reached, and how soon.

For a problem with f0 at its start and f_best, the certified minimum or else the lowest value of all records at hand,

    target(tau) = f_best + max(tau (f0 - f_best), 1e-12 max(|f_best|, |f0 - f_best|)),  tau = 10^-1, 10^-1.5, ..., 10^-7

and the area of a run with a budget of N calls is the mean over these 13 targets of the share of the axis log(calls),
from 1 to N, on which the target is reached: 1 - log(n) / log(N) where it is first reached by call n, 0 where it never
is. It is the area under the ECDF of targets over the logarithm of calls (Hansen et al., COCO, 2016).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .errors import RecordError
from .suite_records import Runs, SuiteRun

TAUS = np.logspace(-1, -7, 13)
ROUND_OFF = 1e-12  # of values: a target closer to f_best than that could be missed by round-off alone
SOLVED = (1e-3, 1e-5, 1e-7)  # at which a problem counts as solved at the end
TIE = 5e-3  # areas that differ by less tie


@dataclass(frozen=True, eq=False)
class Scores:
    """Methods on the problems of one half of a suite, (methods, problems) throughout.

    Arguments:
        suite, half: whose runs these are.
        methods, problems, groups, budgets, dimensions: what rows and columns stand for.
        hits: (methods, problems, targets): the call by which a target was first reached; inf where it never was.
        goals: (problems, targets): the values to reach; nan where they were not kept.
        wall: seconds a run, nan where a method lacks the problem.
        there: whether there is a run.
        part: which problems of the half these are, such as those with values alone; "" for all.
    """

    suite: str
    half: str
    methods: tuple[str, ...]
    problems: tuple[str, ...]
    groups: tuple[str, ...]
    budgets: np.ndarray
    dimensions: np.ndarray
    hits: np.ndarray
    goals: np.ndarray
    wall: np.ndarray
    there: np.ndarray
    part: str = ""

    @property
    def title(self) -> str:
        return f"{self.suite}, {self.part}" if self.part else self.suite

    def only(self, names: Collection[str], part: str) -> "Scores":
        """The same on some of the problems."""
        keep = np.array([name in names for name in self.problems], bool)
        chosen = lambda words: tuple(word for word, kept in zip(words, keep, strict=True) if kept)  # noqa: E731
        return replace(
            self,
            problems=chosen(self.problems),
            groups=chosen(self.groups),
            budgets=self.budgets[keep],
            dimensions=self.dimensions[keep],
            hits=self.hits[:, keep],
            goals=self.goals[keep],
            wall=self.wall[:, keep],
            there=self.there[:, keep],
            part=part,
        )

    @property
    def areas(self) -> np.ndarray:
        """(methods, problems): the area of each run; 0 where there is none."""
        spent = np.log(np.maximum(self.hits, 1.0)) / np.log(np.maximum(self.budgets, 2.0))[:, None]
        return np.where(np.isfinite(self.hits), np.maximum(1.0 - spent, 0.0), 0.0).mean(axis=2)

    def solved(self, tau: float) -> np.ndarray:
        """(methods, problems): whether the target `tau` was reached by the end of the budget."""
        return np.isfinite(self.hits[:, :, int(np.argmin(np.abs(np.log(TAUS / tau))))])

    def row(self, method: str) -> int:
        return self.methods.index(method)

    def whole(self) -> list[str]:
        """The methods that have a run of every problem."""
        return [method for method, there in zip(self.methods, self.there, strict=True) if there.all()]


def score(suite: str, half: str, found: Mapping[str, Runs], problems: Iterable[tuple[str, int]]) -> Scores:
    """Scores of all methods on `problems` (keys of runs), with f_best over all of `found`.

    Args:
        suite, half: of which the runs are.
        found: method -> runs, as `load_suite` returns them.
        problems: which problems are scored, each with its seed.
    """
    keys = tuple(problems)
    some = {key: next(runs[key] for runs in found.values() if key in runs) for key in keys}
    goals = {key: targets([runs[key] for runs in found.values() if key in runs]) for key in keys}
    there = np.array([[is_run(runs.get(key)) for key in keys] for runs in found.values()], bool)
    hits = np.array([[_hits(runs.get(key), goals[key]) for key in keys] for runs in found.values()], float)
    wall = [[runs[key].wall if is_run(runs.get(key)) else np.nan for key in keys] for runs in found.values()]
    shape = (len(found), len(keys))
    return Scores(
        suite=suite,
        half=half,
        methods=tuple(found),
        problems=tuple(name for name, _ in keys),
        groups=tuple(some[key].group for key in keys),
        budgets=np.array([some[key].budget for key in keys], float),
        dimensions=np.array([some[key].dimension for key in keys]),
        hits=hits.reshape(*shape, len(TAUS)),
        goals=np.array([goals[key] for key in keys], float).reshape(len(keys), len(TAUS)),
        wall=np.array(wall, float).reshape(shape),
        there=there.reshape(shape),
    )


def rescored(scores: Scores, method: str, runs: Runs) -> Scores:
    """The scores with other runs of one method, on the same problems, against the targets as they are.

    Args:
        scores: of all methods, with their targets.
        method: whose runs are replaced.
        runs: the new ones, one of each problem.

    Raises:
        RecordError: if targets were not kept, or a problem has no run or several.
    """
    found: dict[str, list[SuiteRun]] = {}
    for run in runs.values():
        found.setdefault(run.problem, []).append(run)
    wrong = [name for name in scores.problems if len(found.get(name, ())) != 1]
    if wrong or np.isnan(scores.goals).any():
        why = f"{len(wrong)} problems, such as {wrong[0]}, need one run each" if wrong else "its targets were not kept"
        raise RecordError(f"The {scores.half} half of {scores.suite} can't be scored by {method} alone: {why}.")
    row, new = scores.row(method), [found[name][0] for name in scores.problems]
    hits, wall, there = scores.hits.copy(), scores.wall.copy(), scores.there.copy()
    hits[row] = [_hits(run, goals) for run, goals in zip(new, scores.goals, strict=True)]
    wall[row], there[row] = [run.wall for run in new], [is_run(run) for run in new]
    return replace(scores, hits=hits, wall=wall, there=there)


def is_run(run: SuiteRun | None) -> bool:
    """Whether a method was run on a problem, be it to an early end."""
    return run is not None and (run.spent > 0 or not run.error)


def targets(runs: Sequence[SuiteRun]) -> np.ndarray:
    """The values to reach, from all runs of one problem."""
    minimum, start = runs[0].minimum, runs[0].start
    lowest = min((run.best for run in runs), default=np.inf)
    best = lowest if minimum is None else minimum
    if not np.isfinite(start):
        start = max((run.values[0] for run in runs if run.values), default=best)
    drop = max(start - best, 0.0)
    return best + np.maximum(TAUS * drop, ROUND_OFF * max(abs(best), drop))


def _hits(run: SuiteRun | None, goals: np.ndarray) -> np.ndarray:
    """The call by which each target was first reached; inf where it never was."""
    if run is None or not run.values:
        return np.full(len(goals), np.inf)
    reached = np.asarray(run.values)[None, :] <= goals[:, None]
    first = np.asarray(run.calls, float)[reached.argmax(axis=1)]
    return np.where(reached.any(axis=1), first, np.inf)


@dataclass(frozen=True)
class Ratio:
    """The mean area of one method over another's, with an interval, and on how many problems it is ahead."""

    value: float
    low: float
    high: float
    wins: int
    ties: int
    losses: int


def ratio(scores: Scores, method: str, rival: str, seed: int = 0, draws: int = 2000) -> Ratio:
    """`method` against `rival` on the problems that both have; the 95 % bootstrap interval draws whole groups."""
    both = scores.there[scores.row(method)] & scores.there[scores.row(rival)]
    a, b = scores.areas[scores.row(method)][both], scores.areas[scores.row(rival)][both]
    names, place = np.unique(np.array(scores.groups)[both], return_inverse=True)
    sums = np.stack([np.bincount(place, part, len(names)) for part in (a, b)])
    drawn = np.random.default_rng(seed).integers(0, len(names), (draws, len(names)))
    first, second = sums[:, drawn].sum(axis=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        values, value = first / second, float(np.sum(a) / np.sum(b)) if np.sum(b) else np.inf
    known = values[~np.isnan(values)]  # infinite where the rival solved nothing: not to be interpolated
    low, high = np.quantile(known, [0.025, 0.975], method="inverted_cdf") if known.size else (np.nan, np.nan)
    even = np.abs(a - b) <= TIE
    return Ratio(value, float(low), float(high), *(int(np.sum(k)) for k in ((a > b) & ~even, even, (a < b) & ~even)))


def best_of(scores: Scores, methods: Iterable[str]) -> str | None:
    """Of `methods`, the one with the largest mean area among those that have every problem; None if there is none."""
    whole = [method for method in methods if method in scores.whole()]
    means = dict(zip(scores.methods, scores.areas.mean(axis=1), strict=True))
    return max(whole, key=lambda method: means[method], default=None)
