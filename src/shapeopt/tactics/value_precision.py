"""The precision of values, from how many digits they have: a program that prints `%g` has six, and one that rounds to
cents has two decimals. Every reading raises the number of digits that values are known to have, until they are taken
for exact; so a rounded objective is known without a call.

    unit(f) = max(10^-decimals, 10^(floor(log10 |f|) + 1 - digits))

Departs from the paper: there values are exact, or noisy.
"""

import math
from typing import Any, NamedTuple

import numpy as np

MOST_DIGITS = 11  # a value that has more is exact
LEAST = 8  # readings after which few digits mean something
DIGITS = np.arange(1.0, MOST_DIGITS + 1.0)
DECIMALS = np.arange(-6.0, MOST_DIGITS + 1.0)
EXACT = 99.0


class Printed(NamedTuple):
    """The most digits and the most decimals that a value had so far, and how many values were seen."""

    digits: Any
    decimals: Any
    read: Any


def unread(ops: Any, dtype: Any) -> Printed:
    return Printed(ops.real(0.0, dtype), ops.real(DECIMALS[0], dtype), ops.whole(0))


def taken_in(ops: Any, printed: Printed, f: Any, dtype: Any) -> Printed:
    """After a value; 0 and what is not finite tell nothing."""
    if not ops.traced and (printed.digits == EXACT == printed.decimals or not 0.0 < abs(f) < math.inf):
        return printed
    xp = ops.xp
    told = (abs(f) > 0) & (abs(f) < xp.inf)
    size = ops.pick(told, abs(f), 1.0)
    digits = _fewest(ops, size, DIGITS - 1.0 - xp.floor(xp.log10(xp.asarray(size, dtype))), DIGITS, dtype)
    decimals = _fewest(ops, size, DECIMALS, DECIMALS, dtype)
    return Printed(
        ops.pick(told, ops.max(printed.digits, digits), printed.digits),
        ops.pick(told, ops.max(printed.decimals, decimals), printed.decimals),
        printed.read + ops.whole(told),
    )


def _fewest(ops: Any, size: Any, powers: Any, counts: np.ndarray, dtype: Any) -> Any:
    """The first of the counts with which the value, times ten to its power, is whole."""
    xp = ops.xp
    scaled = size * 10.0 ** xp.asarray(powers, dtype)
    error = 8.0 * float(np.finfo(dtype).eps) * scaled
    whole = (abs(scaled - xp.round(scaled)) <= error) & (error < 0.1) & (scaled > 0.5)
    return ops.real(ops.where(whole, xp.asarray(counts, dtype), EXACT).min(), dtype)


def unit(ops: Any, printed: Printed, values: Any) -> Any:
    """The unit of the last digit of values; 0 where they are exact, or too few were seen."""
    xp = ops.xp
    known = printed.read >= LEAST
    by_decimals = ops.pick(known & (printed.decimals < EXACT), 10.0**-printed.decimals, 0.0)
    rounds = known & (printed.digits < EXACT)
    top = xp.floor(xp.log10(xp.maximum(abs(values), 1e-300 if values.dtype.itemsize == 8 else 1e-30)))
    by_digits = ops.pick(rounds, 1.0, 0.0) * 10.0 ** (top + 1.0 - ops.pick(rounds, printed.digits, 0.0))
    return xp.maximum(by_digits, by_decimals)
