"""Judges a universal policy with a trained planner, and ships it only if it beats the untrained one.

    .venv/bin/python benchmarks/ship_heads.py RUN [RUN ...]

RUN is a folder of `shapeopt train RUN --from universal --family MIXTURE`. The policy is judged on tasks of a seed that
is used nowhere else: for the broad mixture on families that no policy is ever trained on or chosen by, for a narrow one
on its own families. A task's difference is the area under the run's ECDF (share of targets from 1 to 1e-8 of the first
gap, averaged over calls) less that of the untrained policy on the same task, start and seed. It is shipped, with its
card, as src/shapeopt/policy/shipped/NAME if the bootstrap interval (BCa) of the mean over all tasks lies above 0. The
judgement is written to benchmarks/records/heads.json either way.
"""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np
import tyro

from shapeopt.bench.statistics import mean_interval
from shapeopt.policy import cast_policy, load_card, load_policy, save_policy
from shapeopt.policy.find import FOLDER
from shapeopt.tasks import StartLaw
from shapeopt.training import PRESETS
from shapeopt.training.curriculum import Grade
from shapeopt.training.heads import make_head_phases
from shapeopt.training.mixture import in_words
from shapeopt.training.phases import split_policy

SEED = 2_718_281_828  # of the judgement alone
TOLD = ("updates", "calls", "seconds", "validation", "best_validation", "command")  # of the training, in the record
RECORD = Path(__file__).parent / "records" / "heads.json"
NAMES = {
    "mixture": "universal",
    "clusters": "universal-lennard_jones",
    "retrieval": "universal-phase_retrieval",
    "control": "universal-control",
}


def _grade(family: str, dimension: int, readings: int, rotated: bool = False) -> Grade:
    return Grade(math.inf, family, StartLaw.BOX, 0.0, 0, dimension, rotated, readings)


JUDGED = {
    "mixture": (
        _grade("griewank+salomon+drop_wave+lunacek+gallagher+styblinski_tang+happy_cat", 5, 500, rotated=True),
        _grade("griewank+salomon+schaffer_f7+lunacek+gallagher+styblinski_tang+zakharov", 12, 500, rotated=True),
    ),
    "clusters": (_grade("lennard_jones", 18, 500), _grade("lennard_jones", 39, 500)),
    "retrieval": (_grade("phase_retrieval", 8, 200), _grade("phase_retrieval", 32, 500)),
    "control": (_grade("double_integrator", 16, 300), _grade("pendulum", 12, 300), _grade("navigation", 12, 300)),
}


@dataclass(frozen=True)
class Config:
    """What is judged, and by how many tasks."""

    runs: tyro.conf.Positional[tuple[Path, ...]]
    tasks: int = 256  # of each sort
    folder: Path = FOLDER
    record: Path = RECORD


def differences(policy: eqx.Module, grade: Grade, tasks: int) -> np.ndarray:
    """Task by task, the area under the policy's ECDF less that of the untrained one."""
    params, static = split_policy(policy)
    phases = make_head_phases(PRESETS["universal"].plan_of(grade), static)
    return -phases.differences(params, jax.random.key(SEED), tasks)


def judge(policy: eqx.Module, family: str, tasks: int) -> dict[str, Any]:
    """Mean differences of all sorts of tasks with their intervals, and the mean over all."""
    found = {in_words(grade): differences(policy, grade, tasks) for grade in JUDGED[family]}
    rows = {name: _row(values) for name, values in found.items()}
    return {"seed": SEED, "tasks": tasks, "all": _row(np.concatenate(list(found.values()))), "each": rows}


def _row(values: np.ndarray) -> dict[str, Any]:
    low, high = mean_interval(values, seed=0)
    return {"difference": _digits(values.mean()), "interval": [_digits(low), _digits(high)]}


def _digits(value: float) -> float:
    return float(f"{float(value):.3g}")


def main(config: Config) -> None:
    for run in config.runs:
        about = load_card(run / "policy.json")["about"]
        family, stored = about["family"], load_policy(run / "policy")
        told = judge(cast_policy(stored, "float64"), family, config.tasks)
        kept = told["all"]["interval"][0] > 0.0
        name = NAMES[family]
        trained = {key: about[key] for key in TOLD}
        _record(config.record, name, told | {"shipped": kept, "training": trained})
        if kept:
            save_policy(config.folder / name, stored, about | {"judged": told})
        print(f"{name}: {told['all']} {'shipped' if kept else 'not shipped'}")
        for sort, row in told["each"].items():
            print(f"  {sort}: {row['difference']:+.4f} {row['interval']}")


def _record(path: Path, name: str, entry: dict[str, Any]) -> None:
    known = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(known | {name: entry}, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    with jax.enable_x64(True):
        main(tyro.cli(Config, description=__doc__))
