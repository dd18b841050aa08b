"""`shapeopt bench run learning`: a table of families, kept row by row."""

import json

import numpy as np
import pytest

from shapeopt.cli import main
from shapeopt.learning import FAMILIES, table
from shapeopt.learning.families import DESCRIBED, REAL, WRONG
from shapeopt.learning.measure import FRESH, PAIRS, Size, row
from shapeopt.training.instance import HELD_OUT
from shapeopt.training.run import Run

ARM = FAMILIES["arm"][0]


def falls_at(calls):
    return Run(1.0, [0.0], 0.0, [(1, 1.0), (calls, 0.0)], [], [])


def test_the_ratio_is_that_of_medians_over_all_trainings():
    before = [falls_at(calls) for calls in (10, 20, 30)]
    after = [[falls_at(calls) for calls in (2, 4, 6)], [falls_at(calls) for calls in (4, 8, 200)]]
    found = row(before, after, np.zeros(3), 1e-3, 100)
    assert found["before"] == 20 and found["after"] == 5 and found["ratio"] == 0.25
    assert found["by_training"] == [0.2, 0.4] and found["solved_after"] == pytest.approx(5 / 6)
    assert found["low"] < 0.25 < found["high"]


def test_held_out_instances_are_none_of_any_training():
    seeds = [2 * HELD_OUT * seed for seed in Size().seeds]
    assert max(seeds) + 2 * HELD_OUT <= FRESH and len(set(seeds)) == 3


def test_pairs_of_wrong_families_have_the_same_coordinates():
    sizes = {name: len(family.sample(0).bounds) for name, family in WRONG.items()}
    sizes |= {name: len(FAMILIES[name][1].sample(0).bounds) for name in ("ripples", "located", "arm", "gp")}
    assert all(sizes[own] == sizes[other] and own != other for own, other in PAIRS)


def test_the_gradients_of_families_are_those_of_their_values():
    for name in FAMILIES.keys() - {"torsions"}:
        one = FAMILIES[name][1].sample(5)
        lower, upper = np.array(one.bounds, float).T
        x, way = 0.6 * lower + 0.4 * upper, 1e-6 * (upper - lower)
        slope = (one.fun(x + way)[0] - one.fun(x - way)[0]) / 2.0
        assert slope == pytest.approx(one.fun(x)[1] @ way, rel=1e-3), name


def test_the_command_makes_rows_once_and_prints_the_table(tmp_path, capsys):
    command = ["bench", "run", "learning", "--out", str(tmp_path), "--quick", "--cells", "arm"]
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert "made: arm" in shown and "| arm | yes |" in shown and "| arm | wells 4 |" in shown
    kept = json.loads((tmp_path / "learning-quick" / "arm.json").read_text())
    assert kept["budget"] == ARM.budget and len(kept["rows"]) == 4
    assert main([*command, "--json"]) == 0
    again = capsys.readouterr()
    assert "made" not in again.err and json.loads(again.out)["families"]["arm"] == kept
    assert f"| {kept['rows'][2]['ratio']:.2f} |" in table(json.loads(again.out))


def test_an_unknown_family_is_refused_in_one_line(tmp_path, capsys):
    assert main(["bench", "run", "learning", "--out", str(tmp_path), "--cells", "nothing"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_marks_are_of_families():
    assert set(REAL) | set(DESCRIBED) <= FAMILIES.keys()
