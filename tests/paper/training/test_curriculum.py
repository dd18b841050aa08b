"""Grades lead from easy to the run's own difficulty."""

import math

import pytest

from shapeopt.paper.training.curriculum import Curriculum, Grade, grades_of
from shapeopt.tasks import StartLaw

FULL = Grade(math.inf, "multiwell", StartLaw.BOX, 0.4, 2, 1, None, 30)


@pytest.mark.parametrize("curriculum", list(Curriculum))
def test_the_last_grade_is_the_full_one_and_shares_rise(curriculum):
    grades = grades_of(curriculum, FULL)
    assert grades[-1] == FULL
    shares = [grade.until for grade in grades]
    assert shares == sorted(shares)


def test_sensing_gets_harder():
    grades = grades_of(Curriculum.SENSING, FULL)
    assert [(g.sigma, g.directions) for g in grades] == [(0.0, 0), (0.2, 2), (0.4, 2)]
    assert {g.family for g in grades} == {"multiwell"}


def test_starts_get_farther():
    assert [g.law for g in grades_of(Curriculum.STARTS, FULL)] == [StartLaw.NEAR, StartLaw.BOX, StartLaw.BOX]


def test_all_joins_them():
    easy = grades_of(Curriculum.ALL, FULL)[0]
    assert (easy.family, easy.law, easy.sigma, easy.directions) == ("double_well", StartLaw.NEAR, 0.0, 0)
