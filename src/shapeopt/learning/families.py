"""Eight families on which training is measured; three of them are real objectives, three have descriptors.

| family | d | reads | descriptor | instances differ in |
|---|---|---|---|---|
| gp | 5 | gradients | | data set, three of its features, 40 of its rows; held-out ones are made by other generators |
| torsions | 5 | values | | molecule: a chain of four carbons with other ends and one substituent |
| spectra | 8 | gradients | | two peaks on a decaying ground, as NIST's Gauss1 to 3; truth and noise |
| waves | 6 | gradients | peaks of the spectrum | truth and noise of two damped waves |
| arm | 4 | gradients | the target | target of a planar arm with an obstacle |
| cup | 10 | gradients | | place of the minimum, uniform in the box: only the curvature is the family's |
| ripples | 5 | gradients | | place of the minimum in a region that is drawn uniformly in the box |
| located | 5 | gradients | a nonlinear function of the minimum with noise | place of the minimum, uniform in the box |

Starts are uniform in the box. `region` of `ripples` says where its minima lie, for the test that corners gain as much.
"""

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..bench.suites.gp import DATA, _ard, _Likelihood
from ..bench.suites.molecules import Molecule, make_torsions
from ..training.instance import Instance

BOX = 5.0


def _cube(d: int) -> list[tuple[float, float]]:
    return [(-BOX, BOX)] * d


# --------------------------------------------------------------------------------------------------- real


@dataclass(frozen=True)
class GaussianProcesses:
    """Likelihoods of an ARD kernel over data sets: those of a half of the suite `gp`, or made for an instance."""

    sets: tuple[str, ...] = ("friedman1", "iris", "wine", "friedman3", "s_curve", "sparse")
    budget: int = 60

    def sample(self, seed: int) -> Instance:
        rng = np.random.default_rng(seed)
        name = self.sets[rng.integers(len(self.sets))]
        x, y = MADE[name](rng.integers(2**31)) if name in MADE else _data(name)
        rows = rng.permutation(len(y))[:40]
        x, y = x[rows][:, rng.permutation(x.shape[1])[:3]], y[rows]
        x = (x - x.mean(axis=0)) / np.where(x.std(axis=0) > 0, x.std(axis=0), 1.0)
        kernel = _ard("rbf", x.shape[1])
        fun = _Likelihood(kernel, x, (y - y.mean()) / y.std())
        bounds = [tuple(pair) for pair in np.array(kernel.bounds, float).tolist()]
        lower, upper = np.array(bounds).T
        x0 = rng.uniform(lower, upper)
        while not np.isfinite(fun(x0)[0]):
            x0 = rng.uniform(lower, upper)
        return Instance(fun, bounds, jac=True, x0=x0)


def _sklearn(maker: str, seed: int, **settings: Any) -> tuple[np.ndarray, np.ndarray]:
    import sklearn.datasets

    x, y = getattr(sklearn.datasets, f"make_{maker}")(random_state=int(seed) % 2**31, **settings)
    return x, y.astype(float)


MADE: dict[str, Any] = {  # generators of scikit-learn that are not those of the sets above, with other data each time
    "friedman2, made": lambda seed: _sklearn("friedman2", seed, n_samples=80, noise=1.0),
    "swiss_roll, made": lambda seed: _sklearn("swiss_roll", seed, n_samples=80, noise=0.2),
    "regression": lambda seed: _sklearn("regression", seed, n_samples=80, n_features=4, n_informative=3, noise=10.0),
    "hastie": lambda seed: _sklearn("hastie_10_2", seed, n_samples=80),
    "quantiles": lambda seed: _sklearn("gaussian_quantiles", seed, n_samples=80, n_features=3, n_classes=4),
}
OTHER_SETS = GaussianProcesses(tuple(MADE))


@functools.cache
def _data(name: str) -> tuple[np.ndarray, np.ndarray]:
    return DATA[name][1]()


ENDS = ("O", "S", "N", "C")
MIDDLES = ("", "(F)", "(Cl)", "(Br)", "(C#N)")


