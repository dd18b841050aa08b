"""Objectives as users have them, with the values that they return: 37 kinds, each in two instances.

Designs (filters, arrays, films, trusses, gears), fits of models to made data (kinetics, spectra, epidemics,
volatility, orbits), layouts (facilities, sensors, arms among obstacles), hyperparameters, and decisions under sampled
scenarios. Among them: active bounds, scales that differ by powers of ten, values rounded to a few digits, kinks,
plateaus, cliffs, holes (NaN) and many basins. Data are made from a fixed seed. Every other kind belongs to the half
`dev`, on which rules may be tuned; the others are for confirmation. None is of a suite.

With gradients, a reading brings central differences beside the value, which nobody counts; kinds whose values are
rounded or count whole pieces are left out then.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from shapeopt.bench.suites.base import DEV, TEST, Objective, SuiteProblem

Value = Callable[[np.ndarray], float]
Made = tuple[Value, Any, Any]  # the function, lower and upper bounds
INSTANCES = 2
STEPPED = ("peaks", "oscillator", "gear", "stock")  # kinds without a gradient
DIFFERENCE = 1e-6  # of the bounds' width, or of x where they are decades apart
CALLS = {False: (40, 100, 600), True: (15, 60, 300)}  # without and with gradients: a dimension; at least and at most


def rk4(rate: Callable[[np.ndarray], np.ndarray], y: np.ndarray, step: float, count: int) -> np.ndarray:
    """States at `count` steps of a rate of change."""
    states = [y]
    with np.errstate(all="ignore"):
        for _ in range(count):
            k1 = rate(y)
            k2 = rate(y + 0.5 * step * k1)
            k3 = rate(y + 0.5 * step * k2)
            y = y + step / 6 * (k1 + 2 * k2 + 2 * k3 + rate(y + step * k3))
            states.append(y)
    return np.array(states)


# ---------------------------------------------------------------------------------------------------- fits


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


# ------------------------------------------------------------------------------------------------- designs


def film(rng: Any, size: int) -> Made:
    """Thicknesses of a stack of thin films, for little reflection over a band: many basins, far from round ones."""
    n, waves = 3 + 2 * size, np.linspace(420, 680, 27)
    index = np.where(np.arange(n) % 2 == 0, 2.3, 1.46) + 0.02 * rng.normal(size=n)

    def fun(x: np.ndarray) -> float:
        E = np.broadcast_to(np.eye(2, dtype=complex), (27, 2, 2))
        for thick, k in zip(x, index, strict=True):
            phase = 2 * np.pi * k * thick / waves
            c, s = np.cos(phase), 1j * np.sin(phase)
            E = E @ np.stack([np.stack([c, s / k], -1), np.stack([k * s, c], -1)], -2)
        B, C = E[:, 0, 0] + 1.52 * E[:, 0, 1], E[:, 1, 0] + 1.52 * E[:, 1, 1]
        return float(100 * np.mean(np.abs((B - C) / (B + C)) ** 2))

    return fun, [10] * n, [250] * n


def array(rng: Any, size: int) -> Made:
    """Places of antennas on a line, for a low highest side lobe: a maximum of many waves."""
    n, u = 5 + 2 * size, np.linspace(0.12, 1, 120)
    aim = rng.uniform(-0.1, 0.1)

    def fun(x: np.ndarray) -> float:
        at = np.cumsum(x)
        power = np.abs(np.exp(2j * np.pi * np.outer(u - aim, at)).sum(axis=1) + 1) ** 2 / (n + 1) ** 2
        return float(10 * np.log10(power.max()))

    return fun, [0.3] * n, [1.5] * n


def network_filter(rng: Any, size: int) -> Made:
    """Coils and capacitors of a ladder, in logarithms, for a pass band: the largest deviation in decibel."""
    n, s = 3 + 2 * size, 2j * np.pi * np.concatenate([np.linspace(0.02, 0.9, 30), np.linspace(1.6, 4, 20)])
    goal = np.concatenate([np.zeros(30), np.full(20, -30.0 - 10 * size)])

    def fun(x: np.ndarray) -> float:
        part, out = np.exp(x) / (2 * np.pi), np.ones_like(s)
        current = out / 1.0
        for k in range(n):
            if k % 2 == 0:
                current = current + s * part[k] * out
            else:
                out = out + s * part[k] * current
        gain = 20 * np.log10(2 / np.abs(out + current) + 1e-12)
        over = np.where(goal < 0, np.maximum(gain - goal, 0), np.abs(gain))
        return float(over.max())

    return fun, [-4] * n, [4] * n


def truss(rng: Any, size: int) -> Made:
    """Areas of a cantilever of bars: weight, and a steep penalty where a stress or the deflection is too high."""
    cells = 2 + size
    nodes = np.array([[i, j] for i in range(cells + 1) for j in (0.0, 1.0)]) * 3.0
    bars = [(2 * i, 2 * i + 2) for i in range(cells)] + [(2 * i + 1, 2 * i + 3) for i in range(cells)]
    bars += [(2 * i + 1, 2 * i + 2) for i in range(cells)] + [(2 * i + 2, 2 * i + 3) for i in range(cells)]
    lengths = np.array([np.linalg.norm(nodes[b] - nodes[a]) for a, b in bars])
    ways = np.array([(nodes[b] - nodes[a]) for a, b in bars]) / lengths[:, None]
    load = np.zeros(2 * len(nodes))
    load[-3] = -rng.uniform(5e4, 2e5)
    free = np.arange(4, 2 * len(nodes))

    def fun(x: np.ndarray) -> float:
        K = np.zeros((2 * len(nodes),) * 2)
        for (a, b), length, way, area in zip(bars, lengths, ways, x * 1e-4, strict=True):
            row = np.concatenate([-way, way])
            at = [2 * a, 2 * a + 1, 2 * b, 2 * b + 1]
            K[np.ix_(at, at)] += 2e11 * area / length * np.outer(row, row)
        u = np.zeros(2 * len(nodes))
        u[free] = np.linalg.solve(K[np.ix_(free, free)], load[free])
        stress = np.array(
            [
                2e11 * way @ (u[2 * b : 2 * b + 2] - u[2 * a : 2 * a + 2]) / length
                for (a, b), length, way in zip(bars, lengths, ways, strict=True)
            ]
        )
        weight = 7850 * np.sum(lengths * x * 1e-4)
        over = np.maximum(np.abs(stress) / 2e8 - 1, 0).sum() + max(np.abs(u).max() / 0.02 - 1, 0)
        return float(weight * (1 + 10 * over))

    return fun, [0.5] * len(bars), [60.0] * len(bars)


def controller(rng: Any, size: int) -> Made:
    """Gains of a controller of a plant with dead time: ITAE by simulation with clipped input; blows up beyond."""
    a, b, delay = rng.uniform(0.5, 2), rng.uniform(0.5, 2), int(rng.integers(4, 9))

    def fun(x: np.ndarray) -> float:
        y = v = total = integral = last = 0.0
        sent = [0.0] * delay
        for k in range(150):
            error = 1 - y
            integral += 0.05 * error
            u = x[0] * error + x[1] * integral + x[2] * (error - last) / 0.05
            last = error
            sent.append(min(max(u, -5.0), 5.0))
            v += 0.05 * (sent[-1 - delay] * b - a * v - y)
            y += 0.05 * v
            total += 0.05 * (0.05 * k) * abs(error) + 1e-3 * abs(u - x[1] * integral) * 0.05
        return total

    return fun, [0, 0, 0], [20, 10, 10]


def reactor(rng: Any, size: int) -> Made:
    """A batch reactor's temperatures over time, for the yield of an intermediate: flat where nothing reacts."""
    n = 3 + size
    e1, e2 = rng.uniform(2200, 2800), rng.uniform(4500, 5500)

    def fun(x: np.ndarray) -> float:
        y = np.array([1.0, 0.0])
        for heat in x:
            k1, k2 = 4000 * np.exp(-e1 / heat), 6.2e5 * np.exp(-e2 / heat)
            rate = lambda z: np.array([-k1 * z[0] ** 2, k1 * z[0] ** 2 - k2 * z[1]])  # noqa: B023, E731
            y = rk4(rate, y, 1.0 / n / 4, 4)[-1]
        return -float(y[1])

    return fun, [298.0] * n, [398.0] * n


