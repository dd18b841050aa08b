"""Trains the paper's policies one after the other, cheapest first; stopped and started again, it goes on.

    .venv/bin/python benchmarks/train_paper.py FOLDER [--only PATTERN ...] [--list]

`paper-FAMILY-DIMENSION` is trained as the paper has it: presets paper-2 to paper-500, all seven terms of the loss,
gradients through the rollout, the last weights of the schedule. On multi-wells U_mem stands on the cells of the memory
and stalls are judged over a whole stage, which the paper leaves open; `...-described` is told the task's descriptor.
`tuned-...` has networks that do not see where in the box they are. An evolution strategy trains what they say to all
coordinates alike by the best value of runs of the protocol's length (among atoms by its level, since first values are
as high as they like there), and nothing else: no teacher, no gains. The weights that were best on validation are kept.
A training seed behind the first adds `-seed-N`.
`benchmarks/ship.py FOLDER/NAME` measures a finished run and puts it into `weights`; the log has a line a run.
"""

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path

import tyro

from shapeopt.paper.protocols import PAPER_HORIZON, SCIENCE_HORIZON
from shapeopt.paper.training import Progress, TrainConfig, train
from shapeopt.paper.training.config import Aim, Estimation, Keep, paper_preset
from shapeopt.paper.training.phases import Part
from shapeopt.tasks import StartLaw
from shapeopt.terminal.environment import keep_compiled_code

SEED = 20_261  # of the first run of a cell; the next ones follow
SEEDS = 3
SYNTHETIC = ("ackley", "levy", "rastrigin")
SCIENCE = (
    ("lennard_jones", 6),
    ("phase_retrieval", 8),
    ("double_integrator", 8),
    ("lennard_jones", 18),
    ("phase_retrieval", 32),
    ("double_integrator", 32),
)
MULTIWELL_SIGMA = 0.1  # as the protocol has it
# of `tuned`, by the least dimension: updates, tasks of an update, width of the networks, rank of their operators
TUNED = {1: (200, 32, 32, 4), 18: (150, 16, 32, 4), 100: (100, 8, 32, 1), 500: (80, 4, 32, 1)}
SETTLING_CALLS = 256  # the least of S1 to S6
ABLATIONS = {
    "no-controller": {"use_controller": False},
    "no-memory": {"use_memory": False},
    "horizon-4": {"event_horizon": 4},
}


def recipes() -> dict[str, TrainConfig]:
    """The configuration of every run, by the name under which it is shipped, in the order of their cost."""
    found: dict[str, TrainConfig] = {}
    for cells in _groups():
        for number in range(SEEDS):
            for name, config in cells.items():
                ending = f"-seed-{number}" if number else ""
                found[name + ending] = replace(config, seed=SEED + number)
    return found


def _groups() -> Iterator[dict[str, TrainConfig]]:
    """Cells whose seeds are trained one after the other, before any cell of the next group."""
    well = replace(written("double_well", 1), sigma=MULTIWELL_SIGMA, cell_shaping=True, noisy_stall=True)
    wells = {"multiwell": well, "multiwell-no-memory": replace(well, use_memory=False, cell_shaping=False)}
    small = {f"{family}-2": written(family, 2) for family in SYNTHETIC}
    yield {f"paper-{name}": config for name, config in small.items()}
    yield {f"paper-{name.replace('multiwell', 'multiwell-1')}": config for name, config in wells.items()}
    yield {"tuned-multiwell-1": replace(tuned(well), readings=256, validation_readings=256)}
    yield {f"tuned-{name}": tuned(config) for name, config in small.items()}
    yield ablated(2)
    yield {"tuned-ackley-2-box": settling(tuned(small["ackley-2"]))}
    yield {f"tuned-{family}-20": tuned(written(family, 20)) for family in SYNTHETIC}
    yield {f"tuned-{family}-{d}": tuned(written(family, d)) for family, d in SCIENCE}
    yield {f"paper-{family}-20": written(family, 20) for family in SYNTHETIC}
    yield {f"paper-{family}-{d}": written(family, d) for family, d in SCIENCE}
    yield {"paper-double_integrator-8-described": replace(written("double_integrator", 8), sees_task=True)}
    yield ablated(20)
    for d in (100, 500):
        yield {f"tuned-{family}-{d}": tuned(written(family, d)) for family in SYNTHETIC}
    for d in (100, 500):
        yield {f"paper-{family}-{d}": written(family, d) for family in SYNTHETIC}
        yield ablated(d) if d == 100 else {}


