"""What each tactic of the default policy earns: the policy without it, or with another setting, on the same tasks.

    .venv/bin/python benchmarks/universal_ablation.py [--tasks 128] [--cells griewank] [--out FILE]

Every variant is another `Policy`, run by the device engine on cells of the bench. Area: mean over calls of the share of
the way from the first gap to 1e-8 of it that the best gap has made, on a logarithmic scale. Hit: best gap below 1e-2.
Differences are without the tactic less with it, task by task, with a bootstrap interval (BCa) over all tasks.
"""

import json
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import tyro

from shapeopt.bench.cells import Cell
from shapeopt.bench.execute import run_cell
from shapeopt.bench.methods import Traceable
from shapeopt.bench.sensing import EXACT, Noisy, ValueOnly
from shapeopt.bench.statistics import mean_interval
from shapeopt.engines.device import DeviceShape
from shapeopt.optimizer import Policy
from shapeopt.tactics.hop import Hop
from shapeopt.tactics.refine import Refine
from shapeopt.tasks import HELD_OUT, make_family

HIT = 1e-2
DEEPEST = 8.0  # decades of the gap that count
OUT = Path(__file__).parent / "records" / "universal_ablation.json"
VALUES = ValueOnly()
PLACES = (
    ("rastrigin", 2, False, EXACT),
    ("rastrigin", 10, True, EXACT),
    ("ackley", 20, True, EXACT),
    ("lennard_jones", 18, None, EXACT),
    ("funnels", 5, True, EXACT),
    ("planted_spins", 20, None, EXACT),
    ("griewank", 10, True, EXACT),
    ("schwefel", 10, None, EXACT),
    ("styblinski_tang", 20, False, EXACT),
    ("lunacek", 5, True, EXACT),
    ("gallagher", 4, True, EXACT),
    ("schaffer_f7", 10, True, EXACT),
    ("ackley", 20, False, Noisy(0.2)),
    ("levy", 20, False, Noisy(1.0)),
    ("rastrigin", 5, True, VALUES),
    ("griewank", 5, True, VALUES),
)


def variants() -> dict[str, Policy]:
    """The policies that are compared with the whole one, by what they lack."""
    whole = Policy()
    lacking = {t.name: whole.without(t.name) for t in whole.tactics if not isinstance(t, Refine | Hop)}
    short = tuple(replace(t, dense=0, pairs=1) if isinstance(t, Refine) else t for t in whole.tactics)
    return lacking | {"metric of more than one pair": Policy(short)}


@dataclass(frozen=True)
class Config:
    """What is run, and where the record goes."""

    tasks: int = 128
    budget: int = 500
    seed: int = 0
    cells: tuple[str, ...] = ()
    """Only those of families whose name contains one of these."""
    out: Path = OUT


@dataclass(frozen=True)
class Row:
    """A tactic in a group of cells: means with and without it, and the paired differences with their intervals."""

    part: str
    group: str
    cells: int
    tasks: int
    area: float
    area_difference: float
    area_interval: tuple[float, float]
    hits: float
    hits_difference: float
    hits_interval: tuple[float, float]


def group_of(cell: Cell) -> str:
    if cell.sensing is not EXACT:
        return "values alone" if cell.sensing is VALUES else "noisy"
    return "held out" if cell.family.name in HELD_OUT else "training"


def measure(cell: Cell, policy: Policy, seed: int) -> np.ndarray:
    """(2, runs): area and hit of every run."""
    values = cell.sensing is VALUES
    curves = run_cell(cell, Traceable("policy", lambda _: DeviceShape(policy, values_only=values)), seed)
    gap = np.where(np.isfinite(curves.best_gap), curves.best_gap, np.inf)
    share = np.clip(gap / np.maximum(gap[:, :1], 1e-300), 10.0**-DEEPEST, 1.0)
    return np.stack([-np.log10(share).mean(axis=1) / DEEPEST, (gap[:, -1] < HIT).astype(float)])


def row(part: str, group: str, pairs: list[tuple[np.ndarray, np.ndarray]], seed: int) -> Row:
    """`pairs` are the figures of the whole policy and of the variant, cell by cell."""
    whole, other = (np.concatenate(side, axis=1) for side in zip(*pairs, strict=True))
    means, lost = whole.mean(axis=1), other - whole
    intervals = [mean_interval(one, seed=seed) for one in lost]
    numbers = (value for i in range(2) for value in (float(means[i]), float(lost[i].mean()), intervals[i]))
    return Row(part, group, len(pairs), whole.shape[1], *numbers)  # type: ignore[arg-type]


def main(config: Config) -> None:
    found: list[tuple[str, str, np.ndarray, np.ndarray]] = []
    for family, d, rotated, sensing in PLACES:
        if config.cells and not any(part in family for part in config.cells):
            continue
        cell = Cell(make_family(family, d, rotated=rotated), config.budget, tasks=config.tasks, sensing=sensing)
        began, whole = time.perf_counter(), measure(cell, Policy(), config.seed)
        for part, policy in variants().items():
            found.append((part, group_of(cell), whole, measure(cell, policy, config.seed)))
        print(f"{cell.name}: area {whole[0].mean():.3f}, {time.perf_counter() - began:.0f} s", flush=True)
    rows = []
    for part, group in dict.fromkeys((part, group) for part, group, _, _ in found):
        rows.append(row(part, group, [(a, b) for p, g, a, b in found if (p, g) == (part, group)], config.seed))
        low, high = rows[-1].area_interval
        print(f"{part:30} {group:12} area {rows[-1].area_difference:+.4f} [{low:+.4f}, {high:+.4f}]", flush=True)
    config.out.parent.mkdir(parents=True, exist_ok=True)
    record = {"config": asdict(config) | {"out": config.out.name}, "rows": [asdict(one) for one in rows]}
    config.out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main(tyro.cli(Config, description=__doc__))
