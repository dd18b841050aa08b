"""`shapeopt minimize` from argument list to printed summary, JSON and exit code."""

import itertools
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import shapeopt
from shapeopt.cli import main
from shapeopt.cli.objective import make_task

BOX = ["--bounds", "-5", "5", "--dim", "3"]


def run(*words: str) -> int:
    return main(["minimize", *words])


def test_a_function_in_the_current_directory_is_minimised(folder, capsys):
    assert run("objectives:bowl", *BOX, "--budget", "60") == 0
    out, err = capsys.readouterr()
    assert "objectives:bowl, 3 dimensions in [-5, 5]" in out and "[1, 1, 1]" in out
    assert "60 of 60" in out and "Why" in out and "distinct" in out
    assert "60/60 calls" in err and "\x1b" not in err + out, "plain lines where there is no terminal"
    assert len(err.splitlines()) <= 12


def test_a_familys_json_holds_the_result_and_the_gap(tmp_path):
    out = tmp_path / "out.json"
    words = ["ackley", "--dim", "4", "--rotated", "--law", "near", "--budget", "80", "--seed", "3", "--quiet"]
    assert run(*words, "--json", str(out)) == 0
    record = json.loads(out.read_text())
    assert {"x", "fun", "nfev", "success", "message", "minima", "events", "trace", "about"} <= record.keys()
    task = make_task("ackley", 4, "near", rotated=True, varied=False, seed=3)
    assert record["fun"] == pytest.approx(float(task.fun(np.array(record["x"]))), rel=1e-9)
    assert record["about"]["gap"] == record["fun"] - task.minimum
    assert record["nfev"] == 80 and record["trace"]["calls"][-1] == 80
    assert record["fun"] == min(record["trace"]["best"]) == record["minima"][0]["fun"]
    assert {"call", "mode", "cause", "value", "best", "anchor"} <= record["events"][0].keys()
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"], "no scratch file stays"


def test_quiet_prints_the_best_value_alone(folder, capsys):
    assert run("objectives:pair", *BOX, "--jac", "--budget", "30", "--quiet") == 0
    out, err = capsys.readouterr()
    assert float(out) < 1e-6 and err == ""


def test_a_budget_may_be_written_as_a_power_of_ten(folder, capsys):
    assert run("objectives:pair", *BOX, "--jac", "--budget", "3e1") == 0
    assert "30 of 30" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        run("objectives:pair", *BOX, "--jac", "--budget", "1.5")


@pytest.mark.full
def test_a_stored_policy_is_run_by_the_paper_s_loop(capsys):
    assert run("ackley", "--dim", "2", "--budget", "6", "--policy", "paper-ackley-2", "--quiet") == 0
    assert float(capsys.readouterr().out) < 25.0
    assert run("ackley", "--dim", "2", "--policy", "paper-ackley-2", "--journal", "calls") == 2
    assert "goes with no gradient, journal, limit" in capsys.readouterr().err


def test_the_same_seed_gives_the_same_record_and_another_one_another(folder):
    records = []
    for i, seed in enumerate(("1", "1", "2")):
        assert run("objectives:pair", *BOX, "--jac", "--budget", "20", "--seed", seed, "--json", f"{i}.json") == 0
        record = json.loads((folder / f"{i}.json").read_text())
        del record["about"]
        records.append(record)
    assert records[0] == records[1] != records[2]


def test_a_start_without_bounds_is_enough(folder, capsys):
    assert run("objectives:pair", "--jac", "--x0", "3", "-4", "--budget", "30") == 0
    assert "2 dimensions unbounded" in capsys.readouterr().out


def test_a_run_without_a_finite_value_fails_and_says_so(folder, capsys):
    assert run("objectives:nothing", *BOX, "--budget", "10", "--json", "out.json") == 1
    assert "No finite value" in capsys.readouterr().out
    record = json.loads((folder / "out.json").read_text())
    assert record["fun"] is None and record["success"] is False


