"""Where the paper's memory helps on multi-wells, and what it takes: success with it and without, on the same tasks.

    .venv/bin/python benchmarks/multiwell_memory.py [POLICY ...] [--out benchmarks/records/multiwell_memory.json]

Rows are the untrained policy without a memory, with U_mem and V_bar on the archive of basins, and on the cells of m_s,
each with stalls judged at one reading and over a whole stage; then the policies named on the command line, each as
trained and with nothing written. Success is the share of tasks whose best value came within .01 of the minimum, of the
protocol `multiwell` (1,251 noisy gradients); differences are paired over tasks. Writes are the ends of stages (stalls
and escapes) that write where there is a memory, in 64 runs. The exit code is 1 unless the interval of cells less no
memory lies above zero.
"""

import dataclasses
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import tyro

from shapeopt.bench.cells import Cell
from shapeopt.bench.execute import Keys, prepare, run_cell, run_keys
from shapeopt.bench.methods import AbstractCompiled
from shapeopt.bench.metrics import summarise
from shapeopt.bench.statistics import mean_interval
from shapeopt.paper.dynamics import SemiImplicitStep
from shapeopt.paper.events import writes_memory
from shapeopt.paper.find import load_policy
from shapeopt.paper.optimizer import ShapeOptimizer
from shapeopt.paper.policy import PaperPolicy
from shapeopt.paper.protocols import PROTOCOLS
from shapeopt.paper.weights import cast_policy
from shapeopt.rollout import rollout

SEED = 2_718_281  # of tasks that were used for nothing else
WATCHED = 64  # runs whose writes are counted
PLAIN = "no memory"
BEST = "cells of m_s, stalls over a stage"
FORMS: dict[str, dict[str, bool]] = {
    PLAIN: {"use_memory": False},
    "no memory, stalls over a stage": {"use_memory": False, "noisy_stall": True},
    "archive of basins": {},
    "archive of basins, stalls over a stage": {"noisy_stall": True},
    "cells of m_s": {"cell_shaping": True},
    BEST: {"cell_shaping": True, "noisy_stall": True},
}


@dataclass(frozen=True)
class Config:
    """What is measured."""

    policies: tyro.conf.Positional[tuple[str, ...]] = ()
    tasks: int = 500
    out: Path | None = None


@dataclass(frozen=True)
class Given(AbstractCompiled):
    """SHAPE with the policy at hand."""

    name: str
    policy: PaperPolicy = dataclasses.field(compare=False)

    def optimizer(self, cell: Cell) -> ShapeOptimizer:
        return ShapeOptimizer(self.policy, SemiImplicitStep(self.policy.h), record_energy=False)

    def version(self, cell: Cell) -> str:
        return self.name


def rows_of(config: Config) -> Iterator[tuple[str, PaperPolicy]]:
    """Name and policy of every row."""
    for name, settings in FORMS.items():
        yield name, PaperPolicy.create(1, jax.random.key(0), dtype="float64", **settings)
    for name in config.policies:
        policy = cast_policy(load_policy(name), "float64")
        label = Path(name).parent.name if Path(name).name == "policy" else Path(name).name
        yield label, policy
        if policy.use_memory:
            yield f"{label}, nothing written", dataclasses.replace(policy, writes=False)


def writes_of(cell: Cell, policy: PaperPolicy) -> float:
    """Writes to memory a run."""
    optimizer = ShapeOptimizer(policy, SemiImplicitStep(policy.h), record_energy=False)

    def one(keys: Keys) -> Any:
        task, x0 = prepare(cell, keys)
        key = jax.random.wrap_key_data(keys.run)
        info = rollout(optimizer, cell.sensing.oracle(task, cell.budget), x0, task.box, cell.budget, key).steps.info
        return jnp.sum(jax.vmap(writes_memory)(info.mode, info.cause))

    watched = Keys(*(words[:WATCHED] for words in run_keys(cell, SEED)))
    return float(np.mean(jax.jit(jax.vmap(one))(watched)))


def measure(cell: Cell, name: str, policy: PaperPolicy) -> dict[str, Any]:
    values = summarise(run_cell(cell, Given(name, policy), SEED), cell.rule)
    return {"hits": values["hit_best"], "gaps": values["lowest_gap"], "writes": writes_of(cell, policy)}


def main(config: Config) -> None:
    cell = dataclasses.replace(PROTOCOLS["multiwell"].cells[0], tasks=config.tasks)
    rows, plain = [], None
    with jax.enable_x64(True):
        for name, policy in rows_of(config):
            found = measure(cell, name, policy)
            plain = found["hits"] if plain is None else plain
            rows.append(row_of(name, found, found["hits"] - plain))
            print(rows[-1], flush=True)
    if config.out is not None:
        about = {"cell": cell.name, "tasks": cell.tasks, "seed": SEED}
        config.out.write_text(json.dumps({"about": about, "rows": rows}, indent=1) + "\n")
    low = next(row["less_no_memory"][1] for row in rows if row["policy"] == BEST)
    sys.exit(0 if low > 0 else 1)


def row_of(name: str, found: dict[str, Any], difference: np.ndarray) -> dict[str, Any]:
    low, high = mean_interval(difference, seed=0) if np.any(difference) else (0.0, 0.0)
    return {
        "policy": name,
        "success": round(float(np.mean(found["hits"])), 4),
        "success_interval": [round(end, 4) for end in mean_interval(found["hits"], seed=0)],
        "lowest_gap": round(float(np.mean(found["gaps"])), 4),
        "median_gap": round(float(np.median(found["gaps"])), 4),
        "writes": round(found["writes"], 2),
        "less_no_memory": [round(end, 4) for end in (float(np.mean(difference)), low, high)],
    }


if __name__ == "__main__":
    main(tyro.cli(Config, description=__doc__))
