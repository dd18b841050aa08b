"""docs/make_learning.py makes the page on the paper's learning from records, and from nothing else."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAKE = runpy.run_path(str(ROOT / "docs" / "make_learning.py"))


def test_a_row_on_memory_has_its_success_and_the_paired_difference():
    row = {"policy": "mine", "success": 0.5, "success_interval": [0.4, 0.6], "lowest_gap": 1.0, "median_gap": 0.25}
    text = MAKE["memory_table"]([row | {"writes": 3.21, "less_no_memory": [0.25, 0.125, 0.375]}])
    assert text.splitlines()[-1] == ("| mine | 0.500 | 0.400 to 0.600 | 1.00 | 0.250 | 3.2 | +0.250 (0.125 to 0.375) |")


def test_recorded_memory_is_better_than_none_only_with_cells_and_stalls_over_a_stage():
    rows = {row["policy"]: row["less_no_memory"] for row in MAKE["memory_record"]()["rows"]}
    assert rows.pop("cells of m_s, stalls over a stage")[1] > 0
    assert all(rows[name] == [0, 0, 0] for name in rows if not name.startswith("paper-"))


@pytest.mark.full
def test_the_page_is_what_the_records_say():
    page = (ROOT / "docs" / "what_learning_does.md").read_text(encoding="utf-8")
    assert MAKE["page"](MAKE["kept"](), MAKE["memory_record"]()) == page
