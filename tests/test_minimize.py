"""`shapeopt.minimize`: what it accepts, what it refuses, what it counts, what it gives back."""

import os
import subprocess
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import Bounds, OptimizeResult

import shapeopt


def rastrigin(x):
    return jnp.sum(x * x - 10.0 * jnp.cos(2.0 * jnp.pi * x) + 10.0)


class Counted:
    """A NumPy objective with its gradient, an independent count, and every point it was asked at."""

    def __init__(self):
        self.points = []

    def __call__(self, x):
        x = np.asarray(x)
        self.points.append(x.copy())
        return float(np.sum(x * x - 10.0 * np.cos(2.0 * np.pi * x) + 10.0)), 2.0 * x + 20.0 * np.pi * np.sin(
            2.0 * np.pi * x
        )

    def value(self, x):
        return self(x)[0]

    def gradient(self, x):
        return 2.0 * x + 20.0 * np.pi * np.sin(2.0 * np.pi * x)


START = np.array([3.3, -2.2])


def test_traceable_objective_is_compiled_and_solved():
    result = shapeopt.minimize(rastrigin, START, bounds=(-5, 5), budget=300)
    assert isinstance(result, OptimizeResult) and result.success
    assert result.fun < 1e-6 and result.nfev == 300
    assert result.fun == float(rastrigin(jnp.asarray(result.x)))
    assert result.trace.best[-1] == result.fun
    assert np.all(np.diff(result.trace.best) <= 0)


@pytest.mark.parametrize("budget", [1, 2, 3, 7, 60])
@pytest.mark.parametrize("jac", [True, None, "callable"])
def test_host_objective_is_never_called_past_the_budget_or_outside_the_bounds(budget, jac):
    fun = Counted()
    call = fun if jac is True else fun.value
    gradient = {True: True, None: None, "callable": fun.gradient}[jac]
    result = shapeopt.minimize(call, START, bounds=[(-4, 4), (-3, 3)], budget=budget, jac=gradient)
    assert len(fun.points) == result.nfev <= budget
    points = np.array(fun.points)
    assert np.all(np.abs(points) <= [4, 3])
    assert result.success and result.fun == min(fun.value(x) for x in points)


def test_a_jax_objective_and_its_numpy_pair_make_the_same_run():
    traced = shapeopt.minimize(rastrigin, START, bounds=(-5, 5), budget=100)
    host = shapeopt.minimize(Counted(), START, bounds=(-5, 5), budget=100, jac=True)
    assert traced.nfev == traced.njev == host.nfev == 100
    np.testing.assert_allclose(traced.trace.value[:40], host.trace.value[:40], rtol=1e-5, atol=1e-8)
    decided = [[(event.call, event.tactic, event.cause) for event in run.events[:10]] for run in (traced, host)]
    assert decided[0] == decided[1]


class Sphere(eqx.Module):
    """A JAX objective that reports each evaluation, compiled or not, to `seen`."""

    seen: list = eqx.field(static=True)

    def __call__(self, x):
        def see(x):
            self.seen.append(np.array(x))
            return np.zeros((), x.dtype)

        zero = jax.ShapeDtypeStruct((), x.dtype)
        return jnp.sum(x * x) + jax.pure_callback(see, zero, jax.lax.stop_gradient(x))


class Hidden:
    """A function whose code does not say that it computes with JAX."""

    def __init__(self, parts):
        self.parts = parts

    def __call__(self, x):
        return self.parts[0](x)


@pytest.fixture
def float64_in_all_threads():
    """Compiled code calls back from a thread of its own, which knows no context."""
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


