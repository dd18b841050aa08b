"""Curricula: what is learned first is easier. The paper has one, from double wells to many; the others are new.

A curriculum is a few grades. Each holds up to a share of the epochs; the last is the run's own configuration.
"""

from dataclasses import dataclass, replace
from enum import Enum

from ...tasks import StartLaw


@dataclass(frozen=True)
class Grade:
    """How hard tasks are up to the share `until` of the epochs: family, starts, sensing, size."""

    until: float
    family: str
    law: StartLaw
    sigma: float
    directions: int
    dimension: int
    rotated: bool | None
    readings: int


class Curriculum(Enum):
    """NONE: as configured from the first update. WELLS: double wells, then the family. SENSING: exact gradients, then
    half of the noise, then the configured sensing. STARTS: near the minimiser, then as configured. ALL: everything."""

    NONE = "none"
    WELLS = "wells"
    SENSING = "sensing"
    STARTS = "starts"
    ALL = "all"


FIRST, SECOND = 1 / 3, 2 / 3  # shares of the epochs at which a grade ends; chosen here


def grades_of(curriculum: Curriculum, full: Grade) -> tuple[Grade, ...]:
    """The grades that lead to `full`, which is the last."""
    if curriculum is Curriculum.NONE:
        return (full,)
    easy = middle = full
    if curriculum in (Curriculum.WELLS, Curriculum.ALL) and full.family == "multiwell":
        easy = replace(easy, family="double_well")
    if curriculum in (Curriculum.SENSING, Curriculum.ALL):
        easy, middle = replace(easy, sigma=0.0, directions=0), replace(middle, sigma=0.5 * full.sigma)
    if curriculum in (Curriculum.STARTS, Curriculum.ALL):
        easy = replace(easy, law=StartLaw.NEAR)
    return replace(easy, until=FIRST), replace(middle, until=SECOND), full
