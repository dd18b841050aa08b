"""Measure what training for a family brings, and what its policy costs on a wrong family.

Training and held-out instances have different seeds, and for `gp` and `torsions` different data and molecules. Every
policy is trained three times, on other instances each time, and runs on the same held-out ones from the same starts.

    families   calls to targets before and after; intervals are bootstraps over instances and trainings
    corner     the same of `ripples` with all minima in a corner region, which should change nothing
    wrong      areas of the untrained policy and of another family's, of as many coordinates and the same kind of
               reading, with an interval over instances

A folder keeps what was made: a file for each row, and the trainings with their runs and policies.
"""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..family import FamilyPolicy, load_family
from ..training.instance import HELD_OUT
from ..training.run import Run, run_instance
from ..training.table import DRAWS, TARGETS, area, calls_to, floors
from ..training.train import train_family
from .families import CORNER, FAMILIES, WRONG

FRESH = 91 * HELD_OUT  # seeds of the held-out instances begin here
CORNERED = "ripples, minima in a corner"
PAIRS = (  # trained on, run on: of as many coordinates, with gradients
    *(("ripples", "located"), ("located", "ripples"), ("ripples", "gp"), ("gp", "ripples"), ("gp", "located")),
    *(("ripples", "field 5"), ("located", "wells 5"), ("gp", "field 5"), ("gp", "wells 5")),
    *(("ripples 3", "wells 3"), ("ripples 4", "field 4"), ("arm", "wells 4"), ("arm", "ripples 4"), ("field 4", "arm")),
    *(("ripples", "wells 5"), ("ripples 4", "wells 4"), ("field 4", "wells 4")),
)
Found = dict[str, Any]


@dataclass(frozen=True)
class Size:
    """How many instances are trained on and held out, and the seeds of trainings."""

    instances: int = 30
    held_out: int = 30
    held_out_wrong: int = 200
    seeds: tuple[int, ...] = (3, 4, 5)
    effort: int = 2

    @staticmethod
    def quick() -> "Size":
        return Size(instances=8, held_out=6, held_out_wrong=6, seeds=(3,), effort=1)


def run_learning(out: Path, names: Sequence[str], size: Size, note: Callable[[str], Any]) -> Found:
    """The record of some families: rows that are in the folder are not made again.

    Arguments:
        out: the folder.
        names: of `FAMILIES`; wrong families are those of pairs whose first is among them, or in no row but this.
        size: of the samples.
        note: is told of every row that was made.
    """
    found: Found = {"families": {}, "wrong": [], "size": vars(size)}
    for name in names:
        found["families"][name] = _kept(out, name, lambda name=name: measure(*FAMILIES[name], out / name, size), note)
    if "ripples" in names:
        found["corner"] = _kept(out, CORNERED, lambda: measure(CORNER, CORNER, out / CORNERED, size), note)
    for own, other in _pairs(names):
        make = lambda own=own, other=other: cost(policy_of(own, out, size), other, size)  # noqa: E731
        pair = {"trained_on": own, "run_on": other}
        found["wrong"].append(pair | _kept(out, f"{own} on {other}", make, note))
    return found


def _pairs(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    for own, other in PAIRS:
        if own in names or (own in WRONG and len(names) == len(FAMILIES)):
            yield own, other


def _kept(out: Path, name: str, make: Callable[[], Found], note: Callable[[str], Any]) -> Found:
    """What a file of the folder has, or what is made now and kept there."""
    path = out / f"{name}.json"
    if path.exists():
        return json.loads(path.read_text(encoding="utf-8"))
    made = make()
    out.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(made, indent=1, default=float) + "\n", encoding="utf-8")
    note(name)
    return made


def trained(family: Any, folder: Path, size: Size, seed: int) -> FamilyPolicy:
    """The policy of a training, which goes on in its folder, or is there."""
    where = folder / str(seed)
    if (where / "policy.safetensors").exists():
        return load_family(where / "policy")
    made = train_family(
        family, where, budget=family.budget, instances=size.instances, held_out=0, effort=size.effort, seed=seed
    )
    return made.policy


