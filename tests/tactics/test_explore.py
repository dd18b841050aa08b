"""The opening of runs of values alone, and the look for other basins."""

import numpy as np

import shapeopt

BOUNDS = (-5, 5)


def two_wells(x):
    """A wide well near one corner, a deeper one near the other."""
    wide = np.sum((x - 3.0) ** 2)
    deep = 4.0 * np.sum((x + 3.0) ** 2) - 2.0
    return float(min(wide, deep))


def test_a_run_reads_x0_first_and_the_centre_next_and_descends_from_the_lower():
    for x0, entered in ((np.full(3, 2.5), 2.5), (np.array([-4.9, 4.9, -4.9]), 0.0)):
        result = shapeopt.minimize(lambda x: float(np.sum((x - 3.0) ** 2)), x0, bounds=BOUNDS, budget=12)
        np.testing.assert_allclose(result.trace.x[1], np.zeros(3), atol=0.1)
        first = result.trace.x[2]
        assert np.sum(np.abs(first - (x0 if entered else result.trace.x[1])) > 1e-9) == 1


def test_without_bounds_there_is_no_centre_to_read():
    result = shapeopt.minimize(lambda x: float(np.sum((x - 3.0) ** 2)), np.ones(3), budget=12)
    assert "explore" not in result.trace.tactic


def test_spread_samples_find_the_deeper_well():
    found = 0
    for seed in range(6):
        result = shapeopt.minimize(two_wells, np.full(2, 2.0), bounds=BOUNDS, budget=150, seed=seed)
        found += result.fun < -1.999
        assert any(event.tactic == "explore" and event.phase == "spread" for event in result.events)
    assert found == 6


def test_samples_are_spread_over_the_box():
    result = shapeopt.minimize(two_wells, np.full(2, 2.0), bounds=BOUNDS, budget=300)
    sampled = result.trace.x[result.trace.tactic == "explore"][1:]
    quadrants = {tuple(point > 0) for point in sampled}
    assert len(quadrants) == 4 and len(np.unique(sampled, axis=0)) == len(sampled)


def test_x0_without_a_value_is_no_start():
    holed = lambda x: np.nan if np.any(x > 2.0) else float(np.sum((x + 1.0) ** 2))  # noqa: E731
    result = shapeopt.minimize(holed, np.full(2, 4.0), bounds=BOUNDS, budget=60)
    assert result.fun < 1e-6
