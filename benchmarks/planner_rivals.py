"""Planners over tactics: the fixed order against its cheap rivals, on families that the rivals did not see.

    python benchmarks/planner_rivals.py [--instances 2] [--out FILE]

Forty-eight generated families (planner_families.py), three cells each: a dimension from 1 to 50, a budget from 50 to
2,000 calls (short ones are drawn more often), and gradients, values alone, or gradients with noise of half their size.
Every variant runs from the same starts with the same seeds. An area is that of the scoreboard: the mean over targets
1e-1 ... 1e-5 of the start's gap of 1 - log(calls) / log(budget), with the lowest true value of all variants as the
floor.

    fixed order    the shipped policy
    without ...    the same less one tactic; or a cheap change of hops
    bandit         where an escape wins, one of the escapes that bid is drawn by Thompson sampling of how often each
                   led to a lower basin, a reading
    table          the best variant by kind of reading, by few or many dimensions and by short or long budgets, chosen
                   on families of the seven other kinds alone
    table, reading the same by kind of reading alone
    hindsight      the best variant of every cell: a bound, part of it luck

Differences to the fixed order are means over families with a bootstrap over families, and one over kinds.
"""

import json
import math
import time
import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import tyro
from planner_families import BOX, Family, families

import shapeopt
from shapeopt.core.board import NOT_NOW, Board, Offer
from shapeopt.core.codes import Mode
from shapeopt.optimizer import TACTICS, Policy
from shapeopt.planner import FixedOrder
from shapeopt.planner.order import Choice
from shapeopt.tactics import Hop

OUT = Path(__file__).parent / "records" / "planner_rivals.json"
TARGETS = (1e-1, 10**-1.5, 1e-2, 1e-3, 1e-4, 1e-5)
DIMENSIONS = (1, 2, 3, 5, 8, 12, 20, 35, 50)
BUDGETS = (50, 100, 200, 500, 1000, 2000)
OFTEN = np.array(BUDGETS) ** -0.5 / (np.array(BUDGETS) ** -0.5).sum()
READINGS = ("gradients", "values", "noisy gradients")
NOISE = 0.5
FEW, SHORT = 5, 200  # dimensions and calls up to which a cell of the table has few, and is short
OPTIONAL = ("separable sum", "turned axes", "sample", "scout", "explore", "pair model", "fit forces", "regress")
CELLS, DRAWS = 3, 2000
FIXED, LESS = "fixed order", "without "


@dataclass
class BanditOrder:
    """The fixed order, but where an escape wins, Thompson sampling among those that bid; one run on the host."""

    escapes: tuple[int, ...]
    order: FixedOrder = field(default_factory=FixedOrder)
    prior: tuple[float, float] = (1.0, 10.0)  # successes and readings that each begins with
    last: int = -1
    base: float = math.inf
    left: float = 0.0
    gains: dict[int, list[float]] = field(default_factory=dict)
    rng: Any = field(default_factory=lambda: np.random.default_rng(5))

    def choose(self, ops: Any, offers: tuple[Offer | None, ...], board: Board) -> Choice:
        chosen = self.order.choose(ops, offers, board)
        if chosen.tactic not in self.escapes:
            return chosen
        if self.last >= 0:
            seen = self.gains.setdefault(self.last, list(self.prior))
            seen[0] += float(board.base_f < self.base)
            seen[1] += max(self.left - board.left, 1.0)
        arms = [i for i in self.escapes if _bids(offers[i])]
        rates = [self.rng.gamma(a) / b for a, b in (self.gains.get(i, self.prior) for i in arms)]
        self.last, self.base, self.left = arms[int(np.argmax(rates))], float(board.base_f), float(board.left)
        return Choice(self.last, chosen.horizon)


def _bids(offer: Offer | None) -> bool:
    return offer is not None and offer is not NOT_NOW and offer.bid > -math.inf


def bandit() -> Policy:
    """A policy with a bandit of its own, which remembers one run."""
    escaping = tuple(i for i, t in enumerate(TACTICS, start=1) if t.mode == Mode.ESCAPE and "check" not in t.name)
    return Policy(planner=BanditOrder(escaping))  # type: ignore[arg-type]


def hopping(**changes: Any) -> Policy:
    return Policy(tuple(replace(t, **changes) if isinstance(t, Hop) else t for t in TACTICS))


def variants() -> dict[str, Any]:
    """Name -> a function that makes the policy."""
    found: dict[str, Any] = {FIXED: Policy}
    found |= {f"{LESS}{name}": (lambda name=name: Policy().without(name)) for name in OPTIONAL}
    found |= {"hops wider": lambda: hopping(radius=1.4), "hops anywhere": lambda: hopping(prior_lower=0.0)}
    return found | {"bandit": bandit}


@dataclass(frozen=True)
class Cell:
    """A family in a dimension, with a budget and a kind of reading."""

    family: Family
    dimension: int
    budget: int
    reading: str

    @property
    def place(self) -> tuple[str, bool, bool]:
        """Its place in the decision table."""
        return self.reading, self.dimension <= FEW, self.budget <= SHORT


def cells() -> list[Cell]:
    found = []
    for number, family in enumerate(families()):
        rng = np.random.default_rng([number, 13])
        for i in range(CELLS):
            reading = READINGS[i]
            most = 20 if reading == "values" else 50
            d = int(rng.choice([d for d in DIMENSIONS if d <= most]))
            found.append(Cell(family, d, int(rng.choice(BUDGETS, p=OFTEN)), reading))
    return found


