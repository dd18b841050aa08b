"""The universal policy's card says where it stands."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from shapeopt.bench.digest import Digest
from shapeopt.bench.metrics import METRICS
from shapeopt.bench.protocols import PROTOCOLS
from shapeopt.paper.weights import load_card
from shapeopt.policy import find_policy
from shapeopt.policy.find import FOLDER

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
CARD = runpy.run_path(str(BENCHMARKS / "ship_universal.py"))
WAVE = np.linspace(0, 1, 16)


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


def test_the_shipped_card_has_every_protocol_and_its_ablation():
    about = load_card(FOLDER / "universal")["about"]
    assert {"near", "unseen", "noisy", "value-only", "paper"} <= set(about["results"])
    for row in about["results"].values():
        assert row["against"] and row["cells"] > 0
    assert {row["part"] for row in about["ablation"]} >= {"credit", "sweep", "hopeless event", "secant metric"}
    assert about["trained"] is False and find_policy("universal").planner is None
    assert about["command"] == "python benchmarks/ship_universal.py"
