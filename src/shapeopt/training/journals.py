"""Facts of a family from a folder of journals of earlier runs: nothing is called."""

from pathlib import Path

import numpy as np

from ..oracles.journal import JournalError, read_calls
from .learn import Facts

LEAST_CURVATURE = 1e-10  # of a pair, as a share of |s||y|


def facts_of_journals(folder: Path) -> Facts:
    """What journals in a folder say: of each its best place, and a Hessian there from the gradients that were read.

    Raises:
        ValueError: there are fewer than 3 journals, or journals of several dimensions.
    """
    if not folder.is_dir():
        raise ValueError(f"`family` must be package.module:Class or a folder of journals; got {str(folder)!r}.")
    runs = []
    for path in sorted(path for path in folder.iterdir() if path.is_file()):
        try:
            x, values, gradients = read_calls(path)
        except JournalError:
            continue
        if np.isfinite(values).any():
            runs.append((x, values, gradients))
    sizes = {x.shape[1] for x, _, _ in runs}
    if len(runs) < 3 or len(sizes) > 1:
        raise ValueError(f"`family` must have 3 journals or more of one dimension; got {len(runs)} of {sorted(sizes)}.")
    best = [int(np.nanargmin(np.where(np.isfinite(values), values, np.nan))) for _, values, _ in runs]
    every = np.concatenate([x for x, _, _ in runs])
    scale = np.maximum(np.ptp(every, axis=0), 1e-12)
    return Facts(
        x=np.array([x[i] for (x, _, _), i in zip(runs, best, strict=True)]),
        scale=scale,
        values=None,
        best=np.array([values[i] for (_, values, _), i in zip(runs, best, strict=True)]),
        start=np.array([values[np.isfinite(values)][0] for _, values, _ in runs]),
        hessians=[
            None if g is None else secant_hessian(x, g, i, scale) for (x, _, g), i in zip(runs, best, strict=True)
        ],
        descriptors=None,
        ratios=[[] for _ in runs],
    )


def secant_hessian(x: np.ndarray, gradients: np.ndarray, best: int, scale: np.ndarray) -> np.ndarray | None:
    """A Hessian at reading `best`, by BFGS updates with the pairs to the other readings, the nearest one last."""
    S, Y = (x - x[best]) / scale, (gradients - gradients[best]) * scale
    lengths = np.linalg.norm(S, axis=1)
    B = None
    for i in np.argsort(-lengths):
        s, y = S[i], Y[i]
        sy = s @ y
        if not (np.isfinite(y).all() and lengths[i] > 0 and sy > LEAST_CURVATURE * lengths[i] * np.linalg.norm(y)):
            continue
        B = np.eye(len(s)) * (y @ y) / sy if B is None else B
        Bs = B @ s
        B = B + np.outer(y, y) / sy - np.outer(Bs, Bs) / (s @ Bs)
    return None if B is None else B / np.outer(scale, scale)
