"""The guarantees of docs/guarantees.md put to SciPy's optimizers, as they come, and to this library.

    .venv/bin/python benchmarks/peer_behaviour.py [--seeds 20] [--out benchmarks/records/peer_behaviour.json]

Rastrigin's function in 3 dimensions on [-5, 5]^3, under a budget of 100 calls in the words that each method has for it
(its manual's option for the most calls, or for the most iterations where it has none). Columns: calls past the budget;
calls outside the bounds; what comes back if a third of the box answers NaN; what is left if the 50th call raises.
"""

import json
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tyro
from scipy import optimize

import shapeopt

BUDGET = 100
BOUNDS = [(-5.0, 5.0)] * 3
BROKEN = ("most", "outside", "best_lost_among_nan", "best_lost_by_an_exception")  # guarantees, if above 0


@dataclass(frozen=True)
class Config:
    """How many starts each method gets."""

    seeds: int = 20
    out: Path | None = None


class Objective:
    """Counts its calls; bad in a third of the box if asked to be, and broken from its 50th call on if asked to be."""

    def __init__(self, bad: bool = False, breaks: bool = False) -> None:
        self.bad, self.breaks, self.calls, self.outside, self.best = bad, breaks, 0, 0, np.inf

    def __call__(self, x: Any) -> float:
        x = np.asarray(x, float)
        self.calls += 1
        self.outside += bool(np.any(np.abs(x) > 5))
        if self.breaks and self.calls >= 50:
            raise RuntimeError("the simulator broke")
        if self.bad and np.sin(7 * x).sum() > 0.7:
            return np.nan
        value = float(np.sum(x * x - 10 * np.cos(2 * np.pi * x) + 10))
        self.best = min(self.best, value)
        return value


def local(method: str, **options: Any) -> Callable[..., Any]:
    return lambda fun, x0, seed: optimize.minimize(fun, x0, method=method, bounds=BOUNDS, options=options)


METHODS: dict[str, Callable[..., Any]] = {
    "shapeopt.minimize": lambda fun, x0, seed: shapeopt.minimize(fun, x0, bounds=BOUNDS, budget=BUDGET, seed=seed),
    "dual_annealing (maxfun)": lambda fun, x0, seed: optimize.dual_annealing(
        fun, BOUNDS, x0=x0, maxfun=BUDGET, rng=seed
    ),
    "differential_evolution (maxiter)": lambda fun, x0, seed: optimize.differential_evolution(
        fun, BOUNDS, x0=x0, popsize=5, maxiter=BUDGET // 15 - 1, rng=seed
    ),
    "basinhopping (niter, maxfun)": lambda fun, x0, seed: optimize.basinhopping(
        fun,
        x0,
        niter=4,
        minimizer_kwargs={"method": "L-BFGS-B", "bounds": BOUNDS, "options": {"maxfun": BUDGET // 5}},
        rng=seed,
    ),
    "shgo (maxfev)": lambda fun, x0, seed: optimize.shgo(fun, BOUNDS, options={"maxfev": BUDGET}),
    "direct (maxfun)": lambda fun, x0, seed: optimize.direct(fun, BOUNDS, maxfun=BUDGET),
    "L-BFGS-B (maxfun)": local("L-BFGS-B", maxfun=BUDGET),
    "TNC (maxfun)": local("TNC", maxfun=BUDGET),
    "COBYLA (maxiter)": local("COBYLA", maxiter=BUDGET),
    "Nelder-Mead (maxfev)": local("Nelder-Mead", maxfev=BUDGET),
    "Powell (maxfev)": local("Powell", maxfev=BUDGET),
    "SLSQP (maxiter)": local("SLSQP", maxiter=BUDGET // 4),
}


def measure(run: Callable[..., Any], seeds: int) -> dict[str, Any]:
    over, outside, calls, lost, nan, thrown = [], 0, 0, 0, 0, 0
    for seed in range(seeds):
        x0 = np.random.default_rng(seed).uniform(-5, 5, 3)
        plain, bad, broken = Objective(), Objective(bad=True), Objective(breaks=True)
        run(plain, x0, seed)
        over.append(plain.calls - BUDGET)
        outside, calls = outside + plain.outside, calls + plain.calls
        try:
            result = run(bad, x0, seed)
            nan += bool(np.isfinite(bad.best) and not np.isclose(float(result.fun), bad.best))
        except Exception:  # the methods differ in what they raise on NaN; any of it loses the best point
            nan += bool(np.isfinite(bad.best))
        try:
            run(broken, x0, seed)
        except RuntimeError as error:
            thrown, lost = thrown + 1, lost + (not hasattr(error, "shapeopt_result"))
    return {
        "calls_past_the_budget": round(float(np.mean(np.maximum(over, 0))), 1),
        "most": int(max(0, *over)),
        "outside": outside,
        "calls": calls,
        "best_lost_among_nan": nan,
        "best_lost_by_an_exception": lost,
        "runs": seeds,
        "exceptions": thrown,
    }


def main(config: Config) -> int:
    warnings.simplefilter("ignore")
    rows = {}
    heads = ("method (its word for the budget)", "calls past 100: mean, most", "outside the bounds")
    print(f"| {' | '.join(heads)} | best lost among NaN | best lost by an exception |\n|---|---|---|---|---|")
    for name, run in METHODS.items():
        row = rows[name] = measure(run, config.seeds)
        past = f"{row['calls_past_the_budget']:g}, {row['most']}"
        nan, thrown = f"{row[BROKEN[2]]} of {row['runs']}", f"{row[BROKEN[3]]} of {row['exceptions']}"
        print(f"| {name} | {past} | {row['outside']} of {row['calls']} | {nan} | {thrown} |", flush=True)
    if config.out is not None:
        config.out.write_text(json.dumps({"config": {"seeds": config.seeds}, "rows": rows}, indent=1) + "\n")
    ours = rows["shapeopt.minimize"]
    return 1 if any(ours[name] for name in BROKEN) else 0


if __name__ == "__main__":
    sys.exit(main(tyro.cli(Config, description=__doc__)))
