"""benchmarks/ship.py names a policy by its settings, measures it and its rivals, and keeps what its card said."""

import json
import runpy
from dataclasses import replace
from pathlib import Path

import equinox as eqx
import jax
import pytest

from shapeopt.paper.find import FITTED, load_policy
from shapeopt.paper.methods import find_method
from shapeopt.paper.training.config import Precision, TrainConfig, paper_preset, to_plain
from shapeopt.paper.training.trainer import untrained
from shapeopt.paper.weights import load_card, save_policy
from shapeopt.tasks import StartLaw

SHIP = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "ship.py"))
SHORT = TrainConfig(family="ackley", hidden=4, rank=1, seed=7, precision=Precision.DOUBLE)
ABOUT = {
    "family": "ackley",
    "seed": 7,
    "command": "shapeopt train FOLDER --config config.toml",
    "schedule": to_plain(SHORT),
    "stopped_early": False,
}


def card(family="ackley", seed=20_261, stopped=False, schedule=None, **settings):
    usual = {"d": 2, "use_controller": True, "use_memory": True, "event_horizon": 6}
    found = usual | settings
    schedule = to_plain(schedule or replace(paper_preset(found["d"]), dimension=found["d"]))
    about = {"family": family, "seed": seed, "schedule": schedule, "stopped_early": stopped}
    return {"about": about, "settings": found}


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("paper-ackley-2", card()),
        ("paper-levy-20-no-controller", card("levy", d=20, use_controller=False)),
        ("paper-lennard_jones-6-no-memory", card("lennard_jones", d=6, use_memory=False)),
        ("paper-ackley-100-horizon-4", card(d=100, event_horizon=4)),
        ("paper-multiwell-1", card("double_well", d=1)),
        ("paper-ackley-2-seed-1", card(seed=20_262)),
        ("paper-double_integrator-8-described", card("double_integrator", d=8, descriptor_size=7)),
        ("tuned-ackley-2", card(stopped=True)),
        ("tuned-ackley-2-box", card(schedule=replace(paper_preset(2), sees_place=False, law=StartLaw.BOX))),
        ("tuned-ackley-2-seed-2", card(seed=20_263, schedule=replace(paper_preset(2), sees_place=False))),
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
    save_policy(run / "policy", policy, ABOUT | {"schedule": to_plain(replace(SHORT, use_memory=False))})
    SHIP["main"](SHIP["Config"]((run,), tasks=1, baselines=("gd",), folder=weights))
    assert "tuned-ackley-2-no-memory, ackley-2-paper-varied-48, 1 tasks x 32 starts" in capsys.readouterr().out
    assert eqx.tree_equal(load_policy("tuned-ackley-2-no-memory"), policy)
    about = load_card(weights / "tuned-ackley-2-no-memory")["about"]
    kept = [name for name in ABOUT if name != "schedule"]
    assert {name: about[name] for name in kept} == {name: ABOUT[name] for name in kept}
    rows = {"tuned-ackley-2-no-memory", "initialised", "zero_networks", "gd"}
    assert set(about["results"]) == rows and about["results_of"]["seed"] == SHIP["SEED"]
    for row in about["results"].values():
        assert 0 < row["best_gap"] < 30 and 0 <= row["hit_rate"] <= 1 and row["interval"] == [None, None]
    cell = SHIP["card_cell"](card())
    assert find_method("tuned_without_memory").lacks(cell) == "" and find_method("paper").lacks(cell)


def test_a_policy_that_is_its_initialisation_is_refused(tmp_path):
    with jax.enable_x64(True):
        save_policy(tmp_path / "policy", untrained(SHORT), ABOUT)
    with pytest.raises(ValueError, match="bit for bit its initialisation"):
        SHIP["ship"](tmp_path, SHIP["Config"]((tmp_path,), folder=tmp_path / "out"))


def test_tasks_of_the_training_run_are_refused(tmp_path, drawn):
    save_policy(tmp_path / "policy", drawn(d=2), ABOUT | {"seed": SHIP["SEED"]})
    with pytest.raises(ValueError, match="`seed` of a training run must not be that of the cards"):
        SHIP["ship"](tmp_path, SHIP["Config"]((tmp_path,), folder=tmp_path / "out"))
    assert not (tmp_path / "out").exists() and json.loads((tmp_path / "policy.json").read_text())
