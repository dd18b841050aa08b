"""The universal policy's card says where it stands, and a trained planner is shipped only if it beats none."""

import json
import runpy
from pathlib import Path

import jax
import numpy as np
import pytest

from shapeopt.bench.digest import Digest
from shapeopt.bench.metrics import METRICS
from shapeopt.bench.protocols import PROTOCOLS
from shapeopt.paper.find import FOLDER, shipped
from shapeopt.paper.training.mixture import MIXTURES
from shapeopt.policy import UniversalPolicy, find_policy, load_card, save_policy
from shapeopt.tasks import HELD_OUT, TRAINING, VALIDATION

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
CARD = runpy.run_path(str(BENCHMARKS / "ship_universal.py"))
HEADS = runpy.run_path(str(BENCHMARKS / "ship_heads.py"))
WAVE = np.linspace(0, 1, 16)
TRAINED = [name for name in shipped() if name.startswith("universal-")]


def made(method, cell, gaps, area):
    values = {name: gaps if name == "best_gap" else np.full(16, np.nan) for name in METRICS}
    return Digest("near", cell.describe(), method, 0, values, 0.0, area, area, {})


def test_a_card_counts_cells_by_what_a_test_tells_and_names_those_that_are_lost():
    cells = PROTOCOLS["near"].cells[:3]
    found = []
    for cell, shift, area in zip(cells, (1.0, -0.1, 0.0), (0.1, 0.2, 0.6), strict=True):
        found += [made("universal", cell, 0.2 + WAVE, 0.7), made("cma", cell, 0.2 + WAVE + shift, 0.7 - area)]
    told = CARD["standing"](found)
    assert told["cells"] == 3 and told["area"] == 0.7
    row = told["against"]["cma"]
    assert (row["better"], row["worse"], row["not told apart"]) == (1, 1, 1)
    assert row["area_difference"] == pytest.approx(0.3)
    assert 0.1 <= row["area_interval"][0] < 0.3 < row["area_interval"][1] <= 0.6
    assert told["loses"] == {cells[1].name: ["cma"]}


def test_the_shipped_card_has_every_protocol_its_ablation_and_what_training_was_tried():
    about = load_card(FOLDER / "universal")["about"]
    assert {"near", "unseen", "noisy", "value-only", "paper"} <= set(about["results"])
    for row in about["results"].values():
        assert row["against"] and row["cells"] > 0
    assert {row["part"] for row in about["ablation"]} >= {"credit", "sweep", "hopeless event", "secant metric"}
    assert about["trained"] is False and find_policy("universal").planner is None
    assert about["command"] == "python benchmarks/ship_universal.py"


@pytest.mark.parametrize("name", TRAINED)
def test_a_trained_planner_is_shipped_with_the_judgement_that_let_it(name):
    policy, about = find_policy(name), load_card(FOLDER / name)["about"]
    assert isinstance(policy, UniversalPolicy) and policy.planner is not None and policy.controller is None
    assert about["judged"]["all"]["interval"][0] > 0.0
    assert about["judged"]["seed"] != about["seed"]


@pytest.mark.parametrize(("gain", "kept"), [(0.05, True), (-0.05, False), (0.0, False)])
def test_a_planner_is_shipped_only_where_the_interval_lies_above_nought(tmp_path, monkeypatch, capsys, gain, kept):
    run, folder, record = tmp_path / "run", tmp_path / "shipped", tmp_path / "heads.json"
    run.mkdir(), folder.mkdir()
    policy = UniversalPolicy.create(jax.random.key(0), rank=0)
    told = dict.fromkeys(HEADS["TOLD"], 0)
    save_policy(run / "policy", policy, {"family": "clusters", "seed": 0} | told)
    fake = lambda policy, grade, tasks: gain + 0.1 * np.cos(np.arange(tasks))  # noqa: E731
    monkeypatch.setitem(HEADS["main"].__globals__, "differences", fake)
    HEADS["main"](HEADS["Config"]((run,), folder=folder, record=record))
    entry = json.loads(record.read_text())["universal-lennard_jones"]
    assert entry["shipped"] is kept and entry["all"]["difference"] == pytest.approx(gain, abs=2e-3)
    assert (folder / "universal-lennard_jones.safetensors").exists() is kept
    assert "not shipped" in capsys.readouterr().out or kept


def test_what_judges_the_broad_mixture_was_neither_trained_on_nor_chosen_by():
    judged = {name for grade in HEADS["JUDGED"]["mixture"] for name in grade.family.split("+")}
    assert judged <= set(HELD_OUT) and not judged & (set(TRAINING) | set(VALIDATION))
    assert set(HEADS["JUDGED"]) == set(HEADS["NAMES"]) == set(MIXTURES)
