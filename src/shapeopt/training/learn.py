"""From runs on instances to what a family's policy knows: places, kernel width, metric, regression, prior.

    places   greedily, each the candidate that lowers most the mean over instances of

                 log10 of the least of (f_i(place) - best_i) / (f_i(x0) - best_i) over the places so far,

             a candidate being where another instance's best basin was found, or the median of all; an instance's own is
             never counted for it. Without objectives to call (journals), f_i is the mean quadratic around its best.
    metric   the inverse of exp(mean of log B_i), B_i the Hessian at an instance's best, its eigenvalues made
             positive and scaled to a determinant of 1: the log-Euclidean mean of positive definite matrices
    combined  places put together from what coordinates have in common, in an order that is found within the run
    prior    median and mean deviation of log R over all descents that converged

Nothing here knows a minimum that a run did not find.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..family import FamilyPolicy
from ..family.regression import fit_regression
from .combine import profiles

SMALLEST = 1e-7  # share of the start's gap below which places are equally good
MOST_PLACES = 12
FLATTEST = 1e-8  # smallest eigenvalue of a Hessian, as a share of its largest
MEAN_DEVIATION = 1.386  # of a logistic distribution, in its scale
LEAST_PRIOR = (0.0, 0.7)  # a run on something else must not give up its basins at once
FEWEST_RATIOS = 10  # descents without which the shipped prior is kept


@dataclass(frozen=True, eq=False)
class Facts:
    """What is known of the training instances.

    Arguments:
        x: (n, d), the best places found.
        scale: (d,), widths of coordinates.
        values: (n, n + 1 + m), those of instance i at candidate j: the x of all instances, then their median, then the
            combined places; None where objectives can't be called.
        best, start: (n,), the lowest value found, and that at x0.
        hessians: (n, d, d) or None.
        descriptors: (n, p) or None.
        ratios: log R of descents.
        combined: (m, d), places put together from those of several instances (combine.py).
        seam: where boxes open in periodic coordinates (periodic.py); x, then, is within a turn from there.
        turn: (2, d), the bounds of all instances.
    """

    x: np.ndarray
    scale: np.ndarray
    values: np.ndarray | None
    best: np.ndarray
    start: np.ndarray
    hessians: Sequence[np.ndarray | None]
    descriptors: np.ndarray | None
    ratios: Sequence[Sequence[float]]
    combined: np.ndarray | None = None
    seam: tuple[float | None, ...] | None = None
    turn: np.ndarray | None = None

    def only(self, rows: np.ndarray) -> "Facts":
        """Of some instances; the median stays that of all."""
        n = len(self.x)
        kept = lambda values: values[np.ix_(rows, np.append(rows, np.arange(n, values.shape[1])))]  # noqa: E731
        described = None if self.descriptors is None else self.descriptors[rows]
        chosen = rows.tolist()
        return Facts(
            self.x[rows],
            self.scale,
            None if self.values is None else kept(self.values),
            self.best[rows],
            self.start[rows],
            [self.hessians[i] for i in chosen],
            described,
            [self.ratios[i] for i in chosen],
            self.combined,
            self.seam,
            self.turn,
        )


def learn(facts: Facts, combines: bool = False, **settings: Any) -> FamilyPolicy:
    """The policy of the facts; `settings` are fields of it that a planner has chosen.

    Arguments:
        combines: whether places are the combined ones, with profiles.
    """
    if combines and facts.combined is not None and facts.values is not None:
        return _combining(facts, settings)
    candidates = np.concatenate([facts.x, np.median(facts.x, axis=0)[None, :]])
    shape = mean_shape([B for B in facts.hessians if B is not None], facts.scale)
    order = greedy(_scores(facts, candidates, shape))
    reach = np.sqrt(np.median((facts.x - candidates[order[0]]) ** 2, axis=0)) / 0.67
    width = _kernel_width(facts)
    regression, given = None, None
    if facts.descriptors is not None:
        regression, predicted = fit_regression(facts.descriptors, facts.x, facts.scale)
        given = np.sqrt(np.median((facts.x - predicted) ** 2, axis=0)) / 0.67
    return FamilyPolicy(
        **{
            "places": candidates[order],
            "width": width,
            "reach": reach,
            "shape": shape,
            "regression": regression,
            "reach_given": given,
            "prior": prior_of(facts),
            "seam": facts.seam,
            "turn": None if facts.seam is None else facts.turn,
        }
        | settings
    )


def _combining(facts: Facts, settings: dict[str, Any]) -> FamilyPolicy:
    """The policy whose places are the combined ones, in the order of their mean profile after the first."""
    places, values = facts.combined, facts.values
    assert places is not None and values is not None
    made = replace(learn(facts), **settings)
    values = values[:, -len(places) :]
    first = greedy(_shares(facts, values), 1)[0]
    rises = profiles(values, places, first)
    order = np.argsort(rises[: len(facts.x)].mean(axis=0), kind="stable")
    order = np.append(first, order[order != first])
    nearest = (abs(facts.x[:, None, :] - places) / facts.scale).sum(axis=-1).argmin(axis=1)
    reach = np.sqrt(np.median((facts.x - places[nearest]) ** 2, axis=0)) / 0.67
    return replace(made, places=places[order], profiles=rises[:, order], reach=reach)


def _kernel_width(facts: Facts) -> np.ndarray:
    """Scott's rule."""
    n, d = facts.x.shape
    return np.maximum(facts.x.std(axis=0) * n ** (-1.0 / (d + 4)), 1e-3 * facts.scale)


