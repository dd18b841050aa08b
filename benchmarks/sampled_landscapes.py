"""Smooth landscapes sampled from a prior so broad that no two are alike, for decisions of a descent to be learned on.

    f(x) = a T(u(z)) + b,   z = scale R (x - c),   u = one or two of the kinds below and a weak bowl

    ridges    sum_k w_k phi_k(a_k . z + b_k), phi a bowl, a quartic, a cone, a softplus, a wave, a saturating bowl
    network   sum_i rho(v_i . sigma(W z + b) - y_i): least squares, plain or robust, of two layers
    chain     sum_i k_i (z_i - p_i(z_parent))^2 along a random tree: bent valleys
    curve     least squares of peaks, waves or decays at 40 places
    quadratic with a condition from 1 to 1e6

T is the identity, a logarithm, a root or a power. Values and gradients are NumPy's. Half of them have bounds, and of
these some have their minimum on a side. None belongs to a suite or a family of `shapeopt.tasks`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Pair = tuple[float, np.ndarray]
Fun = Callable[[np.ndarray], Pair]
DIMENSIONS = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40)
SAMPLES = 40


@dataclass(frozen=True, eq=False)
class Landscape:
    """An objective in the internal coordinates of a run, where it starts, and the bounds."""

    kind: str
    fun: Fun
    x0: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


def log_uniform(rng: Any, low: float, high: float, size: Any = None) -> Any:
    return low * (high / low) ** rng.uniform(size=size)


def ridges(rng: Any, d: int) -> Fun:
    n = int(rng.integers(d, 4 * d + 4))
    A = rng.normal(size=(n, d)) / d**0.5 * log_uniform(rng, 0.3, 3.0, (n, 1))
    if rng.uniform() < 0.4:  # a few coordinates each
        A = A * (rng.uniform(size=(n, d)) < 3.0 / d)
    b, w = rng.normal(size=n), log_uniform(rng, 0.1, 10.0, n)
    which = np.eye(6)[rng.choice(6, size=n, p=rng.dirichlet(np.ones(6)))].T

    def fun(z: np.ndarray) -> Pair:
        t = A @ z + b
        t2, root, s, c = t * t, np.sqrt(1.0 + t * t), np.sin(t), np.cos(t)
        e = np.exp(-np.abs(t))
        values = (t2, t2 * t2, root, np.maximum(t, 0.0) + np.log1p(e), s, t2 / (1.0 + t2))
        slopes = (2 * t, 4 * t * t2, t / root, np.where(t > 0, 1.0, e) / (1.0 + e), c, 2 * t / (1.0 + t2) ** 2)
        value = sum(m * v for m, v in zip(which, values, strict=True))
        slope = sum(m * v for m, v in zip(which, slopes, strict=True))
        return float(w @ value), A.T @ (w * slope)

    return fun


def network(rng: Any, d: int) -> Fun:
    units, n = int(rng.integers(2, 2 * d + 3)), int(rng.integers(d, 3 * d + 3))
    W = rng.normal(size=(units, d)) / d**0.5 * log_uniform(rng, 0.5, 3.0)
    b, V = rng.normal(size=units), rng.normal(size=(n, units)) * log_uniform(rng, 0.1, 10.0, (n, 1))
    direct = rng.normal(size=(n, d)) * log_uniform(rng, 0.01, 1.0)
    waves, robust = rng.uniform() < 0.3, rng.uniform() < 0.3
    z1 = rng.normal(size=d)
    sigma = np.sin if waves else np.tanh
    y = V @ sigma(W @ z1 + b) + direct @ z1 + log_uniform(rng, 1e-3, 1.0) * rng.normal(size=n)

    def fun(z: np.ndarray) -> Pair:
        t = W @ z + b
        h = sigma(t)
        slope = np.cos(t) if waves else 1.0 - h * h
        r = V @ h + direct @ z - y
        if robust:
            root = np.sqrt(1.0 + r * r)
            value, force = (root - 1.0).sum(), r / root
        else:
            value, force = 0.5 * (r @ r), r
        return float(value), W.T @ (slope * (V.T @ force)) + direct.T @ force

    return fun


def chain(rng: Any, d: int) -> Fun:
    parent = np.array([max(0, i - 1 - int(rng.integers(0, 3))) for i in range(d)])
    k = log_uniform(rng, 1.0, 1e4) * log_uniform(rng, 0.5, 2.0, d)
    k[0] = 0.0
    w = log_uniform(rng, 1e-2, 1.0) * np.ones(d)
    a, b, c, omega = rng.normal(size=d), 0.5 * rng.normal(size=d), rng.normal(size=d), rng.uniform(0.5, 2.0, d)
    goal = rng.normal(size=d)

    def fun(z: np.ndarray) -> Pair:
        t = z[parent]
        r = z - a * t - b * t * t - c * np.sin(omega * t)
        kr, rest = k * r, z - goal
        g = 2.0 * kr + 2.0 * w * rest
        np.add.at(g, parent, -2.0 * kr * (a + 2 * b * t + c * omega * np.cos(omega * t)))
        return float(kr @ r + (w * rest) @ rest), g

    return fun


def curve(rng: Any, d: int) -> Fun:
    parts = -(-d // 3)
    t = np.linspace(-2, 2, SAMPLES)[:, None]
    which = int(rng.integers(3))
    spread = log_uniform(rng, 0.1, 0.7)
    low, high = np.array([[0.5, -2, -0.5, 0.5, 1, -2, 0.5, 0.3, -0.3], [2, 2, 1, 2, 4, 2, 2, 1.5, 0.3]]).reshape(
        2, 3, 3
    )
    truth = rng.uniform(low[which], high[which], (parts, 3))

    def model(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        a, b, c = theta.T
        if which == 0:
            sharp = np.exp(2 * np.clip(c, -3, 3))
            e = np.exp(-sharp * (t - b) ** 2)
            inside = (np.abs(c) < 3) * 1.0
            return (a * e).sum(axis=1), np.stack(
                [e, a * e * 2 * sharp * (t - b), -a * e * 2 * sharp * (t - b) ** 2 * inside], axis=2
            )
        if which == 1:
            s, k = np.sin(b * t + c), np.cos(b * t + c)
            return (a * s).sum(axis=1), np.stack([s, a * k * t, a * k], axis=2)
        e = np.exp(-(b**2) * (t + 2))
        one = t + 0 * c
        return (a * e + c * t).sum(axis=1), np.stack([e, -2 * b * a * (t + 2) * e, one], axis=2)

    data = model(truth)[0] + log_uniform(rng, 1e-3, 0.3) * rng.normal(size=SAMPLES)

    def fun(z: np.ndarray) -> Pair:
        full = np.zeros(3 * parts)
        full[:d] = z
        curve_, slopes = model(truth + spread * full.reshape(parts, 3))
        r = curve_ - data
        g = 2.0 * spread * np.einsum("t,tpk->pk", r, slopes).ravel()[:d]
        return float(r @ r), g

    return fun


def quadratic(rng: Any, d: int) -> Fun:
    k = log_uniform(rng, 1.0, 1e6) ** rng.uniform(-1, 0, d)
    return lambda z: (0.5 * float((k * z) @ z), k * z)


KINDS = (ridges, network, chain, curve, quadratic)
SHARES = (0.3, 0.25, 0.2, 0.17, 0.08)


def outer(rng: Any) -> Callable[[float], tuple[float, float]]:
    """T and its slope, of a value above its floor by u >= 0."""
    c, p, which = log_uniform(rng, 0.1, 10.0), rng.uniform(0.4, 2.0), rng.choice(4, p=(0.6, 0.15, 0.1, 0.15))
    if which == 1:
        return lambda u: (np.log1p(u / c), 1.0 / (c + u))
    if which == 2:
        return lambda u: (np.sqrt(1.0 + u / c), 0.5 / (c * np.sqrt(1.0 + u / c)))
    if which == 3:
        return lambda u: ((c + u) ** p, p * (c + u) ** (p - 1.0))
    return lambda u: (u, 1.0)


def sample(seed: int) -> Landscape:
    """The landscape of a seed."""
    rng = np.random.default_rng([seed, 2501])
    d = int(rng.choice(DIMENSIONS))
    makers = [KINDS[i] for i in rng.choice(len(KINDS), size=1 if rng.uniform() < 0.75 else 2, p=SHARES)]
    parts = [make(rng, d) for make in makers]
    weights = [1.0] + [log_uniform(rng, 0.1, 10.0)] * (len(parts) - 1)
    bowl, T, a = log_uniform(rng, 1e-4, 0.3), outer(rng), log_uniform(rng, 1e-4, 1e4)
    centre = rng.uniform(-2, 2, d)
    scale = log_uniform(rng, 1.0, 100.0 if rng.uniform() < 0.5 else 3.0) ** rng.uniform(-1, 1, d)
    R = np.linalg.qr(rng.normal(size=(d, d)))[0] if rng.uniform() < 0.5 else np.eye(d)
    S = scale[:, None] * R

    def inner(x: np.ndarray) -> Pair:
        z = S @ (x - centre)
        value, g = 0.5 * bowl * float(z @ z), bowl * z
        for w, part in zip(weights, parts, strict=True):
            v, h = part(z)
            value, g = value + w * v, g + w * h
        return value, S.T @ g

    x0 = rng.uniform(-4, 4, d)
    bounded = bool(rng.uniform() < 0.5)
    lower, upper = np.full(d, -5.0 if bounded else -np.inf), np.full(d, 5.0 if bounded else np.inf)
    floor = lowest(inner, x0, bounded)

    def fun(x: np.ndarray) -> Pair:
        with np.errstate(all="ignore"):
            u, g = inner(x)
            value, slope = T(max(u - floor, 0.0))
        return a * value, (a * slope) * g

    return Landscape(" + ".join(make.__name__ for make in makers), fun, x0, lower, upper)


def lowest(fun: Fun, x0: np.ndarray, bounded: bool) -> float:
    """A value a little below the bottom that L-BFGS-B finds, above which T is applied."""
    from scipy.optimize import minimize

    bounds = [(-5, 5)] * x0.size if bounded else None
    with np.errstate(all="ignore"):
        found = minimize(fun, x0, jac=True, bounds=bounds, method="L-BFGS-B", options={"maxfun": 300}).fun
        start = fun(x0)[0]
    return float(found - 0.1 * abs(start - found) - 1e-12)
