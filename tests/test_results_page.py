"""docs/make_results.py makes the page of results from records, and from nothing else."""

import dataclasses
import re
import runpy
import shutil
from pathlib import Path

import numpy as np
import pytest
from suite_lines import made

from shapeopt.bench.curves import Curves
from shapeopt.bench.digest import digests
from shapeopt.bench.formats import to_markdown
from shapeopt.bench.records import Record, load_records, save_record
from shapeopt.bench.suite_records import append_runs, runs_path
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
    records, docs, suites = (tmp_path_factory.mktemp(name) for name in ("records", "docs", "suites"))
    for method, rate in (("universal", 0.2), ("gd", 0.05)):
        save(records, "paper", all_protocols()["paper"].cells[0], method, rate)
        save(records, "near", all_protocols()["near"].cells[0], method, rate)
    for method, calls in (("universal", 10), ("multistart", 20), ("bfgs", 50)):
        for half in ("dev", "test"):
            runs = [made(name, [1, calls + i], [1.0, 0.0]) for i, name in enumerate(("p/1", "q/1"))]
            append_runs(runs_path(suites, "nist", half, method), runs)
    MAKE["main"](records, docs, suites)
    return records, docs, suites


def pages(docs):
    return {path.stem: path.read_text() for path in sorted((docs / "results").glob("*.md"))}


def test_the_page_opens_with_the_scoreboard_of_both_halves_and_links_to_every_other(folders):
    text = (folders[1] / "results.md").read_text()
    assert text.index("Scoreboard, dev halves") < text.index("Scoreboard, test halves") < text.index("## Protocols")
    assert text.count("| nist | 2 | 0.490 | multistart | 0.344 |") == 2
    links = re.findall(r"\]\(results/([\w-]+)\.md\)", text)
    assert sorted(links) == sorted(pages(folders[1])) and all(f"\nresults/{name}\n" in text for name in links)
    assert len(text.splitlines()) < 80, "two screens"


def test_a_protocol_has_a_page_and_the_paper_s_tables_have_one(folders):
    text, found = (folders[1] / "results.md").read_text(), pages(folders[1])
    assert sorted(found) == ["paper-tables", "protocol-near", "protocol-paper", "suite-nist"]
    assert found["paper-tables"].count("**Goals on the paper's rows**") == 1
    assert "1 cells, 2 methods, seed 5." in found["protocol-near"] and "4 records, made with jax 1.2." in text


def test_trained_policies_join_the_paper_s_tables_and_nothing_else(folders, tmp_path):
    cell, box = (all_protocols()[name].cells[0] for name in ("paper-learning", "paper-learning-box"))
    setting = next(cell for cell in all_protocols()["settings"].cells if cell.setting == "S4")  # a cell of oracles, too
    for protocol, place, method in (
        ("paper-learning", cell, "paper"),
        ("paper-learning", cell, "paper_blind"),
        ("paper-learning-box", box, "paper"),
        ("settings", setting, "tuned_box"),
    ):
        save(tmp_path / "one", protocol, place, method, 0.1)
    MAKE["save_digests"](tmp_path / "paper_learning.safetensors", digests(load_records(tmp_path / "one")))
    added = MAKE["with_learned"](tmp_path / "bench", [])
    assert {(one.protocol, one.method, one.place) for one in added} == {
        ("paper", "paper", cell.name),
        ("settings", "tuned_box", setting.name),
    }


def test_figures_of_the_paper_are_shown_as_far_as_they_were_drawn(tmp_path):
    assert MAKE["figures"](tmp_path) == ""
    (tmp_path / "images" / "results").mkdir(parents=True)
    (tmp_path / "images" / "results" / "figure-field.png").write_bytes(b"")
    text = MAKE["figures"](tmp_path)
    assert text.count("<details>") == 1 and "](../images/results/figure-field.png)" in text
    assert "(fig. 2d:example:vector:field:display)" in text


def test_a_suite_s_page_lists_losses_of_the_dev_half_alone(folders):
    text = pages(folders[1])["suite-nist"]
    dev, test = text.split("## Test half")
    assert "universal (judged)" in dev and "universal (judged)" in test
    assert "shapeopt bench show" not in test and "p/1" not in test
    lost = MAKE["read_suites"](folders[2])[0]
    assert "| p/1 |" not in dev and lost.scores.suite == "nist", "nothing is lost here"


def test_pages_of_suites_are_made_without_the_records_once_they_were_kept(folders, tmp_path):
    kept = folders[2].with_suffix(".safetensors")
    (tmp_path / "suites.safetensors").write_bytes(kept.read_bytes())
    MAKE["main"](tmp_path / "none", tmp_path / "docs", tmp_path / "suites")
    assert pages(tmp_path / "docs")["suite-nist"] == pages(folders[1])["suite-nist"]


def test_tables_are_those_of_the_records(folders):
    records, docs, _ = folders
    found = pages(docs)
    assert to_markdown(synthetic_table(digests(load_records(records)))) in found["paper-tables"]
    assert "**Protocol near: starts 2 to 3.2 from the minimiser, 500 calls**" in found["protocol-near"]
    assert "**Protocol paper: " not in found["protocol-paper"], "the paper's table has it already"


def test_every_linked_picture_is_there_and_every_picture_is_linked(folders):
    docs = folders[1]
    links = [link for text in pages(docs).values() for link in re.findall(r"!\[.*?\]\((.*?)\)", text)]
    assert sorted(links) == sorted(f"../{path.relative_to(docs).as_posix()}" for path in docs.rglob("*.png"))
    assert len(links) == 12 and "../images/results/near-ecdf.png" in links


def test_a_page_says_when_its_pictures_are_older_than_its_records(folders, tmp_path):
    records, docs, suites = folders
    shutil.copytree(docs, tmp_path / "docs")
    shutil.copy(records.with_suffix(".safetensors"), tmp_path / "kept.safetensors")
    told = "drawn before the last records"
    MAKE["main"](tmp_path / "kept", tmp_path / "docs", suites)
    assert pages(tmp_path / "docs") == pages(docs) and told not in pages(docs)["protocol-near"]
    save(tmp_path / "kept", "near", all_protocols()["near"].cells[0], "universal", 0.3)
    MAKE["main"](tmp_path / "kept", tmp_path / "docs", suites)
    found = pages(tmp_path / "docs")
    assert told in found["protocol-near"] and told not in found["protocol-paper"]


def test_long_tables_are_folded():
    text = "**Title**\n\n" + "| a |\n" * 40
    assert MAKE["folded"](text).startswith("<details><summary>Title</summary>\n\n| a |")
    assert MAKE["folded"]("**Title**\n\n| a |\n") == "**Title**\n\n| a |\n"


@pytest.mark.parametrize("exists", [True, False])
def test_without_records_the_page_says_so(tmp_path, exists):
    folder = tmp_path if exists else tmp_path / "none"
    MAKE["main"](folder, tmp_path / "docs", tmp_path / "suites")
    text = (tmp_path / "docs" / "results.md").read_text()
    assert "There are no records yet." in text and "There are no records of suites yet" in text
    assert not (tmp_path / "docs" / "results").exists()
