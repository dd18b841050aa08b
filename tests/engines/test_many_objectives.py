"""Host and device make the same run on thirty objectives, as far as two host runs one ulp apart do."""

import numpy as np
import pytest
from many_objectives import FUNCTIONS, in_numpy
from optimizer_runs import run_on_device, run_on_host

CALLS = 100
NEIGHBOURS = 12  # runs whose starts differ from x0 by one ulp in each coordinate
MARGIN = 0.9  # of the calls after which neighbours part: the device rounds differently at every step, not at the first
FEWEST = (12, 5)  # calls of the same decisions, and of the same values, that a comparison must have: a convex quadratic
# in 4 dimensions is at its minimum after some 15, and round-off decides from there on


def together(one, other, tolerance):
    """Calls over which two runs decide alike, and over which their values agree."""
    decided = [a == b for a, b in zip(one.decisions, other.decisions, strict=True)]
    close = np.isclose(one.value, other.value, rtol=tolerance, atol=tolerance)
    return tuple(int(np.argmin([*flags, False])) for flags in (decided, close))


def expected(host, fun, x0):
    """Calls over which the device must make the same run: all, or those before runs from neighbours of x0 part."""
    sides = 9.0 * np.random.default_rng(0).choice([-1.0, 1.0], (NEIGHBOURS, x0.size))
    neighbours = [np.nextafter(x0, side) for side in sides]
    reached = np.min([together(host, run_on_host(fun, x, CALLS), 1e-7) for x in neighbours], axis=0)
    return np.where(reached < CALLS, MARGIN * reached, CALLS).astype(int)


@pytest.mark.grid(3)
@pytest.mark.parametrize("d", [4, 12])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_host_and_device_decide_alike_and_read_the_same_values(function, d):
    fun, x0 = in_numpy(function), np.random.default_rng(len(function.__name__)).uniform(-5.0, 5.0, d)
    host = run_on_host(fun, x0, CALLS)
    wanted, reached = expected(host, fun, x0), together(host, run_on_device(fun, x0, CALLS), 1e-6)
    assert np.all(wanted >= FEWEST), "too sensitive to say anything"
    assert np.all(reached >= wanted)


def test_runs_that_part_would_be_seen():
    fun, x0 = in_numpy(FUNCTIONS[1]), np.full(4, 2.0)
    one, other = (run_on_host(fun, x0 + shift, CALLS) for shift in (0.0, 1.0))
    assert together(one, one, 1e-6) == (CALLS, CALLS)
    assert together(one, other, 1e-6)[1] == 0 and together(one, other, 1e-6)[0] < CALLS
