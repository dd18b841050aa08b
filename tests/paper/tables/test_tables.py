"""Tables from records: the numbers, the paper's beside them, the marks, and what is missing."""

import dataclasses

import numpy as np
import pytest

from shapeopt.bench.digest import Digest
from shapeopt.bench.formats import FORMATS
from shapeopt.bench.layout import MISSING, Mark, Table
from shapeopt.bench.metrics import METRICS
from shapeopt.bench.protocol_tables import overview_table
from shapeopt.bench.tables import protocols_of
from shapeopt.cli.bench import all_protocols
from shapeopt.paper.tables.ablation_tables import oracle_compact_table, settings_compact_table
from shapeopt.paper.tables.main_summary import main_summary
from shapeopt.paper.tables.mechanism_table import mechanisms_table
from shapeopt.paper.tables.protocol_tables import (
    multiwell_table,
    oracle_table,
    protocol_table,
    science_table,
    settings_table,
    synthetic_table,
)
from shapeopt.paper.tables.table import PER_PROTOCOL, TABLES, table_names

PROTOCOLS = all_protocols()
TASKS = 16
ZIGZAG = np.where(np.arange(TASKS) % 2, 0.5, -0.5)


def made(method, place, protocol="paper", lowest=0.25, area=0.5, **means):
    """A digest whose metrics have these means over tasks, with a deviation of 0.5 unless the numbers are given."""
    cell = next(cell for cell in PROTOCOLS[protocol.removesuffix("-quick")].cells if cell.name == place)
    values = {name: np.full(TASKS, np.nan) for name in METRICS}
    for name, mean in means.items():
        values[name] = mean + ZIGZAG if np.isscalar(mean) else mean
    return Digest(protocol, cell.describe(), method, 0, values, lowest, area, 0.9, {})


def column(table: Table, head: str) -> list:
    """A column's entries, from top to bottom."""
    return [row[table.columns.index(head)] for row in table.rows]


def texts(table: Table, head: str) -> list[str]:
    return [entry.text for entry in column(table, head)]


ACKLEY = [cell.name for cell in PROTOCOLS["paper"].cells if cell.family.name == "ackley"]


def test_a_table_has_means_deviations_and_the_paper_s_figures_beside_them():
    table = synthetic_table([made("adam", ACKLEY[0], final_distance=2.5, lowest_gap=5.0)])
    assert table.columns == ("Method", "Final dist. ↓", "paper: Final dist.", "Lowest gap ↓", "paper: Best gap")
    assert [entry.text for entry in table.rows[0]] == [
        "adam",
        "2.50 ± 0.50",
        "2.398 ± 0.217",
        "5.00 ± 0.50",
        "5.962 ± 0.982",
    ]
    assert table.groups[0].heading.startswith("ackley 2, paper, varied, 48 calls")


def test_beside_our_policies_stand_the_figures_of_the_paper_s_method():
    table = synthetic_table([made(name, ACKLEY[0], final_gap=1.0) for name in ("universal", "paper", "adam", "Mine")])
    assert texts(table, "paper: Final gap") == ["2.179 ± 0.349", MISSING, "2.179 ± 0.349", "5.973 ± 0.982"]


def test_bold_needs_a_test_and_a_small_mean_is_none():
    base = 1 + np.linspace(0, 1, TASKS)
    rows = [made("universal", ACKLEY[0], final_gap=base), made("adam", ACKLEY[0], final_gap=base + 1)]
    marks = [entry.mark for entry in column(synthetic_table(rows), "Final gap ↓")]
    assert marks == [Mark.BEST, Mark.NONE]
    noisy = np.where(np.arange(TASKS) % 2, 0.1, 3.0)  # a mean of 1.55 against 1.6, by chance
    rows = [made("universal", ACKLEY[0], final_gap=noisy), made("adam", ACKLEY[0], final_gap=3.15 - noisy)]
    assert {entry.mark for entry in column(synthetic_table(rows), "Final gap ↓")} == {Mark.NONE}


def test_marks_are_given_within_a_cell():
    low, high = np.linspace(1, 2, TASKS), np.linspace(5, 6, TASKS)
    rows = [
        made("gd", ACKLEY[0], final_gap=low),
        made("adam", ACKLEY[0], final_gap=high),
        made("gd", ACKLEY[1], final_gap=high),
        made("adam", ACKLEY[1], final_gap=low),
    ]
    marks = [entry.mark for entry in column(synthetic_table(rows), "Final gap ↓")]
    assert marks == [Mark.BEST, Mark.NONE, Mark.NONE, Mark.BEST]


def test_missing_records_are_named():
    table = synthetic_table([made("universal", place, final_gap=1.0) for place in ACKLEY])
    note = next(note for note in table.notes if note.startswith("Records missing"))
    assert "universal (levy-2-paper-varied-48," in note and "adam (every cell)" in note and "ackley" not in note


