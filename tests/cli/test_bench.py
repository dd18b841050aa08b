"""`shapeopt bench run`: exit codes, what it tells meanwhile, and one clear line for what can't be run."""

import re
import sys
from concurrent.futures import Future
from contextlib import contextmanager
from types import SimpleNamespace

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from shapeopt.bench import pool, runner
from shapeopt.bench.records import load_records
from shapeopt.cli import bench, main
from shapeopt.cli.bench import all_protocols
from shapeopt.paper import find
from shapeopt.tasks import make_family

MODULE = """
from dataclasses import dataclass
from typing import ClassVar

from shapeopt.bench.cells import Cell, Protocol
from shapeopt.peers import AbstractPeer, Start
from shapeopt.tasks import make_family

family = make_family("rastrigin", 2)
TINY = Protocol("tiny", "for tests", (Cell(family, 12, 2, 2), Cell(family, 9, 2, 2)), ("direct", "multistart"), seed=5)
LARGE = Protocol("large", "for tests", (Cell(family, 500, 64, 32),), ("direct",))
ASTRAY = Protocol("../astray", "for tests", TINY.cells, ("direct",))


@dataclass(frozen=True)
class Raises(AbstractPeer):
    name: str = "raises"
    package: ClassVar[str] = "scipy"
    uses_gradients: ClassVar[bool] = False
    start: ClassVar[Start] = Start.READS

    def search(self, *arguments):
        raise RuntimeError("half way\\nand more lines")
"""


