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


def test_no_record_says_that_a_promise_was_broken():
    for part in MAKE["PARTS"]:
        record = MAKE["read"](f"guarantees_{part}")
        rows = [dict(zip(record["columns"], row, strict=True)) for row in record["rows"]]
        assert record["total"]["broken"] == 0 and all(row["agrees"] for row in rows)
        assert all(row["overshoot"] <= 0 and row["outside"] == 0 for row in rows)
    assert MAKE["read"]("crash")["total"]["wrong"] == MAKE["read"]("hostile_files")["wrong"] == 0
    soak = MAKE["read"]("soak")
    assert soak["growth"] < 0.01 and soak["compiled_after_it"] == soak["differing"] == 0


@pytest.mark.parametrize("name", [f"guarantees_{part}" for part in MAKE["PARTS"]])
def test_the_records_of_budgets_and_bounds_are_whole(name):
    record = MAKE["read"](name)
    assert record["config"]["seeds"] >= (20 if name.endswith("peers") else 100)
    if name.endswith("boxes"):
        assert record["total"]["evaluations"] >= 1_000_000
    else:
        assert {row[record["columns"].index("budget")] for row in record["rows"]} == {1, 2, 3, 7, 200, 1000}


SIZES = {
    "crash": lambda record: record["total"]["kills"] >= 100 and record["config"]["calls"] == 400,
    "hostile_files": lambda record: record["config"]["mutants"] >= 10_000 and not record["foreign"],
    "guarantees_fuzz": lambda record: (
        record["config"]["minutes"] >= 10
        and all(record[name]["wrong"] == record[name]["exit_code"] == 0 for name in ("weights", "journals"))
    ),
    "guarantees_time_limit": lambda record: all(
        kind["most"] <= 0.5 and kind["left"] == 0 for kind in record["kinds"].values()
    ),
    "soak": lambda record: (
        record["config"]["minutes"] >= 20 and min(record["single_runs"], record["batched_runs"]) >= 10_000
    ),
}


@pytest.mark.parametrize("name", SIZES)
def test_the_other_records_are_whole(name):
    assert SIZES[name](MAKE["read"](name))
