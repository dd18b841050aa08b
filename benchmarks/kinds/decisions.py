"""Layouts, and decisions under sampled scenarios."""

from typing import Any

import numpy as np

from .base import Made


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
