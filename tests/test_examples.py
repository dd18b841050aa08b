"""The examples, and the notebooks of the site, run as they stand."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted([*(ROOT / "examples").glob("*.py"), *(ROOT / "docs" / "examples").glob("*.py")])
LONG = {"train_own_family"}  # in a tiny form in tests/paper/training


QUICK = {"shape_from_scratch", "own_tactic"}  # the others are full
CASES = [
    pytest.param(path, id=path.stem, marks=[] if path.stem in QUICK else [pytest.mark.full])
    for path in EXAMPLES
    if path.stem not in LONG
]


@pytest.mark.parametrize("path", CASES)
def test_example_runs_and_says_something(path):
    if path.stem.startswith("torch_") and importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")
    unseen = {**os.environ, "MPLBACKEND": "Agg"}
    done = subprocess.run([sys.executable, "-W", "error", path], capture_output=True, text=True, env=unseen)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
