"""The site: every page is in its table of contents, its links lead somewhere, its made pages say what is there."""

import ast
import os
import re
import runpy
from pathlib import Path

import pytest

from shapeopt import __all__ as public
from shapeopt.paper.weights import load_card

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted([*DOCS.glob("*.md"), *DOCS.glob("results/*.md"), DOCS / "examples" / "index.md"])
MADE = runpy.run_path(str(DOCS / "site_pages.py"))
OTHER_NAMES = re.compile(r"\boracle calls?\b|\bstart law|\bours\b", flags=re.IGNORECASE)  # calls, starts, shapeopt


def toc(path: Path) -> set[str]:
    """The documents that a page's tables of contents name, relative to docs."""
    trees = re.findall(r"^```\{toctree\}\n(.*?)^```", path.read_text(), flags=re.MULTILINE | re.DOTALL)
    lines = [line for tree in trees for line in tree.splitlines() if line and not line.startswith(":")]
    names = [line.rpartition("<")[2].rstrip(">") for line in lines]
    return {(path.parent / name).relative_to(DOCS).as_posix() for name in names}


def test_the_table_of_contents_names_every_page():
    made = {"conf", "check_site", "site_pages", *(path.stem for path in DOCS.glob("make_*.py"))}
    sources = [
        path
        for folder in (DOCS, DOCS / "examples", DOCS / "results")
        for path in folder.iterdir()
        if path.suffix in (".md", ".py")
    ]
    pages = {path.relative_to(DOCS).with_suffix("").as_posix() for path in sources} - made
    trees = [toc(DOCS / page) for page in ("index.md", "results.md", "examples/index.md")]
    assert set().union(*trees) == pages - {"index"}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_links_between_pages_lead_somewhere(path):
    text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)
    assert all((path.parent / target).exists() for target in targets), targets


def test_readme_fits_its_page_and_its_table_is_that_of_the_records():
    text = (DOCS.parent / "README.md").read_text()
    assert len(text.splitlines()) <= 130
    assert all(f"python3 dev.py {command}" in text for command in ("demo", "test"))
    tables = runpy.run_path(str(DOCS / "make_tables.py"))
    boards = tables["load_boards"](tables["RECORDS"] / "suites.safetensors")
    assert tables["suites"](boards) in text
    assert tables["tools"](boards) in (DOCS / "which_tool.md").read_text()
    assert tables["kinds"]() in (DOCS / "which_tool.md").read_text()
    assert tables["noise"]() in (DOCS / "noisy_gradients.md").read_text()
    assert tables["noisy_values"]() in (DOCS / "noisy_gradients.md").read_text()


def test_readme_s_links_lead_somewhere():
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", (DOCS.parent / "README.md").read_text())
    assert targets and all((DOCS.parent / target).exists() for target in targets)


def test_links_to_files_and_places_that_are_absent_are_found(tmp_path):
    (tmp_path / "a.html").write_text('<a href="b.html#here">b</a><a href="b.html#gone">b</a><img src="c.png">')
    (tmp_path / "b.html").write_text('<p id="here"><a href="a.html">a</a><a href="https://example.org">e</a>')
    found = list(runpy.run_path(str(DOCS / "check_site.py"))["broken_links"](tmp_path))
    assert found == ["a.html: b.html#gone has no such place", "a.html: c.png is not there"]


@pytest.mark.parametrize("path", [*PAGES, DOCS.parent / "README.md", DOCS.parent / "CONTRIBUTING.md"], ids=str)
def test_pages_have_one_name_for_a_thing(path):
    assert not OTHER_NAMES.findall(path.read_text())


def test_docstrings_and_messages_have_one_name_for_a_thing():
    for path in (DOCS.parent / "src" / "shapeopt").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert not OTHER_NAMES.findall(node.value), f"{path}:{node.lineno}"


def test_every_public_name_is_on_the_api_page():
    text = "".join((DOCS / name).read_text() for name in ("api.md", "api_more.md"))
    named = set(re.findall(r"^\.\. auto\w+:: shapeopt\.(\w+)$", text, flags=re.MULTILINE))
    assert named == set(public) - {"__version__"}


def test_departures_are_those_of_the_docstrings(tmp_path):
    file = tmp_path / "step.py"
    file.write_text('def f():\n    """F.\n\n    Departs from the paper: a_b is\n    new.\n\n    More.\n    """\n')
    assert list(MADE["departing"](file)) == [("f", r"a\_b is new.")]
    file.write_text('class F:\n    """F.\n\n    Departs from the paper: nothing.\n    """\n')
    assert not list(MADE["departing"](file))
    assert "`LionK` (`baselines/lion_k.py`): the kick." in MADE["departures"]()


@pytest.mark.parametrize("name", MADE["policies"]())
def test_a_card_s_page_has_its_figures(name):
    card = load_card(MADE["policies"]()[name])
    page = MADE["model"](name, card)
    assert page.startswith(f"# {name}\n") and card["sha256"] in page and re.search(rf"policy[ =]\"?{name}\b", page)
    assert f"| **{name}** | {card['about']['results'][name]['best_gap']:.3g} |" in page


def test_pages_are_written_once_and_old_ones_removed(tmp_path, monkeypatch):
    monkeypatch.setitem(MADE["write"].__globals__, "commands", lambda: "commands")
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "gone.md").touch()
    MADE["write"](tmp_path)
    first = {path: os.stat(path).st_mtime_ns for path in tmp_path.rglob("*.md")}
    assert {path.stem for path in (tmp_path / "models").iterdir()} == set(MADE["policies"]())
    MADE["write"](tmp_path)
    assert {path: os.stat(path).st_mtime_ns for path in tmp_path.rglob("*.md")} == first


def test_the_help_of_a_command_is_that_of_the_command_line():
    assert MADE["help_of"]("list").startswith("usage: shapeopt list")
