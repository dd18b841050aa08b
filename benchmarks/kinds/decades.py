"""Kinds with bounds that are decades apart."""

from typing import Any

import numpy as np

from .base import Made


def arrhenius(rng: Any, size: int) -> Made:
    """Rates at six temperatures from two reactions in a row: factors over many decades, energies."""
    T, times = np.linspace(320, 420, 6)[:, None], np.linspace(5, 200, 8)

    def share(x: np.ndarray) -> np.ndarray:
        k1, k2 = x[0] * np.exp(-x[1] / (8.314 * T)), x[2] * np.exp(-x[3] / (8.314 * T))
        gap = np.where(np.abs(k2 - k1) < 1e-12, 1e-12, k2 - k1)
        return k1 / gap * (np.exp(-np.minimum(k1 * times, 700)) - np.exp(-np.minimum(k2 * times, 700)))

    truth = np.array([10 ** rng.uniform(5, 7), 5.5e4, 10 ** rng.uniform(8, 10), 8e4])
    data = share(truth) + 0.01 * rng.normal(size=(6, 8))
    return lambda x: float(np.sum((share(x) - data) ** 2)), [1e2, 2e4, 1e2, 2e4], [1e13, 1.5e5, 1e13, 1.5e5]


def dose(rng: Any, size: int) -> Made:
    """Response to two drugs that act together: half-effect doses in mol/l, slopes, their interaction, in raw units."""
    a, b = 10 ** rng.uniform(-9, -4, 40), 10 ** rng.uniform(-8, -3, 40)

    def effect(x: np.ndarray) -> np.ndarray:
        u, v = (a / x[0]) ** x[2], (b / x[1]) ** x[3]
        return x[4] / (1 + u + v + x[5] * u * v)

    truth = np.array([10 ** rng.uniform(-8, -6), 10 ** rng.uniform(-7, -5), 1.2, 0.8, 90.0, rng.uniform(0.1, 5)])
    data = effect(truth) + 2 * rng.normal(size=40)
    fun = lambda x: float(np.mean((effect(x) - data) ** 2))  # noqa: E731
    return fun, [1e-10, 1e-10, 0.2, 0.2, 10, 1e-3], [1e-3, 1e-2, 5, 5, 200, 1e2]


def circuit(rng: Any, size: int) -> Made:
    """Impedance of a cell over frequencies: resistances, capacities and a diffusion term, in ohms and farads."""
    w = 2j * np.pi * np.logspace(-1, 5, 30)

    def impedance(x: np.ndarray) -> np.ndarray:
        far = x[4] / np.sqrt(w)
        return x[0] + 1 / (w * x[2] + 1 / (x[1] + far)) + 1j * 0

    truth = np.array(
        [rng.uniform(5, 50), 10 ** rng.uniform(2, 3), 10 ** rng.uniform(-6, -4), 0, 10 ** rng.uniform(1, 2)]
    )
    data = impedance(truth) * (1 + 0.02 * rng.normal(size=30))
    fun = lambda x: float(np.sum(np.abs(impedance(np.insert(x, 3, 0)) / data - 1) ** 2))  # noqa: E731
    return fun, [0.1, 1, 1e-9, 0.1], [1e4, 1e6, 1e-1, 1e4]


def lengths(rng: Any, size: int) -> Made:
    """Minus log likelihood of a Gaussian process: variance, length scales and noise in raw units."""
    d = 2 + size
    X = rng.uniform(0, 10, (30, d)) * ([1, 100, 0.1][:d])
    y = np.sin(X[:, 0]) + 0.01 * X[:, 1] + 0.1 * rng.normal(size=30)

    def fun(x: np.ndarray) -> float:
        gaps = ((X[:, None] - X) / x[1 : d + 1]) ** 2
        K = x[0] * np.exp(-0.5 * gaps.sum(axis=2)) + (x[d + 1] + 1e-10) * np.eye(30)
        try:
            L = np.linalg.cholesky(K)
        except np.linalg.LinAlgError:
            return float("nan")
        z = np.linalg.solve(L, y)
        return float(0.5 * z @ z + np.log(np.diag(L)).sum())

    return fun, [1e-3] + [1e-2] * d + [1e-8], [1e3] + [1e4] * d + [1e1]


