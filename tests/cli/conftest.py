"""A folder with objectives to name on the command line, and Ctrl-C as an interactive shell leaves it."""

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

OBJECTIVES = """
import os, signal
import jax.numpy as jnp
import numpy as np

number = 3
calls = 0

def bowl(x):
    return jnp.sum((x - 1) ** 2)

def pair(x):
    return float(np.sum((np.asarray(x) - 1) ** 2)), 2 * (np.asarray(x) - 1)

class Bowls:
    def sample(self, seed):
        raise NotImplementedError

def vector(x):
    return np.asarray(x)

def nothing(x):
    return float("nan")

def count():
    global calls
    calls += 1
    return calls

def breaks(x):
    if count() > 20:
        raise RuntimeError("the simulator broke")
    return pair(x)

def interrupted(x):
    if count() == 20:
        os.kill(os.getpid(), signal.SIGINT)
    return pair(x)

def interrupted_values(x):
    return interrupted(x)[0]

def interrupted_program(x):
    answer = interrupted(x)
    if calls == 20:
        raise OSError("the program that was started died of Ctrl-C")
    return answer
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current directory, with `objectives.py` and a module that can't be imported."""
    (tmp_path / "objectives.py").write_text(OBJECTIVES)
    (tmp_path / "broken.py").write_text("import no_such_thing\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name in ("objectives", "broken"):
        sys.modules.pop(name, None)


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt, even if the tests run in the background of a shell, where it is ignored."""
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler, "a command must give Ctrl-C back"
    signal.signal(signal.SIGINT, previous)
