"""`shapeopt bench table | compare | plot` on a folder of records, and what they refuse."""

import csv
import dataclasses
import io
import re
import shutil
from typing import get_args

import numpy as np
import pytest

from shapeopt.bench.curves import Curves
from shapeopt.bench.formats import FORMATS
from shapeopt.bench.records import Record, save_record
from shapeopt.cli import main
from shapeopt.cli.bench import all_protocols
from shapeopt.cli.bench_tables import Format, Kind
from shapeopt.paper.tables.table import PER_PROTOCOL, TABLES
from shapeopt.plots import PICTURES

TASKS = 12
RATES = {"universal": 0.3, "gd": 0.1, "adam": 0.05}


def made(protocol, cell, method):
    cell = dataclasses.replace(cell, tasks=TASKS, starts=1, budget=60)
    start = np.random.default_rng(7).uniform(5, 10, (TASKS, 1))
    gap = start * np.exp(-RATES[method] * np.arange(60))
    curves = Curves(gap, gap, gap, gap[:, -1], gap[:, -1], np.full(TASKS, 60), None, TASKS, 0.0, 0.0)
    return Record(protocol, cell.describe() | {"name": cell.name}, method, 0, curves, {})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("records")
    for method in RATES:
        for protocol in ("paper", "near"):
            for cell in all_protocols()[protocol].cells[:2]:
                save_record(folder, made(protocol, cell, method))
    return folder


def run(*words):
    return main(["bench", *map(str, words)])


def test_one_table_is_printed_in_each_form(folder, capsys):
    assert run("table", folder, "--table", "overview", "--protocol", "near") == 0
    out = capsys.readouterr().out
    assert out.startswith("**Protocol near, all 2 cells**") and "| universal | 2 |" in out
    assert run("table", folder, "--table", "overview", "--protocol", "near", "--format", "csv") == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["Method"] for row in rows] == ["universal", "gd", "adam"]
    assert float(rows[0]["ECDF area, log calls ↑"]) > float(rows[1]["ECDF area, log calls ↑"]) > 0
    assert run("table", folder, "--table", "overview", "--protocol", "near", "--format", "latex") == 0
    assert r"\label{tab:overview-near}" in capsys.readouterr().out


def test_all_tables_go_to_a_file(folder, tmp_path, capsys):
    assert run("table", folder, "--out", tmp_path / "new" / "all.md") == 0
    assert "wrote" in capsys.readouterr().out
    text = (tmp_path / "new" / "all.md").read_text()
    titles = re.findall(r"^\*\*(.*)\*\*$", text, flags=re.MULTILINE)
    assert titles[:2] == ["Goals on the paper's rows", "Main summary"]
    assert {"Protocol near, all 2 cells", "Protocol paper, all 2 cells"} < set(titles)
    assert "Mechanisms of the optimizers in the port-Hamiltonian reading" in titles
    assert "5.973 ± 0.982" in text, "the paper's figure for Adam stands beside ours"


def test_csv_of_several_tables_names_each(folder, capsys):
    assert run("table", folder, "--protocol", "near", "--format", "csv") == 0
    out = capsys.readouterr().out
    assert [line for line in out.splitlines() if line.startswith("# ")][-2:] == [
        "# Protocol near, all 2 cells",
        "# Protocol near: starts 2 to 3.2 from the minimiser, 500 calls",
    ]


def test_methods_and_cells_can_be_chosen(folder, capsys):
    words = ("--protocol", "near", "--table", "protocol", "--format", "csv")
    assert run("table", folder, *words, "--methods", "gd", "adam", "--cells", "ackley-20") == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["group"], row["Method"]) for row in rows] == [
        (f"ackley 20, near, 60 calls, {TASKS} tasks", name) for name in ("gd", "adam")
    ]


def test_a_named_table_reads_the_records_of_its_protocols_alone(folder, tmp_path, capsys):
    shutil.copytree(folder, tmp_path / "records")
    (tmp_path / "records" / "near" / "broken").mkdir()
    (tmp_path / "records" / "near" / "broken" / "gd.safetensors").write_bytes(b"not a record")
    assert run("table", tmp_path / "records", "--table", "synthetic") == 0
    assert "| universal | " in capsys.readouterr().out
    assert run("table", tmp_path / "records", "--table", "overview") == 2


def test_the_table_of_mechanisms_needs_no_records(tmp_path, capsys):
    assert run("table", tmp_path, "--table", "mechanisms") == 0
    assert "| SHAPE | yes |" in capsys.readouterr().out


