"""Constraints in all of SciPy's forms: met, counted from one budget, and the violation told."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import BFGS, SR1, Bounds, LinearConstraint, NonlinearConstraint, minimize, rosen, rosen_der
from scipy.sparse import csr_array

from shapeopt import scipy_method

BOX = Bounds([0, -0.5], [1.0, 2.0])
LINEAR = LinearConstraint([[1, 2], [2, 1]], [-np.inf, 1], [1, 1])
SOLUTION = [0.4149, 0.1701]


def cons_f(x):
    return [x[0] ** 2 + x[1], x[0] ** 2 - x[1]]


def cons_J(x):
    return [[2 * x[0], 1], [2 * x[0], -1]]


TUTORIAL = {
    "trust-constr": [LINEAR, NonlinearConstraint(cons_f, -np.inf, 1, jac=cons_J, hess=lambda x, v: np.zeros((2, 2)))],
    "sparse": [LINEAR, NonlinearConstraint(cons_f, -np.inf, 1, jac=lambda x: csr_array(cons_J(x)), hess=BFGS())],
    "complex step": [LINEAR, NonlinearConstraint(cons_f, -np.inf, 1, jac="cs", hess=SR1())],
    "differences": [LINEAR, NonlinearConstraint(cons_f, -np.inf, 1, jac="2-point", hess=BFGS())],
    "slsqp": (
        {
            "type": "ineq",
            "fun": lambda x: np.array([1 - x[0] - 2 * x[1], 1 - x[0] ** 2 - x[1], 1 - x[0] ** 2 + x[1]]),
            "jac": lambda x: np.array([[-1.0, -2.0], [-2 * x[0], -1.0], [-2 * x[0], 1.0]]),
        },
        {"type": "eq", "fun": lambda x: np.array([2 * x[0] + x[1] - 1]), "jac": lambda x: np.array([2.0, 1.0])},
    ),
}


@pytest.mark.parametrize("form", TUTORIAL)
@pytest.mark.parametrize("jac", [rosen_der, "2-point", None])
def test_documented_rosenbrock_with_constraints(form, jac):
    result = minimize(rosen, [0.5, 0], method=scipy_method, jac=jac, bounds=BOX, constraints=TUTORIAL[form])
    np.testing.assert_allclose(result.x, SOLUTION, atol=2e-4)
    assert result.success and result.constr_violation <= 1e-6 and result.nfev <= 500


CORNER = (
    {"type": "ineq", "fun": lambda x: x[0] - 2 * x[1] + 2},
    {"type": "ineq", "fun": lambda x: -x[0] - 2 * x[1] + 6},
    {"type": "ineq", "fun": lambda x: -x[0] + 2 * x[1] + 2},
)


def test_documented_corner_is_compiled_where_all_of_it_computes_with_jax():
    asked = []

    def fun(x):
        asked.append(1)
        return jnp.square(x[0] - 1) + (x[1] - 2.5) ** 2

    result = minimize(fun, (2, 0), method=scipy_method, bounds=((0, None), (0, None)), constraints=CORNER)
    np.testing.assert_allclose(result.x, [1.4, 1.7], atol=1e-6)
    np.testing.assert_allclose(result.multipliers, [0.8, 0, 0], atol=1e-4)  # as SLSQP's
    assert result.nfev == 500 and len(asked) < 50
    lowest = result.minima[0]
    assert lowest.fun == pytest.approx(0.8, abs=1e-6) and lowest.constr_violation < 1e-6


class Counted:
    def __init__(self):
        self.places = []

    def __call__(self, x):
        self.places.append(np.array(x))
        return float((np.asarray(x) ** 2).sum() + (1 - np.cos(6 * np.asarray(x))).sum())


@pytest.mark.parametrize("gradients", [False, True])
@pytest.mark.parametrize("budget", [1, 7, 60, 211])
def test_all_rounds_spend_from_one_budget_inside_the_bounds(budget, gradients):
    fun, box = Counted(), [(-3, 3)] * 2
    jac = (lambda x: 2 * x + 6 * np.sin(6 * x)) if gradients else None
    line = LinearConstraint([[1.0, 1.0]], 2.0, np.inf)
    forms = {"method": scipy_method, "bounds": box, "constraints": line, "options": {"budget": budget}}
    result = minimize(fun, [-2, 0.5], jac=jac, **forms)
    assert result.nfev == len(fun.places) <= budget
    assert not gradients or result.nfev == budget
    assert np.abs(fun.places).max() <= 3
    assert result.trace.calls.size == 0 or result.trace.calls[-1] <= result.nfev
    assert np.all(np.diff(result.trace.calls) > 0)


def test_a_constraint_that_cannot_be_met_is_reported():
    impossible = [{"type": "eq", "fun": lambda x: x[0] - 4.0}, LINEAR]
    result = minimize(rosen, [0.5, 0], method=scipy_method, jac=rosen_der, bounds=BOX, constraints=impossible)
    assert not result.success and result.constr_violation > 0.5 and "constraints" in result.message


def test_constraint_evaluations_are_counted():
    asked = []

    def circle(x):
        asked.append(1)
        return x[0] ** 2 + x[1] ** 2

    inside = NonlinearConstraint(circle, -np.inf, 0.5, jac="2-point")
    result = minimize(rosen, [0.0, 0.0], method=scipy_method, jac=rosen_der, constraints=inside)
    assert result.success and result.constr_nfev == len(asked) - 1 >= result.nfev, "one call learns the shape"


def test_the_callback_hears_of_the_objective_and_its_stop_ends_all_rounds():
    seen = []

    def told(intermediate_result):
        seen.append(intermediate_result)
        if len(seen) == 5:
            raise StopIteration

    result = minimize(rosen, [0.5, 0], method=scipy_method, jac=rosen_der, constraints=LINEAR, callback=told)
    assert len(seen) == 5 and result.nfev < 12 and result.nit == 1
    for progress in seen:
        assert progress.fun == pytest.approx(rosen(progress.x), abs=1e-12) and progress.constr_violation >= 0


def test_tol_ends_the_rounds_once_two_agree():
    forms = {"method": scipy_method, "jac": rosen_der, "bounds": BOX, "constraints": TUTORIAL["trust-constr"]}
    result = minimize(rosen, [0.5, 0], tol=1e-6, **forms)
    assert result.success and result.nfev < 400
    np.testing.assert_allclose(result.x, SOLUTION, atol=2e-4)


def test_an_exception_passes_with_what_was_learned():
    fun = Counted()

    def breaks(x):
        if len(fun.places) == 40:
            raise RuntimeError("the simulator broke")
        return fun(x)

    with pytest.raises(RuntimeError, match="simulator") as raised:
        minimize(breaks, [-2, 0.5], method=scipy_method, constraints=LINEAR)
    kept = raised.value.shapeopt_result
    assert np.isfinite(kept.fun) and kept.constr_violation >= 0


@pytest.mark.parametrize(
    ("constraint", "words"),
    [({"type": "le", "fun": sum}, "type"), ({"type": "eq"}, "fun"), (3, "constraints")],
)
def test_wrong_constraints_are_named(constraint, words):
    with pytest.raises(ValueError, match=words):
        scipy_method(rosen, [0.5, 0], constraints=constraint)


def test_a_known_hard_problem_is_solved_by_gradients_and_by_values():
    """Hock and Schittkowski's problem 71: f* = 17.0140173."""

    def fun(x):
        x = np.asarray(x)
        return float(x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2])

    def gradient(x):
        return np.array([x[3] * (2 * x[0] + x[1] + x[2]), x[0] * x[3], x[0] * x[3] + 1, x[0] * (x[0] + x[1] + x[2])])

    forms = {"bounds": [(1, 5)] * 4, "method": scipy_method}
    forms["constraints"] = [NonlinearConstraint(np.prod, 25, np.inf), NonlinearConstraint(lambda x: x @ x, 40, 40)]
    for jac, budget in ((gradient, 500), (None, 2000)):
        result = minimize(fun, [1, 5, 5, 1], jac=jac, options={"budget": budget}, **forms)
        assert result.success and result.fun == pytest.approx(17.0140173, abs=1e-4)


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_the_unit_of_the_objective_does_not_matter(scale):
    forms = {"method": scipy_method, "bounds": BOX, "constraints": TUTORIAL["trust-constr"]}
    result = minimize(lambda x: scale * rosen(x), [0.5, 0], jac=lambda x: scale * rosen_der(x), **forms)
    np.testing.assert_allclose(result.x, SOLUTION, atol=2e-4)
    assert result.success
