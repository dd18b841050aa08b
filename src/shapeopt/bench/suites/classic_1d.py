"""Test functions of one variable, as formulas; `x` may be complex, so that a complex step differentiates them.

Sources: Hansen, Jaumard and Lu (1992), "Global optimization of univariate Lipschitz functions II", whose numbers are
the names; Forrester, Sobester and Keane (2008); Gramacy and Lee (2012).
"""

from typing import Any

import numpy as np


def hansen02(x: Any) -> Any:
    return np.sin(x[0]) + np.sin(10 * x[0] / 3)


def hansen03(x: Any) -> Any:
    k = np.arange(1, 6)
    return -np.sum(k * np.sin((k + 1) * x[0] + k))


def hansen04(x: Any) -> Any:
    return -(16 * x[0] ** 2 - 24 * x[0] + 5) * np.exp(-x[0])


def hansen05(x: Any) -> Any:
    return -(1.4 - 3 * x[0]) * np.sin(18 * x[0])


def hansen06(x: Any) -> Any:
    return -(x[0] + np.sin(x[0])) * np.exp(-(x[0] ** 2))


def hansen07(x: Any) -> Any:
    return np.sin(x[0]) + np.sin(10 * x[0] / 3) + np.log(x[0]) - 0.84 * x[0] + 3


def hansen08(x: Any) -> Any:
    k = np.arange(1, 6)
    return -np.sum(k * np.cos((k + 1) * x[0] + k))


def hansen09(x: Any) -> Any:
    return np.sin(x[0]) + np.sin(2 * x[0] / 3)


def hansen10(x: Any) -> Any:
    return -x[0] * np.sin(x[0])


def hansen11(x: Any) -> Any:
    return 2 * np.cos(x[0]) + np.cos(2 * x[0])


def hansen12(x: Any) -> Any:
    return np.sin(x[0]) ** 3 + np.cos(x[0]) ** 3


def hansen13(x: Any) -> Any:
    return -(x[0] ** (2 / 3)) - (1 - x[0] ** 2) ** (1 / 3)


def hansen14(x: Any) -> Any:
    return -np.exp(-x[0]) * np.sin(2 * np.pi * x[0])


def hansen15(x: Any) -> Any:
    return (x[0] ** 2 - 5 * x[0] + 6) / (x[0] ** 2 + 1)


def hansen20(x: Any) -> Any:
    return -(x[0] - np.sin(x[0])) * np.exp(-(x[0] ** 2))


def hansen21(x: Any) -> Any:
    return x[0] * np.sin(x[0]) + x[0] * np.cos(2 * x[0])


def hansen22(x: Any) -> Any:
    return np.exp(-3 * x[0]) - np.sin(x[0]) ** 3


def forrester(x: Any) -> Any:
    return (6 * x[0] - 2) ** 2 * np.sin(12 * x[0] - 4)


def gramacy_lee(x: Any) -> Any:
    return np.sin(10 * np.pi * x[0]) / (2 * x[0]) + (x[0] - 1) ** 4
