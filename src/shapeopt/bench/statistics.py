"""Whether a difference between two methods is one: paired over tasks, corrected for how many were asked about.

Everything here is about one number a task, as `metrics.summarise` gives them.
"""

import enum
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import scipy.stats

from .metrics import Better

Key = TypeVar("Key", bound=Hashable)


class Verdict(enum.StrEnum):
    """What a comparison says of the first method."""

    BETTER = "better"
    WORSE = "worse"
    TIE = "tie"


@dataclass(frozen=True)
class Spread:
    """Numbers of many tasks in short. The deviation divides by the number of tasks, as the paper's does.

    Departs from the paper: nothing; its hit rates of 3 in 512 (0.006 ± 0.012) fit that divisor alone.
    """

    mean: float
    std: float
    median: float
    lowest: float


@dataclass(frozen=True)
class Tolerance:
    """Two numbers tie where they differ by at most max(floor, relative · the larger magnitude)."""

    relative: float = 1e-3  # what a table with three digits shows
    floor: float = 1e-15  # round-off of a gap between values of order one

    def __post_init__(self) -> None:
        for name, value in (("relative", self.relative), ("floor", self.floor)):
            if not 0 <= value < np.inf:
                raise ValueError(f"`{name}` must be finite and not negative; got {value}.")

    def ties(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.abs(a - b) <= np.maximum(self.floor, self.relative * np.maximum(np.abs(a), np.abs(b)))


TOLERANCE = Tolerance()
ROUND_OFF = 1e-12  # differences that agree to this share are one: BCa would divide by what is left of their spread
FEW = 13  # differences up to which SciPy goes through all signs where ranks tie, for half a second; we count them


@dataclass(frozen=True)
class Comparison:
    """The first method against the second on the same tasks; differences are first minus second, in the metric's unit.

    The verdict is better or worse only where the corrected test and the bootstrap interval both say it. `ranks` is what
    the test says alone.
    """

    mean_difference: float
    interval: tuple[float, float]
    p: float
    p_holm: float
    wins: int
    ties: int
    losses: int
    verdict: Verdict
    ranks: Verdict = Verdict.TIE


def spread(values: np.ndarray) -> Spread:
    """Mean, standard deviation, median and lowest over tasks; nan counts as +inf unless nothing is known."""
    values = np.asarray(values, float)
    if np.isnan(values).all():
        return Spread(*[float("nan")] * 4)
    values = np.where(np.isnan(values), np.inf, values)
    std = values.std() if np.isfinite(values).all() else np.inf
    return Spread(float(values.mean()), float(std), quantile(values, 0.5), float(values.min()))


def quantile(values: np.ndarray, share: float) -> float:
    """The quantile by linear interpolation, which here may meet infinities."""
    ordered = np.sort(np.asarray(values, float))
    place = share * (len(ordered) - 1)
    low, weight = int(place), place - int(place)
    return float(ordered[low] if weight == 0 else (1 - weight) * ordered[low] + weight * ordered[low + 1])


def compare(
    a: np.ndarray,
    b: np.ndarray,
    better: Better = Better.LOWER,
    *,
    seed: int,
    tolerance: Tolerance = TOLERANCE,
    level: float = 0.95,
) -> Comparison:
    """One comparison, with nothing to correct for: p_holm is p."""
    return compare_all({"": (a, b)}, better, seed=seed, tolerance=tolerance, level=level)[""]


def compare_all(
    pairs: Mapping[Key, tuple[np.ndarray, np.ndarray]],
    better: Better = Better.LOWER,
    *,
    seed: int,
    tolerance: Tolerance = TOLERANCE,
    level: float = 0.95,
) -> dict[Key, Comparison]:
    """Compare each pair; Holm's correction is over all of them, so hand over all that one claim rests on.

    A number that is not finite stands as the worst: beyond the worst finite one of its pair by their whole range.
    """
    if not 0 < level < 1:
        raise ValueError(f"`level` must lie in (0, 1); got {level}.")
    sign = 1 if better is Better.LOWER else -1
    costs = {key: _paired_costs(sign * np.asarray(a), sign * np.asarray(b)) for key, (a, b) in pairs.items()}
    p = {key: signed_rank(a, b, tolerance) for key, (a, b) in costs.items()}
    corrected = dict(zip(p, holm(list(p.values())), strict=True))
    return {
        key: _comparison(a, b, sign, p[key], corrected[key], seed, tolerance, level) for key, (a, b) in costs.items()
    }


def signed_rank(a: np.ndarray, b: np.ndarray, tolerance: Tolerance = TOLERANCE) -> float:
    """Wilcoxon's two-sided signed-rank p; tasks that tie are left out, and p is 1 where all do."""
    difference = (a - b)[~tolerance.ties(a, b)]
    if not difference.size:
        return 1.0
    if difference.size <= FEW and np.unique(np.abs(difference)).size < difference.size:
        return _exact_signed_rank(difference)
    return float(scipy.stats.wilcoxon(difference).pvalue)


def _exact_signed_rank(difference: np.ndarray) -> float:
    """The same where ranks tie: the null law of the positive ranks' sum, each sign being a fair coin."""
    ranks = (2 * scipy.stats.rankdata(np.abs(difference))).astype(int)  # tied ranks are halves
    ways = np.ones(1)
    for rank in ranks:
        ways = np.pad(ways, (0, rank)) + np.pad(ways, (rank, 0))
    at = ranks[difference > 0].sum()
    return min(1.0, 2 * float(min(ways[: at + 1].sum(), ways[at:].sum()) / ways.sum()))


def _leaning(a: np.ndarray, b: np.ndarray, tolerance: Tolerance) -> float:
    """The signed ranks' sum: which side the test is on, as a few huge differences may pull the mean to the other."""
    difference = (a - b)[~tolerance.ties(a, b)]
    return float(np.sum(np.sign(difference) * scipy.stats.rankdata(np.abs(difference))))


def holm(p: list[float]) -> list[float]:
    """Holm's step-down adjustment: the i-th smallest of m is max over j <= i of (m - j + 1) p_(j), at most 1."""
    order = np.argsort(p, kind="stable")
    factors = np.arange(len(p), 0, -1)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(factors * np.asarray(p)[order]))
    return adjusted.tolist()


