"""Fits of models to made data."""

from typing import Any

import numpy as np

from .base import Made, rk4


def epidemic(rng: Any, size: int) -> Made:
    """SEIR curve with reporting: rates in days, population in thousands; residuals of weekly counts."""

    def curve(x: np.ndarray) -> np.ndarray:
        beta, sigma, gamma, first, reported = x
        rate = lambda y: np.array(  # noqa: E731
            [
                -beta * y[0] * y[2],
                beta * y[0] * y[2] - sigma * y[1],
                sigma * y[1] - gamma * y[2],
            ]
        )
        states = rk4(rate, np.array([1 - first, 0.0, first]), 2.0, 40)
        return 1e5 * reported * -np.diff(states[::4, 0])

    truth = np.array(
        [rng.uniform(0.3, 0.8), rng.uniform(0.1, 0.5), rng.uniform(0.1, 0.25), 1e-4, rng.uniform(0.2, 0.9)]
    )
    data = curve(truth) * (1 + 0.05 * rng.normal(size=10)) + 1
    fun = lambda x: float(np.sum((curve(x) - data) ** 2 / data))  # noqa: E731
    return fun, [0.05, 0.02, 0.02, 1e-6, 0.01], [2.0, 1.0, 1.0, 1e-2, 1.0]


def enzyme(rng: Any, size: int) -> Made:
    """Two-substrate kinetics with inhibition in raw units: constants over six decades, bounds far away."""
    a, b = rng.uniform(1e-5, 1e-3, 30), rng.uniform(1e-4, 1e-2, 30)
    truth = np.array([rng.uniform(20, 200), rng.uniform(5e-5, 5e-4), rng.uniform(5e-4, 5e-3), rng.uniform(1e-4, 1e-3)])
    model = lambda x: x[0] * a * b / (x[1] * b + x[2] * a + a * b * (1 + a / x[3]))  # noqa: E731
    data = model(truth) * (1 + 0.03 * rng.normal(size=30))
    return lambda x: float(np.mean((model(x) - data) ** 2)), [1, 1e-6, 1e-5, 1e-5], [1000, 1e-2, 1e-1, 1e-2]


def peaks(rng: Any, size: int) -> Made:
    """Overlapping spectral lines with a base line; a printed sum of squares of six digits."""
    t, n = np.linspace(0, 10, 80), 2 + size
    model = lambda x: sum(  # noqa: E731
        x[3 * i] / (1 + ((t - x[3 * i + 1]) / x[3 * i + 2]) ** 2) for i in range(n)
    )
    truth = np.concatenate([[rng.uniform(1, 5), rng.uniform(1, 9), rng.uniform(0.2, 0.9)] for _ in range(n)])
    data = model(truth) + 0.05 * rng.normal(size=80)
    return lambda x: float(f"{np.sum((model(x) - data) ** 2):.6g}"), [0, 0, 0.05] * n, [8, 10, 3] * n


def tones(rng: Any, size: int) -> Made:
    """Frequencies of a sampled signal, amplitudes solved: narrow basins on a plateau."""
    t, n = np.arange(40) / 40, 1 + size
    truth = rng.uniform(1, 12, n)
    data = sum(rng.uniform(0.5, 1.5) * np.sin(2 * np.pi * f * t + rng.uniform(0, 6)) for f in truth) + 0.1 * rng.normal(
        size=40
    )

    def fun(x: np.ndarray) -> float:
        A = np.concatenate([np.sin(2 * np.pi * np.outer(t, x)), np.cos(2 * np.pi * np.outer(t, x))], axis=1)
        solved = np.linalg.lstsq(A, data, rcond=1e-8)[0]
        return float(np.sum((A @ solved - data) ** 2))

    return fun, [0.5] * n, [15.0] * n


