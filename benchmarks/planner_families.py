"""Forty-eight generated families for the choice among tactics: eight kinds, six draws of a kind's own numbers each.

An instance is drawn from its family's numbers and a seed; its lowest basin lies anywhere in the box [-5, 5]^d.
Values and gradients are NumPy's. None belongs to a suite.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Pair = tuple[float, np.ndarray]
Fun = Callable[[np.ndarray], Pair]
BOX = 5.0
KINDS = ("ripples", "separable", "wells", "waves", "network", "curve", "valley", "plateau")
DRAWS = 6  # families of a kind


@dataclass(frozen=True)
class Family:
    """A kind and the seed of its numbers."""

    kind: str
    number: int

    @property
    def name(self) -> str:
        return f"{self.kind} {self.number}"

    def sample(self, d: int, seed: int) -> Fun:
        """An instance of d coordinates."""
        own = np.random.default_rng([KINDS.index(self.kind), self.number, 11])
        return MAKE[self.kind](own.uniform(size=6), d, np.random.default_rng([seed, d, 12]))


def families() -> list[Family]:
    return [Family(kind, number) for kind in KINDS for number in range(DRAWS)]


def log_between(u: float, low: float, high: float) -> float:
    return float(low * (high / low) ** u)


def turn(rng: Any, d: int, turned: bool) -> np.ndarray:
    return np.linalg.qr(rng.normal(size=(d, d)))[0] if turned else np.eye(d)


def ripples(u: np.ndarray, d: int, rng: Any) -> Fun:
    """A cup of some condition with ripples along turned axes."""
    R, place = turn(rng, d, True), rng.uniform(-BOX, BOX, d)
    k, height, omega = np.geomspace(1.0, log_between(u[0], 1, 300), d), log_between(u[1], 0.3, 30), 1.5 + 5 * u[2]

    def fun(x: np.ndarray) -> Pair:
        z = R @ (x - place)
        value = 0.5 * (k * z) @ z + height * (1 - np.cos(omega * z)).sum()
        return float(value), R.T @ (k * z + height * omega * np.sin(omega * z))

    return fun


def separable(u: np.ndarray, d: int, rng: Any) -> Fun:
    """A sum of functions of one coordinate, each a bowl with two waves."""
    place, phase = rng.uniform(-BOX, BOX, d), rng.uniform(0, 2 * np.pi, (2, d))
    w = np.array([[1.0 + 2 * u[0]], [3.0 + 4 * u[1]]])
    a = np.array([[log_between(u[2], 0.3, 5)], [log_between(u[3], 0.3, 5)]])
    stiff = log_between(u[4], 1, 100) ** rng.uniform(0, 1, d)

    def fun(x: np.ndarray) -> Pair:
        z = x - place
        angle = w * z + phase
        return float((stiff * (0.5 * z * z - (a * np.cos(angle)).sum(axis=0))).sum()), stiff * (
            z + (a * w * np.sin(angle)).sum(axis=0)
        )

    return fun


def wells(u: np.ndarray, d: int, rng: Any) -> Fun:
    """Gaussian wells of several widths on a weak bowl."""
    count = int(5 + 35 * u[0])
    centres = rng.uniform(-BOX, BOX, (count, d))
    square = (log_between(u[1], 0.7, 3.0) * log_between(u[2], 1, 3) ** rng.uniform(-1, 1, count)) ** 2 * d
    depth, weak = rng.uniform(0.3, 1.0, count) ** log_between(u[3], 0.3, 2), 0.02 * u[4] / d

    def fun(x: np.ndarray) -> Pair:
        gaps = x - centres
        each = depth * np.exp(-0.5 * (gaps * gaps).sum(axis=1) / square)
        return float(weak * x @ x - each.sum()), 2 * weak * x + (each / square) @ gaps

    return fun


def waves(u: np.ndarray, d: int, rng: Any) -> Fun:
    """A random field of plane waves with a trend."""
    n = 10 + 4 * d
    W = rng.normal(size=(n, d)) / d**0.5 * log_between(u[0], 0.5, 4.0)
    phase, height, place = rng.uniform(0, 2 * np.pi, n), rng.normal(size=n), rng.uniform(-BOX, BOX, d)
    trend = log_between(u[1], 0.02, 1.0)

    def fun(x: np.ndarray) -> Pair:
        angle, z = W @ x + phase, x - place
        return float(height @ np.sin(angle) + trend * z @ z), W.T @ (height * np.cos(angle)) + 2 * trend * z

    return fun


def network(u: np.ndarray, d: int, rng: Any) -> Fun:
    """Least squares of a layer of waves or of tanh, the planted inputs anywhere."""
    n, units = 2 * d + 3, int(d * (1 + u[0])) + 2
    W, b = rng.normal(size=(units, d)) / d**0.5 * log_between(u[1], 0.5, 2.0), rng.normal(size=units)
    V, wave = rng.normal(size=(n, units)) / units**0.5, u[2] < 0.5
    sigma = np.sin if wave else np.tanh
    y = V @ sigma(W @ rng.uniform(-BOX, BOX, d) + b) + 0.1 * u[3] * rng.normal(size=n)

    def fun(x: np.ndarray) -> Pair:
        t = W @ x + b
        h = sigma(t)
        r = V @ h - y
        return float(r @ r) + 1e-4 * float(x @ x), 2 * W.T @ ((np.cos(t) if wave else 1 - h * h) * (V.T @ r)) + 2e-4 * x

    return fun


def curve(u: np.ndarray, d: int, rng: Any) -> Fun:
    """Peaks or waves fitted to noisy samples: heights and places are free."""
    t, parts, peaks = np.linspace(0, 1, 40)[:, None], -(-d // 2), u[0] < 0.5
    width, omega = log_between(u[1], 0.05, 0.3), 4 + 20 * u[2]

    def model(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        a, b = theta[:, 0] / BOX, 0.5 + theta[:, 1] / (2 * BOX)
        if peaks:
            z = (t - b) / width
            e = np.exp(-0.5 * z * z)
            slopes = np.stack([e / BOX, a * e * z / width / (2 * BOX)], axis=2)
            return (a * e).sum(axis=1), slopes
        angle = omega * (0.5 + b) * t
        return (a * np.sin(angle)).sum(axis=1), np.stack(
            [np.sin(angle) / BOX, a * np.cos(angle) * omega * t / (2 * BOX)], axis=2
        )

    def full(x: np.ndarray) -> np.ndarray:
        theta = np.full(2 * parts, 2.0)
        theta[:d] = x
        return theta.reshape(parts, 2)

    data = model(full(rng.uniform(-BOX, BOX, d)))[0] + 0.1 * u[3] * rng.normal(size=40)

    def fun(x: np.ndarray) -> Pair:
        made, slopes = model(full(x))
        r = made - data
        return float(r @ r), 2 * np.einsum("t,tpk->pk", r, slopes).ravel()[:d]

    return fun


def valley(u: np.ndarray, d: int, rng: Any) -> Fun:
    """A bent valley from coordinate to coordinate, with waves along it."""
    place, k = rng.uniform(-BOX, BOX, d), log_between(u[0], 3, 1e4)
    bend, omega, height = 2 * u[1], 0.5 + 2 * u[2], log_between(u[3], 0.1, 5)

    def fun(x: np.ndarray) -> Pair:
        z = x - place
        r = z[1:] - bend * np.sin(omega * z[:-1])
        g = z + height * 3 * np.sin(3 * z)
        g[1:] += 2 * k * r
        g[:-1] -= 2 * k * r * bend * omega * np.cos(omega * z[:-1])
        return float(0.5 * z @ z + height * (1 - np.cos(3 * z)).sum() + k * r @ r), g

    return fun


def plateau(u: np.ndarray, d: int, rng: Any) -> Fun:
    """A saturating, rooted or logarithmic function of a bowl with ripples."""
    place, R = rng.uniform(-BOX, BOX, d), turn(rng, d, u[5] < 0.5)
    c, height, omega = log_between(u[0], 0.1, 10), log_between(u[1], 0.1, 3), 2 + 4 * u[2]

    def fun(x: np.ndarray) -> Pair:
        z = R @ (x - place)
        v = (z @ z + height * (1 - np.cos(omega * z)).sum()) / d
        g = R.T @ (2 * z + height * omega * np.sin(omega * z)) / d
        if u[3] < 0.4:
            return float(v / (c + v)), c / (c + v) ** 2 * g
        if u[3] < 0.7:
            return float(np.log1p(v / c)), g / (c + v)
        return float(np.sqrt(0.01 + v)), 0.5 / np.sqrt(0.01 + v) * g

    return fun


MAKE: dict[str, Callable[[np.ndarray, int, Any], Fun]] = {
    "ripples": ripples,
    "separable": separable,
    "wells": wells,
    "waves": waves,
    "network": network,
    "curve": curve,
    "valley": valley,
    "plateau": plateau,
}