def gear(rng: Any, size: int) -> Made:
    """Numbers of teeth that are rounded inside: a staircase of plateaus."""
    goal, n = rng.uniform(3, 9), 4 + 2 * size

    def fun(x: np.ndarray) -> float:
        teeth = np.round(x)
        return float(abs(np.log(np.prod(teeth[::2]) / np.prod(teeth[1::2]) * goal)) + 1e-3 * np.sum(teeth))

    return fun, [12.0] * n, [60.0] * n


def heat(rng: Any, size: int) -> Made:
    """Fins that cool a wall: costs with powers of sizes, in millimetres and metres, at active bounds."""
    q = rng.uniform(50, 200)

    def fun(x: np.ndarray) -> float:
        thick, length, gap, speed = x[0] * 1e-3, x[1] * 1e-3, x[2] * 1e-3, x[3]
        h = 12 * speed**0.6 * (gap / 0.01) ** 0.3
        m = np.sqrt(2 * h / (180 * thick))
        count = 0.3 / (thick + gap)
        removed = count * h * 2 * length * 0.3 * np.tanh(m * length) / (m * length) * 40
        cost = 2700 * count * thick * length * 0.3 * 5 + 0.02 * speed**3 + 40 * thick * count
        return float(cost + 20 * max(0.0, q * 8 - removed) ** 2 / q**2)

    return fun, [0.5, 5, 1, 0.5], [5, 80, 20, 10]


