"""`nist`: the nonlinear regression sets of NIST's Statistical Reference Datasets, from both certified starts.

All 27 sets, parameters in their own units. The objective is the residual sum of squares that NIST certifies,

    f(b) = sum_i (model(b, x_i) - y_i)^2,    gradient 2 J^T r,

without a factor one half, and `minimum` is its certified value. Data, starts and certified values are in `nist.json`,
taken from NIST's files (public domain, www.itl.nist.gov/div898/strd). Derivatives are complex steps of the models,
exact to round-off. There are no bounds. sif2jax carries 25 of the sets as its `...LS` problems, without certified
values and residual forms; 22 of them agree with these to round-off, and the tests compare them. Its ENSO, Lanczos2 and
Roszman1 do not give NIST's certified sums, and Lanczos3 and Thurber are not there.

Halves: groups alternate in NIST's order of difficulty. Sets that share data or a model are one group.
"""

import json
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from .base import Objective, Suite, SuiteProblem, alternate, unbounded

BUDGET = 500
STEP = 1e-30  # of the complex derivatives; nothing is subtracted, so it may be as small as floats allow
DATA = Path(__file__).with_name("nist.json")

GROUPS = {  # in NIST's order: lower, average, higher level of difficulty (a family counts by its first set)
    "misra1": ("misra1a", "misra1b", "misra1c", "misra1d"),
    "chwirut": ("chwirut1", "chwirut2"),
    "lanczos": ("lanczos1", "lanczos2", "lanczos3"),
    "gauss": ("gauss1", "gauss2", "gauss3"),
    "danwood": ("danwood",),
    "kirby2": ("kirby2",),
    "hahn1": ("hahn1",),
    "nelson": ("nelson",),
    "mgh17": ("mgh17",),
    "roszman1": ("roszman1",),
    "enso": ("enso",),
    "mgh09": ("mgh09",),
    "thurber": ("thurber",),
    "boxbod": ("boxbod",),
    "rat42": ("rat42",),
    "mgh10": ("mgh10",),
    "eckerle4": ("eckerle4",),
    "rat43": ("rat43",),
    "bennett5": ("bennett5",),
}


def _saturation(b: Any, x: np.ndarray) -> Any:
    return b[0] * (1 - np.exp(-b[1] * x))


def _misra1b(b: Any, x: np.ndarray) -> Any:
    return b[0] * (1 - (1 + b[1] * x / 2) ** -2.0)


def _misra1c(b: Any, x: np.ndarray) -> Any:
    return b[0] * (1 - (1 + 2 * b[1] * x) ** -0.5)


def _misra1d(b: Any, x: np.ndarray) -> Any:
    return b[0] * b[1] * x / (1 + b[1] * x)


def _chwirut(b: Any, x: np.ndarray) -> Any:
    return np.exp(-b[0] * x) / (b[1] + b[2] * x)


def _lanczos(b: Any, x: np.ndarray) -> Any:
    return b[0] * np.exp(-b[1] * x) + b[2] * np.exp(-b[3] * x) + b[4] * np.exp(-b[5] * x)


def _gauss(b: Any, x: np.ndarray) -> Any:
    peaks = b[2] * np.exp(-(((x - b[3]) / b[4]) ** 2)) + b[5] * np.exp(-(((x - b[6]) / b[7]) ** 2))
    return b[0] * np.exp(-b[1] * x) + peaks


def _danwood(b: Any, x: np.ndarray) -> Any:
    return b[0] * x ** b[1]


def _kirby2(b: Any, x: np.ndarray) -> Any:
    return (b[0] + b[1] * x + b[2] * x**2) / (1 + b[3] * x + b[4] * x**2)


def _cubic_ratio(b: Any, x: np.ndarray) -> Any:
    return (b[0] + b[1] * x + b[2] * x**2 + b[3] * x**3) / (1 + b[4] * x + b[5] * x**2 + b[6] * x**3)


def _nelson(b: Any, x1: np.ndarray, x2: np.ndarray) -> Any:
    return b[0] - b[1] * x1 * np.exp(-b[2] * x2)


def _mgh17(b: Any, x: np.ndarray) -> Any:
    return b[0] + b[1] * np.exp(-x * b[3]) + b[2] * np.exp(-x * b[4])


def _roszman1(b: Any, x: np.ndarray) -> Any:
    return b[0] - b[1] * x - np.arctan(b[2] / (x - b[3])) / np.pi


