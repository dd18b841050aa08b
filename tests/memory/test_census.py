"""What meetings with basins say of a better one that was not seen."""

import math

import pytest

from shapeopt.core.codes import Cause
from shapeopt.memory import Census


def met(*meetings):
    census = Census()
    for cause, value in meetings:
        census.add(cause, value)
    return census


def test_nothing_is_known_before_the_first_basin():
    assert Census().confidence == 0.0
    assert met((Cause.STALL, 1.0), (Cause.CONVERGED, math.inf)).confidence == 0.0


def test_confidence_rises_with_every_meeting_and_most_with_those_of_the_best_basin():
    first = met((Cause.CONVERGED, 1.0))
    other = met((Cause.CONVERGED, 1.0), (Cause.HOPELESS, 2.0))
    again = met((Cause.CONVERGED, 1.0), (Cause.REVISIT, 1.3))
    assert 0 < first.confidence < other.confidence < again.confidence < 1


def test_a_better_basin_begins_the_count_anew_and_lowers_the_confidence():
    census = met((Cause.CONVERGED, 1.0), *[(Cause.REVISIT, 1.0)] * 20)
    before = census.confidence
    census.add(Cause.CONVERGED, 0.5)
    assert (census.again, census.since, census.found) == (0, 0, 2)
    assert census.confidence < met((Cause.CONVERGED, 1.0)).confidence < before


@pytest.mark.parametrize(("scale", "shift"), [(1e-12, 0.0), (1e9, 0.0), (1.0, 5.0)])
def test_round_off_makes_no_better_basin(scale, shift):
    census = met((Cause.CONVERGED, 3.0 * scale + shift), (Cause.CONVERGED, scale + shift))
    census.add(Cause.CONVERGED, (1.0 - 1e-9) * scale + shift)
    assert (census.found, census.again) == (2, 1)
