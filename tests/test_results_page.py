"""docs/make_results.py makes the page of results from records, and from nothing else."""

import dataclasses
import re
import runpy
from pathlib import Path

import numpy as np
import pytest

from shapeopt.bench.curves import Curves
from shapeopt.bench.digest import digests
from shapeopt.bench.formats import to_markdown
from shapeopt.bench.records import Record, load_records, save_record
from shapeopt.cli.bench import all_protocols
from shapeopt.paper.tables.protocol_tables import synthetic_table

MAKE = runpy.run_path(str(Path(__file__).parents[1] / "docs" / "make_results.py"))


def save(folder, protocol, cell, method, rate):
    cell = dataclasses.replace(cell, tasks=8, starts=1)
    gap = np.linspace(5, 10, 8)[:, None] * np.exp(-rate * np.arange(cell.budget))
    calls = np.full(8, cell.budget)
    curves = Curves(gap, gap, gap, gap[:, -1], gap[:, -1], calls, None, 8, 0.0, 0.0)
    save_record(folder, Record(protocol, cell.describe(), method, 5, curves, {"jax": "1.2"}))


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    records, docs = tmp_path_factory.mktemp("records"), tmp_path_factory.mktemp("docs")
    for method, rate in (("universal", 0.2), ("gd", 0.05)):
        save(records, "paper", all_protocols()["paper"].cells[0], method, rate)
        save(records, "near", all_protocols()["near"].cells[0], method, rate)
    MAKE["main"](records, docs)
    return records, docs


def test_a_protocol_has_a_section_and_the_paper_s_tables_have_one(folders):
    text = (folders[1] / "results.md").read_text()
    heads = re.findall(r"^#+ .*", text, flags=re.MULTILINE)
    assert heads == ["# Results", "## Goals", "## The paper's tables", "## Protocol `near`", "## Protocol `paper`"]
    assert text.count("**Goals on the paper's rows**") == 1
    assert "1 cells, 2 methods, seed 5." in text and "4 records, made with jax 1.2." in text


def test_tables_are_those_of_the_records(folders):
    records, docs = folders
    text = (docs / "results.md").read_text()
    assert to_markdown(synthetic_table(digests(load_records(records)))) in text
    assert "**Protocol near: starts 2 to 3.2 from the minimiser, 500 calls**" in text
    assert "**Protocol paper: " not in text, "the paper's table has it already"


def test_every_linked_picture_is_there_and_every_picture_is_linked(folders):
    docs = folders[1]
    links = re.findall(r"!\[.*?\]\((.*?)\)", (docs / "results.md").read_text())
    assert sorted(links) == sorted(path.relative_to(docs).as_posix() for path in docs.rglob("*.png"))
    assert len(links) == 8 and "images/results/near-ecdf.png" in links


def test_long_tables_are_folded():
    text = "**Title**\n\n" + "| a |\n" * 40
    assert MAKE["folded"](text).startswith("<details><summary>Title</summary>\n\n| a |")
    assert MAKE["folded"]("**Title**\n\n| a |\n") == "**Title**\n\n| a |\n"


@pytest.mark.parametrize("exists", [True, False])
def test_without_records_the_page_says_so(tmp_path, exists):
    folder = tmp_path if exists else tmp_path / "none"
    MAKE["main"](folder, tmp_path / "docs")
    text = (tmp_path / "docs" / "results.md").read_text()
    assert "There are no records yet." in text and "## " not in text
