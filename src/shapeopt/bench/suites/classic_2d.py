"""Test functions of two variables, as formulas; `x` may be complex, so that a complex step differentiates them.

Sources: Jamil and Yang (2013), "A literature survey of benchmark functions for global optimization problems";
Surjanovic and Bingham, "Virtual library of simulation experiments"; Gavana's collection, which SciPy's benchmarks took
over.
"""

from typing import Any

import numpy as np


def modulus(x: Any) -> Any:
    """|x| of a real number, with its derivative where x is a complex step."""
    return np.where(np.real(x) < 0, -x, x)


def ackley(x: Any) -> Any:
    mean = np.mean(np.cos(2 * np.pi * x))
    return -20 * np.exp(-0.2 * np.sqrt(np.mean(x**2))) - np.exp(mean) + 20 + np.e


def adjiman(x: Any) -> Any:
    return np.cos(x[0]) * np.sin(x[1]) - x[0] / (x[1] ** 2 + 1)


def alpine2(x: Any) -> Any:
    return -np.prod(np.sqrt(x) * np.sin(x))


def bird(x: Any) -> Any:
    waves = np.sin(x[0]) * np.exp((1 - np.cos(x[1])) ** 2) + np.cos(x[1]) * np.exp((1 - np.sin(x[0])) ** 2)
    return waves + (x[0] - x[1]) ** 2


def bohachevsky1(x: Any) -> Any:
    return x[0] ** 2 + 2 * x[1] ** 2 - 0.3 * np.cos(3 * np.pi * x[0]) - 0.4 * np.cos(4 * np.pi * x[1]) + 0.7


def bohachevsky2(x: Any) -> Any:
    return x[0] ** 2 + 2 * x[1] ** 2 - 0.3 * np.cos(3 * np.pi * x[0]) * np.cos(4 * np.pi * x[1]) + 0.3


def booth(x: Any) -> Any:
    return (x[0] + 2 * x[1] - 7) ** 2 + (2 * x[0] + x[1] - 5) ** 2


def branin(x: Any) -> Any:
    bend = x[1] - 5.1 / (4 * np.pi**2) * x[0] ** 2 + 5 / np.pi * x[0] - 6
    return bend**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x[0]) + 10


def branin2(x: Any) -> Any:
    bend = x[1] - 5.1 / (4 * np.pi**2) * x[0] ** 2 + 5 / np.pi * x[0] - 6
    tail = np.log(x[0] ** 2 + x[1] ** 2 + 1)
    return bend**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x[0]) * np.cos(x[1]) + tail + 10


def bukin6(x: Any) -> Any:
    return 100 * np.sqrt(modulus(x[1] - 0.01 * x[0] ** 2)) + 0.01 * modulus(x[0] + 10)


def camel3(x: Any) -> Any:
    return 2 * x[0] ** 2 - 1.05 * x[0] ** 4 + x[0] ** 6 / 6 + x[0] * x[1] + x[1] ** 2


def camel6(x: Any) -> Any:
    first = (4 - 2.1 * x[0] ** 2 + x[0] ** 4 / 3) * x[0] ** 2
    return first + x[0] * x[1] + (4 * x[1] ** 2 - 4) * x[1] ** 2


def carrom_table(x: Any) -> Any:
    far = np.exp(2 * modulus(1 - np.sqrt(x[0] ** 2 + x[1] ** 2) / np.pi))
    return -far * np.cos(x[0]) ** 2 * np.cos(x[1]) ** 2 / 30


def chichinadze(x: Any) -> Any:
    first = x[0] ** 2 - 12 * x[0] + 8 * np.sin(2.5 * np.pi * x[0]) + 10 * np.cos(0.5 * np.pi * x[0]) + 11
    return first - np.sqrt(0.2) * np.exp(-0.5 * (x[1] - 0.5) ** 2)