# ------------------------------------------------------------------------------------- layouts and decisions


def facilities(rng: Any, size: int) -> Made:
    """Places of depots among customers, who go to the nearest one."""
    n = 2 + 2 * size
    at, weight = rng.normal(size=(60, 2)) * 2 + rng.choice([-4, 0, 4], (60, 2)), rng.uniform(0.2, 2, 60)

    def fun(x: np.ndarray) -> float:
        gaps = np.linalg.norm(at[:, None, :] - x.reshape(n, 2), axis=2)
        return float(weight @ gaps.min(axis=1))

    return fun, [-9.0] * (2 * n), [9.0] * (2 * n)


def sensors(rng: Any, size: int) -> Made:
    """Points in a square, as far from each other and from its holes as they can be."""
    n, holes = 3 + size, rng.uniform(0, 1, (3, 2))

    def fun(x: np.ndarray) -> float:
        at = x.reshape(n, 2)
        gaps = np.linalg.norm(at[:, None] - at, axis=2)[np.triu_indices(n, 1)]
        away = np.linalg.norm(at[:, None] - holes, axis=2)
        return -float(min(gaps.min(), 1.5 * away.min(), 2 * min(at.min(), (1 - at).min()) + 0.2))

    return fun, [0.0] * (2 * n), [1.0] * (2 * n)


def arm(rng: Any, size: int) -> Made:
    """Angles of an arm whose hand reaches a goal past round obstacles: smooth, with a wall where it touches one."""
    n = 4 + 2 * size
    goal = rng.uniform(0.3, 0.6) * n * np.array([np.cos(1.0), np.sin(1.0)])
    holes = rng.uniform(-0.4, 0.7, (3, 2)) * n

    def fun(x: np.ndarray) -> float:
        turned = np.cumsum(x)
        joints = np.cumsum(np.stack([np.cos(turned), np.sin(turned)], axis=1), axis=0)
        near = np.linalg.norm(joints[:, None] - holes, axis=2)
        hit = np.maximum(0.8 - near, 0).sum()
        return float(np.sum((joints[-1] - goal) ** 2) + 0.05 * np.sum(x * x) + 20 * hit)

    return fun, [-np.pi] * n, [np.pi] * n


