"""Do the host and the device engine search equally well, where round-off makes their runs part?

    .venv/bin/python benchmarks/engines.py [--tasks 200] [--out benchmarks/records/engines.json]

Tasks, starts and random numbers of the protocol `unseen` are the same for both, so that runs are paired. Area: mean
over calls of the share of the way from the first gap to 1e-8 of it that the best gap has made, on a logarithmic scale.
`alike` are calls of a run over which both read values within 1e-6. Exit code 1 if the interval of the mean difference
(bootstrap, BCa, over all tasks) leaves 0 out, or Wilcoxon's signed-rank test says at 5 % that one engine is better.
"""

import dataclasses
import json
import sys
import time
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np
import tyro

from shapeopt.bench.cells import Cell
from shapeopt.bench.execute import Keys, prepare, run_keys
from shapeopt.bench.protocols import PROTOCOLS
from shapeopt.bench.statistics import mean_interval, signed_rank
from shapeopt.core import compiler_options
from shapeopt.core.board import Spec
from shapeopt.engines.device import DeviceShape
from shapeopt.ops import HOST
from shapeopt.optimizer import Optimizer, Policy
from shapeopt.oracles import ExactOracle, Reader
from shapeopt.rollout import rollout

DEEPEST = 8.0  # decades of the gap that count
LEVEL = 0.05


@dataclass(frozen=True)
class Config:
    """What is run, and where the record goes."""

    tasks: int = 200
    """Of all cells together, at least one of each."""
    budget: int = 500
    seed: int = 0
    cells: tuple[str, ...] = ()
    """Only those whose name contains one of these."""
    out: Path | None = None


@dataclass(frozen=True)
class Row:
    """A cell: mean areas of both engines, and the median of calls over which their runs are the same."""

    cell: str
    tasks: int
    host: float
    device: float
    alike: float


def on_device(cell: Cell, keys: Keys) -> tuple[np.ndarray, np.ndarray]:
    """(values that each run read, minimum of its task)."""

    def run(keys: Keys) -> tuple[Any, Any]:
        task, x0 = prepare(cell, keys)
        key = jax.random.wrap_key_data(keys.run)
        return rollout(DeviceShape(), ExactOracle(task), x0, task.box, cell.budget, key).steps.value, task.minimum

    return jax.device_get(jax.jit(jax.vmap(run), compiler_options=compiler_options())(keys))


def on_host(task: Any, x0: np.ndarray, keys: Keys, budget: int) -> np.ndarray:
    """The values that one run read."""
    box, key = jax.tree.map(np.asarray, task.box), jax.random.wrap_key_data(keys.run)
    reader = Reader(ExactOracle(task), task.box, budget, key)
    optimizer = Optimizer(Policy(), Spec(x0.size, x0.dtype))
    q, words = np.clip(box.inward(x0), box.q_lower, box.q_upper), jax.random.key_data(jax.random.split(key)[0])
    state = optimizer.init(HOST, q, box.q_lower, box.q_upper, float(budget), np.asarray(words))
    for _ in range(budget):
        value, gradient = reader.value_and_gradient(box.outward(state.q))
        with np.errstate(all="ignore"):
            state = optimizer.tell(HOST, state, value, gradient * box.scale, 1)
    return reader.values


def area(values: np.ndarray, minimum: np.ndarray) -> np.ndarray:
    gap = np.minimum.accumulate(np.where(np.isfinite(values), values, np.inf) - minimum[:, None], axis=1)
    share = np.clip(gap / np.maximum(gap[:, :1], 1e-300), 10.0**-DEEPEST, 1.0)
    return -np.log10(share).mean(axis=1) / DEEPEST


def measure(cell: Cell, seed: int) -> tuple[Row, np.ndarray, np.ndarray]:
    """The cell's row, and the areas of all its runs on the host and on the device."""
    keys = run_keys(cell, seed)
    there, minimum = on_device(cell, keys)
    begin, each = jax.jit(partial(prepare, cell)), [Keys(*(words[i] for words in keys)) for i in range(cell.runs)]
    here = np.array([on_host(*jax.device_get(begin(own)), own, cell.budget) for own in each])
    apart = ~np.isclose(here, there, rtol=1e-6, atol=1e-6, equal_nan=True)
    alike = np.where(apart.any(axis=1), apart.argmax(axis=1), cell.budget)
    host, device = area(here, minimum), area(there, minimum)
    return Row(cell.name, cell.runs, float(host.mean()), float(device.mean()), float(np.median(alike))), host, device


def chosen(config: Config) -> list[Cell]:
    """The protocol's cells, with as many tasks as are asked for in all."""
    cells = [c for c in PROTOCOLS["unseen"].cells if not config.cells or any(part in c.name for part in config.cells)]
    each, more = divmod(config.tasks, len(cells))
    sizes = [max(1, each + (i < more)) for i in range(len(cells))]
    return [dataclasses.replace(c, budget=config.budget, tasks=n) for c, n in zip(cells, sizes, strict=True)]


def main(config: Config) -> int:
    rows, hosts, devices = [], [], []
    for cell in chosen(config):
        began, (row, host, device) = time.perf_counter(), measure(cell, config.seed)
        rows.append(row)
        hosts.append(host)
        devices.append(device)
        shown = f"{row.tasks:3} tasks, area {row.host:.4f} {row.device:.4f}, alike {row.alike:.0f}"
        print(f"{row.cell:32} {shown}, {time.perf_counter() - began:.0f} s", flush=True)
    host, device = np.concatenate(hosts), np.concatenate(devices)
    low, high = mean_interval(device - host, seed=config.seed)
    p = signed_rank(device, host)
    total = {"tasks": host.size, "host": float(host.mean()), "device": float(device.mean())}
    total |= {"difference": float((device - host).mean()), "interval": [low, high], "p": p}
    print(json.dumps(total))
    if config.out is not None:
        settings = {name: value for name, value in asdict(config).items() if name != "out"}
        record = {"config": settings, "total": total, "rows": [asdict(row) for row in rows]}
        config.out.write_text(json.dumps(record, indent=1) + "\n")
    return int(p < LEVEL or not low <= 0.0 <= high)


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    sys.exit(main(tyro.cli(Config, description=__doc__)))
