"""The examples, and the notebooks of the site, run as they stand."""

import importlib.util
import os
import re
import resource
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "docs" / "examples").glob("*.py"))
EXAMPLES = sorted([*(ROOT / "examples").glob("*.py"), *NOTEBOOKS])
CPU_SECONDS = 20.0  # of a notebook; the slowest takes some 5
LONG = {"train_own_family"}  # in a tiny form in tests/paper/training
# Marked full; the notebooks are not. What `own_tactic` does is run in a test of its own below.
LONG_TO_COMPILE = {"own_family", "own_optimizer", "own_tactic", "train_thirty"}
NEEDED = {"torch_loss": "torch", "conformers": "rdkit", "dask_cluster": "distributed"}
CASES = [
    pytest.param(path, id=path.stem, marks=[pytest.mark.full] if path.stem in LONG_TO_COMPILE else [])
    for path in EXAMPLES
    if path.stem not in LONG
]


def processor_seconds_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@pytest.mark.parametrize("path", CASES)
def test_example_runs_and_says_something(path):
    package = NEEDED.get(path.stem)
    if package is not None and importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    unseen = {**os.environ, "MPLBACKEND": "Agg"}
    before = processor_seconds_of_children()
    done = subprocess.run([sys.executable, "-W", "error", path], capture_output=True, text=True, env=unseen)
    spent = processor_seconds_of_children() - before
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    if path.parent.parent.name == "docs":
        assert spent < CPU_SECONDS, f"{path.stem} took {spent:.1f} s of processor time"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_asserts_its_outcome(path):
    assert re.search(r"^assert ", path.read_text(), flags=re.MULTILINE)


def test_a_tactic_of_one_s_own_is_in_the_events_of_both_engines(capsys):
    own = ROOT / "examples" / "own_tactic.py"
    assert len(own.read_text().splitlines()) < 60
    names = runpy.run_path(str(own))
    names["main"]()
    events = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["compass", "done"] in [line[1:3] for line in events]
    place = [tactic.name for tactic in names["POLICY"].tactics].index("compass") + 1  # the first is `start`
    info = names["on_device"]()
    polls = np.asarray(info.tactic) == place
    assert polls.any() and np.all(np.asarray(info.cause)[polls] != 0)


@pytest.mark.parametrize("seed", range(4))
def test_the_reading_copy_reaches_the_global_minimum_and_its_ledger_closes(seed):
    names = runpy.run_path(str(ROOT / "examples" / "shape_from_scratch.py"))
    start = np.random.default_rng(seed).uniform(-5.0, 5.0, 2)
    said = []
    plant = names["minimise"](names["rastrigin"], start, -5.0, 5.0, 500, seed, said.append)
    assert plant.best_f < 1e-12 and plant.left == 0 and len(plant.lines) == 499 and len(said) > 10
    lines = np.array(plant.lines)
    terms, delta = lines[:, :-1], lines[:, -1]
    assert np.all(np.abs(terms.sum(axis=1) - delta) <= 1e-14 * (np.abs(lines).sum(axis=1) + 200.0))
    placed = lines[:, names["Line"]._fields.index("relocation")] != 0
    assert placed.sum() > 20 and not terms[placed][:, [1, 2, 4]].any()


def test_the_reading_copy_closes_its_ledger_with_momentum_too():
    names = runpy.run_path(str(ROOT / "examples" / "shape_from_scratch.py"))
    plant = names["Plant"](names["rastrigin"], np.array([3.3, -2.7]), -5.0, 5.0, 40)
    for i in range(39):
        mass = 1.0 + i % 3  # another metric each time, so that events do work
        plant.step(lambda v, mass=mass: v / mass, zeta=0.2)
    lines = np.array(plant.lines)
    assert lines[:, 0].max() <= 0 and np.abs(lines[:, 1]).max() > 0
    np.testing.assert_allclose(lines[:, :-1].sum(axis=1), lines[:, -1], rtol=0, atol=1e-11)