def policy_of(name: str, out: Path, size: Size) -> FamilyPolicy:
    """The policy of a family's first training."""
    family = WRONG[name] if name in WRONG else FAMILIES[name][0]
    return trained(family, out / name, size, size.seeds[0])


def held_runs(family: Any, policy: Any, count: int) -> list[Run]:
    made = [family.sample(FRESH + i) for i in range(count)]
    return [run_instance(one, policy, family.budget, i) for i, one in enumerate(made)]


def measure(family: Any, held: Any, folder: Path, size: Size) -> Found:
    """A family's row."""
    began = time.process_time()
    policies = [trained(family, folder, size, seed) for seed in size.seeds]
    seconds = (time.process_time() - began) / len(policies)
    before, *after = (held_runs(held, policy, size.held_out) for policy in ("universal", *policies))
    return entry(before, after, family.budget, policies) | {"training_seconds": round(seconds, 1)}


def entry(before: list[Run], after: list[list[Run]], budget: int, policies: Sequence[FamilyPolicy]) -> Found:
    """Rows of targets, areas, and what the first policy has."""
    lowest, policy = floors(before, *after), policies[0]
    about = {
        "opening": policy.opening,
        "late": list(policy.late),
        "later": policy.later,
        "calm": policy.calm if np.isfinite(policy.calm) else None,
        "fall": policy.fall,
        "metric": policy.shape is not None,
        "regression": policy.regression is not None,
        "prior": policy.prior,
        "pays": [one.pays for one in policies],
        "budget": budget,
    }
    areas: Found = {"area_before": area(before, lowest, budget)}
    areas |= {"area_after": float(np.mean([area(runs, lowest, budget) for runs in after]))}
    return {"rows": [row(before, after, lowest, share, budget) for share in TARGETS]} | areas | about


def row(before: list[Run], after: list[list[Run]], lowest: np.ndarray, share: float, budget: int) -> Found:
    """Median calls to a target before and after, all trainings together, and their ratio with its interval."""
    was = calls_to(before, lowest, share, budget)
    now = np.array([calls_to(runs, lowest, share, budget) for runs in after])
    ratios = [np.median(now[np.ix_(*chosen)]) / np.median(was[chosen[1]]) for chosen in draws(*now.shape)]
    low, high = np.quantile(ratios, [0.025, 0.975])
    found = {"target": share, "before": np.median(was), "after": np.median(now)}
    found |= {"solved_before": np.mean(was <= budget), "solved_after": np.mean(now <= budget)}
    found |= {"ratio": np.median(now) / np.median(was), "low": low, "high": high}
    each = np.median(now, axis=1) / np.median(was)
    return {name: float(value) for name, value in found.items()} | {"by_training": each.tolist()}


def draws(trainings: int, instances: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Which trainings and which instances each bootstrap sample has."""
    rng = np.random.default_rng(0)
    return [(rng.integers(trainings, size=trainings), rng.integers(instances, size=instances)) for _ in range(DRAWS)]


def cost(policy: FamilyPolicy, other: str, size: Size) -> dict[str, float]:
    """Areas of the untrained policy and of a wrong one, and their ratio with an interval over instances."""
    held, count = WRONG[other] if other in WRONG else FAMILIES[other][1], size.held_out_wrong
    before, after = (held_runs(held, one, count) for one in ("universal", policy))
    lowest = floors(before, after)
    each = np.array(
        [[area([run], lowest[i : i + 1], held.budget) for i, run in enumerate(runs)] for runs in (before, after)]
    )
    samples = [each[:, chosen].mean(axis=1) for _, chosen in draws(1, count)]
    low, high = np.quantile([now / was if was > 0 else 1.0 for was, now in samples], [0.025, 0.975])
    was, now = each.mean(axis=1).tolist()
    ratio = now / was if was > 0 else 1.0
    return {"before": was, "after": now, "ratio": ratio, "low": float(low), "high": float(high)}