def test_quick_records_say_that_they_are():
    table = synthetic_table([made("gd", ACKLEY[0], "paper-quick", final_gap=1.0)])
    assert texts(table, "paper: Final gap") == ["6.493 ± 1.035"] and any("quick" in note for note in table.notes)
    assert not any("quick" in note for note in synthetic_table([made("gd", ACKLEY[0], final_gap=1.0)]).notes)


def test_science_control_is_the_double_integrator():
    place = "double_integrator-8-paper-48"
    table = science_table([made("universal", place, "paper-science", final_gap=1.0)])
    assert texts(table, "paper: Final gap") == ["1.44 ± 1.374"]


def test_multiwells_have_the_paper_s_figures_at_its_budget_alone():
    places = [cell.name for cell in PROTOCOLS["multiwell"].cells]
    skew = np.concatenate([np.zeros(TASKS - 1), [TASKS]])
    table = multiwell_table([made("universal", place, "multiwell", hit_best=0.75, lowest_gap=skew) for place in places])
    assert texts(table, "paper: Hit-best") == [MISSING, MISSING, "0.602"]  # 100, 500 and 1251 calls
    assert texts(table, "Lowest gap ↓")[0].startswith("1.00 ± ") and texts(table, "Lowest gap, median ↓")[0] == "0.00"
    assert texts(table, "paper: Best gap, median")[-1] == "0.007"


def test_settings_show_the_lowest_of_all_runs_and_each_setting_s_own_figures():
    places = ["ackley-2-box-S1-256", "ackley-2-box-S4-512"]
    table = settings_table([made("nag", place, "settings", lowest=3e-5, lowest_gap=1.0) for place in places])
    assert texts(table, "Lowest gap, best run ↓") == ["3.00e-5", "3.00e-5"]
    assert texts(table, "paper: Best gap, best run") == ["0.00031", "4.2e-5"]


def test_oracles_are_told_apart_by_how_a_cell_is_read():
    places = [cell.name for cell in PROTOCOLS["oracles"].cells]
    table = oracle_table([made("universal", place, "oracles", final_gap=1.0) for place in places])
    assert sorted(texts(table, "paper: Final gap")) == ["1.574", "1.709", "2.105"]
    noisy = [group for group in table.groups if "noise" in group.heading]
    assert noisy[0].rows[0][2].text == "1.709"


@pytest.mark.parametrize(
    ("build", "protocol", "place", "paper"),
    [
        (settings_compact_table, "settings", "ackley-2-box-S1-256", ("2.997", "5.91")),
        (oracle_compact_table, "oracles", "ackley-2-box-noise0.2-S4-512", ("1.709", "6.03")),
    ],
)
def test_the_compact_ablations_name_the_baseline_that_ends_lowest(build, protocol, place, paper):
    gaps = {"universal": 2.0, "lionk": 5.0, "nag": 6.0}
    table = build([made(name, place, protocol, final_gap=gap) for name, gap in gaps.items()])
    (row,) = table.rows
    assert [entry.text for entry in row[:4]] == [place, "universal", "2.00 ± 0.50", paper[0]]
    assert row[2].mark is Mark.BEST
    assert [entry.text for entry in row[-6:-3]] == ["lionk", "5.00 ± 0.50", paper[1]]
    assert [entry.text for entry in row[-3:]] == ["-3", "-3.00 to -3.00", "better"]


def test_the_compact_ablations_have_a_row_for_each_policy():
    place = PROTOCOLS["settings"].cells[0].name
    gaps = {"universal": 2 + ZIGZAG, "paper": 5 + 0 * ZIGZAG, "lionk": 5 + 0.1 * ZIGZAG}
    table = settings_compact_table([made(name, place, "settings", final_gap=gap) for name, gap in gaps.items()])
    assert texts(table, "Policy") == ["universal", "paper"] and set(texts(table, "Strongest baseline")) == {"lionk"}
    assert texts(table, "Verdict") == ["better", "not told apart"]


def test_the_main_summary_averages_dimensions_and_shows_the_strongest_rival_and_the_paper_s():
    gaps = {"universal": 1.0, "rmsprop": 2.0, "nag": 3.0, "adam": 4.0}
    found = [made(name, place, lowest_gap=gap + i) for name, gap in gaps.items() for i, place in enumerate(ACKLEY)]
    table = main_summary(found)
    assert texts(table, "Method") == ["universal", "rmsprop", "nag"]  # nag is the paper's choice for Ackley
    assert texts(table, "Lowest gap ↓") == ["2.50", "3.50", "4.50"]
    assert texts(table, "paper: Best gap") == ["0.323", MISSING, "1.31"]
    assert [entry.mark for entry in column(table, "Lowest gap ↓")] == [Mark.BEST, Mark.NONE, Mark.NONE]
    assert table.groups[0].heading == "ackley 2, 20, 100, 500; 48/56/64 calls"
    assert any(note.startswith("levy: records missing: universal") for note in table.notes)


def test_the_main_summary_compares_with_the_paper_only_where_all_dimensions_are_there():
    table = main_summary([made("universal", place, lowest_gap=1.0) for place in ACKLEY[:3]])
    assert texts(table, "paper: Best gap") == [MISSING] and table.groups[0].heading.startswith("ackley 2, 20, 100;")


