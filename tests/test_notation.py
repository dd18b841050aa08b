"""docs/notation.md lists every label of the paper that the code cites, and says rightly where it is cited."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "shapeopt"
NOTATION = (ROOT / "docs" / "notation.md").read_text()
CITING = sorted([*PACKAGE.rglob("*.py"), *(ROOT / "examples").glob("*.py")])

LABEL = r"[a-z]\w*[_:][\w:]*\w"
EQUATIONS = re.compile(rf"\beqs?\.\s+({LABEL}(?:(?:,|\s+and)\s+{LABEL})*)")
TABLES = re.compile(rf"\btab\.\s+({LABEL})")
OTHERS = re.compile(r"\b((?:alg|subsec):\w+)")


def citations(text: str) -> set[str]:
    """Labels after "eq." or "eqs." (a list may run over a line's end), after "tab.", and those of algorithms."""
    equations = {label for found in EQUATIONS.findall(text) for label in re.findall(LABEL, found)}
    return equations | {f"tab:{label}" for label in TABLES.findall(text)} | set(OTHERS.findall(text))


def listed() -> dict[str, str]:
    """Label -> file, from the table of labels."""
    table = NOTATION.split("## Labels that the code cites")[1].split("\n## ")[0]
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in table.splitlines() if row.startswith("| ")]
    return {label: place.strip("`") for label, _, place in rows[1:]}


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("x = y  # eq. shape_p_update", {"shape_p_update"}),
        ('"""As in (eqs. dp_skew_operator,\ndp_psd_operator)."""', {"dp_skew_operator", "dp_psd_operator"}),
        ("eqs. oracle_zo_gradient and app:zo_oracle.", {"oracle_zo_gradient", "app:zo_oracle"}),
        ("(Algorithm alg:dual_policy_shape; eq. dp_context)", {"alg:dual_policy_shape", "dp_context"}),
        ("paper, tab. app:shape_training_specs", {"tab:app:shape_training_specs"}),
        ("the equation of motion, a sequence, eq. 3", set()),
    ],
)
def test_citations_are_found(text, labels):
    assert citations(text) == labels


@pytest.mark.parametrize("path", CITING, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_label_that_a_file_cites_is_listed(path):
    assert citations(path.read_text()) <= listed().keys()


@pytest.mark.parametrize("label", listed())
def test_a_listed_label_is_cited_where_the_list_says(label):
    assert label in citations((PACKAGE / listed()[label]).read_text())


@pytest.mark.parametrize("row", [row for row in NOTATION.splitlines() if re.match(r"\|.*`\w+(/\w+)*\.py`", row)])
def test_a_row_names_files_that_exist_and_labels_that_are_listed(row):
    cells = [cell.strip() for cell in row.split("|")[1:-1]]
    assert all((PACKAGE / name).is_file() for name in re.findall(r"`([\w/]+\.py)`", row))
    if len(cells) == 5 and cells[4] != "–":
        assert set(cells[4].split(", ")) <= listed().keys()


@pytest.mark.parametrize("row", [row for row in NOTATION.splitlines() if row.count("|") == 6 and ".py`" in row])
def test_the_names_of_a_row_are_in_its_files(row):
    _, names, files, _, _ = (cell.strip() for cell in row.split("|")[1:-1])
    text = "".join((PACKAGE / name).read_text() for name in re.findall(r"`([\w/]+\.py)`", files))
    for name in re.findall(r"`([\w.]+)`", names):
        assert re.search(rf"\b{name.rpartition('.')[2]}\b", text), name
