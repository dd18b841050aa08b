"""The scoreboard: who is the peer, what the rows say, what the counters object to, and what is lost."""

import dataclasses

import pytest
from suite_lines import made

from shapeopt.bench.formats import to_markdown
from shapeopt.bench.scoreboard import audit, is_peer, losses, overview_table, read_boards, suite_table
from shapeopt.bench.suite_details import detailed_tables, early_table, kinds_table
from shapeopt.bench.suite_records import append_runs, runs_path


@pytest.fixture
def folder(tmp_path):
    speeds = {
        "universal": (10, 100),
        "multistart": (50, 20),
        "bfgs": (60, 60),
        "least_squares": (2, 2),
        "before": (1, 1),
    }
    for method, calls in speeds.items():
        runs = [made(name, [1, call], [1.0, 0.0]) for name, call in zip(("p/1", "q/1"), calls, strict=True)]
        append_runs(runs_path(tmp_path, "toy", "dev", method), runs)
    return tmp_path


def test_the_best_single_peer_is_neither_a_specialist_nor_another_version(folder):
    (one,) = read_boards(folder, "dev")
    assert one.rival == "multistart" and one.ratio.value == pytest.approx(0.5 / (0.1505 + 0.3495), rel=1e-3)
    assert is_peer("bfgs") and not is_peer("least_squares") and not is_peer("before") and not is_peer("universal")
    assert read_boards(folder, "test") == [] and read_boards(folder, "dev", "bfgs")[0].method == "bfgs"


def test_tables_have_the_figures(folder):
    boards = read_boards(folder, "dev")
    text = to_markdown(overview_table(boards))
    assert "| toy | 2 | 0.250 | multistart | 0.250 | 1.00 |" in text and "| 1 | 0 | 1 |" in text
    rows = to_markdown(suite_table(boards[0]))
    assert rows.index("before") < rows.index("least_squares (specialist)") < rows.index("universal (judged)")


def test_losses_come_with_the_command_that_shows_them(folder):
    (loss,) = losses(read_boards(folder, "dev"))
    assert loss.command == "shapeopt bench show toy q/1" and loss.area - loss.peers_area == pytest.approx(
        -0.35, abs=0.01
    )


def test_the_audit_names_what_should_not_be():
    run = made("p", [1], [1.0])
    assert audit({"a": {run.key: run}}) == ""
    bad = dataclasses.replace(run, outside=1, overshoot=2, reported=5, reported_asked=6)
    told = audit({"a": {run.key: bad}})
    assert told == "a: runs 1 outside the bounds, 1 beyond the budget, 1 with another count of their own"


def test_how_early_problems_are_solved_counts_calls(folder):
    table = early_table(read_boards(folder, "dev")[0])
    rows = {row[0].text: [entry.text for entry in row[1:]] for row in table.rows}
    assert table.columns == ("Method", "50 ↑", "100 ↑") and next(iter(rows)) == "universal"
    assert rows["universal"] == ["0.50", "1.00"] and rows["bfgs"] == ["0.00", "1.00"] and "before" not in rows


def test_kinds_stand_beside_the_best_local_peer_and_the_best_of_all(tmp_path):
    ends = {"universal": 10, "direct": 5, "bipop_cma": 20}
    for method, call in ends.items():
        names = {"f1/d5/i1": 5, "f3/d5/i1": 5, "f7/d2/i1": 2}
        runs = [made(name, [1, call], [1.0, -1e9], name[:2], dimension=d) for name, d in names.items()]
        append_runs(runs_path(tmp_path, "bbob", "dev", method), runs)
    (one,) = read_boards(tmp_path, "dev")
    (table,) = kinds_table(one)
    rows = {row[0].text: [entry.text for entry in row[1:]] for row in table.rows}
    assert set(rows) == {"separable, d = 5", "moderate, d = 2"}
    _, local, to_local, best, to_best = rows["separable, d = 5"]
    assert local.startswith("bipop_cma") and float(to_local) > 1 > float(to_best) and best.startswith("direct")
    assert len(detailed_tables(one)) == 3