def mean_interval(difference: np.ndarray, *, seed: int, level: float = 0.95) -> tuple[float, float]:
    """Bootstrap interval (BCa) of the mean, such as of paired differences; the whole line if it can't be formed."""
    scale = np.max(np.abs(difference))
    if np.ptp(difference) <= ROUND_OFF * scale and difference.size > 1:
        return float(difference.min()), float(difference.max())
    if difference.size < 2:
        return -np.inf, np.inf
    unit = difference / scale  # BCa takes third powers, which tiny gaps would lose
    drawn = scipy.stats.bootstrap((unit,), np.mean, confidence_level=level, n_resamples=4999, method="BCa", rng=seed)
    low, high = (float(scale * end) for end in drawn.confidence_interval)
    return (-np.inf, np.inf) if np.isnan(low + high) else (low, high)


def _paired_costs(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both with a finite worst number where they are not finite (lower is better here)."""
    if a.shape != b.shape or a.ndim != 1 or a.size == 0:
        raise ValueError(f"`a` and `b` must have one number a task, of the same tasks; got {a.shape} and {b.shape}.")
    finite = np.concatenate([a, b])
    finite = finite[np.isfinite(finite)]
    top, bottom = (finite.max(), finite.min()) if finite.size else (0.0, 0.0)
    worst = top + (top - bottom if top > bottom else max(abs(top), 1.0))
    return np.where(np.isfinite(a), a, worst), np.where(np.isfinite(b), b, worst)


def _comparison(
    a: np.ndarray, b: np.ndarray, sign: int, p: float, p_holm: float, seed: int, tolerance: Tolerance, level: float
) -> Comparison:
    low, high = mean_interval(a - b, seed=seed, level=level)
    even, leaning = tolerance.ties(a, b), _leaning(a, b, tolerance)
    ranks = Verdict.TIE if p_holm >= 1 - level or not leaning else Verdict.BETTER if leaning < 0 else Verdict.WORSE
    agrees = high < 0 if ranks is Verdict.BETTER else low > 0
    return Comparison(
        mean_difference=float(sign * np.mean(a - b)),
        interval=(low, high) if sign > 0 else (0.0 - high, 0.0 - low),  # no -0.0
        p=p,
        p_holm=p_holm,
        wins=int(np.sum((a < b) & ~even)),
        ties=int(np.sum(even)),
        losses=int(np.sum((a > b) & ~even)),
        verdict=ranks if agrees else Verdict.TIE,
        ranks=ranks,
    )
