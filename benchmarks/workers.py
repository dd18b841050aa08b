"""Several calls at once: calls a second beside one worker's, and what a budget buys with eight workers and with one.

    python benchmarks/workers.py           # a few minutes; writes the record and the table of docs/parallel.md
    python benchmarks/workers.py --speed   # the speed alone, into the record that there is

Speed: an objective of 50 ms, with one worker and with eight in turn, five times; the median of the ratios counts, since
a machine that others use too slows either. Worth: problems of the `dev` halves with 500 calls; solved means within
1e-4 of the size of the best value known or 1e-6 of the descent from the start.
"""

import json
import math
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import numpy as np

from shapeopt import minimize
from shapeopt.bench.suite_run import problem_seed
from shapeopt.bench.suites import SUITES, SuiteProblem
from shapeopt.solvers import bounds_of

RECORD = Path(__file__).parent / "records" / "workers.json"
PAGE = Path(__file__).parents[1] / "docs" / "parallel.md"
MARKS = ("<!-- workers -->", "<!-- end of workers -->")
SECONDS, SPEED_BUDGET, BUDGET, WORKERS, MOST_DIMENSIONS = 0.05, 320, 500, 8, 21
CHOSEN = {"classic": 7, "gp": 6, "nist": 4, "clusters": 8}  # every so manieth problem of a suite
LEAST_SPEED, REPEATS = 6.0, 5


class AtOnce(Executor):
    """Makes a call when it is submitted: the run is that of as many threads."""

    max_workers = WORKERS

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def slow(x: np.ndarray) -> tuple[float, np.ndarray]:
    """Rastrigin's function, which takes its time."""
    time.sleep(SECONDS)
    return float(np.sum(x * x - 10 * np.cos(2 * np.pi * x) + 10)), 2 * x + 20 * np.pi * np.sin(2 * np.pi * x)


def calls_a_second(workers: int, budget: int) -> float:
    began = time.perf_counter()
    minimize(slow, np.full(5, 3.3), bounds=(-5, 5), jac=True, budget=budget, workers=workers)
    return budget / (time.perf_counter() - began)


def speeds() -> dict[str, Any]:
    """Calls a second with one worker and with eight, pair by pair, and how busy the machine was."""
    pairs = [(calls_a_second(1, SPEED_BUDGET // 8), calls_a_second(WORKERS, SPEED_BUDGET)) for _ in range(REPEATS)]
    return {"pairs": pairs, "load": os.getloadavg()[0], "cores": os.cpu_count()}


def ratios(record: dict[str, Any]) -> list[float]:
    return sorted(eight / one for one, eight in record["pairs"])


def compare(suite: str, problem: SuiteProblem) -> dict[str, Any]:
    """What one worker and eight reach."""
    objective = problem.make()
    jac = True if problem.gradients else None
    bounds, seed = bounds_of(objective), problem_seed(problem.name, 0)
    row: dict[str, Any] = {"suite": suite if problem.gradients else f"{suite}, values", "problem": problem.name}
    row["minimum"] = objective.minimum
    for name, workers in (("one", 1), ("eight", AtOnce())):
        run: Any = minimize(
            objective.fun, objective.x0, bounds=bounds, jac=jac, budget=BUDGET, seed=seed, workers=workers
        )
        row |= {name: run.fun, "start": float(run.trace.value[0])}
    return row


def solved(row: dict[str, Any], name: str) -> bool:
    best = min(x for x in (row["one"], row["eight"], row["minimum"]) if x is not None)
    descent = row["start"] - best if math.isfinite(row["start"]) else 0.0
    return row[name] <= best + max(1e-4 * abs(best), 1e-6 * descent, 1e-6)


def table(record: dict[str, Any]) -> str:
    least, *_, most = found = ratios(record)
    text = f"Calls of {SECONDS * 1000:.0f} ms: {WORKERS} workers make {statistics.median(found):.1f} times as many a "
    text += f"second as one (median of {len(found)} pairs, {least:.1f} to {most:.1f}; {record['cores']} cores with a "
    text += f"load of {record['load']:.0f}). Problems solved with {BUDGET} calls:\n\n"
    text += "| suite (`dev`) | problems | one worker | eight workers |\n|---|---|---|---|\n"
    for name in dict.fromkeys(row["suite"] for row in record["runs"]):
        rows = [row for row in record["runs"] if row["suite"] == name]
        one, eight = (sum(solved(row, who) for row in rows) for who in ("one", "eight"))
        text += f"| {name} | {len(rows)} | {one} | {eight} |\n"
    return text


def worth() -> list[dict[str, Any]]:
    """What a budget buys, problem by problem."""
    rows = []
    for suite, step in CHOSEN.items():
        problems = [one for one in SUITES[suite].half("dev") if 2 <= one.dimension <= MOST_DIMENSIONS]
        for problem in problems[::step]:
            rows.append(compare(suite, problem))
            print(rows[-1], flush=True)
    return rows


def main() -> None:
    warnings.simplefilter("ignore")  # of other libraries, on odd data
    runs = json.loads(RECORD.read_text())["runs"] if "--speed" in sys.argv[1:] else worth()
    record: dict[str, Any] = speeds() | {"runs": runs}
    RECORD.write_text(json.dumps(record, indent=1) + "\n")
    before, rest = PAGE.read_text().split(MARKS[0])
    PAGE.write_text(f"{before}{MARKS[0]}\n\n{table(record)}\n{MARKS[1]}{rest.split(MARKS[1])[1]}")
    print(table(record))
    if statistics.median(ratios(record)) < LEAST_SPEED:
        raise SystemExit(f"Eight workers make less than {LEAST_SPEED} times the calls of one.")


if __name__ == "__main__":
    main()