class Here:
    """Runs jobs at once in this process."""

    def submit(self, function, *arguments):
        future = Future()
        future.set_result(function(*arguments))
        return future


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working folder, with a user's protocols and methods."""
    (tmp_path / "ours.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    sys.modules.pop("ours", None)


@pytest.fixture
def at_once(monkeypatch):
    """No processes are started; the numbers of workers that were asked for."""
    asked = []

    @contextmanager
    def here(workers):
        asked.append(workers)
        yield Here()

    monkeypatch.setattr(pool, "local_processes", here)
    return asked


def run(capsys, *words):
    """Exit code, lines of standard output, lines of standard error."""
    code = main(["bench", "run", *words])
    out, err = capsys.readouterr()
    return code, out.splitlines(), err.splitlines()


def methods_of(folder):
    return sorted((record.cell["budget"], record.method) for record in load_records(folder))


@pytest.mark.full
def test_a_user_s_protocol_is_run_in_processes_and_resumed(folder, capsys):
    words = ("ours:TINY", "--out", "records", "--methods", "direct", "--cells", "-9", "--workers", "1")
    code, out, err = run(capsys, *words)
    assert code == 0 and err == []
    assert out[0] == "tiny: 0 of 1 records are there, 1 to make in records"
    assert re.fullmatch(r"1/1 rastrigin-2-box-9 direct, about 0 s left", out[1])
    assert out[2:] == ["1 records made"]
    (record,) = load_records(folder / "records")
    assert (record.protocol, record.cell["budget"], record.seed) == ("tiny", 9, 5)
    assert run(capsys, *words) == (
        0,
        ["tiny: 1 of 1 records are there, 0 to make in records", "0 records made"],
        [],
    )


def test_the_protocol_s_own_methods_are_run_if_none_are_named(folder, at_once, capsys):
    code, out, _ = run(capsys, "ours:TINY", "--out", "records", "--workers", "3")
    assert code == 0 and at_once == [3] and out[-1] == "4 records made"
    assert methods_of(folder / "records") == [(9, "direct"), (9, "multistart"), (12, "direct"), (12, "multistart")]
    assert [line.split(" ")[0] for line in out[1:-1]] == ["1/4", "2/4", "3/4", "4/4"]


def test_a_failure_is_told_in_a_line_and_in_the_exit_code_and_the_rest_is_made(folder, at_once, capsys):
    code, out, err = run(capsys, "ours:TINY", "--out", "records", "--methods", "ours:Raises", "direct")
    assert code == 1
    assert err == [f"failed: rastrigin-2-box-{budget} ours:Raises: RuntimeError: half way" for budget in (12, 9)]
    assert out[-1] == "2 records made, 2 failed" and sum("FAILED" in line for line in out) == 2
    assert methods_of(folder / "records") == [(9, "direct"), (12, "direct")]


def test_cells_that_are_left_out_are_named_with_the_reason_and_are_no_failure(folder, at_once, capsys, monkeypatch):
    monkeypatch.setattr(find, "CHECKOUT", folder / "no checkout")
    code, out, err = run(capsys, "ours:TINY", "--out", "records", "--methods", "direct", "paper")
    assert code == 0 and err == []
    assert out[:2] == [
        "left out: paper on rastrigin-2-box-12, rastrigin-2-box-9: "
        "there is no policy paper-rastrigin-2 in a folder `weights`",
        "tiny: 0 of 2 records are there, 2 to make in records",
    ]
    assert out[-1] == "2 records made" and methods_of(folder / "records") == [(9, "direct"), (12, "direct")]


def test_a_seed_a_part_and_a_repeated_method_are_taken(folder, at_once, capsys):
    words = ("ours:TINY", "--out", "records", "--methods", "direct", "direct", "--cells", "box-12", "--seed", "8")
    code, out, _ = run(capsys, *words)
    assert code == 0 and out[0] == "tiny: 0 of 1 records are there, 1 to make in records"
    (record,) = load_records(folder / "records")
    assert (record.seed, record.cell["budget"]) == (8, 12)


def test_quick_makes_a_small_protocol_of_its_own(folder, at_once, capsys):
    code, out, _ = run(capsys, "ours:LARGE", "--out", "records", "--quick")
    assert code == 0 and out[0].startswith("large-quick: 0 of 1")
    (record,) = load_records(folder / "records")
    assert (record.protocol, record.cell["budget"], record.curves.runs) == ("large-quick", 60, 4)


def test_ctrl_c_keeps_what_was_made_and_says_so(folder, at_once, capsys, monkeypatch):
    note = bench._Progress.note

    def interrupted(progress, outcome):
        note(progress, outcome)
        raise KeyboardInterrupt

    monkeypatch.setattr(bench._Progress, "note", interrupted)
    code, out, err = run(capsys, "ours:TINY", "--out", "records")
    assert code == 130 and err == []
    assert out[-1] == "stopped; records keeps what was made, and the same command goes on from there"
    monkeypatch.undo()
    assert methods_of(folder / "records") == [(12, "direct")]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nearby",), r"`protocol` must be one of paper, .*; got 'nearby'; did you mean 'near'\?"),
        (
            ("ours:NOTHING",),
            "`protocol` must name something .*; 'ours:NOTHING': module 'ours' has no attribute 'NOTHING'",
        ),
        (("absent:TINY",), "`protocol` must name something .*'absent:TINY': No module named 'absent'"),
        (("ours:family",), "`protocol` must name a Protocol; 'ours:family' is Rastrigin"),
        (("ours:ASTRAY",), r"`name` must be made of letters, .*; got '\.\./astray'"),
        (("ours:TINY", "--methods", "adamm"), "`methods` must be among paper, .*universal, .*gd, .*Got 'adamm'"),
        (("ours:TINY", "--methods", "ours:nothing"), "`methods` must name something .*'ours:nothing'"),
        (("ours:TINY", "--methods", "ours:family"), "`methods` must name an optimizer or a peer"),
        (("ours:TINY", "--methods", "lost.safetensors"), r"`methods` must name policies .*got 'lost\.safetensors'"),
        (("ours:TINY", "--cells", "box-9", "box-10"), "`cells` must be parts of rastrigin-2-box-12, .*; got box-10"),
        (("ours:TINY", "--seed", "-1"), r"`seed` must lie in \[0, 2\^32\); got -1"),
        (("ours:TINY", "--workers", "-2"), "`workers` must not be negative; got -2"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_can_t_be_run_is_one_clear_line_and_exit_code_2(folder, capsys, words, message):
    code, out, err = run(capsys, words[0], "--out", "records", *words[1:])
    assert code == 2 and out == [] and len(err) == 1
    assert re.match(f"shapeopt: error: {message}", err[0]), err[0]
    assert not (folder / "records").exists()


def test_a_peer_s_missing_package_is_one_clear_line(folder, capsys, monkeypatch):
    monkeypatch.setattr("shapeopt.peers.packages.available", lambda package: package != "cma")
    code, _, err = run(capsys, "ours:TINY", "--out", "records", "--methods", "cma")
    assert code == 2 and len(err) == 1 and "pip install 'shapeopt[peers]'" in err[0]


def test_a_folder_that_can_t_be_written_is_one_clear_line(folder, at_once, capsys):
    (folder / "records").write_text("a file in the way")
    code, _, err = run(capsys, "ours:TINY", "--out", "records", "--methods", "direct")
    assert code == 2 and len(err) == 1 and err[0].startswith("shapeopt: error: `out` records can't be used: ")


def test_a_scheduler_without_dask_is_one_clear_line(folder, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    code, _, err = run(capsys, "ours:TINY", "--out", "records", "--scheduler", "tcp://127.0.0.1:1")
    assert code == 2 and len(err) == 1
    assert "`scheduler` 'tcp://127.0.0.1:1' can't be used" in err[0] and "shapeopt[distributed]" in err[0]


def test_tasks_that_do_not_know_their_minimum_are_named(folder):
    known = make_family("rastrigin", 2)
    task = eqx.tree_at(lambda task: task.minimum, known.sample(jax.random.key(0)), jnp.array(jnp.nan))
    unknown = SimpleNamespace(name="mine", sample=lambda key: task)
    (line,) = bench._unmeasured([SimpleNamespace(family=family) for family in (known, unknown, unknown)])
    assert line.startswith("note: tasks of mine don't know their `minimum`")


def test_every_protocol_can_be_named(folder, capsys, monkeypatch):
    asked = []
    monkeypatch.setattr(runner, "jobs_of", lambda protocol, methods, folder, find: asked.append(protocol) or [])
    for name, protocol in all_protocols().items():
        assert run(capsys, name, "--out", "records", "--methods", "gd")[0] == 0
        assert asked[-1].cells == protocol.cells
