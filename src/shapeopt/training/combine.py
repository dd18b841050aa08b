"""Places that no instance has shown, put together from what coordinates of best basins have in common.

    modes       of each coordinate the clusters of its values over instances, where more than one instance has them
    combined    all combinations of modes, the rarest modes left out while they are too many
    profiles    values of all instances at all combinations, above that at the first one, in units of their spread; none
                counted above the lower quartile of its instance, so that a few clashes do not drown the rest. And a row
                for each mode, 1 where a combination has it: what an instance's own preference for it would add

A molecule's torsions are an example: each bond has two or three preferred angles, and which combination of them is the
lowest differs from one molecule to the next.
"""

import itertools

import numpy as np

APART = 0.1  # of a coordinate's width: values further apart belong to different clusters
SHARED = 2  # instances that a mode has at the least
FEWEST, MOST_COMBINED = 4, 256  # combinations
QUARTILE = 0.25
OWN = 0.1  # of the mean square of all profiles, that of an instance's own preferences


def combined(x: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """(m, d): all combinations of modes; m is 0 where they are few.

    Arguments:
        x: (n, d), the best places of instances.
        scale: (d,), widths of coordinates.
    """
    modes = [_modes(column, APART * width) for column, width in zip(x.T, scale, strict=True)]
    while np.prod([len(one) for one in modes], dtype=float) > MOST_COMBINED:
        rarest = min((one for one in modes if len(one) > 1), key=lambda one: one[-1][0])
        rarest.pop()
    places = np.array(list(itertools.product(*([place for _, place in one] for one in modes))))
    return places if len(places) >= FEWEST else np.empty((0, x.shape[1]))


def _modes(column: np.ndarray, apart: float) -> list[tuple[int, float]]:
    """(instances, median) of the clusters of a coordinate, the commonest first."""
    values = np.sort(column)
    clusters = np.split(values, np.flatnonzero(np.diff(values) > apart) + 1)
    found = [(len(one), float(np.median(one))) for one in clusters if len(one) >= SHARED]
    return sorted(found, reverse=True)


def profiles(values: np.ndarray, places: np.ndarray, first: int) -> np.ndarray:
    """(n + modes, m): values of instances at places as a tactic compares them with its readings (tactics/recall.py),
    and a row for each mode.

    Arguments:
        values: (n, m), not finite where an instance has none.
        places: (m, d).
        first: the place with whose value others are compared.
    """
    values = np.where(np.isfinite(values), values, np.inf)
    high = np.maximum(np.quantile(values, QUARTILE, axis=1, method="lower"), values[:, first])
    high = np.where(np.isfinite(high), high, values.min(axis=1))
    rises = np.minimum(values, high[:, None]) - np.minimum(values[:, first], high)[:, None]
    spread = high - values.min(axis=1)
    sound = np.isfinite(spread) & (spread > 0)
    seen = rises[sound] / spread[sound, None]
    shown = [column == mode for column in places.T for mode in np.unique(column)]
    rows = np.array(shown, float) - np.array(shown, float)[:, [first]]
    size = OWN * (seen**2).sum() / max((rows**2).sum(), 1e-300)
    return np.concatenate([seen, size**0.5 * rows])