@pytest.mark.parametrize("budget", [1, 2, 7])
@pytest.mark.parametrize("kind", ["plain", "hidden", "pair"])
def test_a_jax_objective_is_evaluated_as_often_as_counted(kind, budget, float64_in_all_threads):
    seen = []
    sphere = Sphere(seen)
    fun = {"plain": sphere, "hidden": Hidden([sphere]), "pair": lambda x: (sphere(x), 2 * jnp.asarray(x))}[kind]
    result = shapeopt.minimize(fun, START, bounds=(-5, 5), budget=budget, jac=True if kind == "pair" else None)
    assert len(seen) == result.nfev == budget
    np.testing.assert_array_equal(seen[0], result.trace.x[0])
    twice = kind == "hidden" and budget > 1  # its first answer, as it is called, shows that it can be differentiated
    assert len(result.trace.value) == budget - twice and result.trace.value[0] == np.sum(START**2)


def test_result_tells_minima_events_and_energy():
    result = shapeopt.minimize(rastrigin, START, bounds=(-5, 5), budget=300)
    values = [minimum.fun for minimum in result.minima]
    assert len(values) > 3 and values == sorted(values) and values[0] == pytest.approx(result.fun)
    for minimum in result.minima[:3]:
        assert float(rastrigin(jnp.asarray(minimum.x))) == pytest.approx(minimum.fun)
    causes = {event.cause for event in result.events}
    assert {"done", "hopeless"} <= causes
    assert {"start", "refine", "separable sum"} <= {event.tactic for event in result.events}
    assert {"test", "sweep", "lowest"} & {event.phase for event in result.events}
    *left, last = result.events
    assert all(event.anchor.shape == (2,) and 0 < event.call <= 300 for event in left)
    assert (last.cause, last.call, last.anchor, last.best) == ("budget", 300, None, result.fun)
    total = sum(result.energy[term] for term in result.energy if term != "delta_H")
    np.testing.assert_allclose(total, result.energy.delta_H, atol=1e-9)


def test_pytrees_and_matrices_keep_their_structure():
    tree = {"a": np.zeros(3), "b": np.zeros((2, 2))}
    result = shapeopt.minimize(lambda t: jnp.sum((t["a"] - 1.0) ** 2) + jnp.sum((t["b"] + 2.0) ** 2), tree, budget=40)
    np.testing.assert_allclose(result.x["a"], 1.0)
    np.testing.assert_allclose(result.x["b"], -2.0 * np.ones((2, 2)))
    result = shapeopt.minimize(lambda m: float(np.sum((np.asarray(m) - 1.0) ** 2)), np.zeros((2, 2)), budget=200)
    assert result.x.shape == (2, 2) and result.fun < 1e-6


@pytest.mark.parametrize(
    "bounds",
    [
        (-5, 5),
        [(-5, 5), (-5, 5)],
        Bounds([-5, -5], [5, 5]),
        (np.full(2, -5.0), np.full(2, 5.0)),
        [(-5, None), (None, 5)],
    ],
)
def test_every_form_of_bounds_is_understood(bounds):
    assert shapeopt.minimize(Counted(), START, bounds=bounds, budget=5, jac=True).nfev == 5


def test_start_is_drawn_in_the_bounds_when_none_is_given():
    first, second = (
        shapeopt.minimize(rastrigin, bounds=[(2, 3), (4, 5)], budget=3, seed=s).trace.value[0] for s in (1, 2)
    )
    assert first != second


def test_dtype_follows_the_start():
    seen = []

    def fun(x):
        seen.append(x.dtype)
        return float(np.sum(np.asarray(x) ** 2))

    assert shapeopt.minimize(fun, START.astype(np.float32), budget=9).x.dtype == np.float32
    assert shapeopt.minimize(fun, [1, 2], budget=9).x.dtype == np.float64
    assert set(seen) == {np.dtype(np.float32), np.dtype(np.float64)}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"x0": [9.0, 0.0], "bounds": (-5, 5)}, ["x0", "9.0"]),
        ({"x0": START, "bounds": [(1, -1), (0, 1)]}, ["bounds", "[1.0, -1.0]"]),
        ({"x0": [np.nan, 0.0]}, ["x0", "nan"]),
        ({"x0": START, "budget": 0}, ["budget", "0"]),
        ({"x0": START, "budget": 2.5}, ["budget", "2.5"]),
        ({"x0": START, "on_error": "never"}, ["on_error", "never"]),
        ({"x0": START, "policy": "no such policy"}, ["policy", "no such policy"]),
        ({"x0": START, "noise": -1.0}, ["noise", "-1.0"]),
        ({"x0": START, "bounds": [(0, 1)] * 3}, ["bounds", "3"]),
        ({"x0": None}, ["x0", "bounds"]),
        ({"x0": START, "jac": "4-point"}, ["jac", "4-point"]),
        ({"x0": [1.0 + 2.0j]}, ["x0", "complex"]),
    ],
)
def test_bad_input_is_refused_with_the_argument_and_the_value(arguments, words):
    with pytest.raises(ValueError) as caught:
        shapeopt.minimize(Counted(), **{"jac": True, **arguments})
    assert all(word in str(caught.value) for word in words)


