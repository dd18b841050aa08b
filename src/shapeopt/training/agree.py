"""Which of several equivalent minima is remembered: the same one in all instances.

Each instance is descended again from where the others say that its best basin is, and what is found there takes the
place of its own where it is as good. A minimum that the first run has missed is often found so, too.

    again    from its neighbour's place: by descriptor, along a minimum spanning tree; without descriptors from the
             place that suits the others best
    agree    with descriptors, from the place that others predict: their median, then a linear regression, which can't
             follow one minimum here and an equivalent one there, then any regression, twice
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ..family.regression import KERNELS, LINEAR, fit_regression
from .learn import Facts
from .run import Run

AS_GOOD = 1e-3  # share of the start's gap within which a neighbour's minimum takes the place of the lowest,
EQUAL = 1e-5  # and within which one that is closer to the predicted place does
ROUNDS = (None, (LINEAR,), KERNELS, KERNELS)  # kernels of regressions; None: the median
Descend = Callable[[str, Sequence[int], Sequence[np.ndarray]], list[Run]]  # runs of instances from places, by a key


def agreed(facts: Facts, descend: Descend) -> Facts:
    """The facts with places and best values after all rounds."""
    again = _from_neighbours(facts, descend)
    values = np.array([run.fun for run in again])
    good = values <= facts.best + AS_GOOD * (facts.start - facts.best)
    x = np.where(good[:, None], np.array([run.x for run in again]), facts.x)
    facts = replace(facts, x=x, best=np.minimum(facts.best, values))
    if facts.descriptors is None:
        return facts
    for number, kernels in enumerate(ROUNDS):
        predicted = _predicted(facts, facts.descriptors, kernels)
        facts = _closer(facts, predicted, descend(f"agree/{number}", range(len(x)), list(predicted)))
    return facts


def _predicted(
    facts: Facts, descriptors: np.ndarray, kernels: tuple[tuple[float, float, float], ...] | None
) -> np.ndarray:
    """Where the others say that each instance's best basin is."""
    if kernels is None:
        return np.repeat(np.median(facts.x, axis=0)[None, :], len(facts.x), axis=0)
    return fit_regression(descriptors, facts.x, facts.scale, kernels)[1]


def _closer(facts: Facts, predicted: np.ndarray, found: list[Run]) -> Facts:
    """With what was found from predicted places, where it is lower, or as good and closer to them."""
    x, values = np.array([run.x for run in found]), np.array([run.fun for run in found])
    slack = EQUAL * (facts.start - facts.best)
    was, now = (np.linalg.norm((place - predicted) / facts.scale, axis=1) for place in (facts.x, x))
    better = (values < facts.best - slack) | ((values <= facts.best + slack) & (now < was))
    return replace(facts, x=np.where(better[:, None], x, facts.x), best=np.minimum(facts.best, values))


def _from_neighbours(facts: Facts, descend: Descend) -> list[Run]:
    """Runs from the neighbours' places, the root's from its own; a child's comes after its parent's."""
    x, found = facts.x.copy(), {}
    root, pairs = _tree(facts)
    for child, parent in [(root, root), *pairs]:
        (run,) = descend(f"again/{parent}", [child], [x[parent]])
        if run.fun <= facts.best[child] + AS_GOOD * (facts.start[child] - facts.best[child]):
            x[child] = run.x
        found[child] = run
    return [found[i] for i in range(len(x))]


def _tree(facts: Facts) -> tuple[int, list[tuple[int, int]]]:
    """The instance whose place suits the others best, and (child, parent) pairs from it on, parents first: a minimum
    spanning tree of descriptors; without them a star."""
    n = len(facts.x)
    assert facts.values is not None
    span = np.maximum(facts.start - facts.best, 1e-300)
    shares = np.clip((facts.values[:, :n] - facts.best[:, None]) / span[:, None], 1e-7, 1.0)
    root = int(np.argmin(np.nan_to_num(np.log(shares), nan=0.0).mean(axis=0)))
    if facts.descriptors is None:
        return root, [(i, root) for i in range(n) if i != root]
    U = facts.descriptors / np.where(facts.descriptors.std(axis=0) > 0, facts.descriptors.std(axis=0), 1.0)
    gaps = ((U[:, None, :] - U[None, :, :]) ** 2).sum(axis=-1)
    inside, pairs = [root], []
    while len(inside) < n:
        outside = [i for i in range(n) if i not in inside]
        block = gaps[np.ix_(outside, inside)]
        row, column = np.unravel_index(int(np.argmin(block)), block.shape)
        pairs.append((outside[row], inside[column]))
        inside.append(outside[row])
    return root, pairs
