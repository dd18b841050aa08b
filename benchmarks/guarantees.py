"""Budget and bounds under an independent counter: every method, oracle and budget, and boxes drawn by hypothesis.

    .venv/bin/python benchmarks/guarantees.py [--parts doors boxes ...] [--out benchmarks/records]

The objective itself counts how often it is evaluated and where. Parts: `doors` (each way to hand an objective over, see
`guarantee_doors.py`), `loops` (this library's optimizers with every oracle, compiled by `rollout`, all seeds in one
batch), `bench` (the same through a comparison's cells, with fewer methods), `peers` (other people's, under the same
counter), `boxes` (drawn doors in boxes of widths from 1e-9 to 1e9, with fixed, one-sided and free coordinates, positive
bounds up to 600 decades apart, and starts on faces and in corners). Needs the extras `peers` and `torch`. Each part has
its record, kept after each row: a run that was cut short goes on where it was, unless the library has changed since.
Exit code 1 if a run was counted past its budget or outside its bounds, or reports another count.
"""

import hashlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import hypothesis
import jax
import jax.numpy as jnp
import numpy as np
import tyro
from guarantee_cells import of_bench
from guarantee_doors import DOORS, SLOW, Counter, Lent, Problem, Spy, counting
from hypothesis import strategies as st

import shapeopt
from shapeopt.baselines import BASELINES, make_baseline
from shapeopt.core import Box
from shapeopt.engines.device import DeviceShape
from shapeopt.oracles import ORACLES, Reader
from shapeopt.peers import PEERS, available, run_peer
from shapeopt.rollout import rollout

PARTS = ("doors", "loops", "bench", "peers", "boxes")
SHARED = ("loops", "bench", "peers")  # compiled for each cell, or slow
LOWER, UPPER = np.array([-4.0, -3.0, -5.0]), np.array([4.0, 3.0, 5.0])
START = np.array([3.3, -2.2, 1.7])
WIDE = (np.array([1e-3, -2.2, 40.0]), np.array([1e-8, -3.0, 1e-3]), np.array([1e2, 3.0, 1e5]))  # a start, bounds
LONG = 1000  # calls from which on a door gets a fifth of the seeds
DRAWN = ("pair", "values", "2-point", "3-point", "cs", "batched, values", "scipy", "scipy, values", "basinhopping")
DRAWN += ("ask/tell", "ask/tell, values", "torch minimize", "workers", "workers, values")
DRAWN_IN_TWO = ("particles", "compiled", "torch", "optax", "command")  # dimensions, for what they compile or start


@dataclass(frozen=True)
class Config:
    """What is run. The budgets from 100 on of peers and programs, which are slow, get fewer seeds."""

    parts: tuple[str, ...] = PARTS
    budgets: tuple[int, ...] = (1, 2, 3, 7, 200, 1000)
    methods: tuple[str, ...] = ()
    oracles: tuple[str, ...] = tuple(ORACLES)
    doors: tuple[str, ...] = tuple(DOORS)
    seeds: int = 100
    seeds_of_slow: int = 2
    evaluations: int = 1_000_000
    share: float = 1.0  # of the cells of `loops`, `bench` and `peers`; the longest of `universal` always are
    out: Path | None = None


@dataclass
class Row:
    """Runs of one kind under one budget: most evaluations past it, and whether all reports agree with the count."""

    part: str
    method: str
    oracle: str
    budget: int
    runs: int
    evaluations: int
    overshoot: int
    outside: int
    agrees: bool

    @property
    def holds(self) -> bool:
        return self.overshoot <= 0 and self.outside == 0 and self.agrees


Counts = tuple[int, int, int, int, bool]  # the last five columns of a row
Cells = Iterator[tuple[tuple[str, str, int], Callable[[], Counts]]]  # (method, oracle, budget) and how it is counted


def counts_of(told: list[tuple[int, int]], budget: int, outside: int) -> Counts:
    """From (counted, reported) of each run."""
    counted = [count for count, _ in told]
    return len(told), sum(counted), max(counted) - budget, outside, all(one == other for one, other in told)