def volatility(rng: Any, size: int) -> Made:
    """GARCH(1,1) likelihood: a = 0 and a + b = 1 are walls, and beyond the latter is NaN."""
    r, v, shocks = np.zeros(400), 1e-4, rng.normal(size=400)
    truth = (rng.uniform(1e-6, 1e-5), rng.uniform(0.05, 0.2), rng.uniform(0.7, 0.85))
    for k in range(400):
        v = truth[0] + truth[1] * (r[k - 1] ** 2 if k else 1e-4) + truth[2] * v
        r[k] = v**0.5 * shocks[k]
    square = r * r

    def fun(x: np.ndarray) -> float:
        if x[1] + x[2] >= 1:
            return float("nan")
        v, total = float(np.mean(square)), 0.0
        for s in square:
            total += np.log(v) + s / v
            v = x[0] + x[1] * s + x[2] * v
        return 0.5 * total

    return fun, [1e-8, 0, 0], [1e-3, 0.5, 1]


def orbit(rng: Any, size: int) -> Made:
    """Radial velocities of a star with one planet: period, phase, eccentricity, direction; the rest is solved."""
    t = np.sort(rng.uniform(0, 60, 35))

    def design(x: np.ndarray) -> np.ndarray:
        period, phase, e, w = x
        mean = 2 * np.pi * (t / period - phase)
        E = mean.copy()
        for _ in range(8):
            E -= (E - e * np.sin(E) - mean) / (1 - e * np.cos(E))
        nu = 2 * np.arctan2((1 + e) ** 0.5 * np.sin(E / 2), (1 - e) ** 0.5 * np.cos(E / 2))
        return np.stack([np.cos(nu + w) + e * np.cos(w), np.ones_like(t)], axis=1)

    truth = np.array([rng.uniform(4, 20), rng.uniform(), rng.uniform(0.1, 0.6), rng.uniform(0, 6)])
    data = design(truth) @ np.array([10.0, 3.0]) + rng.normal(size=35)

    def fun(x: np.ndarray) -> float:
        A = design(x)
        return float(np.sum((A @ np.linalg.lstsq(A, data, rcond=None)[0] - data) ** 2))

    return fun, [2.0, 0, 0, 0], [30.0, 1, 0.9, 2 * np.pi]


def oscillator(rng: Any, size: int) -> Made:
    """A predator and prey model against samples, in raw rates; %g prints five digits, and explosions print nan."""
    start = np.array([10.0, 5.0])

    def curve(x: np.ndarray) -> np.ndarray:
        rate = lambda y: np.array([y[0] * (x[0] - x[1] * y[1]), y[1] * (x[2] * y[0] - x[3])])  # noqa: E731
        return rk4(rate, start, 0.1, 120)[::6]

    truth = np.array([rng.uniform(0.6, 1.4), rng.uniform(0.05, 0.2), rng.uniform(0.03, 0.1), rng.uniform(0.5, 1.2)])
    data = curve(truth) * (1 + 0.05 * rng.normal(size=(21, 2)))

    def fun(x: np.ndarray) -> float:
        with np.errstate(all="ignore"):
            return float(f"{np.mean((curve(x) - data) ** 2):.5g}")

    return fun, [0.1, 0.01, 0.005, 0.1], [3, 0.6, 0.3, 3]


def mixture(rng: Any, size: int) -> Made:
    """Minus log likelihood of a mixture of normals on a line, by logits, means and log deviations."""
    n = 2 + size
    data = np.concatenate([rng.normal(rng.uniform(-8, 8), rng.uniform(0.3, 1.5), 40) for _ in range(n)])

    def fun(x: np.ndarray) -> float:
        a, m, s = np.append(x[: n - 1], 0.0), x[n - 1 : 2 * n - 1], np.exp(x[2 * n - 1 :])
        a = a - np.log(np.sum(np.exp(a)))
        parts = a - 0.5 * ((data[:, None] - m) / s) ** 2 - np.log(s)
        top = parts.max(axis=1)
        return float(-np.mean(top + np.log(np.sum(np.exp(parts - top[:, None]), axis=1))))

    low, high = data.min(), data.max()
    return fun, [-4] * (n - 1) + [low] * n + [-2] * n, [4] * (n - 1) + [high] * n + [2.5] * n


