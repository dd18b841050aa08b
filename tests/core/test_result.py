"""A result is SciPy's to whoever asks, and costs no import of SciPy."""

import copy
import subprocess
import sys

import numpy as np
import pytest

from shapeopt.core.result import Result


def test_entries_are_attributes_and_the_other_way_round():
    result = Result(x=1, fun=2.0)
    result.message = "well"
    assert (result.x, result["message"], sorted(dir(result))) == (1, "well", ["fun", "message", "x"])
    del result.fun
    assert "fun" not in result
    with pytest.raises(AttributeError, match="fun"):
        result.fun  # noqa: B018


def test_it_is_an_optimize_result_and_prints_as_one():
    from scipy.optimize import OptimizeResult

    result = Result(message="well", success=True, fun=2.0, x=np.ones(2))
    assert isinstance(result, OptimizeResult) and isinstance(result, dict)
    assert repr(result) == repr(OptimizeResult(result))


@pytest.mark.parametrize("dimension", [2, 300])
def test_the_result_of_a_run_prints_on_one_screen(dimension):
    import shapeopt

    result = shapeopt.minimize(lambda x: (x @ x, 2 * x), np.full(dimension, 2.0), bounds=(-5, 5), jac=True, budget=1e2)
    lines = repr(result).splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 100
    assert f"fun: {result.fun}" in repr(result) and "nfev: 100" in repr(result) and "100 readings" in repr(result)
    assert "energy" in lines[-1]


def test_a_long_message_and_ten_coordinates_are_printed_whole():
    words = [f"word{i}" for i in range(40)]
    entries = {"message": " ".join(words), "x": np.arange(10) + 0.5, "minima": [], "trace": Result(value=[])}
    shown = repr(Result(entries))
    assert max(map(len, shown.splitlines())) <= 100
    assert all(word in shown.split() for word in words)
    assert all(f"{one:.1f}" in shown for one in entries["x"])


@pytest.mark.parametrize("twin", [copy.copy, copy.deepcopy])
def test_copies_are_results_with_the_same_entries(twin):
    other = twin(Result(fun=2.0, minima=[Result(fun=3.0)]))
    assert (type(other), other.fun, other.minima[0].fun) == (Result, 2.0, 3.0)


def test_minimising_does_not_import_scipys_optimizers():
    lines = (
        "import sys, numpy as np, shapeopt",
        "r = shapeopt.minimize(lambda x: (x @ x, 2 * x), np.ones(2), jac=True, budget=5)",
    )
    check = "print(r.nfev, 'scipy.optimize' in sys.modules)"
    command = [sys.executable, "-c", "\n".join([*lines, check])]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.split() == ["5", "False"]
