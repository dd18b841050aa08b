"""benchmarks/ship.py names a policy by its settings, measures it and its rivals, and keeps what its card said."""

import json
import runpy
from pathlib import Path

import equinox as eqx
import pytest

from shapeopt.paper.find import FITTED, load_policy
from shapeopt.paper.methods import find_method
from shapeopt.paper.weights import load_card, save_policy

SHIP = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "ship.py"))
ABOUT = {"family": "ackley", "seed": 7, "command": "shapeopt train FOLDER --config config.toml"}


def card(family="ackley", **settings):
    usual = {"d": 2, "use_controller": True, "use_memory": True, "event_horizon": 6}
    return {"about": {"family": family}, "settings": usual | settings}


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("paper-ackley-2", card()),
        ("paper-levy-20-no-controller", card("levy", d=20, use_controller=False)),
        ("paper-lennard_jones-6-no-memory", card("lennard_jones", d=6, use_memory=False)),
        ("paper-ackley-100-horizon-4", card(d=100, event_horizon=4)),
        ("paper-multiwell-1", card("double_well", d=1)),
    ],
)
def test_the_name_says_family_dimension_and_what_is_lacking(name, made):
    assert SHIP["shipped_name"](made) == name and FITTED.fullmatch(name)


def test_the_cell_is_the_paper_s_with_enough_runs():
    cell = SHIP["card_cell"](card())
    assert (cell.name, cell.tasks, cell.starts) == ("ackley-2-paper-varied-48", 16, 32)
    wells = SHIP["card_cell"](card("double_well", d=1))
    assert (wells.family.name, wells.budget, wells.tasks, wells.starts) == ("multiwell", 1251, 512, 1)
    with pytest.raises(ValueError, match=r"`family` must have a cell .* in dimension 3; got 'ackley'"):
        SHIP["card_cell"](card(d=3))


@pytest.mark.full
def test_a_shipped_run_is_a_method_s_policy_with_results_of_itself_and_its_rivals(tmp_path, weights, drawn, capsys):
    run = tmp_path / "run"
    run.mkdir()
    policy = drawn(d=2, use_memory=False)
    save_policy(run / "policy", policy, ABOUT)
    SHIP["main"](SHIP["Config"]((run,), tasks=1, baselines=("gd",), folder=weights))
    assert "paper-ackley-2-no-memory, ackley-2-paper-varied-48, 1 tasks x 32 starts" in capsys.readouterr().out
    assert eqx.tree_equal(load_policy("paper-ackley-2-no-memory"), policy)
    about = load_card(weights / "paper-ackley-2-no-memory")["about"]
    assert {name: about[name] for name in ABOUT} == ABOUT
    assert set(about["results"]) == {"paper-ackley-2-no-memory", "gd"} and about["results_of"]["seed"] == SHIP["SEED"]
    for row in about["results"].values():
        assert 0 < row["best_gap"] < 30 and 0 <= row["hit_rate"] <= 1 and row["interval"] == [None, None]
    cell = SHIP["card_cell"](card())
    assert find_method("paper_without_memory").lacks(cell) == "" and find_method("paper").lacks(cell)


def test_tasks_of_the_training_run_are_refused(tmp_path, drawn):
    save_policy(tmp_path / "policy", drawn(d=2), ABOUT | {"seed": SHIP["SEED"]})
    with pytest.raises(ValueError, match="`seed` of a training run must not be that of the cards"):
        SHIP["ship"](tmp_path, SHIP["Config"]((tmp_path,), folder=tmp_path / "out"))
    assert not (tmp_path / "out").exists() and json.loads((tmp_path / "policy.json").read_text())