def batch_counts(calls: Any, counter: Counter, budget: int) -> Counts:
    """From the calls that each run of a batch reports; the counter only knows their sum."""
    calls = np.asarray(calls)
    each, rest = divmod(counter.count, len(calls))
    agrees = bool(np.all(calls == each)) and rest == 0
    return len(calls), counter.count, -(-counter.count // len(calls)) - budget, counter.outside, agrees


def of_doors(config: Config) -> Cells:
    for name in config.doors:
        for budget in config.budgets:
            seeds = config.seeds if budget < LONG else config.seeds // 5
            seeds = config.seeds_of_slow if name in SLOW and budget >= 100 else seeds

            def counts(name=name, budget=budget, seeds=seeds) -> Counts:
                told, outside = [], 0
                for seed in range(seeds):
                    problem = Problem(*((START, LOWER, UPPER) if seed % 2 == 0 else WIDE), budget, seed)
                    spy = Spy(problem)
                    reported = DOORS[name](spy, problem)
                    told.append((spy.count, reported))
                    outside += spy.outside
                return counts_of(told, budget, outside)

            yield (name, "host", budget), counts


class Batch:
    """One optimizer with one oracle: all seeds at once, each with a start of its own, since runs that are all alike
    would be evaluated as one."""

    def __init__(self, method: str, oracle: str, seeds: int) -> None:
        self.lent = Lent()
        self.oracle = ORACLES[oracle](counting(self.lent), jnp.asarray(LOWER), jnp.asarray(UPPER))
        self.optimizer = _optimizer(method)
        self.box, self.keys = Box.around(LOWER, UPPER), jax.random.split(jax.random.key(0), seeds)
        self.starts = np.random.default_rng(0).uniform(LOWER, UPPER, (seeds, LOWER.size))

    def rollout(self, budget: int) -> Counts:
        def one(key, x0):
            trace = rollout(self.optimizer, self.oracle, x0, self.box, budget, key)
            return trace.end.oracle.calls, trace.best.value  # nothing would be evaluated for the calls alone

        counter = self.lent.to = Counter(LOWER, UPPER)
        calls, _ = jax.device_get(jax.jit(jax.vmap(one))(self.keys, self.starts))
        return batch_counts(calls, counter, budget)


def _optimizer(method: str) -> Any:
    if method == "universal":
        return DeviceShape()
    return make_baseline(method, "rastrigin")


def of_loops(config: Config) -> Cells:
    for method in config.methods or ("universal", *BASELINES):
        for oracle in config.oracles if method == "universal" or method in BASELINES else ():
            for budget in config.budgets:

                def counts(method=method, oracle=oracle, budget=budget) -> Counts:
                    jax.clear_caches()
                    return Batch(method, oracle, config.seeds).rollout(budget)

                yield (method, oracle, budget), counts


def of_peers(config: Config) -> Cells:
    box, lent = Box.around(LOWER, UPPER), Lent()
    fun = counting(lent)
    for oracle_name in config.oracles:
        oracle = ORACLES[oracle_name](fun, jnp.asarray(LOWER), jnp.asarray(UPPER))
        for name, peer in PEERS.items():
            if peer.needs_residuals or not available(peer.package) or (config.methods and name not in config.methods):
                continue  # a plain function has no residuals
            for budget in config.budgets:
                seeds = config.seeds if budget < 100 else config.seeds_of_slow

                def counts(oracle=oracle, peer=peer, budget=budget, seeds=seeds) -> Counts:
                    counter, told = Counter(LOWER, UPPER), []
                    lent.to = counter
                    for seed in range(seeds):
                        before, reader = counter.count, Reader(oracle, box, budget, jax.random.key(seed))
                        run_peer(peer, reader, START, LOWER, UPPER, seed)
                        told.append((counter.count - before, reader.calls))
                    return counts_of(told, budget, counter.outside)

                yield (name, oracle_name, budget), counts


widths = st.one_of(st.just(0.0), st.floats(-9.0, 9.0).map(lambda e: 10.0**e))
centres = st.one_of(st.just(0.0), st.floats(-1.0, 1.0), st.floats(-1e9, 1e9))
sides = st.sampled_from(("both", "both", "both", "lower", "upper", "none"))
places = st.one_of(st.sampled_from((0.0, 1.0)), st.floats(0.0, 1.0))
decades = {np.float32: st.floats(-44.0, 38.0), np.float64: st.floats(-323.0, 308.0)}


@st.composite
def problems(draw: Any, door: str, budget: int) -> Problem:
    dtype = draw(st.sampled_from((np.float64, np.float64, np.float32)))
    lower, upper, start = [], [], []
    for _ in range(2 if door in DRAWN_IN_TWO else draw(st.sampled_from((1, 2, 3)))):
        place = draw(places)
        if draw(st.sampled_from((True, False, False))):  # positive bounds, most of them decades apart
            low, high = sorted((draw(decades[dtype]), draw(decades[dtype])))
            sides_and_start = (dtype(10.0**power) for power in (low, high, low + place * (high - low)))
            for sequence, number in zip((lower, upper, start), sides_and_start, strict=True):
                sequence.append(number)
            start[-1] = np.clip(start[-1], lower[-1], upper[-1])
            continue
        width, centre, side = draw(widths), draw(centres), draw(sides)
        low, high = sorted((dtype(centre - width / 2), dtype(centre + width / 2)))
        start.append(np.clip(dtype(low + place * (high - low)), low, high))
        lower.append(low if side in ("both", "lower") else -np.inf)
        upper.append(high if side in ("both", "upper") else np.inf)
    arrays = (np.array(part, dtype) for part in (start, lower, upper))
    return Problem(*arrays, budget, draw(st.integers(0, 2**31 - 1)))


def of_boxes(config: Config) -> Cells:
    doors = [name for name in (*DRAWN, *DRAWN_IN_TWO) if name in config.doors]
    for name in doors:
        budget = 10 if name in SLOW else 400

        def counts(name=name, budget=budget) -> Counts:
            share = max(1, config.evaluations // (300 * len(doors)))
            return drawn(name, budget, min(share, 50) if name in SLOW else share)

        yield (name, "drawn", budget), counts


def drawn(door: str, budget: int, examples: int) -> Counts:
    told, outside = [], []

    def check(problem: Problem) -> None:
        spy = Spy(problem)
        reported = DOORS[door](spy, problem)
        told.append((spy.count, reported))
        outside.append(spy.outside)
        assert spy.outside == 0 and spy.count == reported <= budget, problem

    settings = hypothesis.settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[hypothesis.Phase.generate, hypothesis.Phase.shrink],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    settings(hypothesis.given(problems(door, budget))(check))()
    return counts_of(told, budget, sum(outside))


def code() -> str:
    """What the figures are of: the library's sources and its policy."""
    folder = Path(shapeopt.__file__).parent
    files = sorted([*folder.rglob("*.py"), *folder.rglob("universal.*")])
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


class Record:
    """The rows of one part, kept after each of them."""

    def __init__(self, config: Config, part: str) -> None:
        settings = {key: value for key, value in asdict(config).items() if key not in ("out", "parts")}
        self.head = json.loads(json.dumps({"config": settings, "code": code()}))
        self.path = None if config.out is None else config.out / f"guarantees_{part}.json"
        self.rows: list[Row] = []
        self.possible = 0  # cells, with those that were not drawn
        if self.path is not None and self.path.exists():
            old = json.loads(self.path.read_text())
            if {name: old.get(name) for name in self.head} == self.head:
                self.rows = [Row(*row) for row in old["rows"]]

    def has(self, key: tuple[str, str, int]) -> bool:
        return any((row.method, row.oracle, row.budget) == key for row in self.rows)

    def add(self, row: Row) -> None:
        self.rows.append(row)
        self.write()

    def write(self) -> None:
        if self.path is not None:
            kept = [list(asdict(row).values()) for row in self.rows]
            record = self.head | {"total": self.total, "columns": list(Row.__dataclass_fields__), "rows": kept}
            self.path.write_text(json.dumps(record).replace("], [", "],\n[") + "\n")

    @property
    def total(self) -> dict[str, int]:
        rows = self.rows
        total = {"runs": sum(row.runs for row in rows), "evaluations": sum(row.evaluations for row in rows)}
        return total | {"cells": len(rows), "of": self.possible, "broken": sum(not row.holds for row in rows)}


MEASURES = {"doors": of_doors, "loops": of_loops, "peers": of_peers, "boxes": of_boxes}
MEASURES["bench"] = of_bench


def main(config: Config) -> int:
    broken, began = 0, time.perf_counter()
    for part in config.parts:
        record = Record(config, part)
        draw = np.random.default_rng(0)
        for key, counts in MEASURES[part](config):
            record.possible += 1
            always = part not in SHARED or (key[0], key[2]) == ("universal", max(config.budgets))
            drawn = draw.uniform() < config.share
            if not (always or drawn) or record.has(key):
                continue
            row = Row(part, *key, *counts())
            record.add(row)
            name = f"{row.part:9}{row.method:32}{row.oracle:16}{row.budget:5}"
            numbers = f"{row.runs:6} runs {row.evaluations:9} evaluations {row.overshoot:6} {row.outside:4}"
            word = "" if row.holds else "BROKEN"
            print(f"{time.perf_counter() - began:7.0f} s {name}{numbers} {word}", flush=True)
        record.write()
        print(part, record.total, flush=True)
        broken += record.total["broken"]
    return 1 if broken else 0


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)  # for all threads: compiled code calls the counter from its own
    sys.exit(main(tyro.cli(Config, description=__doc__)))