def test_an_exception_of_the_objective_shows_its_traceback_and_the_best_so_far(folder, capsys):
    assert run("objectives:breaks", *BOX, "--jac", "--json", "out.json") == 1
    out, err = capsys.readouterr()
    assert "RuntimeError: the simulator broke" in err and "in breaks" in err
    assert "minimizer.py" not in err, "only the user's own frames"
    assert "best value" in out and "21 of 500" in out
    record = json.loads((folder / "out.json").read_text())
    assert record["fun"] < 1 and record["nfev"] == 21 and record["success"] is False


def test_ctrl_c_ends_the_run_whole_with_the_account_so_far(folder, capsys, ctrl_c):
    assert run("objectives:interrupted", *BOX, "--jac", "--json", "out.json") == 130
    out, err = capsys.readouterr()
    assert "stopped by Ctrl-C" in err and "Ctrl-C again" in err
    assert "20 of 500" in out and "Why" in out
    record = json.loads((folder / "out.json").read_text())
    assert record["nfev"] == 20 and "Ctrl-C" in record["message"] and record["events"]


def test_ctrl_c_inside_a_reading_of_many_calls_stops_before_the_next_call(folder, capsys, ctrl_c):
    assert run("objectives:interrupted_values", *BOX, "--json", "out.json") == 130
    assert sys.modules["objectives"].calls == 20
    assert "best value" in capsys.readouterr().out
    record = json.loads((folder / "out.json").read_text())
    assert record["fun"] is not None and "Ctrl-C" in record["message"]


def test_ctrl_c_that_kills_the_objectives_own_program_is_no_failure(folder, capsys, ctrl_c):
    assert run("objectives:interrupted_program", *BOX, "--jac") == 130
    out, err = capsys.readouterr()
    assert "Traceback" not in err and "best value" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["objectives:bowll", *BOX], "no attribute 'bowll'; did you mean 'bowl'?"),
        (["objective:bowl", *BOX], "no module is called 'objective'; did you mean 'objectives'?"),
        (["objectives.py:bowl", *BOX], "did you mean 'objectives'?"),
        (["xml.dmo:parse", *BOX], "did you mean 'xml.dom'?"),
        (["objectives:number", *BOX], "not a function; it is int"),
        (["objectives:Bowls", *BOX], "a family's class, not a function; `shapeopt train objectives:Bowls`"),
        (["objectives:", *BOX], "not package.module:function"),
        (["objectives:vector", *BOX], "`fun` must return a real scalar"),
        (["objectives:bowl", "--bounds", "5", "-5", "--dim", "3"], "got 5 -5; did you mean -5 5?"),
        (["objectives:bowl", "--bounds", "nan", "5", "--dim", "3"], "lower <= upper"),
        (["objectives:bowl", "--bounds", "1", "2", "3"], "got 3 numbers"),
        (["objectives:bowl", "--bounds", "-5", "5"], "needs --dim"),
        (["objectives:bowl", "--dim", "3"], "needs --bounds"),
        (["objectives:bowl", "--bounds", "0", "1", "0", "1", "--dim", "3"], "must agree"),
        (["objectives:bowl", *BOX, "--x0", "1", "2"], "must agree"),
        (["objectives:bowl", *BOX, "--x0", "9"], "x0[0] = 9.0 is not in [-5.0, 5.0]"),
        (["objectives:bowl", *BOX, "--rotated"], "--rotated is for families"),
        (["objectives:bowl", *BOX, "--budget", "0"], "--budget must be at least 1; got 0"),
        (["objectives:bowl", *BOX, "--seed", "-1"], "--seed must not be negative; got -1"),
        (["objectives:bowl", *BOX, "--policy", "univers"], "did you mean 'universal'?"),
        (["objectives:bowl", *BOX, "--policy", "paper-akley-2"], "did you mean 'paper-ackley-2'?"),
        (["objectives:bowl", *BOX, "--json", "no/such.json"], "'no' does not exist"),
        (["akley", "--dim", "3"], "did you mean 'ackley'?"),
        (["ackley"], "needs --dim"),
        (["ackley", "--dim", "0"], "at least 1; got 0"),
        (["ackley", "--dim", "2", "--bounds", "-1", "1"], "--bounds is for functions"),
        (["ackley", "--dim", "2", "--x0", "1", "2", "3"], "--x0 must have 2 numbers; got 3"),
        (["lennard_jones", "--dim", "7"], "got 7"),
        (["rosenbrock", "--dim", "2", "--varied"], "not an option of the family 'rosenbrock'"),
    ],
)
def test_a_wrong_argument_is_one_line_with_a_hint(folder, capsys, words, said):
    assert run(*words) == 2
    out, err = capsys.readouterr()
    assert err.startswith("shapeopt: error: ") and said in err
    assert len(err.splitlines()) == 1 and out == ""