@dataclass(frozen=True)
class Torsions:
    """Torsions of chains of four carbons, by values: 16 pairs of ends, and one substituent in one of four places."""

    held: bool = False
    budget: int = 100

    def sample(self, seed: int) -> Instance:
        rng = np.random.default_rng([seed, 7])
        molecules = [m for i, m in enumerate(chains()) if (i % 3 == 0) == self.held]
        smiles = molecules[rng.integers(len(molecules))]
        made = make_torsions(Molecule(smiles, smiles, 0, 5), seed)
        return Instance(made.fun, [(-np.pi, np.pi)] * 5, x0=rng.uniform(-np.pi, np.pi, 5))


def chains() -> list[str]:
    """SMILES of all molecules of the family."""
    found = []
    for first in ENDS:
        for last in ENDS:
            for middle in MIDDLES:
                for place in range(2) if middle else range(1):
                    carbons = ["C"] * 4
                    carbons[place + 1] += middle
                    found.append(first + "".join(carbons) + last)
    return found


@dataclass(frozen=True)
class Spectra:
    """b1 exp(-b2 t) + two Gaussian peaks, fitted to noisy data."""

    budget: int = 100

    def sample(self, seed: int) -> Instance:
        rng = np.random.default_rng([seed, 3])
        t = np.linspace(0, 25, 125)
        truth = np.array([rng.uniform(8, 12), rng.uniform(0.05, 0.15), rng.uniform(6, 12), rng.uniform(5, 8)])
        truth = np.append(truth, [rng.uniform(1, 2.5), rng.uniform(4, 9), rng.uniform(14, 18), rng.uniform(1, 2.5)])
        data = _peaks(truth, t)[0] + 0.25 * rng.normal(size=t.size)

        def misfit(b: np.ndarray) -> tuple[float, np.ndarray]:
            curve, slopes = _peaks(b, t)
            rest = curve - data
            return float(np.mean(rest**2)), 2.0 * slopes @ rest / t.size

        bounds = [(0, 20), (0, 0.5), (0, 20), (0, 25), (0.3, 6), (0, 20), (0, 25), (0.3, 6)]
        return Instance(misfit, bounds, jac=True)


