"""`shapeopt.optimagic`: the best basin through `optimagic.minimize` and `maximize`, within bounds and budget."""

import numpy as np
import pytest

om = pytest.importorskip("optimagic")

import shapeopt  # noqa: E402
import shapeopt.optimagic  # noqa: E402

START = np.full(2, 3.3)
BOX = om.Bounds(lower=np.full(2, -5.0), upper=np.full(2, 5.0))


def rastrigin(x):
    return float(np.sum(x**2 - 10 * np.cos(2 * np.pi * x) + 10))


def slope(x):
    return 2 * x + 20 * np.pi * np.sin(2 * np.pi * x)


def test_gradients_lead_to_the_global_minimum_within_the_budget():
    calls = []
    both = lambda x: (calls.append(x), (rastrigin(x), slope(x)))[1]  # noqa: E731
    shape = shapeopt.optimagic.Shape(stopping_maxfun=300)
    result = om.minimize(rastrigin, START, shape, bounds=BOX, fun_and_jac=both)
    assert result.fun < 1e-9 and result.n_fun_evals == 300 and len(calls) == 301  # optimagic tries the start itself
    assert np.abs(np.array(calls)).max() <= 5 and len(result.algorithm_output["minima"]) > 1


def test_values_alone_and_options_by_name():
    options = {"stopping_maxfun": 400, "seed": 1}
    result = om.minimize(rastrigin, START, shapeopt.optimagic.ShapeValues, bounds=BOX, algo_options=options)
    assert result.fun < 1e-6 and result.n_fun_evals == 400


def test_maximize_and_one_bound():
    hill = lambda x: -float(np.sum((x - 1) ** 2))  # noqa: E731
    values = shapeopt.optimagic.ShapeValues(stopping_maxfun=150)
    result = om.maximize(hill, START, values, bounds=om.Bounds(lower=np.zeros(2)))
    np.testing.assert_allclose(result.params, 1.0, atol=1e-4)


def test_a_sum_of_squares_and_parameters_by_name():
    t = np.linspace(0, 8, 20)
    y = 2.5 * np.exp(-0.4 * t)
    residuals = om.mark.least_squares(lambda b: b["size"] * np.exp(-b["rate"] * t) - y)
    fit = shapeopt.optimagic.ShapeLeastSquares(stopping_maxfun=100)
    result = om.minimize(residuals, {"size": 1.0, "rate": 1.0}, fit)
    assert result.params["size"] == pytest.approx(2.5) and result.params["rate"] == pytest.approx(0.4)
