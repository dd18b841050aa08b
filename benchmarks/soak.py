"""Minimise for twenty minutes: does memory grow, is anything compiled again, do threads and processes disturb a run?

    .venv/bin/python benchmarks/soak.py [--minutes 20] [--out benchmarks/records/soak.json]

Rounds of single runs one after another (compiled, host with gradients, host with values alone, several particles, a
journal, a vectorised function, ask and tell), of batches, and of runs in 8 threads, at least 10,000 single and 10,000
batched ones however long it takes; then runs in 4 processes at once, each of which must give the bytes that it gives
alone, and runs at each d up to 100,000. Memory is the resident set after a collection; growth is that of the last fifth
of the rounds over the first fifth after the warm-up, by medians. Exit code 1 if memory grows by 1 % or more, if
anything is compiled after the warm-up, or if a run gives other bytes than before. Linux only.
"""

import gc
import hashlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import tyro

import shapeopt
from shapeopt.core import Box
from shapeopt.engines.device import DeviceShape
from shapeopt.oracles import ExactOracle
from shapeopt.rollout import rollout

BATCH = 100
BUDGET = 60
TURNS = 6  # single runs of each kind in a round


@dataclass(frozen=True)
class Config:
    """How long, at least how many runs, and in how many threads and processes."""

    minutes: float = 20.0
    runs: int = 10_000
    threads: int = 8
    processes: int = 4
    dimensions: tuple[int, ...] = (1, 10, 100, 1000, 10_000, 100_000)
    out: Path | None = None


def traceable(x):
    return jnp.sum(x * x - 10 * jnp.cos(2 * jnp.pi * x) + 10)


def pair(x: Any) -> tuple[float, np.ndarray]:
    x = np.asarray(x)
    return float(np.sum(x * x - 10 * np.cos(2 * np.pi * x) + 10)), 2 * x + 20 * np.pi * np.sin(2 * np.pi * x)


def values(x: Any) -> float:
    return pair(x)[0]


def rows(x: Any) -> np.ndarray:
    return np.array([values(one) for one in np.asarray(x)])


def told(result: Any) -> str:
    numbers = (result.x, result.fun, result.nfev, result.trace.value)
    return hashlib.sha256(b"".join(np.asarray(part).tobytes() for part in numbers)).hexdigest()


def single(kind: str) -> str:
    """One run; its bytes in short."""
    start = np.array([3.3, -2.2, 1.7])
    if kind == "compiled":
        return told(shapeopt.minimize(traceable, start, bounds=(-5, 5), budget=BUDGET))
    if kind == "particles":
        return told(shapeopt.minimize(pair, start, bounds=(-5, 5), budget=BUDGET, jac=True, num_starts=3))
    if kind == "journal":
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "journal")
            return told(shapeopt.minimize(pair, start, bounds=(-5, 5), budget=BUDGET, jac=True, journal=path))
    if kind == "ask/tell":
        shape = shapeopt.Shape(start, bounds=(-5, 5), budget=BUDGET)
        while shape.left:
            x = shape.ask()
            shape.tell(x, *pair(x))
        return told(shape.result())
    fun, jac = {"host": (pair, True), "values": (values, None), "rows": (rows, None)}[kind]
    return told(shapeopt.minimize(fun, start, bounds=(-5, 5), budget=BUDGET, jac=jac, batched=kind == "rows"))


KINDS = ("compiled", "host", "values", "particles", "journal", "rows", "ask/tell")


def make_batch() -> Callable[[], str]:
    """A function that makes a batch of compiled runs."""
    optimizer = DeviceShape()
    box, start = Box.around(np.full(3, -5.0), np.full(3, 5.0)), np.array([3.3, -2.2, 1.7])
    run = jax.jit(jax.vmap(lambda key: rollout(optimizer, ExactOracle(traceable), start, box, BUDGET, key).best))

    def batch() -> str:
        best = jax.device_get(run(jax.random.split(jax.random.key(0), BATCH)))
        return hashlib.sha256(best.x.tobytes() + best.value.tobytes()).hexdigest()

    return batch


class Compilations:
    """How many programs the backend compiled so far."""

    def __init__(self) -> None:
        self.count = 0
        jax.monitoring.register_event_duration_secs_listener(self._hear)

    def _hear(self, event: str, seconds: float, **about: Any) -> None:
        self.count += event == "/jax/core/compile/backend_compile_duration"


def memory() -> int:
    """Bytes in the resident set."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def in_a_process(kind: str) -> str:
    with jax.enable_x64(True):
        return single(kind)


def different(kinds: tuple[str, ...], got: Any, expected: dict[str, str]) -> int:
    return sum(one != expected[kind] for kind, one in zip(kinds, got, strict=True))


def by_dimension(d: int) -> list[float]:
    """The best values of a compiled run, one on the host with gradients and one by values alone."""
    start = np.full(d, 0.2)
    ways: tuple[tuple[Any, Any], ...] = ((traceable, None), (pair, True), (values, None))
    return [float(shapeopt.minimize(fun, start, bounds=(-5, 5), budget=40, jac=jac).fun) for fun, jac in ways]


def main(config: Config) -> int:
    compilations, batch = Compilations(), make_batch()
    expected = {kind: single(kind) for kind in KINDS} | {"batch": batch()}
    alone, together = KINDS * TURNS, KINDS * 3
    with ThreadPoolExecutor(config.threads) as pool:  # a thread's own memory counts as warm-up
        list(pool.map(single, together))
        warm, sizes, differing, rounds = compilations.count, [memory()], 0, 0
        end = time.monotonic() + 60 * config.minutes
        while time.monotonic() < end or rounds * min(len(alone), BATCH) < config.runs:
            differing += different(alone, map(single, alone), expected)
            differing += batch() != expected["batch"]
            differing += different(together, pool.map(single, together), expected)
            rounds += 1
            sizes.append(memory())
    again = compilations.count - warm
    fifth = max(1, len(sizes) // 5)
    growth = float(np.median(sizes[-fifth:]) / np.median(sizes[:fifth]) - 1)
    with ProcessPoolExecutor(config.processes, get_context("spawn")) as processes:
        differing += different(
            KINDS * config.processes, processes.map(in_a_process, KINDS * config.processes), expected
        )
    best = {d: by_dimension(d) for d in config.dimensions}
    record = {
        "rounds": rounds,
        "single_runs": len(alone) * rounds,
        "runs_in_threads": len(together) * rounds,
        "batched_runs": BATCH * rounds,
        "megabytes": [round(size / 2**20, 1) for size in sizes[:: max(1, len(sizes) // 20)]],
        "growth": growth,
        "compiled_in_the_warm_up": warm,
        "compiled_after_it": again,
        "differing": differing,
        "best_by_dimension": best,
    }
    print(json.dumps(record, indent=1))
    if config.out is not None:
        settings = {key: value for key, value in asdict(config).items() if key != "out"}
        config.out.write_text(json.dumps({"config": settings, **record}, indent=1) + "\n")
    fine = growth < 0.01 and again == 0 and differing == 0 and np.all(np.isfinite(list(best.values())))
    return 0 if fine else 1


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)  # for all threads alike
    sys.exit(main(tyro.cli(Config, description=__doc__)))