def written(family: str, d: int) -> TrainConfig:
    """The paper's schedule; in a dimension that its table does not have, that of the next lower one."""
    return replace(paper_preset(d), family=family, dimension=d, varied=True if family in SYNTHETIC else None)


def tuned(config: TrainConfig) -> TrainConfig:
    """Networks that do not know where in the box they are, trained by the outcome of runs of the protocol's length."""
    calls = PAPER_HORIZON.get(config.dimension, SCIENCE_HORIZON)
    updates, batch, hidden, rank = TUNED[max(d for d in TUNED if d <= config.dimension)]
    return replace(
        config,
        sees_place=False,
        hidden=hidden,
        rank=rank,
        readings=calls,
        validation_readings=calls,
        batch=batch,
        controller_pretrain=0,
        planner_pretrain=0,
        epochs=updates,
        controller_updates=0,
        joint_updates=1,
        joint_rate=5e-2,
        decay=True,
        aim=Aim.LEVEL if config.family == "lennard_jones" else Aim.OUTCOME,
        trained=Part.HEADS,
        estimator=Estimation.EVOLUTION,
        noise_scale=0.3,
        pairs=16,
        validation_tasks=256,
        keep=Keep.BEST,
    )


def settling(config: TrainConfig) -> TrainConfig:
    """Starts anywhere in the box, as settings S1 to S6 have them, and runs long enough to come to rest."""
    return replace(
        config,
        law=StartLaw.BOX,
        varied=False,
        aim=Aim.SETTLED,
        trained=Part.GAINS,  # heads alone, with a lower weight of the last value, learned to rest in any basin
        noise_scale=0.2,
        readings=SETTLING_CALLS,
        validation_readings=SETTLING_CALLS,
        batch=16,
        epochs=120,
        validation_tasks=128,
        keep=Keep.LAST,  # validation knows nothing of rest
    )


def ablated(d: int) -> dict[str, TrainConfig]:
    """The paper's ablations on Ackley."""
    return {
        f"paper-ackley-{d}-{ending}": replace(written("ackley", d), **changes) for ending, changes in ABLATIONS.items()
    }


@dataclass(frozen=True)
class Config:
    """Which runs, and where."""

    folder: tyro.conf.Positional[Path]
    only: tuple[str, ...] = ()  # patterns of names, taken in their order; none: all
    list: bool = False


def main(config: Config) -> None:
    keep_compiled_code()
    known = recipes()
    chosen = {name: known[name] for part in config.only or ("*",) for name in known if fnmatch(name, part)}
    for name, recipe in chosen.items():
        folder = config.folder / name
        if config.list:
            print(name, "done" if (folder / "policy.json").exists() else "begun" if folder.exists() else "to do")
        elif not (folder / "policy.json").exists():
            run(name, recipe, folder)


def run(name: str, recipe: TrainConfig, folder: Path) -> None:
    began, spent = time.perf_counter(), time.process_time()
    card = train(recipe, folder, observer=_report).card
    first, last, best = card["validation"][0][1], card["validation"][-1][1], card["best_validation"]
    times = f"{time.process_time() - spent:.0f} CPU s, {time.perf_counter() - began:.0f} s"
    print(f"{name}: validation {first:.4f} at first, {last:.4f} at last, {best:.4f} at best; {times}", flush=True)


def _report(progress: Progress) -> None:
    if progress.done % 50 == 0:
        line = f"  {progress.done}/{progress.total} {progress.phase} {progress.validation:.4f}"
        print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(tyro.cli(Config, description=__doc__))
