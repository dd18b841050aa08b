"""How good are runs on objectives as users have them (`kinds`), beside other people's optimizers?

    python benchmarks/compare_kinds.py --half dev            # by values; --gradients: with gradients
    python benchmarks/compare_kinds.py --methods universal   # peers from the record

All methods have the same starts and the same counted calls. The area is that of the suites
(`shapeopt.bench.suite_metrics`), towards the lowest value known: `--known` looks for one by runs of ten times as many
calls of several methods, and every run may find a lower one. Intervals are bootstraps over kinds. Runs on record
count, too; `--out` writes the record.
"""

import argparse
import json
import sys
import warnings
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from kinds import are_apart, problems

from shapeopt.bench.suite_metrics import ROUND_OFF, TAUS
from shapeopt.bench.suite_run import run_one
from shapeopt.bench.suites.base import HALVES, SuiteProblem
from shapeopt.solvers import find_solver

OURS = "universal"
LOCAL = ("multistart_scaled", "nelder_mead_scaled", "cobyqa_scaled", "bobyqa")
PEERS = {
    "values": (*LOCAL, "bipop_cma", "dual_annealing_scaled", "direct", "differential_evolution"),
    "gradients": ("multistart_scaled", "bfgs", "basinhopping_wide", "mlsl_scaled", "slsqp", "tiktak_scaled"),
}
KNOWN = {"values": (OURS, "bipop_cma", "dual_annealing_scaled"), "gradients": (OURS, "mlsl_scaled")}
LONGER = 10  # times as many calls
SOLVED = 1e-3
PARTS = {"all": (True, False), "near": (False,)}  # kinds by whether some of their bounds are decades apart
OUT = Path(__file__).parent / "records" / "kinds.json"


def chosen(reading: str, half: str) -> list[SuiteProblem]:
    return [one for one in problems(reading == "gradients") if one.half == half]


def run(problem: SuiteProblem, name: str, seed: int) -> tuple[list[int], list[float]]:
    """Calls and values of a run's improvements."""
    made = run_one(find_solver(name), problem, problem.make(), 0.0, seed)
    if made.error or made.overshoot or made.outside:
        print(f"  {name}, {problem.name}: {made.error}, {made.overshoot} too many, {made.outside} outside", flush=True)
    return list(made.calls), list(made.values)


def search(reading: str, half: str, known: dict[str, float]) -> None:
    """Values of problems without one on record, by runs of many calls."""
    for problem in chosen(reading, half):
        if problem.name in known:
            continue
        longer = replace(problem, budget=LONGER * problem.budget)
        ends = [run(longer, name, 7)[1][-1] for name in KNOWN[reading]]
        known[problem.name] = min([known.get(problem.name, np.inf), *ends])
        print(f"  {problem.name:18} {known[problem.name]:.10g}", [f"{end:.6g}" for end in ends], flush=True)


def area(calls: list[int], values: list[float], start: float, lowest: float, budget: int) -> tuple[float, bool]:
    """The area of a run, and whether it solved the problem."""
    drop = start - lowest
    goals = lowest + np.maximum(TAUS * drop, ROUND_OFF * max(abs(lowest), drop))
    reached = np.asarray(values)[None, :] <= goals[:, None]
    first = np.where(reached.any(axis=1), np.asarray(calls)[reached.argmax(axis=1)], budget)
    return float(np.mean(1 - np.log(first) / np.log(budget))), values[-1] <= lowest + SOLVED * drop


def measure(reading: str, half: str, methods: Iterable[str], seeds: int, known: dict[str, float]) -> list[dict]:
    """A row a run."""
    rows = []
    for problem in chosen(reading, half):
        runs = {(name, seed): run(problem, name, seed) for name in methods for seed in range(seeds)}
        known[problem.name] = min([known.get(problem.name, np.inf), *(values[-1] for _, values in runs.values())])
        made = problem.make()
        apart = bool(are_apart(made.lower, made.upper).any())
        answer = made.fun(made.x0)
        start = float(answer[0] if problem.gradients else answer)
        for (name, seed), (calls, values) in runs.items():
            found, solved = area(calls, values, start, known[problem.name], problem.budget)
            row = {"reading": reading, "half": half, "kind": problem.group, "apart": apart}
            row |= {"problem": problem.name, "method": name}
            rows.append(row | {"seed": seed, "area": round(found, 5), "solved": bool(solved)})
    return rows


