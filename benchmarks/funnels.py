"""Funnels under ripples: made landscapes with many basins on one slope, turned and off-centre.

    f(x) = F(mean(w z^2)) + A R(z),   z = Q (x - c),   Q orthogonal, c uniform in the box, w_i uniform in [.7, 1.4]

The bowl F is a cone, a square or a logarithm; the ripples R are a mean of cosines, or the exponential of that mean.
The minimum is F(0) at c.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from shapeopt.bench.suites.base import Objective, SuiteProblem

HALF = 5.0  # of the box's width
WAVE = 0.8  # length of a ripple, by coordinate
BUDGET = 500

# Names -> s = mean(w z^2) -> (value, derivative).
BOWLS: dict[str, Callable[[float], tuple[float, float]]] = {
    "cone": lambda s: (20 / 3 * (s + 1e-6) ** 0.5, 10 / 3 * (s + 1e-6) ** -0.5),
    "square": lambda s: (10 / 9 * s, 10 / 9),
    "logarithm": lambda s: (8 * np.log1p(s), 8 / (1 + s)),
}

# Names -> mean of cosines -> (value, derivative).
RIPPLES: dict[str, Callable[[float], tuple[float, float]]] = {
    "sum": lambda mean: (1 - mean, -1.0),
    "exponential": lambda mean: (np.e - np.exp(mean), -np.exp(mean)),
}


def make(bowl: str, ripple: str, d: int, height: float) -> Objective:
    """One landscape with a start anywhere in its box."""
    rng = np.random.default_rng([list(BOWLS).index(bowl), list(RIPPLES).index(ripple), d, int(height)])
    turn, c = np.linalg.qr(rng.normal(size=(d, d)))[0], rng.uniform(-0.7 * HALF, 0.7 * HALF, d)
    w = rng.uniform(0.7, 1.4, d)
    wave = 2 * np.pi * w / WAVE

    def fun(x: np.ndarray) -> tuple[float, np.ndarray]:
        z = turn @ (x - c)
        F, slope = BOWLS[bowl](float((w * z * z).mean()))
        R, rise = RIPPLES[ripple](float(np.cos(wave * z).mean()))
        g = slope * 2 * w * z / d - height * rise * wave * np.sin(wave * z) / d
        return F + height * R, turn.T @ g

    sides = np.full(d, HALF)
    return Objective(fun, rng.uniform(-HALF, HALF, d), -sides, sides, minimum=fun(c)[0])


def problems() -> list[SuiteProblem]:
    """All bowls, ripples and heights in 10, 20 and 30 dimensions."""
    return [
        SuiteProblem(
            f"{bowl} {ripple} {d} {height:g}/0",
            f"{bowl} {ripple} {height:g}",
            "dev",
            d,
            True,
            BUDGET,
            partial(make, bowl, ripple, d, height),
        )
        for bowl in BOWLS
        for ripple in RIPPLES
        for height in (1.0, 3.0)
        for d in (10, 20, 30)
    ]