def cross_in_tray(x: Any) -> Any:
    far = np.exp(modulus(100 - np.sqrt(x[0] ** 2 + x[1] ** 2) / np.pi))
    return -0.0001 * (modulus(np.sin(x[0]) * np.sin(x[1]) * far) + 1) ** 0.1


def deckkers_aarts(x: Any) -> Any:
    r = x[0] ** 2 + x[1] ** 2
    return 1e5 * x[0] ** 2 + x[1] ** 2 - r**2 + 1e-5 * r**4


def drop_wave(x: Any) -> Any:
    r = x[0] ** 2 + x[1] ** 2
    return -(1 + np.cos(12 * np.sqrt(r))) / (0.5 * r + 2)


def easom(x: Any) -> Any:
    return -np.cos(x[0]) * np.cos(x[1]) * np.exp(-((x[0] - np.pi) ** 2) - (x[1] - np.pi) ** 2)


def eggholder(x: Any) -> Any:
    y = x[1] + 47
    return -y * np.sin(np.sqrt(modulus(x[0] / 2 + y))) - x[0] * np.sin(np.sqrt(modulus(x[0] - y)))


def giunta(x: Any) -> Any:
    y = 16 * x / 15 - 1
    return 0.6 + np.sum(np.sin(y) + np.sin(y) ** 2 + np.sin(4 * y) / 50)


def goldstein_price(x: Any) -> Any:
    a, b = x[0] + x[1] + 1, 2 * x[0] - 3 * x[1]
    first = 1 + a**2 * (19 - 14 * x[0] + 3 * x[0] ** 2 - 14 * x[1] + 6 * x[0] * x[1] + 3 * x[1] ** 2)
    return first * (30 + b**2 * (18 - 32 * x[0] + 12 * x[0] ** 2 + 48 * x[1] - 36 * x[0] * x[1] + 27 * x[1] ** 2))


def himmelblau(x: Any) -> Any:
    return (x[0] ** 2 + x[1] - 11) ** 2 + (x[0] + x[1] ** 2 - 7) ** 2


def holder_table(x: Any) -> Any:
    far = np.exp(modulus(1 - np.sqrt(x[0] ** 2 + x[1] ** 2) / np.pi))
    return -modulus(np.sin(x[0]) * np.cos(x[1]) * far)


def hosaki(x: Any) -> Any:
    quartic = 1 - 8 * x[0] + 7 * x[0] ** 2 - 7 * x[0] ** 3 / 3 + x[0] ** 4 / 4
    return quartic * x[1] ** 2 * np.exp(-x[1])


def keane(x: Any) -> Any:
    return -(np.sin(x[0] - x[1]) ** 2) * np.sin(x[0] + x[1]) ** 2 / np.sqrt(x[0] ** 2 + x[1] ** 2)


def langermann(x: Any) -> Any:
    centres = np.array([[3, 5], [5, 2], [2, 1], [1, 4], [7, 9]])
    r = np.sum((x - centres) ** 2, axis=1)
    return -np.sum(np.array([1, 2, 5, 2, 3]) * np.exp(-r / np.pi) * np.cos(np.pi * r))


def levy13(x: Any) -> Any:
    first = np.sin(3 * np.pi * x[0]) ** 2 + (x[0] - 1) ** 2 * (1 + np.sin(3 * np.pi * x[1]) ** 2)
    return first + (x[1] - 1) ** 2 * (1 + np.sin(2 * np.pi * x[1]) ** 2)


def matyas(x: Any) -> Any:
    return 0.26 * (x[0] ** 2 + x[1] ** 2) - 0.48 * x[0] * x[1]


def mccormick(x: Any) -> Any:
    return np.sin(x[0] + x[1]) + (x[0] - x[1]) ** 2 - 1.5 * x[0] + 2.5 * x[1] + 1


def michalewicz(x: Any) -> Any:
    i = np.arange(1, len(x) + 1)
    return -np.sum(np.sin(x) * np.sin(i * x**2 / np.pi) ** 20)


