"""Units of coordinates without bounds, estimated from the sizes of a start and of its gradient.

A coordinate of unit u_i starts at a size |x_i| ~ u_i and has a slope |g_i| ~ F / u_i, F the same for all: in logarithms

    a_i = log|x_i| = log u_i + e_i,   b_i = -log|g_i| = log u_i - log F + e'_i,   log u_i ~ N(m, v)

with errors of the variances below. Units that differ thus show as sizes and inverse slopes that rise and fall together,
which those of equal units do not. The spread v of units is weighed on a grid by its likelihood, v = 0 (equal units)
having half of the prior; where that keeps half, units are not told apart. Otherwise each has its posterior mean,

    log u_i = (m / v + a_i / SIZE_ERROR + (b_i + mean a - mean b) / SLOPE_ERROR) / (1 / v + 1 / SIZE_ERROR + ...)

Departs from the paper: there all coordinates have one unit.
"""

from typing import Any

import numpy as np

SIZE_ERROR = 1.5  # variance of log|x| of a start: 1.2 if x is normal, and some for starts that were guessed
SLOPE_ERROR = 4.0  # variance of log|g|: curvatures of a scaled problem differ, too
SPREADS = (0.0, 2.0, 8.0, 32.0, 128.0)  # of log units: variances that are weighed
EQUAL = 0.5  # prior weight of the first
LARGE = 50.0  # log odds of equal units that are as good as certain
FAINT = 1e-8  # slope times size, as a share of the largest: a smaller one is round-off of a zero


def told_apart(xp: Any, size: Any, slope: Any, open_: Any) -> tuple[Any, Any]:
    """Whether the units of the open coordinates differ, and a unit for each of these.

    Arguments:
        xp: NumPy or JAX's NumPy.
        size, slope: sizes of the start's and of the gradient's coordinates; 0 says nothing of a unit.
        open_: which coordinates lack a side.
    """
    work = size * slope
    slope = xp.where((size > 0) & (work < FAINT * xp.where(open_, work, 0.0).max()), 0.0, slope)
    sized, steep = open_ & (size > 0), open_ & (slope > 0)
    both = sized & steep
    a, b = xp.log(xp.where(sized, size, 1.0)), -xp.log(xp.where(steep, slope, 1.0))
    count = both.sum(dtype=size.dtype)
    mean = lambda x: xp.where(both, x, 0.0).sum() / xp.maximum(count, 1)  # noqa: E731
    level, shift = mean(a), mean(a) - mean(b)
    weight, spread = _spread(xp, a - level, b + shift - level, both, count)
    largest = xp.where(sized, a, -xp.inf).max()
    by_slope = xp.where(sized, b + shift, xp.minimum(b + shift, largest))  # a slope may vanish at 0 by symmetry
    shares = (1.0 / spread, xp.where(sized, 1.0 / SIZE_ERROR, 0.0), xp.where(steep, 1.0 / SLOPE_ERROR, 0.0))
    unit = xp.exp((level * shares[0] + a * shares[1] + by_slope * shares[2]) / sum(shares))
    return (count > 1) & (weight < EQUAL) & xp.isfinite(unit).all(), unit


def _spread(xp: Any, a: Any, b: Any, both: Any, count: Any) -> tuple[Any, Any]:
    """The posterior weight of equal units, and the mean spread of others."""
    square = lambda x, y: xp.where(both, x * y, 0.0).sum()  # noqa: E731
    aa, ab, bb = square(a, a), square(a, b), square(b, b)
    v = np.array(SPREADS, a.dtype)
    det = (v + SIZE_ERROR) * (v + SLOPE_ERROR) - v**2
    misfit = ((v + SLOPE_ERROR) * aa - 2.0 * v * ab + (v + SIZE_ERROR) * bb) / det
    log_likelihood = -0.5 * ((xp.maximum(count, 1) - 1) * np.log(det) + misfit)
    others = len(SPREADS) - 1
    prior = np.array([EQUAL, *[(1.0 - EQUAL) / others] * others], a.dtype)
    known = prior * xp.exp(xp.minimum(log_likelihood - log_likelihood[1:].max(), LARGE))
    differ = known[1:].sum()
    return known[0] / (known[0] + differ), (known[1:] * v[1:]).sum() / differ
