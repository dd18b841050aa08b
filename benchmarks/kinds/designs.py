"""Designs: films, arrays, filters, trusses, controllers, reactors, gears."""

from typing import Any

import numpy as np

from .base import Made, rk4


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
