"""Places that fill a box evenly: the additive sequence frac(u + k a), a_i = phi_d^-i (Roberts), its middle first.

Not exactly the middle: there atoms may coincide and networks may be symmetric.
"""

import functools
import math
from typing import Any

import numpy as np

from ..ops.random import uniform

FROM = 2**31 - 7  # counter of the first sequence's offset
OFF = 0.01  # from the middle, at most, as a share of the width


def spread_place(ops: Any, key: Any, sequence: int, number: Any, lower: Any, upper: Any) -> Any:
    """A place of one of several sequences: number 0 is near the box's middle, others follow from the run's key."""
    d, dtype = lower.shape[0], lower.dtype
    k = ops.real(number, dtype)
    offset = uniform(ops, key, FROM + sequence, d, dtype)
    place = offset + k * ops.xp.asarray(ratios(d), dtype)
    middle = 0.5 + OFF * (2.0 * offset - 1.0)
    return lower + (upper - lower) * ops.pick(number == 0, middle, place - ops.xp.floor(place))


@functools.cache
def ratios(d: int) -> np.ndarray:
    """Powers of 1 / phi_d, phi_d > 1 being the root of x^(d + 1) = x + 1."""
    root = 2.0
    for _ in range(40):
        root = (1.0 + root) ** (1.0 / (d + 1))
    return math.pow(root, -1.0) ** np.arange(1, d + 1)
