"""`shapeopt.pypesto.ShapeOptimizer`: pyPESTO's problems, fixed parameters and history included."""

import numpy as np
import pytest

pypesto = pytest.importorskip("pypesto")

import pypesto.optimize  # noqa: E402, F811

import shapeopt  # noqa: E402
import shapeopt.pypesto  # noqa: E402


def rastrigin(x):
    return float(np.sum(x**2 - 10 * np.cos(2 * np.pi * x) + 10))


def slope(x):
    return 2 * x + 20 * np.pi * np.sin(2 * np.pi * x)


def solve(objective, optimizer, **fixed):
    problem = pypesto.Problem(objective, lb=np.full(3, -5.0), ub=np.full(3, 5.0), x_guesses=[np.full(3, 3.3)], **fixed)
    return pypesto.optimize.minimize(
        problem, optimizer, n_starts=1, progress_bar=False, history_options=pypesto.HistoryOptions(trace_record=True)
    )


def test_gradients_lead_to_the_global_minimum_and_the_history_has_every_call():
    result = solve(pypesto.Objective(fun=rastrigin, grad=slope), shapeopt.pypesto.ShapeOptimizer(budget=400))
    best = result.optimize_result[0]
    assert best.fval < 1e-8 and len(best.history.get_fval_trace()) == 400
    assert np.abs(np.array(best.history.get_x_trace())).max() <= 5 and "calls" in best.message


def test_values_alone_with_a_fixed_parameter():
    objective, optimizer = pypesto.Objective(fun=rastrigin), shapeopt.pypesto.ShapeOptimizer(budget=500, seed=1)
    best = solve(objective, optimizer, x_fixed_indices=[2], x_fixed_vals=[0.0]).optimize_result[0]
    assert best.fval < 1e-6 and best.x[2] == 0


def test_a_wrong_budget_is_named():
    with pytest.raises(ValueError, match="`budget`"):
        shapeopt.pypesto.ShapeOptimizer(budget=0)