def portfolio(rng: Any, size: int) -> Made:
    """Weights by a softmax, for expected shortfall less gain over drawn days: a tail of few scenarios."""
    d = 4 + 3 * size
    days = rng.normal(size=(250, 3)) @ rng.normal(size=(3, d)) * 0.01 + 0.015 * rng.standard_t(4, (250, d)) + 0.0008

    def fun(x: np.ndarray) -> float:
        w = np.exp(x - x.max())
        gains = np.sort(days @ (w / w.sum()))
        return float(-gains[:12].mean() - 2 * gains.mean())

    return fun, [-4.0] * d, [4.0] * d


def queue(rng: Any, size: int) -> Made:
    """Rates of servers in a line, with the same random customers each time: waiting against the cost of speed."""
    n = 2 + size
    arrivals, works = np.cumsum(rng.exponential(1.0, 120)), rng.exponential(1.0, (n, 120))

    def fun(x: np.ndarray) -> float:
        at = arrivals
        for rate, work in zip(x, works, strict=True):
            leaves, free = np.empty(120), 0.0
            for k in range(120):
                free = leaves[k] = max(at[k], free) + work[k] / rate
            at = leaves
        return float(np.mean(at - arrivals) + 1.5 * np.sum(x**1.3))

    return fun, [0.3] * n, [8.0] * n


def stock(rng: Any, size: int) -> Made:
    """Order points and sizes of an inventory, counted in whole pieces: steps and a noisy-looking, exact value."""
    n = 1 + size
    demand = rng.poisson(6, (n, 150))

    def fun(x: np.ndarray) -> float:
        total = 0.0
        for k in range(n):
            low, lot, held, coming = np.floor(x[2 * k]), np.floor(x[2 * k + 1]), 30, [0] * 4
            for day in demand[k]:
                held += coming.pop(0)
                sold = min(held, day)
                held -= sold
                total += 0.1 * held + 3.0 * (day - sold)
                order = held + sum(coming) < low
                coming.append(int(lot) if order else 0)
                total += 12.0 * order
        return total / 150

    return fun, [0.0, 1.0] * n, [80.0, 120.0] * n


