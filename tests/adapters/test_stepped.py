"""A run that its caller steps: what it keeps is enough to go on in a process that began elsewhere."""

import numpy as np
import pytest

from shapeopt.adapters.stepped import SteppedRun
from shapeopt.core.problem import read_problem
from shapeopt.policies import find_policy

TARGET = np.array([3.0, 2.0, 0.5])


def begun(x0, bounds):
    problem = read_problem(np.array(x0), bounds, np.random.default_rng(0))
    return SteppedRun(find_policy("universal"), problem, 60)


def values(run, count):
    seen = []
    for _ in range(count):
        offset = run.x - TARGET
        seen.append(float(offset @ offset + np.sin(3 * run.x).sum()))
        run.tell(seen[-1], 2 * offset + 3 * np.cos(3 * run.x))
    return seen


@pytest.mark.parametrize(
    "bounds, x0, other", [(None, 1.0, 7.0), (None, 1e-3, 50.0), ((-5, 5), 1.0, 2.0), ((1e-300, 10), 1e-8, 2.0)]
)
def test_a_run_goes_on_to_the_same_bits_wherever_the_other_process_began(bounds, x0, other):
    run = begun([x0] * 3, bounds)
    values(run, 15)
    kept = run.arrays()
    rest = values(run, 15)
    resumed = begun([other] * 3, bounds)
    resumed.load(kept)
    assert values(resumed, 15) == rest


def test_what_another_dimension_kept_is_refused():
    with pytest.raises(ValueError, match="same dimension"):
        begun([1.0] * 3, None).load(begun([1.0] * 2, None).arrays())
