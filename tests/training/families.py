"""Small families for the tests of training."""

from dataclasses import dataclass

import numpy as np

from shapeopt.training import Instance

D = 3
TURN = np.linalg.qr(np.random.default_rng(3).normal(size=(D, D)))[0]
CURVATURE = np.geomspace(1.0, 100.0, D)


@dataclass(frozen=True, eq=False)
class Cup:
    """A turned cup with ripples whose minimum, of value `low`, is at `place`."""

    place: np.ndarray
    low: float = 0.0

    def __call__(self, x):
        u = TURN @ (x - self.place)
        value = 0.5 * (CURVATURE * u * u).sum() + 3.0 * (1.0 - np.cos(4.0 * u)).sum() + self.low
        return float(value), TURN.T @ (CURVATURE * u + 12.0 * np.sin(4.0 * u))


@dataclass(frozen=True)
class Region:
    """Minima within .4 of a place."""

    middle: tuple[float, ...] = (1.0, -2.0, 0.5)

    def sample(self, seed):
        rng = np.random.default_rng(seed)
        fun = Cup(np.array(self.middle) + rng.uniform(-0.4, 0.4, D), rng.normal())
        return Instance(fun, [(-5, 5)] * D, jac=True)


class Told:
    """Minima anywhere, of which a descriptor tells."""

    def sample(self, seed):
        place = np.random.default_rng(seed).uniform(-4.5, 4.5, D)
        return Instance(Cup(place), [(-5, 5)] * D, jac=True, descriptor=np.tanh(place / 5.0))


class Twins:
    """Two equivalent minima, (a, b) and (b, a), whose numbers a < b the descriptor tells with some error."""

    def sample(self, seed):
        rng = np.random.default_rng(seed)
        low, high = rng.uniform(-4.0, -1.0), rng.uniform(1.0, 4.0)

        def fun(x):
            total, product = x.sum() - low - high, x @ x - low**2 - high**2
            return float(total**2 + 0.1 * product**2), 2.0 * total + 0.4 * product * x

        return Instance(fun, [(-5, 5)] * 2, jac=True, descriptor=np.array([low, high]) + 0.05 * rng.normal(size=2))


class Round:
    """Round bowls anywhere, which have nothing to learn but what the untrained policy does by itself."""

    def sample(self, seed):
        place = np.random.default_rng([seed, 5]).uniform(-4.5, 4.5, D)
        return Instance(lambda x: (float((x - place) @ (x - place)), 2.0 * (x - place)), [(-5, 5)] * D, jac=True)


SHOWN = Cup(np.array([1.0, -2.0, 0.5]))