def _peaks(b: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    ground = np.exp(-b[1] * t)
    curve, slopes = b[0] * ground, [ground, -b[0] * t * ground]
    for height, place, width in (b[2:5], b[5:8]):
        z = (t - place) / width
        bell = np.exp(-0.5 * z * z)
        curve = curve + height * bell
        slopes += [bell, height * bell * z / width, height * bell * z * z / width]
    return curve, np.array(slopes)


@dataclass(frozen=True)
class Waves:
    """Two damped waves fitted to noisy samples; the descriptor is where the data's spectrum has its two peaks."""

    budget: int = 100
    times: int = 128

    def sample(self, seed: int) -> Instance:
        rng = np.random.default_rng([seed, 4])
        t = np.linspace(0, 10, self.times)
        truth = np.array([*rng.uniform(1, 3, 2), *rng.uniform(0.1, 0.4, 2), rng.uniform(1.5, 3), rng.uniform(4.5, 6.5)])
        data = _waves(truth, t)[0] + 0.1 * rng.normal(size=t.size)

        def misfit(b: np.ndarray) -> tuple[float, np.ndarray]:
            curve, slopes = _waves(b, t)
            rest = curve - data
            return float(np.mean(rest**2)), 2.0 * slopes @ rest / t.size

        bounds = [(-5, 5), (-5, 5), (0, 2), (0, 2), (0, 8), (0, 8)]
        return Instance(misfit, bounds, jac=True, descriptor=_spectrum_peaks(t, data))


def _waves(b: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    a, r, w = b.reshape(3, 2)
    fades = np.exp(-r[:, None] * t)
    cosines, sines = np.cos(w[:, None] * t), np.sin(w[:, None] * t)
    parts = a[:, None] * fades * cosines
    slopes = np.concatenate([fades * cosines, -t * parts, -t * a[:, None] * fades * sines])
    return parts.sum(axis=0), slopes


def _spectrum_peaks(t: np.ndarray, data: np.ndarray) -> np.ndarray:
    """Height, mean frequency and width of the largest peak of the spectrum below and above a frequency of 3.75."""
    w = np.linspace(0.5, 8, 151)
    power = np.abs(np.exp(-1j * w[:, None] * t) @ data) / t.size
    found = []
    for low, high in ((0.5, 3.75), (3.75, 8.0)):
        inside = (w >= low) & (w < high)
        top = int(np.argmax(power * inside))
        share = power**2 * inside * (np.abs(w - w[top]) < 0.8)
        middle = float((share * w).sum() / share.sum())
        found += [power[top], middle, float((share * (w - middle) ** 2).sum() / share.sum()) ** 0.5]
    return np.array(found)


# ---------------------------------------------------------------------------------------------------- made


@dataclass(frozen=True)
class Arm:
    """The joints of a planar arm of four links that reaches for a target around an obstacle."""

    budget: int = 100

    def sample(self, seed: int) -> Instance:
        rng = np.random.default_rng([seed, 5])
        angle, radius = rng.uniform(-np.pi / 2, np.pi / 2), rng.uniform(1.5, 3.5)
        target, obstacle = radius * np.array([np.cos(angle), np.sin(angle)]), np.array([1.0, 1.2])

        def effort(q: np.ndarray) -> tuple[float, np.ndarray]:
            angles = np.cumsum(q)
            c, s = np.cos(angles), np.sin(angles)
            joints = np.stack([np.cumsum(c), np.cumsum(s)], axis=1)
            miss = joints[-1] - target
            near = joints - obstacle
            bumps = 2.0 * np.exp(-(near**2).sum(axis=1) / 0.32)
            value = miss @ miss + bumps.sum() + 0.02 * q @ q
            pull = -bumps[:, None] * near / 0.16
            pull[-1] += 2.0 * miss
            onto = np.cumsum(pull[::-1], axis=0)[::-1]  # force on each link's end, from all joints beyond
            turn = onto[:, 1] * c - onto[:, 0] * s
            return float(value), np.cumsum(turn[::-1])[::-1] + 0.04 * q

        return Instance(effort, [(-np.pi, np.pi)] * 4, jac=True, descriptor=target)


@dataclass(frozen=True)
class Cup:
    """A curved, turned, badly scaled cup whose minimum lies anywhere in the box."""

    d: int = 10
    budget: int = 100

    def sample(self, seed: int) -> Instance:
        return Instance(
            Rippled(self._turn, np.geomspace(1.0, 3e3, self.d), _uniform(seed, self.d), 0.0), _cube(self.d), True
        )

    @property
    def _turn(self) -> np.ndarray:
        return np.linalg.qr(np.random.default_rng(11).normal(size=(self.d, self.d)))[0]


@dataclass(frozen=True)
class Ripples:
    """A turned, badly scaled cup with ripples; minima lie within .5 of a place that is uniform in the box."""

    d: int = 5
    budget: int = 100
    region: tuple[float, ...] | None = None

    def sample(self, seed: int) -> Instance:
        rng = np.random.default_rng([seed, 6])
        middle = _uniform(12, self.d) if self.region is None else np.array(self.region)
        turn = np.linalg.qr(np.random.default_rng(13).normal(size=(self.d, self.d)))[0]
        place = np.clip(middle + rng.uniform(-0.5, 0.5, self.d), -BOX, BOX)
        return Instance(Rippled(turn, np.geomspace(1.0, 30.0, self.d), place, 6.0), _cube(self.d), True)


@dataclass(frozen=True)
class Located:
    """The same with minima anywhere in the box, of which a descriptor tells: tanh of a mixture of its coordinates."""

    d: int = 5
    budget: int = 100

    def sample(self, seed: int) -> Instance:
        place = 0.96 * _uniform(seed, self.d)
        mixed = np.random.default_rng(14).normal(size=(self.d, self.d)) / self.d**0.5
        noise = np.random.default_rng([seed, 8]).normal(size=self.d)
        turn = np.linalg.qr(np.random.default_rng(15).normal(size=(self.d, self.d)))[0]
        fun = Rippled(turn, np.geomspace(1.0, 30.0, self.d), place, 6.0)
        return Instance(fun, _cube(self.d), True, descriptor=np.tanh(mixed @ place / 6.0) + 0.003 * noise)


@dataclass(frozen=True)
class Wells:
    """A sum of functions of one coordinate with four wells each, all of it anywhere: a wrong family for any other."""

    d: int
    budget: int = 100

    def sample(self, seed: int) -> Instance:
        rng = np.random.default_rng([seed, 21])
        place, depth = rng.uniform(-4, 4, (self.d, 4)), rng.uniform(1, 6, (self.d, 4))
        square = rng.uniform(0.4, 1.2, (self.d, 4)) ** 2

        def fun(x: np.ndarray) -> tuple[float, np.ndarray]:
            z = x[:, None] - place
            wells = depth * np.exp(-0.5 * z * z / square)
            return float(0.05 * x @ x - wells.sum()), 0.1 * x + (wells * z / square).sum(axis=1)

        return Instance(fun, _cube(self.d), jac=True)


@dataclass(frozen=True)
class Field:
    """A cup with thirty random waves, anywhere, of a length that differs from one instance to the next."""

    d: int
    budget: int = 100

    def sample(self, seed: int) -> Instance:
        rng = np.random.default_rng([seed, 23])
        W = rng.normal(size=(30, self.d)) * rng.uniform(0.3, 2)
        phase, height, place = rng.uniform(0, 2 * np.pi, 30), rng.normal(size=30), rng.uniform(-3, 3, self.d)

        def fun(x: np.ndarray) -> tuple[float, np.ndarray]:
            angle, z = W @ x + phase, x - place
            return float(height @ np.sin(angle) + 0.3 * z @ z), W.T @ (height * np.cos(angle)) + 0.6 * z

        return Instance(fun, _cube(self.d), jac=True)


def _uniform(seed: int, d: int) -> np.ndarray:
    return np.random.default_rng([seed, 9]).uniform(-BOX, BOX, d)


@dataclass(frozen=True, eq=False)
class Rippled:
    """z B z / 2 + height sum (1 - cos 4 u), z = x - place and u = turn z."""

    turn: np.ndarray
    curvature: np.ndarray
    place: np.ndarray
    height: float

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        u = self.turn @ (x - self.place)
        value = 0.5 * (self.curvature * u * u).sum() + self.height * (1.0 - np.cos(4.0 * u)).sum()
        return float(value), self.turn.T @ (self.curvature * u + 4.0 * self.height * np.sin(4.0 * u))


FAMILIES: dict[str, tuple[Any, Any]] = {  # to train on, and to hold out
    "gp": (GaussianProcesses(), OTHER_SETS),
    "torsions": (Torsions(), Torsions(held=True)),
    "spectra": (Spectra(), Spectra()),
    "waves": (Waves(), Waves()),
    "arm": (Arm(), Arm()),
    "cup": (Cup(), Cup()),
    "ripples": (Ripples(), Ripples()),
    "located": (Located(), Located()),
}
WRONG: dict[str, Any] = {  # where policies of other families are run, too
    "ripples 3": Ripples(d=3),
    "wells 3": Wells(3),
    "ripples 4": Ripples(d=4),
    "field 4": Field(4),
    "wells 4": Wells(4),
    "field 5": Field(5),
    "wells 5": Wells(5),
}
CORNER = Ripples(region=(4.2, -4.2, 4.2, 4.2, -4.2))
NEEDS = {"gp": "sklearn", "torsions": "rdkit"}  # packages of the extra `suites`
REAL = ("gp", "torsions", "spectra", "waves")
DESCRIBED = ("waves", "arm", "located")
