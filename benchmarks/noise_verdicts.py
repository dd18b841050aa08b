"""Whether runs find noise where there is some, and nowhere else.

    python benchmarks/noise_verdicts.py                 # some minutes on one core; prints a line a sort of run
    python benchmarks/noise_verdicts.py --seeds 2 --budget 100
    python benchmarks/noise_verdicts.py --record        # also writes benchmarks/records/noise_verdicts.json

Noiseless runs: smooth, rippled, kinked (absolute values, maxima, hinges, L1 fits) and rounded functions, with gradients
(those of the function before rounding) and by values. Noisy runs: the smooth and kinked ones with gradient noise of .2,
.5 and 1 of the gradient's size, or by values with noise of 1e-3, 1e-2 and 1e-1 of the range (from the minimum to the
median over the box). A run has a verdict if `result.noise` is positive. The exit code is 1 if a noiseless run has one,
or less than 95 % of the noisy ones.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from shapeopt import minimize

DIMENSIONS = (2, 5, 10)
GRADIENT_NOISE = (0.2, 0.5, 1.0)
VALUE_NOISE = (1e-3, 1e-2, 1e-1)
FOUND = 0.95  # share of noisy runs
RECORD = Path(__file__).parent / "records" / "noise_verdicts.json"
Function = Callable[[np.ndarray], tuple[float, np.ndarray]]


class Case(NamedTuple):
    """A run: what is read, and the sort of run that it is counted under."""

    sort: str
    fun: Callable[[np.ndarray], Any]
    gradients: bool
    d: int
    seed: int


def smooth_functions(d: int, seed: int) -> dict[str, Function]:
    """Functions with one gradient everywhere, their minima anywhere in the box."""
    rng = np.random.default_rng([d, seed])
    a, turn = rng.uniform(-3.5, 3.5, d), np.linalg.qr(rng.normal(size=(d, d)))[0]
    w = np.geomspace(1.0, 100.0, d)

    def bowl(x: np.ndarray) -> tuple[float, np.ndarray]:
        y = turn @ (x - a)
        return float(np.sum(w * y * y)), turn.T @ (2.0 * w * y)

    def ripples(x: np.ndarray) -> tuple[float, np.ndarray]:
        y = turn @ (x - a)
        return float(np.sum(y * y + 3.0 - 3.0 * np.cos(2.0 * y))), turn.T @ (2.0 * y + 6.0 * np.sin(2.0 * y))

    def valley(x: np.ndarray) -> tuple[float, np.ndarray]:
        y, g = x - a + 1.0, np.zeros(d)
        bend = y[1:] - y[:-1] ** 2
        g[1:] += 40.0 * bend
        g[:-1] += -80.0 * bend * y[:-1] - 2.0 * (1.0 - y[:-1])
        return float(np.sum(20.0 * bend**2 + (1.0 - y[:-1]) ** 2)), g

    return {"bowl": bowl, "ripples": ripples, "valley": valley}


def kinked_functions(d: int, seed: int) -> dict[str, Function]:
    """Functions whose gradients jump."""
    rng = np.random.default_rng([d, seed, 1])
    a, A = rng.uniform(-3.5, 3.5, d), rng.normal(size=(3 * d, d))
    data = A @ a + 0.1 * rng.standard_t(2, 3 * d)

    def absolute(x: np.ndarray) -> tuple[float, np.ndarray]:
        return float(np.abs(x - a).sum()), np.sign(x - a)

    def maximum(x: np.ndarray) -> tuple[float, np.ndarray]:
        r = A @ (x - a)
        i = int(np.abs(r).argmax())
        return float(abs(r[i])), np.sign(r[i]) * A[i]

    def hinges(x: np.ndarray) -> tuple[float, np.ndarray]:
        r = A @ (x - a) - 1.0
        return float(np.maximum(r, 0.0).sum() + 0.05 * x @ x), A.T @ (r > 0).astype(float) + 0.1 * x

    def l1_fit(x: np.ndarray) -> tuple[float, np.ndarray]:
        r = A @ x - data
        return float(np.abs(r).sum()), A.T @ np.sign(r)

    return {"absolute": absolute, "maximum": maximum, "hinges": hinges, "L1 fit": l1_fit}


def rounded(fun: Function, digits: int) -> Function:
    def read(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = fun(x)
        return float(f"{value:.{digits}g}"), gradient

    return read


def value_of(fun: Function) -> Callable[[np.ndarray], float]:
    return lambda x: fun(x)[0]


def noiseless(seeds: int) -> Iterator[Case]:
    for d in DIMENSIONS:
        for seed in range(seeds):
            for name, fun in (smooth_functions(d, seed) | kinked_functions(d, seed)).items():
                for sort, read in ((name, fun), (f"{name}, 3 digits", rounded(fun, 3))):
                    yield Case(f"{sort}, gradients", read, True, d, seed)
                    yield Case(f"{sort}, values", value_of(read), False, d, seed)


def noisy(seeds: int) -> Iterator[Case]:
    for d in DIMENSIONS:
        for seed in range(seeds):
            for fun in (smooth_functions(d, seed) | kinked_functions(d, seed)).values():
                for level in GRADIENT_NOISE:
                    read = with_gradient_noise(fun, level, np.random.default_rng([d, seed, 2]))
                    yield Case(f"gradient noise {level:g}", read, True, d, seed)
                for level in VALUE_NOISE:
                    read = with_value_noise(fun, level, d, np.random.default_rng([d, seed, 3]))
                    yield Case(f"value noise {level:g}", read, False, d, seed)


def with_gradient_noise(fun: Function, level: float, rng: np.random.Generator) -> Function:
    """Noise of so many gradients' size, in any direction."""

    def read(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, g = fun(x)
        return value, g + level * np.linalg.norm(g) / g.size**0.5 * rng.normal(size=g.size)

    return read


def with_value_noise(fun: Function, level: float, d: int, rng: np.random.Generator) -> Callable[[np.ndarray], float]:
    values = [fun(x)[0] for x in rng.uniform(-5.0, 5.0, (200, d))]
    std = level * (float(np.median(values)) - min(values))
    return lambda x: fun(x)[0] + std * rng.normal()


def has_verdict(case: Case, budget: int) -> bool:
    """Run a case: was noise found?"""
    x0 = np.random.default_rng([case.seed, case.d, 4]).uniform(-5.0, 5.0, case.d)
    jac = True if case.gradients else None
    calls = budget if case.gradients else budget * max(1, case.d // 2)
    result = minimize(case.fun, x0, bounds=(-5.0, 5.0), budget=calls, jac=jac, seed=case.seed)
    return bool(result.noise)


def count(cases: Iterator[Case], budget: int) -> tuple[Counter, Counter]:
    """Runs, and those with a verdict, by sort."""
    runs: Counter = Counter()
    verdicts: Counter = Counter()
    for case in cases:
        runs[case.sort] += 1
        verdicts[case.sort] += has_verdict(case, budget)
    return runs, verdicts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=12, help="of each function; 12 make 1,008 noiseless runs")
    parser.add_argument("--budget", type=int, default=100, help="calls with gradients; d / 2 times as many by values")
    parser.add_argument("--record", action="store_true", help="write the counts beside the other records")
    arguments = parser.parse_args()
    totals, rows = [], {}
    for cases in (noiseless(arguments.seeds), noisy(arguments.seeds)):
        runs, verdicts = count(cases, arguments.budget)
        for sort in runs:
            rows[sort] = {"verdicts": verdicts[sort], "runs": runs[sort]}
            print(f"{sort:34} {verdicts[sort]:5d} of {runs[sort]}", flush=True)
        totals.append((verdicts.total(), runs.total()))
    (false, exact), (found, with_noise) = totals
    print(f"noiseless: {false} verdicts in {exact} runs; noisy: {found / with_noise:.1%} of {with_noise} found")
    if arguments.record:
        made = {"seeds": arguments.seeds, "budget": arguments.budget, "sorts": rows}
        RECORD.write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")
    return int(false > 0 or found < FOUND * with_noise)


if __name__ == "__main__":
    sys.exit(main())