def table(
    rows: list[dict], reading: str, half: str, part: str = "all"
) -> tuple[list[str], list[str], np.ndarray, np.ndarray]:
    """Methods, kinds, and (methods, kinds) mean areas and shares solved."""
    mine = [row for row in rows if (row["reading"], row["half"]) == (reading, half) and row["apart"] in PARTS[part]]
    methods, kinds = (list(dict.fromkeys(row[key] for row in mine)) for key in ("method", "kind"))
    sums, counts = np.zeros((2, len(methods), len(kinds))), np.zeros((len(methods), len(kinds)))
    for row in mine:
        place = methods.index(row["method"]), kinds.index(row["kind"])
        sums[(slice(None), *place)] += row["area"], row["solved"]
        counts[place] += 1
    areas, solved = sums / np.maximum(counts, 1)
    return methods, kinds, areas, solved


def ratio(ours: np.ndarray, theirs: np.ndarray) -> tuple[float, float, float]:
    """Of mean areas, with a 95 % interval over kinds."""
    drawn = np.random.default_rng(0).integers(0, ours.size, (2000, ours.size))
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = np.nanquantile(ours[drawn].mean(axis=1) / theirs[drawn].mean(axis=1), [0.025, 0.975])
    return float(ours.mean() / theirs.mean()), float(low), float(high)


def summaries(rows: list[dict], reading: str, half: str, part: str = "all") -> list[dict[str, Any]]:
    """A row a method: its area, the share solved, and the ratio of our area to it."""
    methods, kinds, areas, solved = table(rows, reading, half, part)
    if OURS not in methods:
        return []
    ours = areas[methods.index(OURS)]
    order = sorted(range(len(methods)), key=lambda i: (methods[i] != OURS, -areas[i].mean()))
    return [
        {
            "reading": reading,
            "half": half,
            "part": part,
            "kinds": len(kinds),
            "method": methods[i],
            "area": float(areas[i].mean()),
            "solved": float(solved[i].mean()),
            "ratio": ratio(ours, areas[i]),
        }
        for i in order
    ]


def report(rows: list[dict], reading: str, half: str, each: bool) -> None:
    for one in summaries(rows, reading, half):
        value, low, high = one["ratio"]
        print(f"{half} {one['method']:24} area {one['area']:.4f}, solved {one['solved']:.2f}", end="")
        print("" if one["method"] == OURS else f", ratio {value:.2f} ({low:.2f} to {high:.2f})", flush=True)
    methods, kinds, areas, _ = table(rows, reading, half)
    for j, kind in enumerate(kinds if each else ()):
        order = sorted(range(len(methods)), key=lambda i: -areas[i, j])[:3]
        best = ", ".join(f"{methods[i]} {areas[i, j]:.3f}" for i in order)
        print(f"    {kind:14} {areas[methods.index(OURS), j]:.3f}   {best}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--half", choices=HALVES, default="dev")
    parser.add_argument("--gradients", action="store_true")
    parser.add_argument("--methods", nargs="*", help="none after it: rows of the record alone")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument(
        "--known", action="store_true", help="first look for values of problems that have none, by long runs"
    )
    parser.add_argument("--each", action="store_true", help="print every kind, too")
    parser.add_argument("--record", type=Path, default=OUT)
    parser.add_argument("--out", type=Path, help="write all rows there")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    reading = "gradients" if arguments.gradients else "values"
    methods = (OURS, *PEERS[reading]) if arguments.methods is None else arguments.methods
    record = json.loads(arguments.record.read_text()) if arguments.record.exists() else {"known": {}, "rows": []}
    known = record["known"].setdefault(reading, {})
    if arguments.known:
        search(reading, arguments.half, known)
    new = measure(reading, arguments.half, methods, arguments.seeds, known)
    key = lambda row: (row["reading"], row["half"], row["problem"], row["method"], row["seed"])  # noqa: E731
    record["rows"] = list(({key(row): row for row in record["rows"]} | {key(row): row for row in new}).values())
    report(record["rows"], reading, arguments.half, arguments.each)
    if arguments.out:
        halves = sorted({(row["reading"], row["half"]) for row in record["rows"]})
        cases = [(*pair, part) for pair in halves for part in PARTS]
        record["summaries"] = [one for case in cases for one in summaries(record["rows"], *case)]
        arguments.out.write_text(json.dumps(record) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