def test_a_module_that_raises_while_it_is_imported_shows_its_traceback(folder, capsys):
    assert run("broken:anything", *BOX) == 1
    err = capsys.readouterr().err
    assert "No module named 'no_such_thing'" in err and "broken.py" in err


def test_a_place_that_cannot_be_written_is_refused_before_any_call(folder, capsys):
    assert run("objectives:breaks", *BOX, "--json", os.fspath(folder)) == 2
    assert "objectives" not in sys.modules and "is a folder" in capsys.readouterr().err


def test_the_parser_refuses_an_unknown_option_with_exit_code_2(capsys):
    with pytest.raises(SystemExit) as exit_:
        run("ackley", "--dmi", "3")
    assert exit_.value.code == 2 and "--dim" in capsys.readouterr().err


def test_every_event_has_a_line_with_values_memory_and_anchor(folder, capsys):
    assert run("rastrigin", "--dim", "2", "--rotated", "--budget", "60", "--events") == 0
    printed = capsys.readouterr().out
    lines = printed[printed.index("Events") :].splitlines()[2:]
    rows = [(line[:31].split(maxsplit=1)[1].strip(), line[31:].split()) for line in lines if line.strip()]
    assert len(rows) > 5 and rows[-1][1][0] == "budget"
    assert any(tactic == "refine" and "written" in rest for tactic, rest in rows)
    assert any(tactic == "hop, around the best" for tactic, _ in rows)
    values = [rest[1:3] for _, rest in rows]  # from, to
    assert all(float(after[0]) == float(before[1]) for before, after in itertools.pairwise(values))


def test_a_negative_allowance_is_refused(folder, capsys):
    assert run("rastrigin", "--dim", "2", "--port-allowance", "-1") == 2
    assert "--port-allowance" in capsys.readouterr().err


def test_limits_end_a_run_early_and_the_summary_says_why(folder, capsys):
    assert run("objectives:pair", *BOX, "--jac", "--budget", "400", "--target", "0.1") == 0
    assert "the target is reached" in capsys.readouterr().out
    assert run("objectives:pair", *BOX, "--jac", "--budget", "400", "--confidence", "0.8") == 0
    out = capsys.readouterr().out
    assert "that no better basin is unseen" in out and "a better basin is unlikely enough" in out
    assert "400 of 400" not in out
    assert run("objectives:pair", *BOX, "--jac", "--confidence", "2") == 2
    assert "--confidence must be" in capsys.readouterr().err


def test_workers_make_calls_at_the_same_time(folder, tmp_path, capsys):
    out = tmp_path / "out.json"
    words = ["objectives:pair", *BOX, "--jac", "--budget", "80", "--quiet", "--json", str(out)]
    assert run(*words, "--workers", "4") == 0
    record = json.loads(out.read_text())
    assert record["nfev"] == 80 and record["about"]["workers"] == 4
    assert {event["particle"] for event in record["events"]} == {0, 1, 2, 3}
    assert run(*words, "--workers", "0") == 2


def test_python_runs_the_package_as_the_command():
    command = [sys.executable, "-m", "shapeopt", "--version"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert shown.strip().endswith(shapeopt.__version__)
