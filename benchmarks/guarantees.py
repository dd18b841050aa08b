"""Budget and bounds under an independent counter: every method, oracle and budget, and boxes drawn by hypothesis.

    .venv/bin/python benchmarks/guarantees.py [--seeds 100] [--evaluations 1000000] [--out benchmarks/records/x.json]

The objective itself counts how often it is evaluated and where. Parts: `minimize` (each way to hand an objective over),
`rollouts` (this library's optimizers, compiled, all seeds in one batch), `peers` (other people's, under our counter),
`boxes` (`minimize` in boxes of widths from 1e-9 to 1e9, with fixed, one-sided and free coordinates and starts on faces
and in corners). Exit code 1 if a run was counted past its budget or outside its bounds, or reports another count.
"""

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
from hypothesis import strategies as st

import shapeopt
from shapeopt.baselines import BASELINES, make_baseline
from shapeopt.core import Box
from shapeopt.oracles import ORACLES, Reader
from shapeopt.peers import PEERS, available, run_peer
from shapeopt.policy import find_policy
from shapeopt.rollout import rollout
from shapeopt.shape import ShapeOptimizer

PARTS = ("boxes", "minimize", "rollouts", "peers")
LOWER, UPPER = np.array([-4.0, -3.0, -5.0]), np.array([4.0, 3.0, 5.0])
START = np.array([3.3, -2.2, 1.7])


@dataclass(frozen=True)
class Config:
    """What is run. The largest budgets of peers, which are slow, get fewer seeds."""

    parts: tuple[str, ...] = PARTS
    budgets: tuple[int, ...] = (1, 2, 3, 7, 200, 1000)
    methods: tuple[str, ...] = ()
    oracles: tuple[str, ...] = tuple(ORACLES)
    seeds: int = 100
    seeds_of_slow_peers: int = 2
    evaluations: int = 1_000_000
    out: Path | None = None


class Counter:
    """How often an objective was evaluated, and how often outside the bounds."""

    def __init__(self, lower: np.ndarray = LOWER, upper: np.ndarray = UPPER) -> None:
        self.lower, self.upper = lower, upper
        self.count = self.outside = 0

    def see(self, points: Any) -> None:
        points = np.asarray(points).reshape(-1, self.lower.size)
        self.count += len(points)
        self.outside += int(np.sum(~np.all((points >= self.lower) & (points <= self.upper), axis=1)))

    def __call__(self, points: Any) -> np.ndarray:
        """From compiled code: a zero for every point."""
        self.see(points)
        return np.zeros(np.shape(points)[:-1])


def ripples(x: Any) -> tuple[float, np.ndarray]:
    return float(np.sum(x * x - 10 * np.cos(2 * np.pi * x) + 10)), 2 * x + 20 * np.pi * np.sin(2 * np.pi * x)


def counting(counter: Counter) -> Callable[[Any], Any]:
    """A traceable objective that tells `counter` of every evaluation."""

    def fun(q):
        zero = jax.ShapeDtypeStruct(q.shape[:-1], q.dtype)
        seen = jax.pure_callback(counter, zero, jax.lax.stop_gradient(q), vmap_method="expand_dims")
        return jnp.sum(q * q - 10 * jnp.cos(2 * jnp.pi * q) + 10) + seen

    return fun


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


def handed_over(kind: str, counter: Counter) -> tuple[Any, Any, int]:
    """(function, jac, particles) of one way to hand an objective to `minimize`."""

    def pair(x):
        counter.see(x)
        return ripples(np.asarray(x))

    def values(x):
        counter.see(x)
        return ripples(np.asarray(x))[0]

    def branching(x):
        counter.see(np.zeros(3) if isinstance(x, jax.core.Tracer) else x)
        return jnp.sum(x * x) if x[0] > 0 else jnp.sum(x * x) + 1.0

    def writing(x):
        counter.see(x)
        x[0] += 0.0
        return ripples(x)[0]

    return {
        "pair": (pair, True, 1),
        "two functions": (values, lambda x: ripples(x)[1], 1),
        "values": (values, None, 1),
        "particles": (pair, True, 4),
        "particles, values": (values, None, 4),
        "branching": (branching, None, 1),
        "writing": (writing, None, 1),
        "compiled": (counting(counter), None, 1),
        "compiled particles": (counting(counter), None, 4),
    }[kind]