def test_a_comparison_has_decades_verdicts_and_a_summary(folder, capsys):
    assert run("compare", folder, "--protocol", "near", "--method", "universal", "--against", "gd") == 0
    out = capsys.readouterr().out
    decades = -(0.3 - 0.1) * 59 / np.log(10)
    assert f"| {decades:+.3g} |" in out and out.count("| better |") == 2 and "adam" not in out
    assert "universal against gd: better in 2, worse in 0" in out
    assert run("compare", folder, "--protocol", "near", "--method", "gd", "--metric", "wasted_budget") == 0
    assert "against universal" in capsys.readouterr().out


def test_a_picture_is_written_by_its_ending(folder, tmp_path, capsys):
    for ending, head in ((".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")):
        path = tmp_path / f"ecdf{ending}"
        assert run("plot", folder, "--protocol", "near", "--out", path) == 0
        assert path.read_bytes().startswith(head) and f"wrote {path}" in capsys.readouterr().out.replace("\n", "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["table", "FOLDER", "--table", "mian"], "did you mean 'main'?"),
        (
            ["table", "FOLDER", "--protocol", "papr"],
            "`protocol` must be one of near, paper; got 'papr'; did you mean 'paper'?",
        ),
        (["table", "FOLDER", "--methods", "nobody"], "`folder` has no record that is asked for"),
        (["table", "nowhere"], "`folder` must be a folder of records; got nowhere"),
        (["table", "EMPTY"], "`folder` has no record that is asked for"),
        (["table", "FOLDER", "--out", "FOLDER"], "can't be written"),
        (["compare", "FOLDER", "--method", "gd"], "`protocol` must be given, one of near, paper"),
        (["compare", "EMPTY", "--method", "gd"], "as there are no records"),
        (["compare", "FOLDER", "--protocol", "near", "--method", "gf"], "`method` must be one of universal, gd, adam"),
        (["compare", "FOLDER", "--protocol", "near", "--method", "gd", "--against", "adm"], "did you mean 'adam'?"),
        (
            ["compare", "FOLDER", "--protocol", "near", "--method", "gd", "--against", "gd"],
            "must not have the method itself",
        ),
        (["compare", "FOLDER", "--protocol", "near", "--method", "gd", "--metric", "best"], "`metric` must be one of"),
        (
            ["plot", "FOLDER", "--protocol", "near", "--out", "x.gif"],
            "`out` must end in one of .png, .pdf, .svg; got x.gif",
        ),
        (["plot", "FOLDER", "--out", "x.png"], "`protocol` must be given"),
        (
            ["plot", "FOLDER", "--protocol", "near", "--kind", "budget", "--out", "x.png"],
            "differ in their budget alone",
        ),
    ],
)
def test_a_wrong_argument_is_one_line(folder, tmp_path, capsys, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    assert run(*({"FOLDER": folder, "EMPTY": tmp_path / "empty"}.get(word, word) for word in words)) == 2
    out, err = capsys.readouterr()
    assert err.startswith("shapeopt: error: ") and said in err and len(err.splitlines()) == 1 and out == ""


def test_a_damaged_record_is_one_line(folder, tmp_path, capsys):
    place = tmp_path / "near" / "cell"
    place.mkdir(parents=True)
    (place / "gd.safetensors").write_bytes(b"not a record")
    assert run("table", tmp_path) == 2
    err = capsys.readouterr().err
    assert err.startswith("shapeopt: error: ") and "gd.safetensors" in err


def test_without_matplotlib_the_extra_is_named(folder, tmp_path, capsys, monkeypatch):
    import sys

    for name in [name for name in sys.modules if name.startswith("shapeopt.plots")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert run("plot", folder, "--protocol", "near", "--out", tmp_path / "x.png") == 2
    assert "install shapeopt[report]" in capsys.readouterr().err


def test_the_help_names_every_table_form_and_picture(capsys):
    with pytest.raises(SystemExit) as exit_:
        run("table", "--help")
    words = set(re.findall(r"[\w-]+", capsys.readouterr().out))
    assert exit_.value.code == 0 and {*TABLES, *PER_PROTOCOL, "all"} <= words
    assert get_args(Format) == tuple(FORMATS) and get_args(Kind) == tuple(PICTURES)


@pytest.mark.parametrize("command", ["run", "table", "compare", "plot"])
def test_every_command_of_the_arena_parses(command, capsys):
    with pytest.raises(SystemExit) as exit_:
        run(command, "--help")
    assert exit_.value.code == 0 and f"usage: shapeopt bench {command}" in capsys.readouterr().out