def _wave(b: Any, period: Any, x: np.ndarray) -> Any:
    return b[0] * np.cos(2 * np.pi * x / period) + b[1] * np.sin(2 * np.pi * x / period)


def _enso(b: Any, x: np.ndarray) -> Any:
    return b[0] + _wave(b[1:3], 12, x) + _wave(b[4:6], b[3], x) + _wave(b[7:9], b[6], x)


def _mgh09(b: Any, x: np.ndarray) -> Any:
    return b[0] * (x**2 + x * b[1]) / (x**2 + x * b[2] + b[3])


def _rat42(b: Any, x: np.ndarray) -> Any:
    return b[0] / (1 + np.exp(b[1] - b[2] * x))


def _rat43(b: Any, x: np.ndarray) -> Any:
    return b[0] / (1 + np.exp(b[1] - b[2] * x)) ** (1 / b[3])


def _mgh10(b: Any, x: np.ndarray) -> Any:
    return b[0] * np.exp(b[1] / (x + b[2]))


def _eckerle4(b: Any, x: np.ndarray) -> Any:
    return b[0] / b[1] * np.exp(-0.5 * ((x - b[2]) / b[1]) ** 2)


def _bennett5(b: Any, x: np.ndarray) -> Any:
    return b[0] * (b[1] + x) ** (-1 / b[2])


MODELS: dict[str, tuple[int, Callable[..., Any]]] = {  # parameters, model
    "misra1a": (2, _saturation),
    "misra1b": (2, _misra1b),
    "misra1c": (2, _misra1c),
    "misra1d": (2, _misra1d),
    "chwirut1": (3, _chwirut),
    "chwirut2": (3, _chwirut),
    "lanczos1": (6, _lanczos),
    "lanczos2": (6, _lanczos),
    "lanczos3": (6, _lanczos),
    "gauss1": (8, _gauss),
    "gauss2": (8, _gauss),
    "gauss3": (8, _gauss),
    "danwood": (2, _danwood),
    "kirby2": (5, _kirby2),
    "hahn1": (7, _cubic_ratio),
    "nelson": (3, _nelson),
    "mgh17": (5, _mgh17),
    "roszman1": (4, _roszman1),
    "enso": (9, _enso),
    "mgh09": (4, _mgh09),
    "thurber": (7, _cubic_ratio),
    "boxbod": (2, _saturation),
    "rat42": (3, _rat42),
    "mgh10": (3, _mgh10),
    "eckerle4": (3, _eckerle4),
    "rat43": (4, _rat43),
    "bennett5": (3, _bennett5),
}


@cache
def read_sets() -> dict[str, dict[str, Any]]:
    """Data, starts, certified parameters and certified sums of squares of all sets, by name."""
    return json.loads(DATA.read_text())


class _Regression:
    """One set's residuals and their derivatives; the response of `nelson` is the logarithm of its data."""

    def __init__(self, name: str) -> None:
        data = read_sets()[name]
        self.model = MODELS[name][1]
        self.x = [np.array(column) for column in data["x"]]
        y = np.array(data["y"])
        self.y = np.log(y) if name == "nelson" else y

    def residuals(self, b: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return self.model(np.asarray(b, float), *self.x) - self.y

    def jacobian(self, b: np.ndarray) -> np.ndarray:
        steps = np.asarray(b, float) + 1j * STEP * np.eye(len(b))
        with np.errstate(all="ignore"):
            return np.stack([self.model(step, *self.x).imag / STEP for step in steps], axis=1)

    def __call__(self, b: np.ndarray) -> tuple[float, np.ndarray]:
        residuals = self.residuals(b)
        with np.errstate(all="ignore"):
            return float(residuals @ residuals), 2 * self.jacobian(b).T @ residuals


def make(name: str, start: int) -> Objective:
    """The objective of one set from NIST's start 1 or 2."""
    data, regression = read_sets()[name], _Regression(name)
    x0 = np.array(data[f"start{start}"], float)
    ends = unbounded(len(x0))
    return Objective(regression, x0, *ends, data["rss"], regression.residuals, regression.jacobian)


def _problems() -> tuple[SuiteProblem, ...]:
    halves = alternate(GROUPS)
    rows = [(group, name, start) for group, names in GROUPS.items() for name in names for start in (1, 2)]
    return tuple(
        SuiteProblem(
            f"{name}/start{start}", group, halves[group], MODELS[name][0], True, BUDGET, partial(make, name, start)
        )
        for group, name, start in rows
    )


NIST = Suite("nist", "NIST's nonlinear regression sets from both certified starts", "", _problems())
