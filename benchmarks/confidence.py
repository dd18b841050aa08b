"""Of runs that `confidence=` ended, how many hold the best value known; on the `dev` halves of the suites.

    python benchmarks/confidence.py                    # about ten minutes on one core; writes the record and the table
    python benchmarks/confidence.py --suites classic nist --out other.json

Each problem is run once with `confidence=0.9` and a budget of BUDGET calls; a run that spends it was not ended by
confidence and is counted apart. The best value known is the least of the source's minimum and of all runs on the same
function, whatever their start; a run holds it if it is above it by no more than 1e-4 of its size or 1e-6 of the
descent from the start.
"""

import argparse
import json
import math
import time
import warnings
from pathlib import Path
from typing import Any

from shapeopt import minimize
from shapeopt.bench.suite_run import problem_seed
from shapeopt.bench.suites import SUITES, SuiteProblem
from shapeopt.core import Status
from shapeopt.solvers import bounds_of

RECORD = Path(__file__).parent / "records" / "confidence.json"
PAGE = Path(__file__).parents[1] / "docs" / "stopping.md"
MARKS = ("<!-- confidence -->", "<!-- end of confidence -->")
LEVEL, BUDGET, MOST_DIMENSIONS = 0.9, 1500, 30
SHIPPED = ("classic", "nist", "gp", "fits", "clusters", "molecules", "cutest")


def run(suite: str, problem: SuiteProblem) -> dict[str, Any]:
    """One run, ended by confidence or by the budget."""
    objective, began = problem.make(), time.process_time()
    result = minimize(
        objective.fun,
        objective.x0,
        bounds=bounds_of(objective),
        jac=True if problem.gradients else None,
        budget=BUDGET,
        confidence=LEVEL,
        seed=problem_seed(problem.name, 0),
    )
    return {
        "suite": suite if problem.gradients else f"{suite}, values",
        "function": f"{suite}/{_function(problem.name)}",
        "problem": problem.name,
        "start": float(result.trace.value[0]),
        "fun": result.fun,
        "minimum": objective.minimum,
        "calls": result.nfev,
        "stopped": result.status == Status.CONFIDENT,
        "seconds": round(time.process_time() - began, 2),
    }


def _function(name: str) -> str:
    """A problem's name without its start and its oracle."""
    return "/".join(part for part in name.split("/")[:-1] if part not in ("values", "gradients")) or name


def holds(row: dict[str, Any], best: float) -> bool:
    """Whether a run holds the best value known."""
    descent = row["start"] - best if math.isfinite(row["start"]) else 0.0
    return row["fun"] <= best + max(1e-4 * abs(best), 1e-6 * descent, 1e-6)


def summarise(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A line a suite, and one for all."""
    known: dict[str, float] = {}
    for row in rows:
        least = min(x for x in (row["fun"], row["minimum"]) if x is not None)
        known[row["function"]] = min(least, known.get(row["function"], math.inf))
    lines = []
    for name in [*dict.fromkeys(row["suite"] for row in rows), "all"]:
        stopped = [row for row in rows if row["stopped"] and name in (row["suite"], "all")]
        held = sum(holds(row, known[row["function"]]) for row in stopped)
        calls = sorted(row["calls"] for row in stopped)
        lines.append(
            {
                "suite": name,
                "runs": sum(name in (row["suite"], "all") for row in rows),
                "stopped": len(stopped),
                "held": held,
                "median_calls": calls[len(calls) // 2] if calls else None,
            }
        )
    return lines


def table(lines: list[dict[str, Any]]) -> str:
    """The page's table."""
    text = f"Runs with `confidence={LEVEL}` and at most {BUDGET} calls, recorded by `benchmarks/confidence.py`:\n\n"
    text += "| suite (`dev`) | runs | ended by confidence | of these hold the best known | calls, median |\n"
    text += "|---|---|---|---|---|\n"
    for line in lines:
        share = f"{line['held'] / line['stopped']:.0%}" if line["stopped"] else "-"
        text += f"| {line['suite']} | {line['runs']} | {line['stopped']} | {share} | {line['median_calls'] or '-'} |\n"
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suites", nargs="+", default=SHIPPED)
    parser.add_argument("--out", type=Path, default=RECORD)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")  # of other libraries, on odd data
    rows = []
    for name in chosen.suites:
        for problem in SUITES[name].half("dev"):
            if problem.dimension <= MOST_DIMENSIONS:
                rows.append(run(name, problem))
                print(f"{problem.name:<32}{rows[-1]['calls']:>6}{rows[-1]['fun']:>14.6g}", flush=True)
    lines = summarise(rows)
    chosen.out.write_text(
        json.dumps({"level": LEVEL, "budget": BUDGET, "suites": lines, "runs": rows}, indent=1) + "\n"
    )
    print(table(lines))
    if chosen.out == RECORD:
        before, rest = PAGE.read_text().split(MARKS[0])
        PAGE.write_text(f"{before}{MARKS[0]}\n\n{table(lines)}\n{MARKS[1]}{rest.split(MARKS[1])[1]}")
    if not 0.85 <= lines[-1]["held"] / lines[-1]["stopped"] <= 0.97:
        raise SystemExit("The share of runs that hold the best value known is not between 85 % and 97 %.")


if __name__ == "__main__":
    main()
