"""Ships a trained policy: measures it beside the paper's baselines and puts it, with its card, into `weights`.

    .venv/bin/python benchmarks/ship.py RUN [RUN ...]

RUN is a folder of `shapeopt train`, with policy.safetensors and its card. The policy goes to weights/KIND-FAMILY-
DIMENSION, with -no-controller, -no-memory, -horizon-4, -described or -seed-N behind it if it was trained so, or -box if
its tasks had optima and starts anywhere in the box. KIND is `paper` if the schedule was the paper's and was run to its
end, and `tuned` otherwise. The card says what the run said, and under "results" how far the policy, its initialisation,
the same with both networks zero, and baselines get on the family's cell of the paper's protocols, with tasks of a seed
that is used nowhere else. A policy that equals its initialisation is refused.
"""

import dataclasses
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import equinox as eqx
import numpy as np
import tyro

from shapeopt.bench.cells import Cell
from shapeopt.bench.execute import run_cell
from shapeopt.bench.methods import AbstractMethod
from shapeopt.bench.metrics import summarise
from shapeopt.bench.statistics import mean_interval
from shapeopt.paper.find import CHECKOUT, load_policy
from shapeopt.paper.methods import Stored, find_method
from shapeopt.paper.protocols import PROTOCOLS
from shapeopt.paper.training.config import from_plain, is_as_written
from shapeopt.paper.variants import CHANGES
from shapeopt.paper.weights import load_card, save_policy
from shapeopt.tasks import StartLaw
from shapeopt.terminal.environment import keep_compiled_code

SEED = 3_405_691_582  # of the card's tasks alone
TASKS, RUNS = 16, 512  # at least so many tasks, and at least about so many runs
FIRST_SEED, SEEDS = 20_261, 3  # of training runs, as `train_paper.py` has them
EVENT_HORIZON = 6  # paper, training details
TESTED_AS = {"double_well": "multiwell"}  # the paper trains on the one and tests on the other


@dataclass(frozen=True)
class Config:
    """What is shipped, and how it is measured."""

    runs: tyro.conf.Positional[tuple[Path, ...]]
    tasks: int | None = None  # None: 16, and more where a task has few starts
    baselines: tuple[str, ...] = ()
    folder: Path = CHECKOUT


def main(config: Config) -> None:
    keep_compiled_code()
    for run in config.runs:
        ship(run, config)


def ship(run: Path, config: Config) -> Path:
    """Measure the policy of a run and write it with its card; returns the stem of its files."""
    path = run / "policy.json"
    card = load_card(path)
    about, cell = card["about"], card_cell(card, config.tasks)
    if about.get("seed") == SEED:
        raise ValueError(f"`seed` of a training run must not be that of the cards, {SEED}.")
    if eqx.tree_equal(CHANGES["initialised"](load_policy(path), card), load_policy(path)):
        raise ValueError(f"the policy of {run} is bit for bit its initialisation: nothing was learned.")
    stem = config.folder / shipped_name(card)
    methods: dict[str, AbstractMethod] = {stem.name: find_method(str(path))}
    methods |= {change: Stored(change, lambda cell: str(path), change) for change in ("initialised", "zero_networks")}
    methods |= {name: find_method(name) for name in config.baselines}
    results = {name: measure(cell, method) for name, method in methods.items()}
    where = {"cell": cell.name, "seed": SEED, "tasks": cell.tasks, "starts": cell.starts, "calls": cell.budget}
    config.folder.mkdir(parents=True, exist_ok=True)
    about = about | {"command": str(about.get("command", "")).replace("policy.json", stem.name + ".json")}
    save_policy(stem, load_policy(path), about | {"results": results, "results_of": where})
    print(f"{stem.name}, {cell.name}, {cell.tasks} tasks x {cell.starts} starts")
    for name, row in results.items():
        print(f"  {name:30} best gap {row['best_gap']}, 95 % {row['interval']}, hits {row['hit_rate']}")
    return stem


def shipped_name(card: dict[str, Any]) -> str:
    """KIND-FAMILY-DIMENSION, what the policy lacks, and which training seed of several it has."""
    settings = card["settings"]
    parts = [kind_of(card), family_of(card), str(settings["d"])]
    parts += ["no-controller"] if not settings["use_controller"] else []
    parts += ["no-memory"] if not settings["use_memory"] else []
    parts += [f"horizon-{settings['event_horizon']}"] if settings["event_horizon"] != EVENT_HORIZON else []
    parts += ["described"] if settings.get("descriptor_size") else []
    parts += ["box"] if card["about"]["schedule"]["law"] == StartLaw.BOX.value else []
    number = card["about"].get("seed", FIRST_SEED) - FIRST_SEED
    parts += [f"seed-{number}"] if 0 < number < SEEDS else []
    return "-".join(parts)


def kind_of(card: dict[str, Any]) -> str:
    """`paper` for the paper's schedule run to its end."""
    about = card["about"]
    whole = is_as_written(from_plain(about["schedule"])) and not about["stopped_early"]
    return "paper" if whole else "tuned"


def family_of(card: dict[str, Any]) -> str:
    """The family that the policy is meant for."""
    family = card["about"]["family"]
    return TESTED_AS.get(family, family)


def card_cell(card: dict[str, Any], tasks: int | None = None) -> Cell:
    """The cell of the paper's protocols on which the policy is measured."""
    family, d = family_of(card), card["settings"]["d"]
    boxed = card["about"]["schedule"]["law"] == StartLaw.BOX.value
    names = ("settings",) if boxed else ("paper", "paper-science", "multiwell")
    cells = [cell for name in names for cell in PROTOCOLS[name].cells]
    found = [cell for cell in cells if (cell.family.name, cell.family.dimension) == (family, d)]
    if not found:
        raise ValueError(f"`family` must have a cell of the paper's protocols in dimension {d}; got {family!r}.")
    cell = found[0]  # of multi-wells, the one with the paper's calls
    return dataclasses.replace(cell, tasks=max(TASKS, RUNS // cell.starts) if tasks is None else tasks)


def measure(cell: Cell, method: AbstractMethod) -> dict[str, Any]:
    """Mean over tasks of the lowest gap, which the paper calls best, its interval, and the share of hits."""
    values = summarise(run_cell(cell, method, SEED), cell.rule)
    gaps = values["lowest_gap"]
    interval = mean_interval(gaps, seed=0) if np.isfinite(gaps).all() else (math.nan, math.nan)
    hits = values["hit_final"] if np.isnan(values["hit_best"]).all() else values["hit_best"]
    return {
        "best_gap": _digits(np.mean(gaps)),
        "interval": [_digits(end) for end in interval],
        "hit_rate": _digits(np.mean(hits)),
    }


def _digits(value: Any) -> float | None:
    """Four digits; None, which JSON can hold, for what is not finite."""
    return float(f"{float(value):.4g}") if math.isfinite(value) else None


if __name__ == "__main__":
    main(tyro.cli(Config, description=__doc__))