def parsopoulos(x: Any) -> Any:
    return np.cos(x[0]) ** 2 + np.sin(x[1]) ** 2


def periodic(x: Any) -> Any:
    return 1 + np.sin(x[0]) ** 2 + np.sin(x[1]) ** 2 - 0.1 * np.exp(-(x[0] ** 2) - x[1] ** 2)


def price1(x: Any) -> Any:
    return (modulus(x[0]) - 5) ** 2 + (modulus(x[1]) - 5) ** 2


def sawtooth(x: Any) -> Any:
    r, sines = np.sqrt(x[0] ** 2 + x[1] ** 2), np.array([1, -1 / 2, 1 / 3, -1 / 4])
    wave = np.sum(sines * np.sin(np.arange(1, 5) * r)) + 4
    angle = np.cos(2 * np.arctan(x[1] / x[0]) - 0.5) / 2 + x[0] / r + 2
    return wave * r**2 / (r + 1) * angle


def schaffer2(x: Any) -> Any:
    r = x[0] ** 2 + x[1] ** 2
    return 0.5 + (np.sin(x[0] ** 2 - x[1] ** 2) ** 2 - 0.5) / (1 + 0.001 * r) ** 2


def schaffer4(x: Any) -> Any:
    r = x[0] ** 2 + x[1] ** 2
    return 0.5 + (np.cos(np.sin(modulus(x[0] ** 2 - x[1] ** 2))) ** 2 - 0.5) / (1 + 0.001 * r) ** 2


def shubert(x: Any) -> Any:
    k = np.arange(1, 6)
    return np.prod([np.sum(k * np.cos((k + 1) * y + k)) for y in x])


def tube_holder(x: Any) -> Any:
    far = np.exp(modulus(np.cos((x[0] ** 2 + x[1] ** 2) / 200)))
    return -4 * modulus(far * np.sin(x[0]) * np.cos(x[1]))


def treccani(x: Any) -> Any:
    return x[0] ** 4 + 4 * x[0] ** 3 + 4 * x[0] ** 2 + x[1] ** 2


def trefethen(x: Any) -> Any:
    r = x[0] ** 2 + x[1] ** 2
    waves = np.exp(np.sin(50 * x[0])) + np.sin(60 * np.exp(x[1])) + np.sin(70 * np.sin(x[0]))
    return 0.25 * r + waves + np.sin(np.sin(80 * x[1])) - np.sin(10 * (x[0] + x[1]))


def ursem1(x: Any) -> Any:
    return -np.sin(2 * x[0] - 0.5 * np.pi) - 3 * np.cos(x[1]) - 0.5 * x[0]


def ursem3(x: Any) -> Any:
    first = np.sin(2.2 * np.pi * x[0] + 0.5 * np.pi) * (2 - modulus(x[0])) / 2 * (3 - modulus(x[0])) / 2
    second = np.sin(2.2 * np.pi * x[1] + 0.5 * np.pi) * (2 - modulus(x[1])) / 2 * (3 - modulus(x[1])) / 2
    return -first - second


def ursem4(x: Any) -> Any:
    return -3 * np.sin(0.5 * np.pi * x[0] + 0.5 * np.pi) * (2 - np.sqrt(x[0] ** 2 + x[1] ** 2)) / 4


def venter(x: Any) -> Any:
    waves = x**2 - 100 * np.cos(x) ** 2 - 100 * np.cos(x**2 / 30)
    return np.sum(waves) + 1400


def zettl(x: Any) -> Any:
    return x[0] / 4 + (x[0] ** 2 - 2 * x[0] + x[1] ** 2) ** 2


def zirilli(x: Any) -> Any:
    return 0.25 * x[0] ** 4 - 0.5 * x[0] ** 2 + 0.1 * x[0] + 0.5 * x[1] ** 2
