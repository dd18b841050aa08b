"""Lambert's and Kepler's problems are each other's inverse, and swing-bys keep what they should."""

import numpy as np
import pytest

from shapeopt.bench.suites.orbits import DAY, PLANETS, UNIT, lambert, planet_state, propagate, swing_by, swing_by_cost
from shapeopt.bench.suites.trajectories import CLIFF, TABLE, WORST, Impulses


def test_the_earth_is_where_it_should_be():
    place, speed = planet_state(PLANETS["E"], 0.0)
    assert np.linalg.norm(place) / UNIT == pytest.approx(0.9833, abs=1e-4)  # near perihelion
    assert np.linalg.norm(speed) == pytest.approx(30.29, abs=0.01)


@pytest.mark.parametrize("letter", PLANETS)
def test_a_planet_moves_as_a_body_does(letter):
    place, speed = planet_state(PLANETS[letter], 100.0)
    later, faster = propagate(place, speed, 700 * DAY)
    there, then = planet_state(PLANETS[letter], 800.0)
    np.testing.assert_allclose(later, there, atol=1e-7 * np.linalg.norm(there))
    np.testing.assert_allclose(faster, then, atol=1e-7 * np.linalg.norm(then))


@pytest.mark.parametrize(("pair", "days"), [("EV", 120.0), ("EM", 250.0), ("VE", 400.0), ("EJ", 900.0), ("ES", 100.0)])
def test_an_arc_leads_where_it_was_asked_to(pair, days):
    start, goal = planet_state(PLANETS[pair[0]], 50.0)[0], planet_state(PLANETS[pair[1]], 50.0 + days)[0]
    first, last = lambert(start, goal, days * DAY)
    place, speed = propagate(start, first, days * DAY)
    np.testing.assert_allclose(place, goal, atol=1e-7 * np.linalg.norm(goal))
    np.testing.assert_allclose(speed, last, atol=1e-6 * np.linalg.norm(last))


def test_opposite_points_have_no_arc():
    assert lambert(np.array([UNIT, 0, 0]), np.array([-UNIT, 0, 0]), 180 * DAY) is None


def test_a_swing_by_turns_and_does_not_speed_up():
    _, body = planet_state(PLANETS["V"], 10.0)
    before = body + np.array([3.0, -2.0, 1.0])
    after = swing_by(before, body, PLANETS["V"], 1.5, 0.7)
    assert np.linalg.norm(after - body) == pytest.approx(np.linalg.norm(before - body))
    impulse, radius = swing_by_cost(before - body, after - body, PLANETS["V"])
    assert impulse == pytest.approx(0.0, abs=1e-9)
    assert radius == pytest.approx(1.5 * PLANETS["V"].lowest, rel=1e-6)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_every_point_of_the_box_has_a_finite_value(row):
    lower, upper = row.box()
    rng = np.random.default_rng(0)
    points = [rng.uniform(lower, upper) for _ in range(30)]
    points += [np.where(rng.random(len(lower)) < 0.5, lower, upper) for _ in range(10)]
    values = [row(x) for x in points]
    assert np.all(np.isfinite(values))
    assert max(values) <= WORST


def test_a_flight_has_cliffs():
    """Along one duration there is a jump of about `CLIFF` between two points that nearly coincide."""
    row = Impulses("EVVEJ")
    lower, upper = row.box()
    x = next(x for x in np.random.default_rng(1).uniform(lower, upper, (500, len(lower))) if row(x) < 50)
    values = []
    for share in np.linspace(0, 1, 1500):
        x[2] = lower[2] + share * (upper[2] - lower[2])
        values.append(row(x))
    jumps = np.abs(np.diff(values))
    assert np.sum(np.abs(jumps - CLIFF) < 0.5) >= 1