def ridge(rng: Any, size: int) -> Made:
    """Error on held-out rows of kernel ridge regression: width, penalty and weight of a second kernel, in raw units."""
    X = rng.normal(size=(90, 5))
    y = np.tanh(X[:, 0] * X[:, 1]) + X[:, 2] + 0.2 * rng.normal(size=90)
    gaps, inner = np.sum((X[:, None] - X) ** 2, axis=2), X @ X.T

    def fun(x: np.ndarray) -> float:
        K = np.exp(-x[0] * gaps) + x[2] * inner
        fitted = K[60:, :60] @ np.linalg.solve(K[:60, :60] + x[1] * np.eye(60), y[:60])
        return float(np.mean((fitted - y[60:]) ** 2))

    return fun, [1e-6, 1e-6, 1e-6], [1e3, 1e3, 1e3]


def decay(rng: Any, size: int) -> Made:
    """A chain of decays, counted: half-lives from minutes to months, amounts."""
    n, t = 2 + size, np.logspace(-1, 4, 40)
    activity = lambda x: sum(  # noqa: E731
        x[2 * i + 1] * np.log(2) / x[2 * i] * np.exp2(-t / x[2 * i]) for i in range(n)
    )
    truth = np.concatenate([[10 ** rng.uniform(-0.5, 3.5), 10 ** rng.uniform(2, 6)] for _ in range(n)])
    data = rng.poisson(np.minimum(activity(truth), 1e12)) + 0.5

    def fun(x: np.ndarray) -> float:
        mean = activity(x) + 1e-3
        return float(np.sum(mean - data + data * np.log(data / mean)))

    return fun, [1e-1, 1] * n, [1e4, 1e8] * n


def beam(rng: Any, size: int) -> Made:
    """A welded beam: sizes of a few inches whose lower bounds only guard against zero; penalties at the limits."""
    load = rng.uniform(3000, 9000)

    def fun(x: np.ndarray) -> float:
        h, length, t, b = x
        shear, R = load / (np.sqrt(2) * h * length), np.sqrt(length**2 / 4 + ((h + t) / 2) ** 2)
        J = 2 * np.sqrt(2) * h * length * (length**2 / 12 + ((h + t) / 2) ** 2)
        bend = load * (14 + length / 2) * R / J
        tau = np.sqrt(shear**2 + shear * bend * length / R + bend**2)
        over = max(tau / 13600 - 1, 0) + max(6 * load * 14 / (b * t * t) / 30000 - 1, 0)
        over += max(4 * load * 14**3 / (3e7 * t**3 * b) / 0.25 - 1, 0) + max(h - b, 0)
        return float(1.1 * h * h * length + 0.048 * t * b * (14 + length) + 10 * min(over, 1e6))

    return fun, [1e-3, 1e-3, 1e-3, 1e-3], [10.0, 10.0, 10.0, 10.0]


def bands(rng: Any, size: int) -> Made:
    """Heights, places and widths of spectral bands; every lower bound is a small positive number."""
    n, t = 2 + size, np.linspace(0, 10, 60)
    model = lambda x: sum(  # noqa: E731
        x[3 * i] * np.exp(-0.5 * ((t - x[3 * i + 1]) / x[3 * i + 2]) ** 2) for i in range(n)
    )
    truth = np.concatenate([[rng.uniform(1, 8), rng.uniform(1, 9), rng.uniform(0.4, 1.2)] for _ in range(n)])
    data = model(truth) + 0.05 * rng.normal(size=60)
    return lambda x: float(np.sum((model(x) - data) ** 2)), [1e-3] * 3 * n, [10.0] * 3 * n
