"""A call that takes too long is ended with its process, within half a second, and the run knows."""

import importlib
import multiprocessing
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import shapeopt

MODULE = """
import os, subprocess, time
import numpy as np

calls = 0

class Odd(ValueError):
    pass

class Stubborn(Exception):
    def __init__(self, a, b):
        super().__init__(a)

def pair(x):
    assert isinstance(x, np.ndarray)
    return float(np.sum(x * x)), 2 * x

def value(x):
    return pair(x)[0]

def gradient(x):
    return 2 * x

def count():
    global calls
    calls += 1
    return calls

def sleeps(x):
    if count() == 4:
        time.sleep(60)
    return pair(x)

def starts_a_program(x):
    if count() == 4:
        program = subprocess.Popen(["sleep", "60"])
        open("program", "w").write(str(program.pid))
        program.wait()
    return pair(x)

def raises(x):
    if count() == 4:
        raise Odd("fourth")
    return pair(x)

def raises_what_cannot_travel(x):
    if count() == 4:
        raise Stubborn(1, 2)
    return pair(x)

def dies(x):
    if count() == 4:
        os.abort()
    return pair(x)
"""
LIMIT = 0.4


@pytest.fixture
def slow(tmp_path, monkeypatch):
    """The module, importable here and in the worker."""
    (tmp_path / "slow_objectives.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("slow_objectives")
    sys.modules.pop("slow_objectives")


def minimize(fun, jac=True, **settings):
    settings = {"bounds": (-5, 5), "budget": 12, "call_timeout": LIMIT, **settings}
    return shapeopt.minimize(fun, np.array([3.0, -2.0]), jac=jac, **settings)


def gone(pid):
    """Whether a process has ended; a zombie has."""
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        time.sleep(0.01)
    return False


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_call_that_takes_too_long_is_ended_with_all_that_it_started(slow, tmp_path):
    """How soon, benchmarks/time_limit.py measures."""
    with pytest.raises(TimeoutError, match=r"`call_timeout` = 0\.4 s") as caught:
        minimize(slow.starts_a_program)
    assert caught.value.shapeopt_result.nfev == 4 and caught.value.shapeopt_result.fun < 13.0
    assert gone(int((tmp_path / "program").read_text()))


def test_skipped_it_costs_its_call_and_a_fresh_process_goes_on(slow):
    result = minimize(slow.sleeps, on_error="skip")
    assert result.success and result.nfev == 12 and result.fun < 1e-6
    assert np.isnan(result.trace.value[3]) and np.isfinite(np.delete(result.trace.value, 3)[:4]).all()


@pytest.mark.parametrize(("jac", "name"), [(True, "pair"), (None, "value"), ("callable", "value")])
def test_a_run_in_time_reads_what_it_reads_here(slow, jac, name):
    jac = slow.gradient if jac == "callable" else jac
    fun = getattr(slow, name)
    timed = minimize(fun, jac)
    here = minimize(lambda x: fun(np.asarray(x)), jac, call_timeout=None)
    assert timed.trace.value.tobytes() == here.trace.value.tobytes() and timed.nfev == here.nfev


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("raises", "Odd", "fourth"),
        ("raises_what_cannot_travel", "RuntimeError", "Stubborn: 1"),
        ("dies", "ProcessDied", "died in this call, with exit code -6"),
    ],
)
def test_what_the_worker_suffers_is_raised_here_with_the_best_so_far(slow, name, kind, said):
    with pytest.raises(Exception, match=said) as caught:
        minimize(getattr(slow, name))
    assert caught.type.__name__ == kind and caught.value.shapeopt_result.nfev == 4
    assert np.isfinite(caught.value.shapeopt_result.fun)


@pytest.mark.parametrize("limit", [0, -1.0, float("nan")])
def test_a_limit_that_is_no_time_is_refused(slow, limit):
    with pytest.raises(ValueError, match="`call_timeout` must be a positive number"):
        minimize(slow.pair, call_timeout=limit)


def test_what_another_process_cannot_import_is_refused_before_any_call():
    calls = []
    with pytest.raises(ValueError, match="another process can import"):
        minimize(lambda x: calls.append(x))
    assert calls == []


def test_no_worker_outlives_its_run(slow):
    minimize(slow.pair)
    assert multiprocessing.active_children() == []
