"""Speed of one joint update of training, side by side with the same update in eager PyTorch.

    .venv/bin/python benchmarks/training.py [--dimensions 2 20 500] [--out FILE]

An update is phase III of the preset `paper-D`: tasks are drawn, 64 runs of 128 readings are unrolled (planner and probe
teacher at the events, controller at every step, memory, all seven terms of the loss), differentiated, and the gradient
goes into Adam; float32. PyTorch's side is `torch_step.py`, on one thread and on as many as there are cores; its faster
time counts. All take turns; a time is the median over the repeats, in seconds of the wall and of the processor. Exit
code 1 if a target is missed. Needs the extra `torch`.
"""

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import jax
import torch
import torch_step
import tyro

from shapeopt.paper.training.config import PRESETS, TrainConfig
from shapeopt.paper.training.losses import PAPER_WEIGHTS
from shapeopt.paper.training.phases import Part, make_phases, split_policy

TARGETS = {2: 10.0, 20: 5.0, 500: 10.0}  # least ratio of PyTorch's time to ours


@dataclass(frozen=True)
class Config:
    """What is run, and where the record goes."""

    dimensions: tuple[int, ...] = (2, 20, 500)  # those of the presets `paper-D`
    batch: int = 64
    readings: int = 128
    repeats: int = 7
    threads: tuple[int, ...] = (1, os.cpu_count() or 1)  # of PyTorch; the library's are XLA's default
    out: Path | None = None


@dataclass(frozen=True)
class Timed:
    """One side's updates: seconds on the wall and of the processor, one entry a repeat, after the first update."""

    what: str
    first: float  # with compilation, where there is one
    wall: tuple[float, ...]
    processor: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.wall)

    def __str__(self) -> str:
        return f"{self.median:.3f} ({statistics.median(self.processor):.3f})"


@dataclass(frozen=True)
class Row:
    """One dimension: the library's updates, and PyTorch's for each number of threads."""

    dimension: int
    ours: Timed
    torch: tuple[Timed, ...]
    target: float | None

    @property
    def ratio(self) -> float:
        return min(timed.median for timed in self.torch) / self.ours.median

    @property
    def processor_ratio(self) -> float:
        """The same in time of the processor: what is left of it on a machine that does other things, too."""
        return min(statistics.median(timed.processor) for timed in self.torch) / statistics.median(self.ours.processor)

    @property
    def passes(self) -> bool:
        return self.target is None or self.ratio >= self.target


def settings(dimension: int, config: Config) -> TrainConfig:
    """The preset of the dimension, with the benchmark's batch and length."""
    return replace(PRESETS[f"paper-{dimension}"], family="rastrigin", batch=config.batch, readings=config.readings)


def our_update(train: TrainConfig) -> Callable[[], object]:
    """A joint update, compiled at its first call; the learner goes on from call to call."""
    params, static = split_policy(train.make_policy(jax.random.key(0)))
    plan = replace(train.plan(0), joint_weights=PAPER_WEIGHTS, trained=Part.ALL)
    phases = make_phases(plan, static)
    held = [phases.init(params, jax.random.key(1))]
    keys = iter(jax.random.split(jax.random.key(2), 10_000))

    def update() -> None:
        held[0], outcome = jax.block_until_ready(phases.train_jointly(held[0], next(keys)))
        if int(outcome.skipped):
            raise RuntimeError(f"An update was skipped; its loss is {float(outcome.loss)}.")

    return update


def torch_update(train: TrainConfig, threads: int) -> Callable[[], object]:
    """The same update in eager PyTorch, from the same weights."""
    torch.manual_seed(0)
    policy = torch_step.Policy(train.make_policy(jax.random.key(0)), torch.float32)
    trainer = torch_step.Trainer(policy, train.batch, train.readings, train.joint_rate, train.clip)

    def update() -> None:
        torch.set_num_threads(threads)
        trainer.update()

    return update


def measure(dimension: int, config: Config) -> Row:
    """All sides in turn."""
    train = settings(dimension, config)
    jobs = {"shapeopt": our_update(train)}
    jobs |= {f"PyTorch, threads: {count}": torch_update(train, count) for count in config.threads}
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in jobs}
    for _ in range(config.repeats + 1):
        for name, job in jobs.items():
            wall, processor = time.perf_counter(), time.process_time()
            job()
            times[name].append((time.perf_counter() - wall, time.process_time() - processor))
    timed = [Timed(name, rows[0][0], *zip(*rows[1:], strict=True)) for name, rows in times.items()]
    return Row(dimension, timed[0], tuple(timed[1:]), TARGETS.get(dimension))


def main(config: Config) -> int:
    print("seconds of an update on the wall (of the processor)")
    names = ["shapeopt", *(f"PyTorch, threads: {count}" for count in config.threads)]
    print(f"{'d':>4}{''.join(f'{name:>22}' for name in names)}{'ratio':>16}  target")
    rows = []
    for dimension in config.dimensions:
        row = measure(dimension, config)
        rows.append(row)
        target = "" if row.target is None else f">= {row.target:g} {'met' if row.passes else 'MISSED'}"
        times = "".join(f"{timed!s:>22}" for timed in (row.ours, *row.torch))
        ratio = f"{row.ratio:.1f} ({row.processor_ratio:.1f})"
        print(f"{dimension:4}{times}{ratio:>16}  {target}", flush=True)
    missed = [row.dimension for row in rows if not row.passes]
    print(f"missed: d = {', '.join(map(str, missed))}" if missed else "all targets met")
    if config.out is not None:
        config.out.parent.mkdir(parents=True, exist_ok=True)
        record = {
            "config": asdict(config) | {"out": str(config.out)},
            "versions": {"jax": jax.__version__, "torch": torch.__version__},
            "rows": [asdict(row) | {"ratio": row.ratio, "processor_ratio": row.processor_ratio} for row in rows],
        }
        config.out.write_text(json.dumps(record, indent=1) + "\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(tyro.cli(Config, description=__doc__)))
