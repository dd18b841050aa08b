"""Every suite's objectives keep the contract of `Objective`: a sample here, all of them in the tests marked `full`."""

from importlib.util import find_spec

import numpy as np
import pytest
from scipy.optimize import minimize

from shapeopt.bench.suites import SUITES

SAMPLE = {  # of the dev halves
    "cutest": ("akiva", "arwhead", "cube", "explin", "hart6", "levymont5"),
    "nist": ("misra1a/start1", "enso/start2", "thurber/start2"),
    "gp": ("iris/rbf/seed1", "friedman1/matern/seed2"),
    "clusters": ("cu5/seed1", "al7/seed2", "lj6/seed1", "morse6_7/seed3"),
    "molecules": ("butanediol/cartesian/seed1", "hexane/torsions/seed2"),
    "fits": ("network_iris_4_3/seed1", "mixture_wine_1_3/seed2", "decays2/seed3", "steps/seed1"),
    "trajectories": ("mga_evvej/seed1", "dsm_em/seed2", "route_3/seed3"),
    "bbob": ("f1/d2/i1", "f15/d5/i2", "f21/d20/i3"),
    "classic": ("hansen02/gradients/seed1", "branin2/values/seed2", "camel6/gradients/seed3", "levy/gradients/seed1"),
}


def _problems(names):
    found = [SUITES[suite].problem(name) for suite, chosen in names.items() for name in chosen]
    return pytest.mark.parametrize("problem", found, ids=[f"{p.group}-{p.name}" for p in found])


ALL = {name: [problem.name for problem in suite.problems] for name, suite in SUITES.items()}
SUITE_OF = {id(problem): suite for suite in SUITES.values() for problem in suite.problems}


def made(problem):
    for package in SUITE_OF[id(problem)].packages:
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    return problem.make()


def value(problem, objective, x):
    return objective.fun(x)[0] if problem.gradients else objective.fun(x)


def check_contract(problem):
    objective = made(problem)
    x0 = objective.x0
    assert x0.shape == objective.lower.shape == objective.upper.shape == (problem.dimension,)
    assert x0.dtype == np.float64
    assert np.all((objective.lower <= x0) & (x0 <= objective.upper))
    assert np.all(objective.lower < objective.upper)
    assert np.all(np.isfinite(objective.search_lower) & np.isfinite(objective.search_upper))
    assert np.all((objective.search_lower <= x0) & (x0 <= objective.search_upper))
    assert np.all((objective.lower <= objective.search_lower) & (objective.search_upper <= objective.upper))
    read = objective.fun(x0)
    if problem.gradients:
        assert isinstance(read[0], float)
        assert read[1].shape == x0.shape
        assert read[1].dtype == np.float64
        assert np.all(np.isfinite(read[1]))
    else:
        assert isinstance(read, float)
    start = value(problem, objective, x0)
    assert np.isfinite(start)
    assert objective.minimum is None or start > objective.minimum


def check_the_same_again(problem):
    """Another copy that has read other points in between gives the same bytes."""
    first, second = made(problem), made(problem)
    rng = np.random.default_rng(0)
    second.fun(rng.uniform(second.search_lower, second.search_upper))
    np.testing.assert_array_equal(first.x0, second.x0)
    one, other = first.fun(first.x0), second.fun(second.x0)
    assert (one[0] == other[0]) if problem.gradients else (one == other)
    if problem.gradients:
        np.testing.assert_array_equal(one[1], other[1])


def slope(objective, x, direction, step):
    return (objective.fun(x + step * direction)[0] - objective.fun(x - step * direction)[0]) / (2 * step)


def check_gradient(problem, x, objective):
    """Along five directions, central differences at three steps: the best of them agrees with the gradient."""
    gradient = objective.fun(x)[1]
    rng = np.random.default_rng(1)
    for _ in range(5):
        direction = rng.normal(size=len(x)) * np.maximum(1e-3, np.abs(x))
        expected = float(gradient @ direction)
        errors = [abs(slope(objective, x, direction, step) - expected) for step in (1e-4, 1e-5, 1e-6)]
        scale = max(abs(expected), float(np.abs(gradient) @ np.abs(direction)), 1e-6)
        assert min(errors) <= 1e-4 * scale, (problem.name, errors, expected)


@_problems(SAMPLE)
def test_an_objective_keeps_the_contract(problem):
    check_contract(problem)


@_problems(SAMPLE)
def test_the_same_problem_has_the_same_start_and_values(problem):
    check_the_same_again(problem)


@_problems(SAMPLE)
def test_the_gradient_is_that_of_the_values(problem):
    if not problem.gradients:
        pytest.skip("values only")
    objective = made(problem)
    check_gradient(problem, objective.x0, objective)
    x0 = objective.x0
    near = x0 + 0.01 * np.random.default_rng(2).normal(size=len(x0)) * np.maximum(1e-3, np.abs(x0))
    check_gradient(problem, np.clip(near, objective.lower, objective.upper), objective)


@_problems(SAMPLE)
def test_a_local_descent_gains_and_does_not_beat_the_known_minimum(problem):
    if not problem.gradients:
        pytest.skip("values only")
    objective = made(problem)
    bounds = list(zip(objective.lower, objective.upper, strict=True))
    options = {"maxfun": 300}
    with np.errstate(all="ignore"):
        found = minimize(objective.fun, objective.x0, jac=True, method="L-BFGS-B", bounds=bounds, options=options).fun
    assert found < value(problem, objective, objective.x0)
    if objective.minimum is not None:
        assert found >= objective.minimum - 1e-9 * max(1.0, abs(objective.minimum))


def test_the_gradient_check_can_fail():
    objective = SUITES["nist"].problem("misra1a/start2").make()

    class Wrong:
        def fun(self, x):
            v, g = objective.fun(x)
            return v, g * np.array([1.0, 1.01])

    with pytest.raises(AssertionError):
        check_gradient(SUITES["nist"].problem("misra1a/start2"), objective.x0, Wrong())


@pytest.mark.full
@_problems(ALL)
def test_every_objective_keeps_the_contract(problem):
    check_contract(problem)
