"""Trains every policy that is shipped beside the universal one: the paper's cells, and its ablations.

    .venv/bin/python benchmarks/train_shipped.py [NAME ...] [--folder FOLDER] [--list]

A run that is there already goes on, or is done; `benchmarks/ship.py FOLDER/NAME` then measures and ships it. The
schedules are the `small-...` presets, some minutes each on one core, and not the paper's: each card says its own.
"""

import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import tyro

from shapeopt.paper.training import PRESETS, Curriculum, Progress, TrainConfig, train

FOLDER = Path(__file__).parent / "records" / "training"
SEED = 20_261  # of every run
SYNTHETIC, DIMENSIONS = ("ackley", "levy", "rastrigin"), (2, 20, 100, 500)
SCIENCE = (
    ("lennard_jones", 6),
    ("lennard_jones", 18),
    ("phase_retrieval", 8),
    ("phase_retrieval", 32),
    ("double_integrator", 8),
    ("double_integrator", 32),
)
ABLATED = ("ackley", (2, 20, 100))
MULTIWELL_SIGMA = 0.1  # as the bench's protocol has it
MULTIWELL_READINGS = 240  # in training; tested at 1,251
ABLATIONS = {
    "no-controller": {"use_controller": False},
    "no-memory": {"use_memory": False},
    "horizon-4": {"event_horizon": 4},
}


def recipes() -> dict[str, TrainConfig]:
    """The configuration of every run, by the name under which it is shipped."""
    found = {}
    for d in DIMENSIONS:
        for family in SYNTHETIC:
            found[f"paper-{family}-{d}"] = replace(PRESETS[f"small-{d}"], family=family, varied=True)
    for family, d in SCIENCE:
        found[f"paper-{family}-{d}"] = replace(PRESETS["small-20"], family=family, dimension=d)
    wells = replace(PRESETS["small-2"], family="multiwell", dimension=1, sigma=MULTIWELL_SIGMA, batch=16)
    readings = {"readings": MULTIWELL_READINGS, "validation_readings": MULTIWELL_READINGS}
    wide = {"noise_scale": 0.5, "joint_rate": 0.15}  # 0.1 never finds that escapes pay
    found["paper-multiwell-1"] = replace(wells, curriculum=Curriculum.WELLS, epochs=90, **readings, **wide)
    family, dimensions = ABLATED
    for ending, changes in ABLATIONS.items():
        for d in dimensions:
            found[f"paper-{family}-{d}-{ending}"] = replace(found[f"paper-{family}-{d}"], **changes)
    found["paper-multiwell-1-no-memory"] = replace(found["paper-multiwell-1"], use_memory=False)
    return {name: replace(config, seed=SEED) for name, config in found.items()}


@dataclass(frozen=True)
class Config:
    """Which runs, and where."""

    names: tyro.conf.Positional[tuple[str, ...]] = ()  # none: all
    folder: Path = FOLDER
    list: bool = False


def main(config: Config) -> None:
    known = recipes()
    if unknown := [name for name in config.names if name not in known]:
        raise SystemExit(f"`names` must be among {', '.join(known)}; got {', '.join(unknown)}.")
    for name in config.names or known:
        if config.list:
            print(name)
            continue
        began = time.perf_counter()
        card = train(known[name], config.folder / name, observer=_report).card
        first, best = card["validation"][0][1], card["best_validation"]
        print(f"{name}: validation {first:.4f} -> {best:.4f}, {time.perf_counter() - began:.0f} s", flush=True)


def _report(progress: Progress) -> None:
    if progress.done % 25 == 0:
        line = f"  {progress.done}/{progress.total} {progress.phase} {progress.validation:.4f}"
        print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(tyro.cli(Config, description=__doc__))
