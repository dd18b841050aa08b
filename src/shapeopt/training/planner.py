"""Choose the planner's settings of a family: how many places open a run, which learned parts pay, which tactics wait.

One change at a time is tried on instances that were left out of what was learned (four folds), and kept if the mean of
log calls to gaps of 1e-1, 1e-2 and 1e-3 of the start's falls by at least .01. If after all changes it is not lower than
the untrained policy's on the same instances, by as much and by a standard error, training has brought nothing, and the
policy says so.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .jobs import Job, Jobs
from .learn import Facts, learn
from .run import Run

FOLDS = 4
LEAST_GAIN = 0.01  # of the mean of log calls
USUAL = 0.75  # share of left-out instances that are solved before late tactics come, with two calls to spare;
LONGEST_WAIT = 0.25  # but not later than after this share of the budget, beside the opening
SHARES = (1e-1, 1e-2, 1e-3)
OPENINGS = (2, 3)  # places, beside one
COMBINED = (6, 12, 18, 24)  # of combined places,
MOST_OPENING = 0.25  # at most so much of the budget: what an opening that leads nowhere can cost
OPTIONAL = ("separable sum", "turned axes", "sample", "noise check", "explore", "pair model", "scout", "value check")


def choose(jobs: Jobs, facts: Facts, untrained: Sequence[Run], budget: int, label: str) -> dict[str, Any]:
    """The settings for `learn`; `untrained` are the runs of the untrained policy, of at least so many calls."""
    seen = {name for run in untrained for name in run.tactics}
    described = facts.descriptors is not None  # then later places are near the predicted one
    chosen: dict[str, Any] = {"opening": 1, "later": described}
    runs = _left_out(jobs, facts, chosen, budget, label)
    lowest = np.minimum(facts.best, [run.fun for run in runs])
    for change in _changes(facts, seen, budget):
        trial = _with(chosen, change)
        tried = _left_out(jobs, facts, trial, budget, label)
        lowest = np.minimum(lowest, [run.fun for run in tried])  # one floor for all, or a worse basin counts as reached
        if np.mean(_scores(lowest, tried, budget) - _scores(lowest, runs, budget)) < -LEAST_GAIN:
            chosen, runs = trial, tried
    gains = _scores(lowest, untrained, budget) - _scores(lowest, runs, budget)
    pays = bool(np.mean(gains) > max(LEAST_GAIN, np.std(gains) / len(gains) ** 0.5))
    calls = [_calls(low, run, budget)[-1] for low, run in zip(lowest, runs, strict=True)]
    until = min(_longest(chosen, budget), 2.0 + float(np.quantile(calls, USUAL)))
    return chosen | {"until": until, "pays": pays}


def _longest(settings: dict[str, Any], budget: int) -> float:
    """Calls after which late tactics come at the latest."""
    return settings["opening"] + LONGEST_WAIT * budget


def _with(settings: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    if "late" in change:
        change = {"late": (*settings.get("late", ()), *change["late"])}
    return settings | change


def _changes(facts: Facts, seen: set[str], budget: int) -> Iterator[dict[str, Any]]:
    if facts.descriptors is not None:
        yield {"regression": None}
    if any(B is not None for B in facts.hessians):
        yield {"shape": None}
    for opening in OPENINGS:
        yield {"opening": opening}
    if facts.combined is not None:
        for opening in COMBINED:
            if opening <= min(MOST_OPENING * budget, len(facts.combined)):
                yield {"combines": True, "opening": opening}
    yield {"later": facts.descriptors is None}
    yield {"prior": None}
    for name in OPTIONAL:
        if name in seen:
            yield {"late": (name,)}


def _left_out(jobs: Jobs, facts: Facts, settings: dict[str, Any], budget: int, label: str) -> list[Run]:
    """A run on each instance with what was learned from the other folds."""
    made: list[Job] = []
    n = len(facts.x)
    folds = min(FOLDS, n // 2)
    for fold in range(folds):
        rest = np.flatnonzero(np.arange(n) % folds != fold)
        policy = learn(facts.only(rest), until=_longest(settings, budget), **settings)
        word = "/".join(f"{name}={value}" for name, value in sorted(settings.items()))
        left = [int(i) for i in np.flatnonzero(np.arange(n) % folds == fold)]
        made += [Job(f"{label}/{word}/{i}", i, policy, budget) for i in left]
    found = {job.number: run for job, run in zip(made, jobs.run("choosing", made), strict=True)}
    return [found[i] for i in range(n)]


def _scores(lowest: np.ndarray, runs: Sequence[Run], budget: int) -> np.ndarray:
    """Mean of log calls of each run, calls beyond the budget counting as twice the budget."""
    calls = np.array([_calls(low, run, budget) for low, run in zip(lowest, runs, strict=True)])
    return np.log(np.where(calls > budget, 2 * budget, calls)).mean(axis=1)


def _calls(low: float, run: Run, budget: int) -> list[int]:
    """To each target, above the lowest value known."""
    low = min(low, run.fun)
    return [run.calls_to(low + share * (run.start - low), budget) for share in SHARES]
