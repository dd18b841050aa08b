"""Records compared by what was measured."""

import numpy as np

from shapeopt.bench.records import ARRAYS, Record


def same_results(a: Record, b: Record) -> bool:
    """Whether two records tell the same, apart from how long it took and with which versions."""
    told = all(np.array_equal(_bytes(getattr(a.curves, name)), _bytes(getattr(b.curves, name))) for name in ARRAYS)
    return told and (a.protocol, a.cell, a.method, a.seed) == (b.protocol, b.cell, b.method, b.seed)


def _bytes(array: np.ndarray | None) -> np.ndarray | None:
    return None if array is None else np.frombuffer(array.tobytes(), np.uint8)
