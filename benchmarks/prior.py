"""How far the untrained universal policy gets: hit rates and gaps against the bar, cell by cell.

    .venv/bin/python benchmarks/prior.py [--laws near box] [--rotated] [--seed 1] [--out benchmarks/records/x.json]

A cell is a family, a dimension, a start law and a rotation. Gap = best value within the budget - known minimum; a hit
is a gap below 1e-2. Exit code 1 if a cell misses its target; cells without one are only shown.
"""

import json
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import equinox as eqx
import jax
import numpy as np
import tyro
from jaxtyping import Array, Float

from shapeopt.oracles import ExactOracle
from shapeopt.policy.universal import UniversalPolicy
from shapeopt.rollout import rollout
from shapeopt.shape import ShapeOptimizer
from shapeopt.tasks import AbstractFamily, StartLaw, make_family

HIT = 1e-2
# Least hit rate of a cell with `near` starts and no rotation, 500 calls.
HIT_TARGETS = {
    ("ackley", 2): 1.0,
    ("ackley", 20): 0.95,
    ("ackley", 100): 1.0,
    ("levy", 2): 1.0,
    ("levy", 20): 0.95,
    ("levy", 100): 0.95,
    ("rastrigin", 2): 0.95,
}
GAP_TARGETS = {("rastrigin", 20): 7.0, ("rastrigin", 100): 6.0}  # largest mean gap, likewise


@dataclass(frozen=True)
class Config:
    """What is run, and where the record goes."""

    families: tuple[str, ...] = ("ackley", "levy", "rastrigin")
    dimensions: tuple[int, ...] = (2, 20, 100)
    laws: tuple[Literal["near", "box", "paper"], ...] = ("near",)
    rotated: bool = False
    tasks: int = 64
    budget: int = 500
    seed: int = 0
    precision: Literal["float32", "float64"] = "float64"
    out: Path | None = None


@dataclass(frozen=True)
class Row:
    """One line of the table; `target` is in words, `passes` is None where there is none."""

    family: str
    dimension: int
    law: str
    hit: float
    mean: float
    standard_error: float
    median: float
    target: str
    passes: bool | None
    seconds: float


@eqx.filter_jit
def gaps(family: AbstractFamily, config: Config) -> Float[Array, " tasks"]:
    """The gap of one run on each of `config.tasks` tasks."""
    optimizer = ShapeOptimizer(UniversalPolicy(), record_energy=False)

    def gap(key):
        key_task, key_start, key_run = jax.random.split(key, 3)
        task = family.sample(key_task)
        oracle = ExactOracle(task)
        best = rollout(optimizer, oracle, task.start(key_start), task.box, config.budget, key_run).best
        return best.value - task.minimum

    return jax.vmap(gap)(jax.random.split(jax.random.key(config.seed), config.tasks))


def verdict(config: Config, name: str, dimension: int, law: str, hit: float, mean: float) -> tuple[str, bool | None]:
    """The cell's target in words, and whether it is met."""
    cell = name, dimension
    if law == "near" and not config.rotated and config.budget == 500:
        if cell in HIT_TARGETS:
            return f"hit >= {HIT_TARGETS[cell]:.2f}", hit >= HIT_TARGETS[cell]
        if cell in GAP_TARGETS:
            return f"mean <= {GAP_TARGETS[cell]:.1f}", mean <= GAP_TARGETS[cell]
    return "", None


def measure(config: Config, name: str, dimension: int, law: str) -> Row:
    began = time.perf_counter()
    gap = np.asarray(gaps(make_family(name, dimension, StartLaw(law), rotated=config.rotated), config))
    seconds = time.perf_counter() - began
    hit, mean = float(np.mean(gap < HIT)), float(np.mean(gap))
    error = float(np.std(gap, ddof=1) / len(gap) ** 0.5)
    target, passes = verdict(config, name, dimension, law, hit, mean)
    return Row(name, dimension, law, hit, mean, error, float(np.median(gap)), target, passes, seconds)


def main(config: Config) -> int:
    turned = "random rotation" if config.rotated else "R = I"
    print(f"{config.tasks} tasks a cell, {config.budget} calls, {turned}, {config.precision}, seed {config.seed}")
    print(
        f"{'family':12}{'d':>5}  {'law':6}{'hit':>6}{'mean gap':>11} ±{'s.e.':>9}{'median':>11}  {'target':14}{'':9}s"
    )
    rows = []
    for law in config.laws:
        for name in config.families:
            for dimension in config.dimensions:
                row = measure(config, name, dimension, law)
                rows.append(row)
                word = {True: "met", False: "MISSED", None: ""}[row.passes]
                figures = f"{row.hit:6.2f}{row.mean:11.3g} ±{row.standard_error:9.2g}{row.median:11.3g}"
                head = f"{row.family:12}{row.dimension:5d}  {row.law:6}"
                print(f"{head}{figures}  {row.target:14}{word:8}{row.seconds:6.1f}", flush=True)
    missed = [row for row in rows if row.passes is False]
    aimed = [row for row in rows if row.passes is not None]
    print(f"{len(aimed) - len(missed)} of {len(aimed)} targets met.")
    if config.out is not None:
        config.out.parent.mkdir(parents=True, exist_ok=True)
        settings = {key: value for key, value in asdict(config).items() if key != "out"}
        record = {"config": settings, "rows": [asdict(row) for row in rows]}
        config.out.write_text(json.dumps(record, indent=1) + "\n")
    return 1 if missed else 0


if __name__ == "__main__":
    config = tyro.cli(Config, description=__doc__)
    with jax.enable_x64(config.precision == "float64"):
        sys.exit(main(config))
