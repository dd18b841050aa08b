"""What a universal policy is trained on: mixtures of families, dimensions, lengths of runs, and noise.

The broad mixture has none of the tasks' VALIDATION, by which its best weights are chosen. What is held out of both
serves to judge what was chosen, and is not named here. The narrow ones fit a policy to a family, and choose by other
tasks of it.
"""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from ..tasks import VALIDATION, StartLaw
from .curriculum import Grade


class Mixture(NamedTuple):
    """Tasks to train on, one sort an epoch, and tasks to choose the best weights by."""

    trained: tuple[Grade, ...]
    validated: tuple[Grade, ...]

    def grade(self, epoch: int, seed: int) -> Grade:
        """The tasks of an epoch: all sorts in turn, in an order drawn anew for each round."""
        turn, place = divmod(epoch, len(self.trained))
        return self.trained[np.random.default_rng((seed, turn)).permutation(len(self.trained))[place]]


def _grade(
    family: str, dimension: int, readings: int, rotated: bool = False, sigma: float = 0.0, near: bool = False
) -> Grade:
    law = StartLaw.NEAR if near else StartLaw.BOX
    return Grade(math.inf, family, law, sigma, 0, dimension, rotated, readings)


def _narrow(*grades: Grade) -> Mixture:
    return Mixture(grades, grades)


ROUGH = "rastrigin+ackley+scattered_wells+plateau+crooked_bowl+bent_valley+curve_fit"
BROAD = Mixture(
    trained=(
        _grade("multiwell", 1, 100),
        _grade(ROUGH, 2, 100, rotated=True),
        _grade(ROUGH, 3, 300, rotated=True),
        _grade(ROUGH, 4, 2000, rotated=True),
        _grade(ROUGH, 5, 500, rotated=True, sigma=0.1),
        _grade(ROUGH, 8, 60, rotated=True),
        _grade(ROUGH, 10, 500, rotated=True),
        _grade("planted_spins+scattered_wells+curve_fit+rastrigin", 12, 400),
        _grade(ROUGH, 20, 300, rotated=True),
        _grade("rastrigin+ackley", 100, 100, near=True),
    ),
    validated=(_grade("+".join(name for name in VALIDATION if name != "pendulum"), 6, 400, rotated=True),),
)
PLANTS = (_grade("pendulum", 12, 300), _grade("navigation", 12, 300))
MIXTURES: Mapping[str, Mixture] = MappingProxyType(
    {
        "mixture": BROAD,
        "clusters": _narrow(_grade("lennard_jones", 18, 500)),
        "retrieval": _narrow(_grade("phase_retrieval", 8, 200), _grade("phase_retrieval", 32, 500)),
        # double integrators are solved by the untrained policy: there is nothing to learn from them
        "control": Mixture(trained=PLANTS, validated=(_grade("double_integrator", 16, 300), *PLANTS)),
    }
)


def in_words(grade: Grade) -> str:
    """The tasks of a grade, for a card."""
    turned = ", rotated" if grade.rotated else ""
    noise = f", noise {grade.sigma:g}" if grade.sigma else ""
    start = ", near starts" if grade.law is StartLaw.NEAR else ""
    return f"{grade.family}, d = {grade.dimension}, {grade.readings} readings{turned}{noise}{start}"
