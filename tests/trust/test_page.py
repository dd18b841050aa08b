"""docs/guarantees.md: its figures are those of the records, its tests are there, and no record breaks a promise."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAKE = runpy.run_path(str(ROOT / "docs" / "make_guarantees.py"))
PAGE = (ROOT / "docs" / "guarantees.md").read_text()


def test_the_figures_are_those_of_the_records():
    assert MAKE["filled"](PAGE) == PAGE, "python docs/make_guarantees.py fills them in"


def test_what_is_named_is_there():
    named = set(re.findall(r"`((?:tests|benchmarks|docs)/[\w/.]+)", PAGE))
    assert len(named) > 15 and not [path for path in named if not (ROOT / path).exists()]
    scripts = set(re.findall(r"^\| `(\w+\.py)", PAGE, re.M))
    assert len(scripts) > 5 and not [script for script in scripts if not (ROOT / "benchmarks" / script).exists()]


def test_every_test_of_this_folder_is_named():
    held = {path.name for path in Path(__file__).parent.glob("test_*.py")} - {Path(__file__).name}
    assert not [name for name in held if name not in PAGE]


@pytest.mark.parametrize("part", MAKE["PARTS"])
def test_the_records_of_budgets_and_bounds_hold_and_are_whole(part):
    record = MAKE["read"](f"guarantees_{part}")
    rows = [dict(zip(record["columns"], row, strict=True)) for row in record["rows"]]
    assert record["total"]["broken"] == 0 and all(row["overshoot"] <= 0 and row["outside"] == 0 for row in rows)
    assert all(row["agrees"] for row in rows) and record["config"]["seeds"] >= (20 if part == "peers" else 100)
    if part == "boxes":
        assert record["total"]["evaluations"] >= 1_000_000
    else:
        assert {row["budget"] for row in rows} == {1, 2, 3, 7, 200, 1000}


def test_the_other_records_hold():
    read = MAKE["read"]
    crash, hostile, fuzz, limit, soak = map(
        read, ("crash", "hostile_files", "guarantees_fuzz", "guarantees_time_limit", "soak")
    )
    assert crash["total"]["wrong"] == 0 and crash["total"]["kills"] >= 100 and crash["config"]["calls"] == 400
    assert hostile["wrong"] == 0 and hostile["config"]["mutants"] >= 10_000 and not hostile["foreign"]
    assert all(fuzz[name]["wrong"] == fuzz[name]["exit_code"] == 0 for name in ("weights", "journals"))
    assert fuzz["config"]["minutes"] >= 10
    assert all(kind["most"] <= 0.5 and kind["left"] == 0 for kind in limit["kinds"].values())
    assert soak["growth"] < 0.01 and soak["compiled_after_it"] == soak["differing"] == 0
    assert soak["config"]["minutes"] >= 20 and min(soak["single_runs"], soak["batched_runs"]) >= 10_000
