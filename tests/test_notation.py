"""The pages docs/notation*.md list every label of the paper that the code cites, and say rightly where it is cited."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "shapeopt"
NOTATION = "\n".join(page.read_text() for page in sorted((ROOT / "docs").glob("notation*.md")))
CITING = sorted([*PACKAGE.rglob("*.py"), *(ROOT / "examples").glob("*.py")])

LABEL = r"[a-z]\w*[_:][\w:]*\w"
EQUATIONS = re.compile(rf"\beqs?\.\s+({LABEL}(?:(?:,|\s+and)\s+{LABEL})*)")
TABLES = re.compile(rf"\btab\.\s+({LABEL})")
OTHERS = re.compile(r"\b((?:alg|subsec):\w+)")


def citations(text: str) -> set[str]:
    """Labels after "eq." or "eqs." (a list may run over a line's end), after "tab.", and those of algorithms."""
    equations = {label for found in EQUATIONS.findall(text) for label in re.findall(LABEL, found)}
    return equations | {f"tab:{label}" for label in TABLES.findall(text)} | set(OTHERS.findall(text))


def rows_of(text: str, columns: int) -> list[list[str]]:
    """Cells of the rows of all tables with so many columns, without their heads."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| ")]
    return [row for row in rows if len(row) == columns and row[0] not in ("paper", "label")]


def listed() -> dict[str, str]:
    """Label -> file, from the table of labels."""
    return {label: place.strip("`") for label, _, place in rows_of(NOTATION, 3)}


SYMBOLS = rows_of(NOTATION, 5)


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


@pytest.mark.parametrize("row", SYMBOLS, ids=lambda row: row[1])
def test_a_symbol_s_names_files_and_labels_are_real(row):
    _, names, files, _, labels = row
    paths = [PACKAGE / name for name in re.findall(r"`([\w/]+\.py)`", files)] or sorted(PACKAGE.rglob("*.py"))
    text = "\n".join(path.read_text() for path in paths)
    for name in re.findall(r"`([\w.]+)`", names):
        assert re.search(rf"\b{name.rpartition('.')[2]}\b", text), f"{name} is not in {files}"
    assert set(re.findall(LABEL, labels)) <= listed().keys()