def kernel(rng: Any, size: int) -> Made:
    """Leave-one-out error of kernel regression: logarithmic widths of features, and a ridge."""
    d = 3 + size
    X = rng.normal(size=(60, d))
    y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.3 * rng.normal(size=60)

    def fun(x: np.ndarray) -> float:
        Z = X * np.exp(x[:d])
        square = np.sum(Z * Z, axis=1)
        K = np.exp(-0.5 * (square[:, None] + square - 2 * Z @ Z.T))
        inverse = np.linalg.inv(K + np.exp(x[d]) * np.eye(60))
        return float(np.mean((inverse @ y / np.diag(inverse)) ** 2))

    return fun, [-5] * d + [-8], [3] * d + [3]


def hinge(rng: Any, size: int) -> Made:
    """A linear rule with hinge loss and an absolute penalty: kinks everywhere."""
    d = 4 + 2 * size
    X = rng.normal(size=(50, d))
    y = np.sign(X @ rng.normal(size=d) + 0.5 * rng.normal(size=50))
    return (
        lambda w: float(np.mean(np.maximum(0, 1 - y * (X @ w))) + 0.01 * np.sum(np.abs(w))),
        [-10] * d,
        [10] * d,
    )


def network(rng: Any, size: int) -> Made:
    """A network of few units with a robust loss."""
    units = 2 + size
    t = np.linspace(-2, 2, 40)
    y = np.sin(2 * t) * np.exp(-0.3 * t) + 0.1 * rng.normal(size=40)

    def fun(w: np.ndarray) -> float:
        a, b, v = w[:units], w[units : 2 * units], w[2 * units : 3 * units]
        r = np.tanh(np.outer(t, a) + b) @ v + w[-1] - y
        return float(np.mean(np.sqrt(1 + 4 * r * r) - 1) + 1e-4 * np.sum(w * w))

    return fun, [-6] * (3 * units + 1), [6] * (3 * units + 1)


def registration(rng: Any, size: int) -> Made:
    """A turned, moved and scaled cloud of points onto another, by nearest neighbours: kinks and several basins."""
    A = rng.normal(size=(40, 2)) * [3, 1]
    angle, scale, move = rng.uniform(0, 2 * np.pi), rng.uniform(0.7, 1.5), rng.uniform(-3, 3, 2)

    def moved(x: np.ndarray) -> np.ndarray:
        c, s = np.cos(x[0]), np.sin(x[0])
        return x[1] * A @ np.array([[c, s], [-s, c]]) + x[2:]

    B = moved(np.array([angle, scale, *move])) + 0.05 * rng.normal(size=(40, 2))

    def fun(x: np.ndarray) -> float:
        gaps = np.sum((moved(x)[:, None, :] - B) ** 2, axis=2)
        return float(np.mean(gaps.min(axis=1)) + np.mean(gaps.min(axis=0)))

    return fun, [0, 0.3, -6, -6], [2 * np.pi, 3, 6, 6]


def gravity(rng: Any, size: int) -> Made:
    """Buried masses from their pull along a line: depth and place trade off."""
    t, n = np.linspace(-10, 10, 41), 1 + size
    pull = lambda x: sum(  # noqa: E731
        x[3 * i + 2] * x[3 * i + 1] / ((t - x[3 * i]) ** 2 + x[3 * i + 1] ** 2) ** 1.5 for i in range(n)
    )
    truth = np.concatenate([[rng.uniform(-7, 7), rng.uniform(1, 4), rng.uniform(3, 15)] for _ in range(n)])
    data = pull(truth) + 0.01 * rng.normal(size=41)
    return lambda x: float(np.sum((pull(x) - data) ** 2)), [-10, 0.5, 0.1] * n, [10, 8, 30] * n
