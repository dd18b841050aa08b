"""The minima of the published functions are minima: reached by polishing, beaten by nothing."""

import numpy as np
import pytest
from scipy.optimize import minimize

from shapeopt.bench.suites.classic import TABLE, make

KNOWN = {  # published minimisers, where a quick search does not arrive
    "bukin6": (-10, 1),
    "easom": (np.pi, np.pi),
    "eggholder": (512, 404.2318),
    "griewank": (0, 0, 0),
    "levy13": (1, 1),
    "mishra9": (1, 2, 3),
    "power_sum": (1, 2, 2, 3),
    "rastrigin": (0, 0, 0, 0),
    "schaffer4": (0, 1.253132),
    "trefethen": (-0.02440307923, 0.2106124261),
}


@pytest.mark.parametrize("index", range(len(TABLE)), ids=lambda index: TABLE[index].name)
def test_a_quick_search_reaches_the_minimum_and_does_not_beat_it(index):
    objective = make(index, True, 1)
    best = quick_search(objective)
    slack = 1e-9 * max(1.0, abs(objective.minimum))
    assert best >= objective.minimum - slack
    if TABLE[index].name in KNOWN:
        best = objective.fun(np.array(KNOWN[TABLE[index].name], float))[0]
    assert objective.minimum - slack <= best <= objective.minimum + 1e-6 * max(1.0, abs(objective.minimum))


def quick_search(objective, points=1500, descents=12):
    rng = np.random.default_rng(0)
    x = rng.uniform(objective.lower, objective.upper, (points, len(objective.x0)))
    values = [objective.fun(each)[0] for each in x]
    bounds = list(zip(objective.lower, objective.upper, strict=True))
    with np.errstate(all="ignore"):
        starts = x[np.argsort(values)[:descents]]
        found = [minimize(objective.fun, each, jac=True, method="L-BFGS-B", bounds=bounds).fun for each in starts]
    return min(found)


def test_names_are_functions_of_their_own():
    assert len({row.formula for row in TABLE}) == len(TABLE) >= 50


def test_a_wrong_minimum_would_be_noticed():
    index = [row.name for row in TABLE].index("branin")
    assert quick_search(make(index, True, 1)) == pytest.approx(0.39788735772973816, abs=1e-7)