@pytest.mark.parametrize(
    ("fun", "jac", "words"),
    [
        (lambda x: np.asarray(x) ** 2, None, ["fun", "scalar"]),
        (lambda x: 1.0 + 2.0j, None, ["fun"]),
        (lambda x: (1.0, np.zeros(5)), True, ["jac", "(5,)"]),
    ],
)
def test_bad_answers_are_refused_with_what_was_answered(fun, jac, words):
    with pytest.raises(ValueError) as caught:
        shapeopt.minimize(fun, START, budget=20, jac=jac)
    assert all(word in str(caught.value) for word in words)


def test_exception_passes_unchanged_with_the_best_so_far_attached():
    class Broken(RuntimeError):
        pass

    fun = Counted()

    def fragile(x):
        if len(fun.points) == 30:
            raise Broken("the simulator died")
        return fun(x)

    with pytest.raises(Broken) as caught:
        shapeopt.minimize(fragile, START, bounds=(-5, 5), jac=True)
    partial = caught.value.shapeopt_result
    assert partial.nfev == 31 and not partial.success
    assert partial.fun == min(fun.value(x) for x in list(fun.points))


def test_exceptions_can_be_skipped_and_are_counted():
    fun, failures = Counted(), []

    def fragile(x):
        if len(fun.points) % 5 == 4:
            fun.points.append(np.asarray(x))
            failures.append(1)
            raise OSError("lost")
        return fun(x)

    result = shapeopt.minimize(fragile, START, bounds=(-5, 5), jac=True, budget=100, on_error="skip")
    assert result.nfev == 100 == len(fun.points) and len(failures) > 10 and np.isfinite(result.fun)


def test_all_bad_values_end_without_success_within_the_budget():
    result = shapeopt.minimize(lambda x: np.nan, START, bounds=(-5, 5), budget=25)
    assert not result.success and result.nfev <= 25 and "finite" in result.message


@pytest.mark.parametrize("fun", [rastrigin, Counted().value])
def test_callback_sees_progress_and_can_stop(fun):
    seen = []

    def callback(state):
        seen.append((state.nfev, state.fun))
        return len(seen) == 2

    result = shapeopt.minimize(fun, START, bounds=(-5, 5), budget=400, callback=callback)
    assert len(seen) == 2 and result.nfev == seen[-1][0] < 400 and "callback" in result.message


def test_objective_that_branches_on_values_falls_back_to_the_host_within_the_budget():
    count = []

    def fun(x):
        count.append(1)
        return jnp.sum(x**2) if x[0] > 0 else jnp.sum(x**2) + 1.0

    result = shapeopt.minimize(fun, START, bounds=(-5, 5), budget=200)
    assert len(count) <= 200 and result.fun < 1.0


def test_a_second_run_of_one_objective_compiles_nothing(caplog):
    shapeopt.minimize(rastrigin, START, bounds=(-5, 5), budget=50)
    with jax.log_compiles(True), caplog.at_level("WARNING"):
        shapeopt.minimize(rastrigin, START + 0.1, bounds=(-5, 5), budget=80, seed=3)
        again = [record.message for record in caplog.records if "Compiling" in record.message]
        caplog.clear()
        shapeopt.minimize(lambda x: rastrigin(2.0 * x), START, bounds=(-5, 5), budget=5)
        assert [record for record in caplog.records if "Compiling" in record.message], "a compilation would be seen"
    assert not again


