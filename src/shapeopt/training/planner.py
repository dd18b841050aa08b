"""Choose the planner's settings of a family: how many places open a run, which learned parts pay, which tactics wait.

One change at a time is tried on instances that were left out of what was learned (four folds), and kept if the mean of
log calls to gaps of 1e-1, 1e-2 and 1e-3 of the start's falls by at least .01.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from .jobs import Job, Jobs
from .learn import Facts, learn

FOLDS = 4
LEAST_GAIN = 0.01  # of the mean of log calls
USUAL = 0.75  # share of left-out instances that are solved before late tactics come, with two calls to spare;
LONGEST_WAIT = 0.25  # but not later than after this share of the budget
SHARES = (1e-1, 1e-2, 1e-3)
OPTIONAL = ("separable sum", "turned axes", "sample", "noise check", "explore", "pair model")


def choose(jobs: Jobs, facts: Facts, seen: Iterable[str], budget: int, label: str) -> dict[str, Any]:
    """The settings for `learn`; `seen` are the tactics that had a stage in untrained runs."""
    described = facts.descriptors is not None  # then later places are near the predicted one
    chosen: dict[str, Any] = {"opening": 1, "later": described}
    best, calls = _score(jobs, facts, chosen, budget, label)
    for change in _changes(facts, set(seen)):
        trial = _with(chosen, change)
        score, taken = _score(jobs, facts, trial, budget, label)
        if score < best - LEAST_GAIN:
            chosen, best, calls = trial, score, taken
    return chosen | {"until": min(LONGEST_WAIT * budget, 2.0 + float(np.quantile(calls, USUAL)))}


def _with(settings: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    if "late" in change:
        change = {"late": (*settings.get("late", ()), *change["late"])}
    return settings | change


def _changes(facts: Facts, seen: set[str]) -> Iterator[dict[str, Any]]:
    if facts.descriptors is not None:
        yield {"regression": None}
    if any(B is not None for B in facts.hessians):
        yield {"shape": None}
    yield {"opening": 2}
    yield {"opening": 3}
    yield {"later": facts.descriptors is None}
    yield {"prior": None}
    for name in OPTIONAL:
        if name in seen:
            yield {"late": (name,)}


def _score(jobs: Jobs, facts: Facts, settings: dict[str, Any], budget: int, label: str) -> tuple[float, list[int]]:
    """Mean of log calls on left-out instances, calls beyond the budget counting as twice the budget; and the calls to
    the last target."""
    made: list[Job] = []
    n = len(facts.x)
    folds = min(FOLDS, n // 2)
    for fold in range(folds):
        rest = np.flatnonzero(np.arange(n) % folds != fold)
        policy = learn(facts.only(rest), **settings)
        word = "/".join(f"{name}={value}" for name, value in sorted(settings.items()))
        left = [int(i) for i in np.flatnonzero(np.arange(n) % folds == fold)]
        made += [Job(f"{label}/{word}/{i}", i, policy, budget) for i in left]
    scores, last = [], []
    for job, run in zip(made, jobs.run("choosing", made), strict=True):
        low = min(facts.best[job.number], run.fun)
        calls = [run.calls_to(low + share * (run.start - low), budget) for share in SHARES]
        last.append(calls[-1])
        scores.append(np.mean(np.log(np.where(np.array(calls) > budget, 2 * budget, calls))))
    return float(np.mean(scores)), last
