"""Writes the card of the universal policy, and its weights, from what was recorded.

    .venv/bin/python benchmarks/ship_universal.py

The card says what each of its parts earns (universal_ablation.json), and how it stands against every
other method on every protocol of bench.safetensors: per method, the cells where its best gap is better, worse or not
told apart (Wilcoxon's signed-rank test and a bootstrap interval over the same tasks, with Holm's correction over the
cells), and the mean difference of the ECDF area over cells with a bootstrap interval.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
import tyro

from shapeopt.bench.digest import Digest, by_cell, methods_of
from shapeopt.bench.digest_store import load_digests
from shapeopt.bench.marks import SOLVED
from shapeopt.bench.statistics import VERDICTS, Verdict, compare_all, mean_interval
from shapeopt.bench.tables import protocols_of
from shapeopt.paper.weights import save_policy
from shapeopt.policy import UniversalPolicy
from shapeopt.policy.find import FOLDER

RECORDS = Path(__file__).parent / "records"
OURS = "universal"
ABOUT = (
    "One policy for any dimension. Untrained its heads are silent, so that every decision is the classical limit's: "
    "quasi-Newton basin hopping, with moves drawn by what each kind has earned, sweeps of sums, sampling after small "
    "basins, and momentum where forces are noisy."
)


@dataclass(frozen=True)
class Config:
    """Where the records are, and where the card goes."""

    records: Path = RECORDS
    folder: Path = FOLDER


def standing(found: Sequence[Digest]) -> dict[str, Any]:
    """The policy against every method of one protocol, and the cells where it is worse than some of them."""
    cells = {place: methods for place, methods in by_cell(found).items() if OURS in methods}
    against, lost = {}, {}
    for rival in [name for name in methods_of(found) if name != OURS]:
        both = {place: (methods[OURS], methods[rival]) for place, methods in cells.items() if rival in methods}
        told = compare_all({place: tuple(map(_gaps, pair)) for place, pair in both.items()}, seed=0)
        areas = np.array([ours.area_over_calls - theirs.area_over_calls for ours, theirs in both.values()])
        verdicts = [one.verdict for one in told.values()]
        counts = {VERDICTS[verdict]: verdicts.count(verdict) for verdict in Verdict}
        interval = [_digits(end) for end in mean_interval(areas, seed=0)] if np.ptp(areas) > 0 else None
        against[rival] = counts | {"area_difference": _digits(areas.mean()), "area_interval": interval}
        for place in [place for place, one in told.items() if one.verdict is Verdict.WORSE]:
            lost.setdefault(place, []).append(rival)
    mine = [methods[OURS] for methods in cells.values()]
    return {
        "cells": len(cells),
        "area": _digits(np.mean([one.area_over_calls for one in mine])),
        "against": against,
        "loses": lost,
    }


def _gaps(one: Digest) -> np.ndarray:
    """Best gaps; where those are not known, the lowest of a run. What is solved is told apart no further."""
    best = one.values["best_gap"]
    return np.maximum(one.values["lowest_gap"] if np.isnan(best).all() else best, SOLVED)


def _digits(value: Any) -> float:
    return float(f"{float(value):.3g}")


def about(config: Config) -> dict[str, Any]:
    """What the card says."""
    found = load_digests(config.records / "bench.safetensors")
    protocols = [name for name in protocols_of(found) if any(d.method == OURS for d in found if d.protocol == name)]
    rows = json.loads((config.records / "universal_ablation.json").read_text())["rows"]
    named = ("part", "instead", "group", "area_difference", "area_interval", "hits_difference", "hits_interval")
    return {
        "about": ABOUT,
        "name": OURS,
        "trained": False,
        "validated_on": "each protocol below; the cells of `unseen` have families that no policy is ever trained on",
        "results": {name: standing([one for one in found if one.protocol == name]) for name in protocols},
        "ablation": [{name: row[name] for name in named} for row in rows],
        "command": "python benchmarks/ship_universal.py",
    }


def main(config: Config) -> None:
    told = about(config)
    stem = config.folder / OURS
    save_policy(stem, UniversalPolicy.create(jax.random.key(0)), told)
    for name, row in told["results"].items():
        print(f"{name}: {row['cells']} cells, area {row['area']}, worse than some method on {len(row['loses'])}")


if __name__ == "__main__":
    main(tyro.cli(Config, description=__doc__))