def test_the_main_summary_judges_multiwells_by_the_best_value():
    place = "multiwell-1-box-noise0.1-1251"
    table = main_summary([made("universal", place, "multiwell", hit_best=0.5, calls=1251.0)])
    assert texts(table, "Hit rate ↑") == ["0.500"] and texts(table, "paper: Hit rate") == ["0.602"]
    assert texts(table, "paper: Calls") == ["1251.2"]


def test_cells_of_different_size_are_averaged_but_not_tested():
    found = [made(name, place, lowest_gap=gap) for name, gap in (("gd", 9.0), ("nag", 1.0)) for place in ACKLEY]
    short = [
        dataclasses.replace(one, values=one.values | {"lowest_gap": one.values["lowest_gap"][:8]})
        if one.place == ACKLEY[0]
        else one
        for one in found
    ]
    assert texts(main_summary(short), "Lowest gap ↓") == ["1.00"]
    assert not main_summary(short).marked and main_summary(found).marked


def test_shape_s_row_of_mechanisms_is_the_paper_s():
    rows = {row[0].text: [entry.text for entry in row[1:]] for row in mechanisms_table().rows}
    assert rows["SHAPE"] == ["yes", "yes", "yes", "yes", "yes", "partly", "0*", "yes"]
    assert rows["SAM"] == ["no", "no", "no", "yes", "no", "no", "1", "yes"]
    assert rows["GD"][-1] == "no" and len(rows) == 20


def test_the_overview_sorts_by_area_and_counts_where_a_method_leads():
    low, high = np.linspace(1, 2, TASKS), np.linspace(5, 6, TASKS)
    found = [
        made("gd", ACKLEY[0], area=0.2, best_gap=low, hit_final=1.0),
        made("adam", ACKLEY[0], area=0.4, best_gap=high, hit_final=0.0),
        made("gd", ACKLEY[1], area=0.4, best_gap=low, hit_final=0.5),
        made("adam", ACKLEY[1], area=0.6, best_gap=low, hit_final=0.0),
        made("nag", ACKLEY[1], area=0.1, best_gap=high, hit_final=0.0),
    ]
    rows = [[entry.text for entry in row] for row in overview_table(found).rows]
    assert rows == [
        ["adam", "2", "0.500", "0.900", "0.00", "0", "1"],
        ["gd", "2", "0.300", "0.900", "0.750", "1", "1"],
        ["nag", "1", "0.100", "0.900", "0.00", "0", "0"],
    ]


def test_a_protocol_that_the_paper_lacks_has_no_paper_columns_and_never_marks_seconds():
    found = [
        made(name, "ackley-2-near-500", "near", best_gap=gap, hit_best=0.5, optimizer_seconds=np.full(TASKS, gap))
        for name, gap in (("gd", 1.0), ("adam", 2.0))
    ]
    table = protocol_table(found)
    assert table.columns == ("Method", "Best gap ↓", "Best gap, median ↓", "Hit-best ↑", "Optimizer s/call, median ↓")
    assert {entry.mark for entry in column(table, "Optimizer s/call, median ↓")} == {Mark.NONE}
    assert table.title == "Protocol near: starts 2 to 3.2 from the minimiser, 500 calls"


def test_hits_by_distance_are_of_the_last_position():
    table = protocol_table([made("gd", "ackley-2-near-500", "near", best_gap=1.0, hit_final=0.5)])
    assert texts(table, "Hit-final ↑") == ["0.500 ± 0.50"]


def test_records_of_two_protocols_do_not_make_one_table():
    found = [made("gd", ACKLEY[0], best_gap=1.0), made("gd", "ackley-2-near-500", "near", best_gap=1.0)]
    with pytest.raises(ValueError, match="`found` must be records of one protocol; got near, paper"):
        protocol_table(found)
    assert protocols_of(found) == ["near", "paper"]


@pytest.mark.parametrize("name", TABLES)
def test_every_named_table_is_made_without_records_and_says_what_is_missing(name):
    table = TABLES[name].build([], 0)
    assert all(form(table) for form in FORMATS.values())
    if name != "mechanisms":
        assert table.rows == [] and any("issing" in note for note in table.notes)


def test_the_tables_that_records_belong_to():
    assert table_names([]) == ["mechanisms"]
    assert table_names([made("gd", ACKLEY[0], "paper-quick")]) == [
        "goals",
        "main",
        "synthetic",
        "training",
        "paper-learning",
        "reproduction",
        "outside",
        "unmatched",
        "mechanisms",
    ]
    assert list(PER_PROTOCOL) == ["overview", "protocol"]


def test_the_same_records_give_the_same_table():
    rng = np.random.default_rng(0)
    found = [made(name, ACKLEY[0], final_gap=rng.exponential(size=TASKS)) for name in ("gd", "adam", "nag")]
    assert synthetic_table(found) == synthetic_table(found[::-1])
