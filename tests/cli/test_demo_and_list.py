"""`shapeopt demo` compares fairly; `shapeopt list` names all that can be named."""

import json
import re

import pytest

from shapeopt.cli import main
from shapeopt.cli.bench import all_protocols
from shapeopt.cli.demo import basinhopping_gap, compare
from shapeopt.cli.objective import make_task
from shapeopt.paper import find
from shapeopt.paper.find import grouped, stored
from shapeopt.paper.methods import list_methods
from shapeopt.tasks import FAMILIES


def test_basinhopping_starts_where_we_start_and_more_calls_help_it():
    task = make_task("ackley", 3, "box", rotated=True, varied=False, seed=1)
    one, many = (basinhopping_gap(task, budget, seed=0) for budget in (1, 120))
    assert one == float(task.fun(task.x0)) - task.minimum, "the same start"
    assert many < one


def test_a_tie_is_two_solved_runs_and_else_the_lower_gap_wins():
    assert compare(1e-9, 1e-3) == compare(1e-3, 1e-9) == "tie"
    assert compare(1e-9, 2.0) == compare(1.0, 2.0) == "win"
    assert compare(2.0, 1e-9) == "loss"


@pytest.mark.full
def test_the_demonstration_tells_best_minima_reasons_and_scipys_result(capsys):
    assert main(["demo", "--seed", "3"]) == 0
    out, err = capsys.readouterr()
    for part in ("seed 3", "best value", "500 of 500", "distinct", "basins were left", "best so far"):
        assert part in out
    assert re.search(r"SciPy's basinhopping, .* best value \S+, shapeopt \S+;", " ".join(out.split()))
    assert "500/500 calls" in err


@pytest.mark.full
def test_repeated_demonstrations_count_wins_losses_and_ties(capsys):
    assert main(["demo", "--seed", "3", "--runs", "2"]) == 0
    out = capsys.readouterr().out
    wins, losses, ties = map(int, re.search(r"(\d+) wins, (\d+) losses, (\d+) ties", out).groups())
    words = re.findall(r"^ +[34] .*(win|loss|tie) *$", out, flags=re.MULTILINE)
    assert (wins, losses, ties) == tuple(words.count(word) for word in ("win", "loss", "tie"))
    assert wins + losses + ties == 2


@pytest.mark.parametrize("words", [["--runs", "0"], ["--seed", "-1"]])
def test_a_wrong_argument_of_the_demonstration_is_one_line(capsys, words):
    assert main(["demo", *words]) == 2
    assert words[0] in capsys.readouterr().err


def test_the_list_as_json_names_every_family_and_policy(capsys):
    assert main(["list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in listed["families"]] == list(FAMILIES)
    assert [row["name"] for row in listed["policies"]] == ["universal", *stored()]
    rows = {row["name"]: row for row in listed["families"]}
    assert rows["ackley"]["options"] == ["rotated", "varied"] and rows["ackley"]["dimensions"] == "1 or more"
    assert rows["lennard_jones"]["dimensions"] == "6, 18, 39, 114"
    assert rows["navigation"]["dimensions"] == "multiples of 2"
    assert "wells 2" in rows["double_well"]["about"]
    assert {row["name"]: row["kind"] for row in listed["methods"]} == list_methods()
    methods = {row["name"]: row["about"] for row in listed["methods"]}
    assert methods["basinhopping_step_2"].endswith("(stepsize 2.0)") and "(eq" not in "".join(methods.values())
    assert [(row["name"], row["cells"]) for row in listed["protocols"]] == [
        (name, len(protocol.cells)) for name, protocol in all_protocols().items()
    ]
    assert all(row["about"] for kind in listed.values() for row in kind)


def test_the_list_for_people_names_everything(capsys):
    assert main(["list"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in (*FAMILIES, "universal", *grouped(stored()), *list_methods(), *all_protocols()))
    assert max(map(len, out.splitlines())) <= 80


def test_policies_that_differ_in_their_dimension_alone_are_one_line_for_people(tmp_path, capsys, monkeypatch):
    names = ["paper-ackley-100", "paper-ackley-2", "paper-ackley-2-no-memory"]
    (tmp_path / "weights").mkdir()
    for name in names:
        (tmp_path / "weights" / f"{name}.json").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(find, "CHECKOUT", tmp_path / "no checkout")
    assert main(["list"]) == 0
    out = capsys.readouterr().out.partition("Policies")[2].partition("Methods")[0]
    rows = [line.split()[:3] for line in out.splitlines() if line.strip()]
    assert [row for row in rows if row[0].startswith(("paper", "universal"))] == [
        ["universal", "any", "SHAPE"],
        ["paper-ackley-N", "2,", "100"],
        ["paper-ackley-N-no-memory", "2", "Planner"],
    ]
    assert main(["list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["policies"]
    assert [row["name"] for row in listed] == ["universal", *names], "no file is read"