KINDS = ("pair", "two functions", "values", "particles", "particles, values", "branching", "writing")
COMPILED = ("compiled", "compiled particles")


def of_minimize(config: Config) -> Iterator[Row]:
    for kind in (*KINDS, *COMPILED):
        counter = Counter()
        fun, jac, particles = handed_over(kind, counter)
        for budget in config.budgets:
            counts, agrees = [], True
            for seed in range(config.seeds):
                before = counter.count
                result = shapeopt.minimize(
                    fun, START, bounds=(LOWER, UPPER), budget=budget, jac=jac, num_starts=particles, seed=seed
                )
                counts.append(counter.count - before)
                agrees &= result.nfev == counts[-1]
            yield Row("minimize", kind, "host", budget, len(counts), sum(counts), max(counts) - budget, 0, agrees)
        if counter.outside:
            yield Row("minimize", kind, "host", 0, 0, counter.count, 0, counter.outside, True)


def of_rollouts(config: Config) -> Iterator[Row]:
    box, keys = Box.around(LOWER, UPPER), jax.random.split(jax.random.key(0), config.seeds)
    # Each run has its own start: runs that are all alike would be evaluated as one.
    starts = np.random.default_rng(0).uniform(LOWER, UPPER, (config.seeds, LOWER.size))
    universal = {"universal": lambda: ShapeOptimizer(find_policy("universal"), record_energy=False)}
    ours = universal | {name: (lambda name=name: make_baseline(name, "rastrigin")) for name in BASELINES}
    for method in config.methods or ours:
        for oracle_name in config.oracles if method in ours else ():
            counter = Counter()
            oracle = ORACLES[oracle_name](counting(counter), jnp.asarray(LOWER), jnp.asarray(UPPER))
            optimizer = ours[method]()
            for budget in config.budgets:

                def one(key, start, optimizer=optimizer, oracle=oracle, budget=budget):
                    trace = rollout(optimizer, oracle, start, box, budget, key)
                    return trace.end.oracle.calls, trace.best.value  # nothing would be evaluated for the calls alone

                counter.count = counter.outside = 0
                calls = np.asarray(jax.jit(jax.vmap(one))(keys, starts)[0])
                each, rest = divmod(counter.count, config.seeds)
                agrees = bool(np.all(calls == each)) and rest == 0
                over = -(-counter.count // config.seeds) - budget
                runs = config.seeds
                yield Row("rollouts", method, oracle_name, budget, runs, counter.count, over, counter.outside, agrees)
            jax.clear_caches()


def of_peers(config: Config) -> Iterator[Row]:
    box, counter = Box.around(LOWER, UPPER), Counter()
    fun = counting(counter)
    for oracle_name in config.oracles:
        oracle = ORACLES[oracle_name](fun, jnp.asarray(LOWER), jnp.asarray(UPPER))
        for name, peer in PEERS.items():
            if not available(peer.package) or (config.methods and name not in config.methods):
                continue
            for budget in config.budgets:
                counter.count = counter.outside = 0
                counts, agrees = [], True
                for seed in range(config.seeds if budget < 100 else config.seeds_of_slow_peers):
                    before, reader = counter.count, Reader(oracle, box, budget, jax.random.key(seed))
                    run_peer(peer, reader, START, LOWER, UPPER, budget, seed)
                    counts.append(counter.count - before)
                    agrees &= reader.calls == counts[-1]
                over = max(counts) - budget
                yield Row("peers", name, oracle_name, budget, len(counts), sum(counts), over, counter.outside, agrees)


widths = st.one_of(st.just(0.0), st.floats(-9.0, 9.0).map(lambda e: 10.0**e))
centres = st.one_of(st.just(0.0), st.floats(-1.0, 1.0), st.floats(-1e9, 1e9))
sides = st.sampled_from(("both", "both", "both", "lower", "upper", "none"))
places = st.one_of(st.sampled_from((0.0, 1.0)), st.floats(0.0, 1.0))


@st.composite
def problems(draw: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool, int]:
    """(start, lower, upper, whether gradients are given, seed)."""
    dtype = draw(st.sampled_from((np.float64, np.float64, np.float32)))
    lower, upper, start = [], [], []
    for _ in range(draw(st.sampled_from((1, 2, 3)))):
        width, centre, side, place = draw(widths), draw(centres), draw(sides), draw(places)
        low, high = sorted((dtype(centre - width / 2), dtype(centre + width / 2)))
        start.append(np.clip(dtype(low + place * (high - low)), low, high))
        lower.append(low if side in ("both", "lower") else -np.inf)
        upper.append(high if side in ("both", "upper") else np.inf)
    arrays = (np.array(part, dtype) for part in (start, lower, upper))
    return (*arrays, draw(st.booleans()), draw(st.integers(0, 2**31)))


def of_boxes(config: Config) -> Iterator[Row]:
    total = Row("boxes", "universal", "host", 400, 0, 0, -400, 0, True)

    def check(problem: Any) -> None:
        start, lower, upper, gradients, seed = problem
        counter = Counter(lower, upper)
        finite = np.isfinite(lower) & np.isfinite(upper) & (upper > lower)
        with np.errstate(all="ignore"):
            middle = np.where(finite, lower + (upper - lower) / 2, start)
            scale = np.where(finite, (upper - lower) / 10, np.maximum(1.0, np.abs(start))).astype(start.dtype)

        def fun(x):
            counter.see(x)
            with np.errstate(all="ignore"):
                value, gradient = ripples((np.asarray(x) - middle) / scale + 0.3)
                return (value, gradient / scale) if gradients else value

        result = shapeopt.minimize(
            fun, start, bounds=(lower, upper), budget=total.budget, jac=gradients or None, seed=seed
        )
        total.runs, total.evaluations = total.runs + 1, total.evaluations + counter.count
        total.overshoot = max(total.overshoot, counter.count - total.budget)
        total.outside += counter.outside
        total.agrees &= result.nfev == counter.count
        inside = np.all((result.x >= lower) & (result.x <= upper))
        assert counter.outside == 0 and counter.count == result.nfev <= total.budget and inside, problem

    examples = max(1, config.evaluations // 300)
    settings = hypothesis.settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[hypothesis.Phase.generate, hypothesis.Phase.shrink],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    settings(hypothesis.given(problems())(check))()
    yield total


def main(config: Config) -> int:
    measures = {"minimize": of_minimize, "rollouts": of_rollouts, "peers": of_peers, "boxes": of_boxes}
    rows, began = [], time.perf_counter()
    for part in config.parts:
        for row in measures[part](config):
            rows.append(row)
            word = "" if row.holds else "BROKEN"
            print(
                f"{time.perf_counter() - began:7.0f} s {row.part:9}{row.method:32}{row.oracle:16}{row.budget:5}", end=""
            )
            print(
                f"{row.runs:6} runs {row.evaluations:9} evaluations {row.overshoot:6} {row.outside:4} {word}",
                flush=True,
            )
            total = keep(config, rows)  # after each row, so that a run that is cut short leaves its share
    print(total)
    return 1 if total["broken"] else 0


def keep(config: Config, rows: list[Row]) -> dict[str, int]:
    """Write the record; its totals."""
    total = {"runs": sum(row.runs for row in rows), "evaluations": sum(row.evaluations for row in rows)}
    total |= {"cells": len(rows), "broken": sum(not row.holds for row in rows)}
    if config.out is not None:
        settings = {key: value for key, value in asdict(config).items() if key != "out"}
        kept = [list(asdict(row).values()) for row in rows]
        record = {"config": settings, "total": total, "columns": list(Row.__dataclass_fields__), "rows": kept}
        config.out.write_text(json.dumps(record).replace("], [", "],\n[") + "\n")
    return total


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)  # for all threads: compiled code calls the counter from its own
    sys.exit(main(tyro.cli(Config, description=__doc__)))