def rocket(rng: Any, size: int) -> Made:
    """Thrust over time of a sounding rocket with drag: the height it reaches, less a penalty for heat."""
    n = 4 + 2 * size
    drag, hot = rng.uniform(2e-4, 6e-4), rng.uniform(1.5e5, 4e5)

    def fun(x: np.ndarray) -> float:
        height, speed, mass, penalty = 0.0, 0.0, 1.0, 0.0
        for k in range(100):
            thrust = x[k * n // 60] if k < 60 and mass > 0.35 else 0.0
            density = np.exp(-height / 8000)
            speed += (60 * thrust / mass - 9.8 - drag * density * speed * abs(speed) / mass) * 1.0
            height = max(height + speed, 0.0)
            mass -= 0.012 * thrust
            penalty += max(density * speed * speed - hot, 0.0) / hot
        return float(-height / 1e4 + penalty)

    return fun, [0.0] * n, [2.0] * n


def well(rng: Any, size: int) -> Made:
    """Pumping rates and places in an aquifer, drawdowns by logarithms, with penalties of limits: cliffs."""
    n = 2 + size
    town = rng.uniform(-4, 4, (4, 2))

    def fun(x: np.ndarray) -> float:
        at, rate = x.reshape(n, 3)[:, :2], x.reshape(n, 3)[:, 2]
        gaps = np.linalg.norm(town[:, None] - at, axis=2) + 0.05
        down = np.sum(rate * np.log(12 / gaps), axis=1)
        own = np.linalg.norm(at[:, None] - at, axis=2) + 0.05 * np.eye(n) + 1e-3
        deep = np.log(12 / own) @ rate
        short = max(0.0, 3.0 * n - rate.sum())
        return float(np.sum(deep * rate) * 0.1 + 50 * np.any(down > 9) + 10 * short + np.abs(at).sum() * 0.2)

    return fun, [-5.0, -5.0, 0.0] * n, [5.0, 5.0, 6.0] * n


# ------------------------------------------------------------------------------ bounds that are decades apart


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


KINDS: dict[str, Callable[[Any, int], Made]] = {
    "epidemic": epidemic,
    "enzyme": enzyme,
    "peaks": peaks,
    "tones": tones,
    "volatility": volatility,
    "orbit": orbit,
    "oscillator": oscillator,
    "mixture": mixture,
    "kernel": kernel,
    "hinge": hinge,
    "network": network,
    "registration": registration,
    "gravity": gravity,
    "film": film,
    "array": array,
    "filter": network_filter,
    "truss": truss,
    "controller": controller,
    "reactor": reactor,
    "gear": gear,
    "heat": heat,
    "facilities": facilities,
    "sensors": sensors,
    "arm": arm,
    "portfolio": portfolio,
    "queue": queue,
    "stock": stock,
    "rocket": rocket,
    "well": well,
    "arrhenius": arrhenius,
    "dose": dose,
    "circuit": circuit,
    "lengths": lengths,
    "ridge": ridge,
    "decay": decay,
    "beam": beam,
    "bands": bands,
}


def make(kind: str, instance: int) -> Objective:
    """One instance, with a start at which there is a value: anywhere in its bounds, in odd instances by the logarithm
    where the bounds are decades apart."""
    rng = np.random.default_rng([instance, *kind.encode()])
    fun, lower, upper = KINDS[kind](rng, instance % INSTANCES)
    low, high = np.array(lower, float), np.array(upper, float)
    decades = are_apart(low, high) & bool(instance % 2)
    size = np.where(decades, high / np.where(decades, low, 1.0), 1.0)

    def start() -> np.ndarray:
        share = rng.uniform(size=low.size)
        return np.clip(np.where(decades, low * size**share, low + share * (high - low)), low, high)

    x0 = start()
    while not np.isfinite(fun(x0)):
        x0 = start()
    return Objective(fun, x0, low, high)


def are_apart(lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Which bounds are decades apart."""
    return (lower > 0) & (upper >= 1e3 * lower)


def with_gradient(one: Objective) -> Objective:
    """The same with central differences, one-sided at a bound."""
    apart = are_apart(one.lower, one.upper)

    def fun(x: np.ndarray) -> tuple[float, np.ndarray]:
        width = DIFFERENCE * np.where(apart, x, one.upper - one.lower)
        above, below = np.minimum(x + width, one.upper), np.maximum(x - width, one.lower)
        sides = [np.where(np.arange(x.size) == i, end, x) for end in (above, below) for i in range(x.size)]
        values = np.array([one.fun(side) for side in sides])
        return one.fun(x), (values[: x.size] - values[x.size :]) / (above - below)

    return Objective(fun, one.x0, one.lower, one.upper)


def make_with_gradient(kind: str, instance: int) -> Objective:
    return with_gradient(make(kind, instance))


def problems(gradients: bool = False) -> list[SuiteProblem]:
    """All kinds that there are for such readings, each with several sizes, data and starts."""
    per, least, most = CALLS[gradients]
    found = []
    for place, kind in enumerate(KINDS):
        for instance in range(INSTANCES if kind not in STEPPED or not gradients else 0):
            d, half = make(kind, instance).x0.size, (DEV, TEST)[place % 2]
            calls, maker = int(np.clip(per * d, least, most)), make_with_gradient if gradients else make
            one = SuiteProblem(f"{kind}/{instance}", kind, half, d, gradients, calls, partial(maker, kind, instance))
            found.append(one)
    return found
