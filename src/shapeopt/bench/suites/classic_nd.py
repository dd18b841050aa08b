"""Test functions of three and four variables, as formulas; `x` may be complex, so that a complex step works on them.

Sources: Dixon and Szego (1978), "Towards global optimisation 2", for Hartmann and Shekel; Jamil and Yang (2013), "A
literature survey of benchmark functions for global optimization problems", for the others.
"""

from typing import Any

import numpy as np

HARTMANN_WEIGHTS = np.array([1.0, 1.2, 3.0, 3.2])
HARTMANN_SHAPES = np.array([[3, 10, 30], [0.1, 10, 35], [3, 10, 30], [0.1, 10, 35]])
HARTMANN_CENTRES = 1e-4 * np.array([[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381.5, 5743, 8828]])
SHEKEL_WIDTHS = np.array([0.1, 0.2, 0.2, 0.4, 0.4, 0.6, 0.3, 0.7, 0.5, 0.5])
SHEKEL_CENTRES = np.array(
    [
        [4, 4, 4, 4],
        [1, 1, 1, 1],
        [8, 8, 8, 8],
        [6, 6, 6, 6],
        [3, 7, 3, 7],
        [2, 9, 2, 9],
        [5, 5, 3, 3],
        [8, 1, 8, 1],
        [6, 2, 6, 2],
        [7, 3.6, 7, 3.6],
    ]
)
POWER_SUMS = np.array([8, 18, 44, 114])


def box_betts(x: Any) -> Any:
    i = np.arange(1, 11)
    terms = np.exp(-0.1 * i * x[0]) - np.exp(-0.1 * i * x[1]) - (np.exp(-0.1 * i) - np.exp(-i)) * x[2]
    return np.sum(terms**2)


def griewank(x: Any) -> Any:
    return np.sum(x**2) / 4000 - np.prod(np.cos(x / np.sqrt(np.arange(1, len(x) + 1)))) + 1


def hartmann3(x: Any) -> Any:
    return -np.sum(HARTMANN_WEIGHTS * np.exp(-np.sum(HARTMANN_SHAPES * (x - HARTMANN_CENTRES) ** 2, axis=1)))


def levy(x: Any) -> Any:
    w = 1 + (x - 1) / 4
    inner = np.sum((w[:-1] - 1) ** 2 * (1 + 10 * np.sin(np.pi * w[:-1] + 1) ** 2))
    return np.sin(np.pi * w[0]) ** 2 + inner + (w[-1] - 1) ** 2 * (1 + np.sin(2 * np.pi * w[-1]) ** 2)


def miele_cantrell(x: Any) -> Any:
    first = (np.exp(-x[0]) - x[1]) ** 4 + 100 * (x[1] - x[2]) ** 6
    return first + np.tan(x[2] - x[3]) ** 4 + x[0] ** 8


def mishra9(x: Any) -> Any:
    a = 2 * x[0] ** 3 + 5 * x[0] * x[1] + 4 * x[2] - 2 * x[0] ** 2 * x[2] - 18
    b = x[0] + x[1] ** 3 + x[0] * x[1] ** 2 + x[0] * x[2] ** 2 - 22
    c = 8 * x[0] ** 2 + 2 * x[1] * x[2] + 2 * x[1] ** 2 + 3 * x[1] ** 3 - 52
    return (a * b**2 * c + a * b * c**2 + b**2 + (x[0] + x[1] - x[2]) ** 2) ** 2


def power_sum(x: Any) -> Any:
    return np.sum([(np.sum(x**k) - POWER_SUMS[k - 1]) ** 2 for k in range(1, 5)])


def rastrigin(x: Any) -> Any:
    return np.sum(x**2 - 10 * np.cos(2 * np.pi * x) + 10)


def schwefel(x: Any) -> Any:
    size = np.where(np.real(x) < 0, -x, x)
    return 418.9828872724338 * len(x) - np.sum(x * np.sin(np.sqrt(size)))


def _shekel(x: Any, terms: int) -> Any:
    return -np.sum(1 / (np.sum((x - SHEKEL_CENTRES[:terms]) ** 2, axis=1) + SHEKEL_WIDTHS[:terms]))


def shekel5(x: Any) -> Any:
    return _shekel(x, 5)


def shekel7(x: Any) -> Any:
    return _shekel(x, 7)


def shekel10(x: Any) -> Any:
    return _shekel(x, 10)


def styblinski_tang(x: Any) -> Any:
    return np.sum(x**4 - 16 * x**2 + 5 * x) / 2


def trid(x: Any) -> Any:
    return np.sum((x - 1) ** 2) - np.sum(x[1:] * x[:-1])
