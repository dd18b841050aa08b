"""`shapeopt demo` compares fairly; `shapeopt list` names all that can be named."""

import json
import re

import numpy as np
import pytest

from shapeopt.cli import main
from shapeopt.cli.bench import all_protocols
from shapeopt.cli.demo_scene import LOWEST, METHODS, best_of_peer, half_side, lennard_jones
from shapeopt.paper import find
from shapeopt.paper.find import grouped, stored
from shapeopt.paper.methods import list_methods
from shapeopt.tasks import FAMILIES


def test_the_energy_of_the_demonstration_has_its_gradient():
    x = np.random.default_rng(0).uniform(-2, 2, 39)
    energy, gradient = lennard_jones(x)
    for i in range(5):
        step = np.zeros(39)
        step[i] = 1e-6
        slope = (lennard_jones(x + step)[0] - lennard_jones(x - step)[0]) / 2e-6
        assert slope == pytest.approx(gradient[i], rel=1e-4, abs=1e-4)
    assert np.isfinite(energy)


@pytest.mark.parametrize("method", METHODS[1:])
def test_a_peer_starts_where_we_start_and_more_calls_help_it(method):
    start = np.random.default_rng(3).uniform(-half_side(), half_side(), 39)
    assert best_of_peer(method, 3, 1) == lennard_jones(start)[0]
    assert best_of_peer(method, 3, 60) < best_of_peer(method, 3, 5)


def test_the_demonstration_ends_with_a_result_that_is_counted(capsys):
    assert main(["demo", "--seed", "3", "--runs", "2"]) == 0
    out = capsys.readouterr().out
    last = " ".join(out[out.index("shapeopt found") :].split())
    ours, runs, hops, restarts = map(
        int, re.search(r"in (\d+) of (\d+) runs; .* did in (\d+) and .* restarts in (\d+)", last).groups()
    )
    rows = [line.split()[1:] for line in out.splitlines() if re.match(r" +[34] ", line)]
    hits = [sum(float(row[i]) <= LOWEST + 0.01 for row in rows) for i in range(3)]
    assert [ours, hops, restarts] == hits and runs == len(rows) == 2 and ours >= 1
    assert "Why it moved" in out


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
