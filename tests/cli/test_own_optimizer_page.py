"""docs/own_optimizer.md: its code is the example's, and its commands do what it says."""

import re
import shlex
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from shapeopt.bench import pool
from shapeopt.cli import main

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "own_optimizer.md").read_text()
EXAMPLE = ROOT / "examples" / "own_optimizer.py"


@contextmanager
def one_thread(workers):
    with ThreadPoolExecutor(1) as executor:
        yield executor


def test_every_piece_of_code_is_taken_from_the_example():
    pieces = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    assert len(pieces) == 2 and all(piece in EXAMPLE.read_text() for piece in pieces)


@pytest.mark.full
def test_the_commands_work_as_they_stand(tmp_path, monkeypatch, capsys):
    (block,) = re.findall(r"```\n(shapeopt bench run.*?)```", PAGE, flags=re.DOTALL)
    shutil.copy(EXAMPLE, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "own_optimizer", raising=False)
    monkeypatch.setattr(pool, "local_processes", one_thread)  # a process would import all of JAX anew
    outputs = []
    for line in block.strip().splitlines():
        assert main(shlex.split(line)[1:]) == 0, line
        outputs.append(capsys.readouterr().out)
    monkeypatch.delitem(sys.modules, "own_optimizer")
    run, overview, compare, _ = outputs
    assert "4 records made" in run
    assert re.search(r"\| ShrinkingSteps \| 2 \|.*\n\| gd \| 2 \|", overview), "the example is the better one"
    assert "ShrinkingSteps against gd: better in 2" in compare
    assert (tmp_path / "waves.png").stat().st_size > 10_000