def _shares(facts: Facts, values: np.ndarray) -> np.ndarray:
    """(n, places): log10 of the gap at a place as a share of the start's, at most 0."""
    span = np.maximum(facts.start - facts.best, 1e-300)
    return _logs((values - facts.best[:, None]) / span[:, None])


def _logs(shares: np.ndarray) -> np.ndarray:
    return np.log10(np.clip(np.where(np.isfinite(shares), shares, 1.0), SMALLEST, 1.0))


def _scores(facts: Facts, candidates: np.ndarray, shape: np.ndarray | None) -> np.ndarray:
    """(n, candidates): log10 of the gap at a candidate as a share of the start's, at most 0; NaN: an instance's own."""
    n = len(facts.x)
    if facts.values is None:
        B = np.diag(1.0 / facts.scale**2) if shape is None else np.linalg.inv(shape)
        gaps = facts.x[:, None, :] - candidates[None, :, :]
        shares = np.einsum("ijk,kl,ijl->ij", gaps, B, gaps)
        scores = _logs(shares / max(float(shares.max()), 1e-300))
    else:
        scores = _shares(facts, facts.values[:, : n + 1])
    scores[np.arange(n), np.arange(n)] = np.nan
    return scores


def greedy(scores: np.ndarray, most: int = MOST_PLACES) -> list[int]:
    """Columns in the order in which they lower the mean over rows of the least score so far; NaN: does not count."""
    chosen: list[int] = []
    least = np.zeros(len(scores))
    for _ in range(min(most, scores.shape[1])):
        lowered = np.fmin(least[:, None], scores)
        means = lowered.mean(axis=0)
        means[chosen] = np.inf
        column = int(np.argmin(means))
        chosen.append(column)
        least = lowered[:, column]
    return chosen


def mean_shape(hessians: Sequence[np.ndarray], scale: np.ndarray) -> np.ndarray | None:
    """The inverse of the log-Euclidean mean of Hessians, in coordinates of unit width; None of none."""
    if not hessians:
        return None
    logs, outer = [], np.outer(scale, scale)
    for B in hessians:
        with np.errstate(over="ignore"):  # of places that are many decades below the others
            curvature = B * outer
        if not (np.isfinite(curvature).all() and curvature.any()):
            continue
        values, vectors = np.linalg.eigh(curvature)
        size = np.abs(values)
        levels = np.log(np.maximum(size, FLATTEST * size.max()))
        logs.append((vectors * (levels - levels.mean())) @ vectors.T)
    if not logs:
        return None
    values, vectors = np.linalg.eigh(np.mean(logs, axis=0))
    return (vectors * np.exp(-values)) @ vectors.T * outer


def prior_of(facts: Facts) -> tuple[float, float] | None:
    """Mean and scale of log R; None where too few descents converged."""
    ratios = np.array([ratio for run in facts.ratios for ratio in run])
    if len(ratios) < FEWEST_RATIOS:
        return None
    mean = float(np.median(ratios))
    scale = float(np.mean(np.abs(ratios - mean))) / MEAN_DEVIATION
    return max(mean, LEAST_PRIOR[0]), max(scale, LEAST_PRIOR[1])
