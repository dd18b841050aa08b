"""The examples run as they stand."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))
LONG = {"train_own_family"}  # in a tiny form in tests/training


@pytest.mark.parametrize("path", [path for path in EXAMPLES if path.stem not in LONG], ids=lambda path: path.stem)
def test_example_runs_and_says_something(path):
    done = subprocess.run([sys.executable, path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
