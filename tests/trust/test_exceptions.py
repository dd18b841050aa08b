"""Whatever is thrown, at whichever call, on whichever path: the same exception, the best so far, no further call."""

import signal
import sys

import jax.numpy as jnp
import numpy as np
import pytest
from trust_objectives import HOST, START, THROWN, Counted, branching, placing, ripples, value, writing

import shapeopt

BUDGET = 20
VALUES = {"pair": value, "two functions": value, "values": value, "branching": branching, "writing": writing}


def minimize(fun, jac, **settings):
    return shapeopt.minimize(fun, START, bounds=(-5, 5), jac=jac, **{"budget": BUDGET, **settings})


@pytest.mark.parametrize("kind", [*HOST, "particles", "journal"])
def test_thrown_at_each_call_it_passes_with_the_best_so_far_and_no_further_call(kind, tmp_path):
    fun, jac = HOST.get(kind, HOST["pair"])
    truth = VALUES.get(kind, value)
    settings = {"num_starts": 3} if kind == "particles" else {}
    total = Counted(fun)
    minimize(total, jac, **settings)
    for at in range(1, total.calls + 1):
        thrown = THROWN[at % len(THROWN)]
        counted = Counted(fun, lambda n, at=at, thrown=thrown: thrown if n >= at else None)
        journal = {"journal": tmp_path / str(at)} if kind == "journal" else {}
        with pytest.raises(type(thrown)) as caught:
            minimize(counted, jac, **settings, **journal)
        assert caught.value is thrown and counted.calls == at
        partial = thrown.shapeopt_result
        seen = [truth(np.array(x)) for x in counted.points[: at - 1] if isinstance(x, np.ndarray)]
        if kind == "placing":  # its first call failed on a NumPy array, and was made again
            seen = [placing(jnp.asarray(x)) for x in counted.points[1 : at - 1]]
        assert partial.nfev == at and not partial.success
        assert partial.fun == (min(seen) if seen else np.inf)


def test_thrown_at_each_call_of_several_workers_it_passes_with_the_best_so_far():
    for at in range(1, BUDGET + 1):
        thrown = THROWN[at % len(THROWN)]
        counted = Counted(ripples, lambda n, at=at, thrown=thrown: thrown if n == at else None)
        with pytest.raises(type(thrown)) as caught:
            minimize(counted, True, workers=3)
        assert caught.value is thrown and at <= counted.calls <= min(at + 2, BUDGET), "calls that had begun"
        partial = thrown.shapeopt_result
        assert not partial.success and partial.nfev <= counted.calls
        assert partial.fun == np.inf or partial.fun in [value(x) for x in counted.points]


def test_a_compiled_run_keeps_its_result_when_the_callback_throws():
    def fun(x):
        return jnp.sum(x * x)

    for at in (1, 2, 4):
        seen = []

        def callback(progress, at=at, seen=seen):
            seen.append((progress.nfev, progress.fun))
            if len(seen) == at:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt) as caught:
            minimize(fun, None, budget=400, callback=callback)
        partial = caught.value.shapeopt_result
        assert (partial.nfev, partial.fun) == seen[-1] and len(seen) == at


def test_an_objective_that_cannot_be_traced_for_a_reason_of_its_own_keeps_its_first_value():
    def fun(x):
        if not isinstance(x, np.ndarray):
            raise LookupError("no tracers here")
        import jax.numpy  # in the body, so that its first call is one with a NumPy array

        return jax.numpy.sum(x * x)

    with pytest.raises(LookupError, match="no tracers") as caught:
        minimize(fun, None)
    assert caught.value.shapeopt_result.fun == np.sum(START**2)


def test_ctrl_c_during_a_call_passes_with_the_best_so_far():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        fun = Counted(lambda x: signal.raise_signal(signal.SIGINT) if fun.calls == 9 else ripples(x))
        with pytest.raises(KeyboardInterrupt) as caught:
            minimize(fun, True)
    finally:
        signal.signal(signal.SIGINT, before)
    assert fun.calls == 9 == caught.value.shapeopt_result.nfev
    assert caught.value.shapeopt_result.fun == min(value(x) for x in fun.points[:-1])


@pytest.mark.parametrize("kind", HOST)
def test_a_skipped_exception_costs_its_call_wherever_it_strikes(kind):
    fun, jac = HOST[kind]
    for at in range(1, BUDGET + 1):
        counted = Counted(fun, lambda n, at=at: OSError("lost") if n == at else None)
        result = minimize(counted, jac, on_error="skip")
        assert result.nfev == counted.calls <= BUDGET and result.success, at


def test_what_is_not_an_ordinary_exception_is_never_skipped():
    fun = Counted(ripples, lambda n: KeyboardInterrupt() if n == 4 else None)
    with pytest.raises(KeyboardInterrupt):
        minimize(fun, True, on_error="skip")
    assert fun.calls == 4


def test_everything_failing_is_no_success_and_no_error():
    fun = Counted(ripples, lambda n: ValueError("never"))
    result = minimize(fun, True, on_error="skip")
    assert not result.success and result.nfev == fun.calls <= BUDGET


def test_another_run_inside_the_objective_does_not_end_this_one():
    """An inner optimizer that spends all its calls raises `BudgetExhausted`, which is then the objective's own."""
    inner = shapeopt.Shape(bounds=[(-1, 1)], budget=1)
    inner.tell(inner.ask(), 1.0, np.zeros(1))
    fun = Counted(lambda x: inner.ask() if fun.calls == 6 else ripples(x))
    with pytest.raises(shapeopt.oracles.BudgetExhausted) as caught:
        minimize(fun, True)
    assert caught.value.shapeopt_result.nfev == 6 == fun.calls


def test_the_partial_result_survives_a_traceback_of_any_depth():
    def deep(n):
        return ripples(START) if n == 0 else deep(n - 1)

    fun = Counted(lambda x: deep(sys.getrecursionlimit()) if fun.calls == 5 else ripples(x))
    with pytest.raises(RecursionError) as caught:
        minimize(fun, True)
    assert caught.value.shapeopt_result.nfev == 5 and np.isfinite(caught.value.shapeopt_result.fun)
