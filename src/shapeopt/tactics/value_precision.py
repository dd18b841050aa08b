"""The precision of values that were printed: a program that writes `%g` has six digits.

Departs from the paper: there values are exact, or noisy.
"""

from typing import Any

import numpy as np

DIGITS = np.arange(2, 11)  # a number of more digits is taken for exact
LEAST = 8  # values that must agree


def printed_precision(ops: Any, values: Any, known: Any, f: Any) -> Any:
    """The unit of the last digit at f, where all known values have at most ten significant digits; else 0."""
    xp = ops.xp
    size = abs(values)
    told = known & (size > 0) & (size < xp.inf)
    size = ops.where(told, size, 1.0)
    exponent = xp.floor(xp.log10(size))
    digits = xp.asarray(DIGITS, values.dtype)[:, None]
    scaled = size * 10.0 ** (digits - 1.0 - exponent)
    exact = abs(scaled - xp.round(scaled)) <= 8.0 * float(np.finfo(values.dtype).eps) * scaled
    fits = (exact | xp.logical_not(told)).all(axis=1)
    fewest = xp.where(fits, digits[:, 0], xp.inf).min()
    printed = (fewest < xp.inf) & (told.sum() >= LEAST) & (abs(f) > 0)
    top = xp.floor(xp.log10(xp.where(printed, abs(f), 1.0)))
    return ops.real(ops.pick(printed, 10.0 ** (top - xp.where(printed, fewest, 1.0) + 1.0), 0.0), values.dtype)
