"""`shapeopt figures` draws from records, makes those that are missing, and refuses what it can't write."""

import numpy as np
import pytest

from shapeopt.cli import main
from shapeopt.paper.figures import sources as figure_sources
from shapeopt.paper.figures.sheets import Sheet, save_sheet


def wells():
    parts = {
        "lower": np.array([-5.0]),
        "upper": np.array([5.0]),
        "minimiser": np.array([1.0]),
        "minimum": np.array(0.0),
    }
    route = {"gd/points": np.zeros((4, 1)), "gd/values": np.ones(4), "gd/calls": np.arange(1, 5)}
    about = {"cell": {"family": "multiwell", "budget": 4}, "methods": ["gd"]}
    return Sheet(about, parts | route | {"landscape": np.linspace(-1, 1, 9) ** 2})


def test_a_figure_is_drawn_from_the_sheets_that_are_there(tmp_path, capsys):
    save_sheet(tmp_path / "runs" / "sheets" / "multiwell-multiwell.safetensors", wells())
    out = tmp_path / "figure.svg"
    assert main(["figures", "multiwell", str(out), "--records", str(tmp_path / "runs")]) == 0
    assert "running" not in capsys.readouterr().out and "<svg" in out.read_text()


@pytest.mark.full
def test_a_missing_sheet_is_made_once(tmp_path, monkeypatch, capsys):
    made = []
    source = {"multiwell": lambda: made.append(1) or wells()}
    monkeypatch.setattr(figure_sources, "FIGURE_SHEETS", {"multiwell": source})
    for _ in range(2):
        assert main(["figures", "multiwell", str(tmp_path / "a.pdf"), "--records", str(tmp_path)]) == 0
    assert made == [1] and capsys.readouterr().out.count("running") == 1


@pytest.mark.full
def test_cells_of_a_figure_are_run_as_those_of_a_protocol(tmp_path, monkeypatch):
    import dataclasses

    whole = figure_sources.FIGURE_PROTOCOLS["search"]
    small = dataclasses.replace(whole, cells=(whole.cells[0].quick(),), methods=("gd",))
    monkeypatch.setattr(figure_sources, "FIGURE_PROTOCOLS", {"search": small})
    words = ["figures", "search", str(tmp_path / "a.png"), "--records", str(tmp_path), "--workers", "1"]
    assert main(words) == 0
    assert [path.name for path in tmp_path.rglob("*.safetensors")] == ["gd.safetensors"]


@pytest.mark.parametrize("name", ["figure.txt", "figure"])
def test_an_ending_that_is_no_picture_is_refused(tmp_path, capsys, name):
    assert main(["figures", "field", str(tmp_path / name)]) == 2
    assert "must end in" in capsys.readouterr().err
