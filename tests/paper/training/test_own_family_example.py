"""The example that trains a family of its own, in a tiny form."""

import runpy
from dataclasses import replace
from pathlib import Path

import pytest

from shapeopt.paper.training import Estimation

pytestmark = pytest.mark.full  # a training run

EXAMPLE = Path(__file__).parents[3] / "examples" / "train_own_family.py"


def test_the_example_trains_its_family_and_compares_on_held_out_tasks(capsys):
    parts = runpy.run_path(str(EXAMPLE))
    quick = {"use_controller": False, "estimator": Estimation.EVOLUTION, "pairs": 1}
    sizes = {"hidden": 8, "batch": 4, "readings": 8, "validation_tasks": 4, "validation_readings": 8}
    tiny = replace(parts["SETTINGS"], **quick, **sizes, planner_pretrain=1, epochs=1, joint_updates=1)
    parts["main"](tiny, tasks=16)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("2 updates in ")
    assert lines[1].startswith("mean misfit on 16 held-out tasks: 0.") and lines[2].startswith("paired difference ")
