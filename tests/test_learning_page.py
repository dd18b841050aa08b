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


def card(d, seconds, updates=100, skipped=0, validation=((0, -0.5), (200, -0.25), (300, -0.125))):
    schedule = {"controller_pretrain": 100, "planner_pretrain": 100}
    about = {"seconds": seconds, "updates": updates, "calls": 2e7, "skipped_updates": skipped, "schedule": schedule}
    return {"settings": {"d": d}, "about": about | {"validation": validation}}


def test_what_training_took_is_what_the_cards_say():
    cards = {
        "paper-ackley-2": card(2, 90.4),
        "paper-levy-2": card(2, 1500.0, skipped=25),
        "tuned-ackley-2": card(2, 60),
    }
    text = MAKE["cost"](cards)
    assert "| paper | 2 | 2 | 100 | 2.0e+07 | 90 to 1,500 | 0 to 25 % |" in text
    assert "| tuned | 2 | 1 | 100 | 2.0e+07 | 60 | 0 % |" in text
    absent = text.partition("Not trained as written: ")[2]
    assert absent.startswith("ackley-20,") and "levy-2," not in absent and "multiwell-1" in absent
    assert MAKE["validation"](card(2, 1.0)) == {"early": 200, "first": -0.5, "then": -0.25, "last": -0.125}


def test_a_row_on_a_statement_counts_policies_and_has_the_case_that_breaks_it():
    record = {
        "runs": 8,
        "statements": [
            {"policy": "a", "title": "T", "holds": True, "found": ["3 stages", "broken without (A1): 1e6 times"]},
            {"policy": "b", "title": "T", "holds": False, "found": []},
        ],
    }
    assert MAKE["theory"](record).splitlines()[-1] == "| T | 1 of 2 | b | broken without (A1): 1e6 times |"


def test_the_three_propositions_hold_on_policies_trained_as_written_and_each_can_break():
    statements = MAKE["theory_record"]()["statements"]
    for title in ("Where a frozen stage ends", "Improvement from stage to stage", "Accepted points become critical"):
        mine = [one for one in statements if one["title"] == title]
        assert len({one["policy"] for one in mine}) >= 3 and all(one["policy"].startswith("paper-") for one in mine)
        assert all(one["holds"] and any(line.startswith("broken") for line in one["found"]) for one in mine)


@pytest.mark.full
def test_the_page_is_what_the_records_say():
    page = (ROOT / "docs" / "what_learning_does.md").read_text(encoding="utf-8")
    assert MAKE["page"](MAKE["kept"](), MAKE["memory_record"](), MAKE["cards_of"](), MAKE["theory_record"]()) == page