def test_same_seed_gives_the_same_bytes_in_fresh_processes():
    program = (
        "import hashlib, sys, numpy as np, shapeopt\n"
        "w = 2 * np.pi\n"
        "f = lambda x: (np.sum(x * x - 10 * np.cos(w * x) + 10), 2 * x + 10 * w * np.sin(w * x))\n"
        "r = shapeopt.minimize(f, np.full(6, 3.3), bounds=(-5, 5), budget=200, seed=4, jac=True)\n"
        "assert 'jax' not in sys.modules\n"
        "print(hashlib.sha256(r.trace.value.tobytes() + r.x.tobytes()).hexdigest())"
    )
    digests = [
        subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    ]
    assert digests[0] == digests[1] and len(digests[0]) > 60


def test_particles_share_budget_and_memory_and_a_jax_objective_makes_the_same_run():
    fun = Counted()
    stepped = shapeopt.minimize(fun, START, bounds=(-5, 5), budget=202, jac=True, num_starts=4)
    traced = shapeopt.minimize(rastrigin, START, bounds=(-5, 5), budget=202, num_starts=4)
    assert len(fun.points) == stepped.nfev == 202
    np.testing.assert_allclose(stepped.trace.value[:60], traced.trace.value[:60], rtol=1e-5, atol=1e-8)
    starts = np.array(fun.points[-202:][:4])
    np.testing.assert_array_equal(starts[0], START)
    assert len(np.unique(starts, axis=0)) == 4
    assert {event.particle for event in stepped.events if event.wrote} == {0, 1, 2, 3}
    assert sum(minimum.visits for minimum in stepped.minima) > 5 and stepped.fun < 3.0
    with pytest.raises(ValueError, match="num_starts"):
        shapeopt.minimize(fun, START, num_starts=0)


@pytest.mark.parametrize("jac", [True, None])
def test_points_keep_single_precision_to_the_end_of_a_run(jac):
    seen = []

    def fun(x):
        seen.append(x.dtype)
        return (float(x @ x), 2 * x) if jac else float(x @ x)

    result = shapeopt.minimize(fun, np.ones(4, np.float32), bounds=(-5, 5), budget=60, jac=jac)
    assert set(seen) == {np.dtype(np.float32)} == {result.x.dtype, result.trace.x.dtype}


@pytest.mark.parametrize("scheme", ["2-point", "3-point"])
def test_a_budget_below_one_reading_by_differences_still_brings_the_value_at_x0(scheme):
    calls = []
    result = shapeopt.minimize(lambda x: calls.append(1) or float(x @ x), [1.0, 2.0], jac=scheme, budget=2)
    assert result.nfev == len(calls) == 1 and result.fun == 5.0 and result.success


def test_rows_and_columns_are_gradients():
    for shape in ((1, 2), (2, 1)):
        result = shapeopt.minimize(lambda x, s=shape: (x @ x, (2 * x).reshape(s)), [1.0, 2.0], jac=True, budget=20)
        assert result.fun < 1e-12


def test_a_gradient_with_other_names_than_x0_is_refused():
    with pytest.raises(ValueError, match="`jac` must return a gradient built as `x0`"):
        shapeopt.minimize(lambda t: (float(t["a"]) ** 2, {"b": 2 * t["a"]}), {"a": 1.0}, jac=True, budget=9)


def test_bounds_that_stand_for_none_do_not_hinder_the_search():
    fun = lambda x: float((x[0] - 1) ** 2 + 10 * (x[1] - x[0] ** 2) ** 2)  # noqa: E731
    for far in (1e20, 1e300):
        assert shapeopt.minimize(fun, [-1.2, 1.0], bounds=(-far, far), budget=200).fun < 1e-6
