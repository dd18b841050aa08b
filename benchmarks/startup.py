"""Seconds from a fresh process to its first answer, and of `--help`, beside SciPy's.

    .venv/bin/python benchmarks/startup.py [--repeats 5] [--out benchmarks/records/startup.json]

A run is 500 calls of Rastrigin's function on a NumPy objective, with gradients and by values alone, against SciPy's
basinhopping with L-BFGS-B in a process of its own; imports are included, and ours must not import JAX. Processes take
turns; a figure is the least processor time, which other work on the machine hardly disturbs. Exit code 1 if a target is
missed.
"""

import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import tyro

HELP_TARGET, RATIO_TARGET, SECONDS_TARGET = 0.7, 1.5, 1.0
BASIN = """
import numpy as np
WAVE = 2 * np.pi
def value(x): return float(np.sum(x * x - 10 * np.cos(WAVE * x) + 10))
def pair(x): return value(x), 2 * x + 10 * WAVE * np.sin(WAVE * x)
fun, x0 = (pair if GRADIENT else value), np.linspace(-3, 3.3, D)
"""
OURS = """
import shapeopt, sys
shapeopt.minimize(fun, x0, bounds=(-5, 5), budget=500, jac=GRADIENT or None)
assert "jax" not in sys.modules
"""
SCIPY = """
from scipy.optimize import basinhopping
calls = iter(range(500))
def counted(x):
    next(calls)
    return fun(x)
options = {"method": "L-BFGS-B", "jac": GRADIENT or None, "bounds": [(-5, 5)] * D}
try:
    basinhopping(counted, x0, niter=10**6, minimizer_kwargs=options, rng=1)
except StopIteration:
    pass
"""
ALONE = {
    "python alone": (["-c", "pass"], None),
    "import shapeopt": (["-c", "import shapeopt"], None),
    "shapeopt --help": (["-m", "shapeopt.cli", "--help"], HELP_TARGET),
    "shapeopt minimize --help": (["-m", "shapeopt.cli", "minimize", "--help"], None),
}


@dataclass(frozen=True)
class Config:
    dimensions: tuple[int, ...] = (2, 10, 50)
    repeats: int = 5
    """Processes of each row."""
    out: Path | None = None
    """Keep the rows in this file."""


@dataclass(frozen=True)
class Row:
    """Processor seconds of ours and of SciPy's, if there is such; `passes` unless a target is missed."""

    what: str
    ours: float
    scipy: float | None
    target: str
    passes: bool


def seconds(words: list[str]) -> float:
    """Processor seconds of one process; a warning at import fails it."""
    before = os.times()
    one = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-W", "error", *words], check=True, stdout=subprocess.DEVNULL, env=one)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def least(repeats: int, *jobs: list[str]) -> list[float]:
    """The least seconds of each, taken in turn."""
    return [min(column) for column in zip(*([seconds(job) for job in jobs] for _ in range(repeats)), strict=True)]


def rows(config: Config) -> list[Row]:
    found = []
    for what, (words, target) in ALONE.items():
        (ours,) = least(config.repeats, words)
        met = target is None or ours <= target
        found.append(Row(what, ours, None, "" if target is None else f"at most {target:g} s", met))
    for d in config.dimensions:
        for gradient, kind in ((True, "value and gradient"), (False, "values")):
            head = f"D, GRADIENT = {d}, {gradient}\n{BASIN}"
            ours, scipy = least(config.repeats, ["-c", head + OURS], ["-c", head + SCIPY])
            met = ours <= RATIO_TARGET * scipy and ours <= SECONDS_TARGET
            target = f"at most {RATIO_TARGET:g} x SciPy's, and {SECONDS_TARGET:g} s"
            found.append(Row(f"500 calls, d = {d}, {kind}", ours, scipy, target, met))
    return found


def main(config: Config) -> int:
    found = rows(config)
    print("| what | shapeopt, s | SciPy, s | target |\n|---|---|---|---|")
    for row in found:
        scipy = "" if row.scipy is None else f"{row.scipy:.2f}"
        verdict = f"{row.target}, {'met' if row.passes else 'missed'}" if row.target else ""
        print(f"| {row.what} | {row.ours:.2f} | {scipy} | {verdict} |")
    if config.out is not None:
        config.out.parent.mkdir(parents=True, exist_ok=True)
        settings = {key: value for key, value in asdict(config).items() if key != "out"}
        record = {"config": settings, "rows": [asdict(row) for row in found]}
        config.out.write_text(json.dumps(record, indent=1) + "\n")
    return int(not all(row.passes for row in found))


if __name__ == "__main__":
    sys.exit(main(tyro.cli(Config, description=__doc__)))
