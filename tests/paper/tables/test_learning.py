"""What learning does: rows beside the policy as trained, paired differences, and the cells where it fails."""

import numpy as np

from shapeopt.bench.digest import Digest
from shapeopt.bench.metrics import METRICS
from shapeopt.paper.protocols import LEARNING_METHODS, PROTOCOLS
from shapeopt.paper.tables.learning import learning_table
from shapeopt.paper.tables.table import TABLES
from shapeopt.paper.tables.training import training_table

TASKS = 16
WAVE = np.linspace(0, 1, TASKS)
CELLS = [cell.name for cell in PROTOCOLS["paper-learning"].cells]


def made(method, place, gaps, protocol="paper-learning"):
    cell = next(cell for cell in PROTOCOLS["paper-learning"].cells if cell.name == place)
    values = {name: np.full(TASKS, np.nan) for name in METRICS} | {"lowest_gap": gaps, "hit_final": 0.5 + 0 * gaps}
    return Digest(protocol, cell.describe(), method, 0, values, 0.0, 0.0, 0.0, {})


def rows(table):
    return [dict(zip(table.columns, (entry.text for entry in row), strict=True)) for row in table.rows]


def test_a_row_has_the_paired_difference_of_the_policy_as_trained_and_a_verdict_on_it():
    found = [
        made("paper", CELLS[0], 1 + WAVE),
        made("paper_zero_networks", CELLS[0], 3 + WAVE + 0.1 * WAVE**2),
        made("paper_blind", CELLS[0], 1 + WAVE + 0.1 * np.cos(np.pi * np.arange(TASKS))),
        made("adam", CELLS[0], 6 + WAVE, "paper"),
        made("gd", CELLS[0], 7 + WAVE, "paper"),
    ]
    table = learning_table(found)
    shown = {row["Policy"]: row for row in rows(table)}
    assert list(shown)[:2] == ["SHAPE in the paper", "best baseline: adam"]
    assert shown["SHAPE in the paper"]["Lowest gap ↓"].startswith("1.004"), "the paper's own figure"
    zero = shown["paper: networks zero, gains as trained"]
    low, high = map(float, zero["95 % interval of that"].split(" to "))
    assert low < float(zero["kind less this"]) < high < 0 and zero["Verdict on the kind"] == "better"
    assert shown["paper: not told where in the box it is"]["Verdict on the kind"] == "not told apart"
    assert "`paper` beats networks zero, gains as trained in 1 of 1 cells." in table.notes


def test_cells_in_which_training_does_not_beat_its_initialisation_are_named():
    found = [
        *(made("tuned", place, 2 + WAVE) for place in CELLS[:2]),
        made("tuned_initialised", CELLS[0], 3 + WAVE + 0.1 * WAVE**2),
        made("tuned_initialised", CELLS[1], 1 + WAVE - 0.1 * WAVE**2),
    ]
    said = learning_table(found).notes[0]
    assert said == f"`tuned` beats as initialised in 1 of 2 cells; not in {CELLS[1]} (worse)."


def test_a_moved_policy_and_baselines_that_the_paper_s_tables_leave_out_count():
    found = [
        made("tuned", CELLS[0], 1 + WAVE),
        made("tuned_neighbour", CELLS[0], 3 + WAVE + 0.1 * WAVE**2),
        made("adam", CELLS[0], 6 + WAVE, "paper"),
        made("muon", CELLS[0], 5 + WAVE, "paper"),
    ]
    table = learning_table(found)
    assert "`tuned` beats heads trained in the nearest other dimension in 1 of 1 cells." in table.notes
    assert "best baseline: muon" in {row["Policy"] for row in rows(table)}
    assert training_table(found).rows[0][2].text.startswith("muon 5.5")


def test_the_protocol_has_the_eighteen_cells_and_the_wells_and_names_what_is_not_there():
    assert len(CELLS) == 19 and len(set(CELLS)) == 19
    assert {"paper_initialised", "paper_zero_networks", "paper_blind", "tuned_seed_2"} <= set(LEARNING_METHODS)
    elsewhere = {cell.family.law.value for cell in PROTOCOLS["paper-learning-box"].cells}
    assert elsewhere == {"box"} and len(PROTOCOLS["paper-learning-box"].cells) == 12
    (missing,) = learning_table([]).notes
    assert missing.startswith("Records missing: paper (every cell)") and "paper-learning" in TABLES


def test_the_summary_has_a_row_a_cell_and_names_where_training_does_not_beat_what_it_began_with():
    wells = CELLS[-1]
    found = [
        *(made("paper" + ending, CELLS[0], gap + WAVE) for ending, gap in {"": 1, "_seed_1": 2, "_seed_2": 3}.items()),
        made("tuned", CELLS[0], 0.5 + WAVE),
        made("tuned_zero_networks", CELLS[0], 3 + WAVE + 0.1 * WAVE**2),
        made("adam", CELLS[0], 6 + WAVE, "paper"),
        made("gd", CELLS[1], 6 + WAVE, "paper"),
        made("paper", wells, WAVE),
        made("paper_zero_networks", wells, WAVE),
    ]
    for one, hits in zip(found[-2:], (0.25, 0.5), strict=True):
        one.values["hit_best"][:] = hits + 0.01 * WAVE
    table = training_table(found)
    shown = {row["Cell"]: row for row in rows(table)}
    assert list(shown) == ["ackley 2", "ackley 20", "multiwell 1"]
    assert shown["ackley 2"]["As written, mean over seeds (range)"] == "2.50 (3 seeds, 1.50 to 3.50)"
    assert shown["ackley 2"]["Best trained"].startswith("tuned 1.00 (") and shown["ackley 2"]["Verdict"] == "better"
    assert shown["ackley 20"]["Best trained"] == "not trained yet"
    assert shown["ackley 20"]["Best baseline"].startswith("gd 6.50")
    assert shown["multiwell 1"]["SHAPE in the paper"] == "0.602" and shown["multiwell 1"]["Verdict"] == "worse"
    assert shown["multiwell 1"]["Best trained less networks zero"].startswith("-0.25"), "success is better higher"
    assert f"in 1 of 2 trained cells; training does NOT beat its networks zero in {wells}." in table.notes[0]