def run(cell: Cell, policy: Policy, number: int) -> tuple[np.ndarray, set[str]]:
    """The lowest true value after each call, and the tactics that had a stage."""
    fun, rng = cell.family.sample(cell.dimension, number), np.random.default_rng([number, 14])
    x0, values = rng.uniform(-BOX, BOX, cell.dimension), []

    def read(x: np.ndarray) -> Any:
        value, g = fun(x)
        values.append(value)
        if cell.reading == "values":
            return value
        if cell.reading == "noisy gradients":
            g = g + NOISE * np.linalg.norm(g) / g.size**0.5 * rng.normal(size=g.size)
        return value, g

    jac = None if cell.reading == "values" else True
    bounds = [(-BOX, BOX)] * cell.dimension
    result = shapeopt.minimize(read, x0, bounds=bounds, jac=jac, budget=cell.budget, policy=policy, seed=number)
    return np.minimum.accumulate(values), {str(event.tactic) for event in result.events}


def areas(cell: Cell, made: dict[str, Any], instances: int) -> np.ndarray:
    """The mean area of each variant over instances; less a tactic that had no stage, a run is the same."""
    found = []
    for number in range(instances):
        first, used = run(cell, Policy(), number)
        runs = []
        for name, make in made.items():
            idle = name == FIXED or (name.startswith(LESS) and name.removeprefix(LESS) not in used)
            runs.append(first if idle else run(cell, make(), number)[0])
        floor = min(values[-1] for values in runs)
        found.append([area(values, floor, cell.budget) for values in runs])
    return np.mean(found, axis=0)


def area(values: np.ndarray, floor: float, budget: int) -> float:
    goals = floor + np.array(TARGETS) * (values[0] - floor)
    shares = []
    for goal in goals:
        reached = np.flatnonzero(values <= goal)
        shares.append(1.0 - math.log(reached[0] + 1) / math.log(budget) if reached.size else 0.0)
    return float(np.mean(shares))


def tabled(found: np.ndarray, made: list[Cell], place: Any) -> np.ndarray:
    """The area of every cell by the variant that was best at its place on families of other kinds."""
    names, places = [cell.family.kind for cell in made], [place(cell) for cell in made]
    chosen = []
    for i in range(len(made)):
        others = [j for j in range(len(made)) if places[j] == places[i] and names[j] != names[i]]
        best = int(np.argmax(found[others].mean(axis=0))) if others else 0
        chosen.append(found[i, best])
    return np.array(chosen)


def interval(lead: np.ndarray, owners: list[str]) -> tuple[float, float]:
    """A bootstrap over the means of owners."""
    owner = np.unique(owners, return_inverse=True)[1]
    means = np.array([lead[owner == i].mean() for i in np.unique(owner)])
    drawn = np.random.default_rng(0).integers(len(means), size=(DRAWS, len(means)))
    low, high = np.quantile(means[drawn].mean(axis=1), [0.025, 0.975])
    return float(low), float(high)


def row(name: str, lead: np.ndarray, made: list[Cell], changed: int) -> dict[str, Any]:
    """The mean difference to the fixed order, with intervals over families and over kinds."""
    low, high = interval(lead, [cell.family.name for cell in made])
    return {
        "rival": name,
        "lead": float(lead.mean()),
        "low": low,
        "high": high,
        "kinds": interval(lead, [cell.family.kind for cell in made]),
        "changed": changed,
    }


def rows(found: np.ndarray, made: list[Cell], names: list[str]) -> list[dict[str, Any]]:
    columns = {name: found[:, i] for i, name in enumerate(names) if i}
    columns |= {"table": tabled(found, made, lambda cell: cell.place)}
    columns |= {"table, reading": tabled(found, made, lambda cell: cell.reading)}
    columns |= {"hindsight": found.max(axis=1)}
    differences = {name: column - found[:, 0] for name, column in columns.items()}
    return [row(name, each, made, int((each != 0).sum())) for name, each in differences.items()]


@dataclass(frozen=True)
class Config:
    """How many instances a cell has, and where the record goes."""

    instances: int = 2
    out: Path = OUT


def main(config: Config) -> None:
    warnings.simplefilter("ignore")
    made, policies, began = cells(), variants(), time.process_time()
    found = []
    for number, cell in enumerate(made):
        found.append(areas(cell, policies, config.instances))
        if number % 12 == 11:
            print(f"{number + 1} of {len(made)} cells, {time.process_time() - began:.0f} s", flush=True)
    table = np.array(found)
    record = {
        "families": len({cell.family.name for cell in made}),
        "cells": len(made),
        "instances": config.instances,
        "area": float(table[:, 0].mean()),
        "seconds": round(time.process_time() - began),
        "rows": rows(table, made, list(policies)),
        "variants": list(policies),
        "areas": [
            [*cell.place, cell.family.name, *(round(a, 5) for a in each)]
            for cell, each in zip(made, found, strict=True)
        ],
    }
    config.out.write_text(json.dumps(record, indent=1) + "\n")
    for one in record["rows"]:
        print(f"{one['rival']:24} {one['lead']:+.4f} [{one['low']:+.4f}, {one['high']:+.4f}] {one['changed']}")


if __name__ == "__main__":
    main(tyro.cli(Config, description=__doc__))
