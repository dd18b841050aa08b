"""Budgeted progress of the outer loop, estimated from many runs (eqs. outer_one_stage_success,
outer_no_improvement_probability, outer_exponential_budget_progress).

    P(F_S > F_0 - delta) <= prod_s (1 - theta_s r_s) <= exp(-rho S)

A proposal is what the planner chooses at an event. Its basin is the equilibrium of the frozen stage that ends it, found
by descent outside the budget. It is useful if f(q*) <= F_s - delta - Delta, and reached if the stage read a value of at
most f(q*) + Delta; F_0 is the best value when the first basin was left. theta_s and r_s are frequencies over the runs
with F_s > F_0 - delta (the histories that the product needs), from half of the runs; the bound is checked on the other
half. rho is the least theta_s r_s.
"""

from dataclasses import dataclass

import jax
import numpy as np

from ...core import Cause
from .frozen import freeze
from .watch import Runs

GAIN = 0.25  # delta, as a share of F_0's gap to the known minimum
SLACK = 0.1  # Delta, as a share of delta
SOLVED = 1e-6  # gap of F_0 at which there is nothing left to gain
FEWEST = 12  # runs that must not have improved yet for a frequency to be taken
CONFIDENCE = 0.05  # chance that the check fails though the bound holds


@dataclass(frozen=True)
class Proposals:
    """One row a run, one column a proposal; nan past a run's last one."""

    useful: np.ndarray
    reached: np.ndarray  # useful and reached
    best: np.ndarray  # F_{s+1}
    first: np.ndarray  # F_0
    delta: np.ndarray

    @property
    def failed(self) -> np.ndarray:
        """F_{s+1} > F_0 - delta."""
        return self.best > (self.first - self.delta)[:, None]


@dataclass(frozen=True)
class ProgressCheck:
    """Estimates and curves over the number of proposals."""

    theta: np.ndarray
    r: np.ndarray
    bound: np.ndarray
    exponential: np.ndarray
    failure: np.ndarray
    tolerance: float
    runs: int
    solved: int  # runs that had nothing left to gain

    @property
    def holds(self) -> bool:
        return bool(np.all(self.failure <= self.bound + self.tolerance))

    @property
    def rho(self) -> float:
        return float(np.min(self.theta * self.r)) if self.theta.size else 0.0


def check_progress(runs: Runs) -> ProgressCheck:
    """Estimate on the runs of even number, check on the others."""
    proposals, solved = list_proposals(runs)
    estimate, check = (_rows(proposals, slice(k, None, 2)) for k in (0, 1))
    theta, r = frequencies(estimate)
    count = len(theta)
    bound = np.cumprod(1.0 - theta * r)
    rho = float(np.min(theta * r)) if count else 0.0
    failed = check.failed[:, :count]
    known = np.where(np.isnan(check.best[:, :count]), np.nan, failed)
    failure = np.nanmean(known, axis=0) if count else np.zeros(0)
    several = len(failed) and len(estimate.first)
    tolerance = (
        (np.log(2.0 / CONFIDENCE) / 2.0 * (1.0 / len(failed) + 1.0 / len(estimate.first))) ** 0.5 if several else 0
    )
    exponential = np.exp(-rho * np.arange(1, count + 1))
    return ProgressCheck(theta, r, bound, exponential, failure, float(tolerance), len(proposals.first), solved)


def frequencies(proposals: Proposals) -> tuple[np.ndarray, np.ndarray]:
    """(theta_s, r_s) over the runs that have not improved by delta before s, while there are enough of them."""
    theta, r = [], []
    count, columns = proposals.useful.shape
    waiting = np.ones(count, bool)
    for s in range(columns):
        there = waiting & ~np.isnan(proposals.best[:, s])
        if there.sum() < FEWEST:
            break
        useful, reached = proposals.useful[there, s].sum(), proposals.reached[there, s].sum()
        theta.append(useful / there.sum())
        r.append(reached / useful if useful else 1.0)
        waiting &= proposals.failed[:, s]
    return np.array(theta), np.array(r)


def list_proposals(runs: Runs) -> tuple[Proposals, int]:
    """The proposals of the runs that still had something to gain, and how many had not."""
    chains = [_chain(runs, run) for run in range(len(runs.f))]
    places = [place for chain in chains for place, _, _ in chain[1:]]
    floors = _floors(runs, places)
    minimum = np.asarray(runs.tasks.minimum)
    columns = max((len(chain) - 1 for chain in chains), default=0)
    rows, solved = [], 0
    for run, chain in enumerate(chains):
        if len(chain) < 2:
            continue
        first = chain[0][2]
        gap = first - minimum[run]
        if not gap > SOLVED:
            solved += 1
            continue
        delta = GAIN * gap
        row = np.full((3, columns), np.nan)
        for s, (place, lowest, best) in enumerate(chain[1:]):
            useful = floors[place] <= chain[s][2] - (1.0 + SLACK) * delta
            row[:, s] = useful, useful and lowest <= floors[place] + SLACK * delta, best
        rows.append((*row, first, delta))
    empty = np.zeros((0, columns))
    if not rows:
        return Proposals(empty, empty, empty, np.zeros(0), np.zeros(0)), solved
    return Proposals(*(np.array(part) for part in zip(*rows, strict=True))), solved


def _chain(runs: Runs, run: int) -> list[tuple[tuple[int, int], float, float]]:
    """(step at which its last stage began, least value read in it, best value at its end) of each proposal of a run."""
    events = [i for i in np.flatnonzero(runs.cause[run] != Cause.NONE) if np.isfinite(runs.f[run, i])]
    chain, begin = [], events[0] if events else 0
    for end in events[1:]:
        began = max((i for i in events if i < end), default=begin)
        lowest = float(np.min(runs.f[run, begin + 1 : end + 1]))
        chain.append(((run, int(began)), lowest, float(runs.best[run, end])))
        begin = end
    return chain


def _floors(runs: Runs, places: list[tuple[int, int]]) -> dict[tuple[int, int], float]:
    """f at the equilibria of the frozen stages that began there."""
    if not places:
        return {}
    stages = freeze(runs, places)
    values = jax.jit(jax.vmap(lambda task, q: task(task.box.outward(q))))(stages.task, stages.q_star)
    return dict(zip(places, np.asarray(values).tolist(), strict=True))


def _rows(proposals: Proposals, which: slice) -> Proposals:
    parts = (proposals.useful, proposals.reached, proposals.best, proposals.first, proposals.delta)
    return Proposals(*(part[which] for part in parts))
