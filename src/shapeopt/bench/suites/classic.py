"""`classic`: published test functions for global search in one to four dimensions, with and without gradients.

Seventy-nine functions with their published boxes and known minima, each read in two ways (values, and values with
gradients) from three starts that are uniform in the box, drawn from (function, seed). A run has 500 calls and is read
at 50, 100, 200 and 500. Gradients are complex steps of the formulas, exact to round-off.

Sources are named in the files of the formulas. Minima are the published ones where these are exact, and else polished
to round-off from the published minimisers.

Halves: functions alternate in the order of the table, dimension by dimension.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from . import classic_1d as one
from . import classic_2d as two
from . import classic_nd as more
from .base import Objective, Suite, SuiteProblem, alternate

BUDGETS = (50, 100, 200, 500)
SEEDS = (1, 2, 3)
STEP = 1e-30  # of the complex derivatives; nothing is subtracted, so it may be as small as floats allow


@dataclass(frozen=True)
class Classic:
    """A published function: formula, dimension, box (a number where all sides agree) and known minimum."""

    formula: Callable[[Any], Any]
    dimension: int
    lower: float | tuple[float, ...]
    upper: float | tuple[float, ...]
    minimum: float

    @property
    def name(self) -> str:
        return self.formula.__name__


TABLE: tuple[Classic, ...] = (
    Classic(one.hansen02, 1, 2.7, 7.5, -1.8995993491521137),
    Classic(one.hansen03, 1, -10, 10, -12.031249442167145),
    Classic(one.hansen04, 1, 1.9, 3.9, -3.8504507088002207),
    Classic(one.hansen05, 1, 0, 1.2, -1.4890725386896044),
    Classic(one.hansen06, 1, -10, 10, -0.8242393984760769),
    Classic(one.hansen07, 1, 2.7, 7.5, -1.6013075464943958),
    Classic(one.hansen08, 1, -10, 10, -14.508007927195036),
    Classic(one.hansen09, 1, 3.1, 20.4, -1.9059611187157854),
    Classic(one.hansen10, 1, 0, 10, -7.916727371587783),
    Classic(one.hansen11, 1, -np.pi / 2, 2 * np.pi, -1.5),
    Classic(one.hansen12, 1, 0, 2 * np.pi, -1),
    Classic(one.hansen13, 1, 0.001, 0.99, -1.5874010519681996),
    Classic(one.hansen14, 1, 0, 4, -0.7886853874086727),
    Classic(one.hansen15, 1, -5, 5, -0.035533905932737815),
    Classic(one.hansen20, 1, -10, 10, -0.0634905289364399),
    Classic(one.hansen21, 1, 0, 10, -9.508350440633096),
    Classic(one.hansen22, 1, 0, 20, -1),
    Classic(one.forrester, 1, 0, 1, -6.020740055767083),
    Classic(one.gramacy_lee, 1, 0.5, 2.5, -0.8690111349894999),
    Classic(two.ackley, 2, -32.768, 32.768, 0),
    Classic(two.adjiman, 2, (-1, -1), (2, 1), -2.0218067833597875),
    Classic(two.alpine2, 2, 0, 10, -7.885600724127536),
    Classic(two.bird, 2, -2 * np.pi, 2 * np.pi, -106.76453674926476),
    Classic(two.bohachevsky1, 2, -100, 100, 0),
    Classic(two.bohachevsky2, 2, -100, 100, 0),
    Classic(two.booth, 2, -10, 10, 0),
    Classic(two.branin, 2, (-5, 0), (10, 15), 0.39788735772973816),
    Classic(two.branin2, 2, -5, 15, 5.558914403893817),
    Classic(two.bukin6, 2, (-15, -3), (-5, 3), 0),
    Classic(two.camel3, 2, -5, 5, 0),
    Classic(two.camel6, 2, (-3, -2), (3, 2), -1.0316284534898774),
    Classic(two.carrom_table, 2, -10, 10, -24.156815547391243),
    Classic(two.chichinadze, 2, -30, 30, -42.944387018990994),
    Classic(two.cross_in_tray, 2, -10, 10, -2.0626118708227397),
    Classic(two.deckkers_aarts, 2, -20, 20, -24776.518342317697),
    Classic(two.drop_wave, 2, -5.12, 5.12, -1),
    Classic(two.easom, 2, -100, 100, -1),
    Classic(two.eggholder, 2, -512, 512, -959.640662720851),
    Classic(two.giunta, 2, -1, 1, 0.06447042053690566),
    Classic(two.goldstein_price, 2, -2, 2, 3),
    Classic(two.himmelblau, 2, -6, 6, 0),
    Classic(two.holder_table, 2, -10, 10, -19.208502567886754),
    Classic(two.hosaki, 2, 0, (5, 6), -2.345811576101315),
    Classic(two.keane, 2, 0.000001, 10, -0.6736675211452907),
    Classic(two.langermann, 2, 0, 10, -5.162126159963984),
    Classic(two.levy13, 2, -10, 10, 0),
    Classic(two.matyas, 2, -10, 10, 0),
    Classic(two.mccormick, 2, (-1.5, -3), (4, 4), -1.9132229549810367),
    Classic(two.michalewicz, 2, 0, np.pi, -1.8013034100985537),
    Classic(two.parsopoulos, 2, -5, 5, 0),
    Classic(two.periodic, 2, -10, 10, 0.9),
    Classic(two.price1, 2, -500, 500, 0),
    Classic(two.sawtooth, 2, -20, 20, 0),
    Classic(two.schaffer2, 2, -100, 100, 0),
    Classic(two.schaffer4, 2, -100, 100, 0.2925786320359804),
    Classic(two.shubert, 2, -10, 10, -186.73090883102392),
    Classic(two.tube_holder, 2, -10, 10, -10.872300105622745),
    Classic(two.treccani, 2, -5, 5, 0),
    Classic(two.trefethen, 2, -10, 10, -3.306868647475237),
    Classic(two.ursem1, 2, (-2.5, -2), (3, 2), -4.816814063734823),
    Classic(two.ursem3, 2, (-2, -1.5), (2, 1.5), -3),
    Classic(two.ursem4, 2, -2, 2, -1.5),
    Classic(two.venter, 2, -50, 50, 1000),
    Classic(two.zettl, 2, -5, 10, -0.0037912372204688986),
    Classic(two.zirilli, 2, -10, 10, -0.3523860738000365),
    Classic(more.box_betts, 3, (0.9, 9, 0.9), (1.2, 11.2, 1.2), 0),
    Classic(more.griewank, 3, -600, 600, 0),
    Classic(more.hartmann3, 3, 0, 1, -3.862782147820756),
    Classic(more.levy, 3, -10, 10, 0),
    Classic(more.mishra9, 3, -10, 10, 0),
    Classic(more.schwefel, 3, -500, 500, 0),
    Classic(more.trid, 3, -9, 9, -7),
    Classic(more.miele_cantrell, 4, -1, 1, 0),
    Classic(more.power_sum, 4, 0, 4, 0),
    Classic(more.rastrigin, 4, -5.12, 5.12, 0),
    Classic(more.shekel5, 4, 0, 10, -10.15319967905823),
    Classic(more.shekel7, 4, 0, 10, -10.402940566818666),
    Classic(more.shekel10, 4, 0, 10, -10.536409816692046),
    Classic(more.styblinski_tang, 4, -5, 5, -156.6646628150857),
)


class _Read:
    """A formula as an objective, with or without its gradient."""

    def __init__(self, formula: Callable[[Any], Any], gradients: bool) -> None:
        self.formula, self.gradients = formula, gradients

    def __call__(self, x: np.ndarray) -> Any:
        x = np.asarray(x, float)
        with np.errstate(all="ignore"):
            value = float(self.formula(x))
            return (value, self.gradient(x)) if self.gradients else value

    def gradient(self, x: np.ndarray) -> np.ndarray:
        return np.array([np.imag(self.formula(step)) / STEP for step in x + 1j * STEP * np.eye(len(x))], float)


def make(index: int, gradients: bool, seed: int) -> Objective:
    """The function at one row of `TABLE`, from one start."""
    row = TABLE[index]
    lower, upper = (np.broadcast_to(side, row.dimension).astype(float) for side in (row.lower, row.upper))
    x0 = np.random.default_rng([*row.name.encode(), seed]).uniform(lower, upper)
    return Objective(_Read(row.formula, gradients), x0, lower, upper, minimum=row.minimum)


def _problem(index: int, half: str, gradients: bool, seed: int) -> SuiteProblem:
    row = TABLE[index]
    return SuiteProblem(
        name=f"{row.name}/{'gradients' if gradients else 'values'}/seed{seed}",
        group=row.name,
        half=half,
        dimension=row.dimension,
        gradients=gradients,
        budget=BUDGETS[-1],
        make=partial(make, index, gradients, seed),
        tags=("gradients" if gradients else "values",),
        budgets=BUDGETS,
    )


def _problems() -> tuple[SuiteProblem, ...]:
    halves = alternate(row.name for row in TABLE)
    rows = [(index, halves[row.name]) for index, row in enumerate(TABLE)]
    return tuple(_problem(*row, gradients, seed) for row in rows for gradients in (True, False) for seed in SEEDS)


CLASSIC = Suite(
    "classic", "published test functions in one to four dimensions, with and without gradients", "", _problems()
)
