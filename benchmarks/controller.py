"""A learned fast controller of `refine` against the hand-made rule: calls to the floor of a basin.

    python benchmarks/controller.py train constants               # CMA-ES over the rule's constants, into runs/
    python benchmarks/controller.py train controller --sigma .2   # over a function of local statistics
    python benchmarks/controller.py judge       # on landscapes left out and on dev halves; trained anew, or as recorded

The controller is c = tanh(W phi), a bounded correction of seven decisions by fourteen scale-free statistics of the
last step; W = 0 is the hand-made rule, and the metric stays positive definite, since only a scale before a BFGS update,
the length of a step, the radius and the choice between two models are touched:

    lean     of the choice for SR1 against BFGS, in logarithms of the errors       +- 3
    growth   of the radius after a good step                                       x 3^c
    shrink   of the radius after a poor one                                        x 2^c
    poor     share of the predicted decrease below which it shrinks                x 3^c
    tau      exponent of the self-scaling                                          1 + c
    length   of the model's step                                                   x 1.5^c
    first    radius of a basin                                                     x 4^c

Landscapes are sampled (sampled_landscapes.py), no two alike; those whose floor depends on how they are descended are
left out, so that calls are to one and the same floor. Training sees seeds below 100,000, selection those from 100,000,
the judgement those from 200,000. A generation has fresh landscapes, the same ones for all its candidates. The
objective is the mean over targets 1e-3, 1e-5 and 1e-7 of the logarithm of calls, as a ratio to the hand-made rule's.
The judgement leaves out nothing, and counts how often the rule and its rivals come to the lowest floor (to 1e-5).
"""

import argparse
import json
import math
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from sampled_landscapes import Landscape, sample

from shapeopt.core.board import Spec
from shapeopt.core.codes import Cause
from shapeopt.dynamics.dense import Dense, Room, Way, dense_way, shortened
from shapeopt.ops import HOST
from shapeopt.optimizer import Optimizer, Policy
from shapeopt.tactics import Hop, Refine
from shapeopt.tactics.cubic import cubic_minimum

RECORD = Path(__file__).parent / "records" / "controller.json"
TAUS = (1e-3, 1e-5, 1e-7)
TRAIN, SELECT, JUDGE = 0, 100_000, 200_000
MOST = 600  # calls of a descent
FEATURES = (
    *("one", "error_H", "error_K", "share", "bound", "angle", "slopes", "rejections", "pairs", "age", "dimension"),
    *("curvature", "force", "bounded"),
)
OUTPUTS = ("lean", "growth", "shrink", "poor", "tau", "length", "first")
WIDTHS = np.array([3.0, math.log(3), math.log(2), math.log(3), 1.0, math.log(1.5), math.log(4)])
CONSTANTS: dict[str, tuple[str, float]] = {  # name: how it is varied, and the spread of the search in that unit
    "armijo": ("log", 2.0),
    "poor": ("log", 0.4),
    "good": ("logit", 0.5),
    "far": ("log", 1.0),
    "growth": ("log", 0.4),
    "largest_growth": ("log", 0.5),
    "stretch": ("log", 0.4),
    "first_radius": ("log", 0.7),
    "well": ("plain", 1.0),
    "clearly": ("plain", 0.7),
    "tau": ("plain", 0.4),  # exponent of the self-scaling, less 1
}


# ------------------------------------------------------------------------------------------- the controlled tactic


@dataclass
class Dial:
    """The statistics of the last step, and the corrections that they give; one run at a time, on the host."""

    W: np.ndarray  # outputs x features
    phi: np.ndarray = field(default_factory=lambda: np.zeros(len(FEATURES)))
    c: np.ndarray = field(default_factory=lambda: np.zeros(len(OUTPUTS)))

    def begin(self, d: int, bounded: bool) -> None:
        self.phi[:] = 0.0
        self.phi[[0, 10, 13]] = 1.0, 0.5 * math.log(d / 8.0), float(bounded) - 0.5
        self.turn()

    def turn(self) -> None:
        self.c = WIDTHS * np.tanh(self.W @ self.phi)


@dataclass(frozen=True)
class ControlledRefine(Refine):
    """`refine` with corrections; a subclass, since it is an experiment; what earns its place is a part of refine."""

    dial: Dial = field(default_factory=lambda: Dial(np.zeros((len(OUTPUTS), len(FEATURES)))))
    tau: float = 0.0

    def _entered(self, ops: Any, memory: Any, plant: Any, board: Any) -> Any:
        self.dial.begin(plant.q.size, bool(np.isfinite(board.upper[0])))
        wider = replace(self, first_radius=self.first_radius * math.exp(self.dial.c[6]))
        return Refine._entered(wider, ops, memory, plant, board)

    def observe(self, ops: Any, memory: Any, board: Any, plant: Any) -> Any:
        now, dial = memory.now, self.dial
        s, y = plant.q - now.q, plant.g - now.g
        sy, bent = float(s @ y), memory.bent
        if plant.finite:
            slope, slope_end = float(now.g @ s), float(plant.g @ s)
            share = (now.f - plant.f) / memory.predicted if memory.predicted > 0 else 0.0
            norms = math.sqrt(float(now.g @ now.g) * float(s @ s)) or 1.0
            end = math.sqrt(float(plant.g @ plant.g)) + 1e-300
            bends = math.log(bent / sy) if bent > 0 and sy > 0 else 0.0
            dial.phi[3:10] = (
                math.tanh(share - 1.0),
                float(memory.length > 0.8 * now.radius),
                -slope / norms,
                max(-1.0, min(2.0, slope_end / slope if slope else 0.0)),
                min(memory.rejections, 3) / 3.0,
                math.log1p(now.inverse.pairs / plant.q.size) - 0.7,
                0.5 * math.log((memory.age + 1.0) / 8.0),
            )
            dial.phi[11] = max(-2.0, min(2.0, 0.5 * bends))
            dial.phi[12] = max(-2.0, min(2.0, math.log(end / (math.sqrt(float(now.g @ now.g)) + 1e-300))))
            dial.turn()
            if bent > sy > 0:  # the exponent of the self-scaling
                memory = memory._replace(bent=sy * (bent / sy) ** max(0.0, 1.0 + self.tau + dial.c[4]))
        memory, cause = Refine.observe(self, ops, memory, board, plant)
        model = memory.now.inverse
        if isinstance(model, Dense):
            dial.phi[1:3] = (float(model.error_H) + 2.0) / 3.0, (float(model.error_K) + 2.0) / 3.0
            dial.turn()
        return memory, cause

    def _radius(self, ops: Any, radius: Any, length: Any, share: Any, fall: Any, slope: Any, slope_end: Any) -> Any:
        _, growth, shrink, poor, _, _, _ = self.dial.c
        if share < self.poor * math.exp(poor):
            t = min(max(cubic_minimum(ops, slope, -fall, slope_end), 0.1), 0.5)
            return length * min(t * math.exp(shrink), 0.9)
        if share > self.good and length > 0.8 * radius:
            return max(radius, length * self._growth(ops, slope, slope_end) * math.exp(growth))
        return radius

    def _way(self, ops: Any, now: Any, room: Room, down: Any) -> tuple[Way, Any]:
        lean, longer = self.dial.c[0], math.exp(self.dial.c[5])
        model = now.inverse
        if model.prefers_K(self.well + lean, self.clearly - lean):
            s, share, length = shortened(ops, longer * -(model.K @ now.g), now.radius)
            slope = float(now.g @ s)
            if slope < 0 and room.admits(ops, s, length):
                return Way(s, -share * longer * slope, slope, length), False
        way = dense_way(ops, model.H, now.g, room, now.radius)
        if not way.slope < 0:
            return down(), True
        if longer != 1.0:
            s, share, length = shortened(ops, longer * way.s, now.radius)
            s = room.clipped(ops, s)
            by = share * longer
            return Way(s, by * by * way.bent, float(now.g @ s), length), True
        return way, True


def with_constants(values: np.ndarray) -> ControlledRefine:
    """The rule with its constants moved by so many spreads."""
    made, moved = Refine(), {}
    for v, (name, (how, spread)) in zip(values, CONSTANTS.items(), strict=True):
        was = getattr(made, name, 0.0)
        if how == "log":
            moved[name] = float(was * math.exp(spread * v))
        elif how == "logit":
            moved[name] = float(1.0 / (1.0 + math.exp(-(math.log(was / (1 - was)) + spread * v))))
        else:
            moved[name] = float(was + spread * v)
    return ControlledRefine(**moved)


def with_weights(values: np.ndarray) -> ControlledRefine:
    """The controller with these weights."""
    return ControlledRefine(dial=Dial(np.reshape(values, (len(OUTPUTS), len(FEATURES)))))


MAKE = {"constants": (with_constants, len(CONSTANTS)), "controller": (with_weights, len(OUTPUTS) * len(FEATURES))}


# --------------------------------------------------------------------------------------------------- descents


def descend(tactic: Refine, one: Landscape, most: int, goal: float = -math.inf) -> np.ndarray:
    """The best value after each call of one descent, to the end of its basin or to a goal."""
    optimizer = Optimizer(Policy((tactic, Hop())), Spec(one.x0.size), noise_std=0.0)
    state = optimizer.init(HOST, one.x0, one.lower, one.upper, most, np.array([1, 2], np.uint32))
    best, values = math.inf, []
    for _ in range(most):
        f, g = one.fun(state.q)
        best = min(best, f)
        values.append(best)
        if best <= goal:
            break
        state = optimizer.tell(HOST, state, f, g, 1)
        if state.info.tactic == 1 and state.info.cause not in (0, int(Cause.CLOCK)):
            break
    return np.array(values)


@dataclass(frozen=True, eq=False)
class Case:
    """A landscape, its targets and the hand-made rule's calls to each."""

    one: Landscape
    targets: np.ndarray
    calls: np.ndarray
    seed: int

    def calls_of(self, tactic: Refine) -> np.ndarray:
        """Calls to each target; twice the longest where it is not reached within four times the rule's calls."""
        most = int(min(4 * self.calls[-1] + 20, MOST))
        values = descend(tactic, self.one, most, float(self.targets[-1]))
        return np.array([_first(values, target, 2 * most) for target in self.targets])


def _first(values: np.ndarray, target: float, never: int) -> int:
    reached = np.flatnonzero(values <= target)
    return int(reached[0]) + 1 if reached.size else never


def case(seed: int) -> Case | None:
    """The case of a seed; None where descents that differ a little end on different floors, or in none."""
    one = sample(seed)
    with np.errstate(all="ignore"):
        runs = [descend(Refine(first_radius=r * Refine().first_radius), one, MOST) for r in (1.0, 0.6, 1.6)]
    rule, start = runs[0], runs[0][0]
    floor = min(run[-1] for run in runs)
    fall = start - floor
    if not (math.isfinite(start) and fall > 1e-9 * abs(floor)) or max(len(run) for run in runs) >= MOST:
        return None
    if any(run[-1] > floor + 0.3 * TAUS[-1] * fall for run in runs):
        return None
    targets = floor + np.array(TAUS) * fall
    calls = np.array([_first(rule, target, MOST) for target in targets])
    return Case(one, targets, calls, seed) if calls[-1] > 4 else None


class Cases:
    """Cases by number, from a seed on; each is made once."""

    def __init__(self, first: int) -> None:
        self.next, self.made = first, []

    def take(self, begin: int, end: int) -> list[Case]:
        while len(self.made) < end:
            found = case(self.next)
            self.next += 1
            if found is not None:
                self.made.append(found)
        return self.made[begin:end]


def log_ratios(tactic: Refine, cases: Sequence[Case]) -> np.ndarray:
    """Cases x targets: the logarithm of calls over the hand-made rule's."""
    with np.errstate(all="ignore"):
        return np.array([np.log(one.calls_of(tactic) / one.calls) for one in cases])


# --------------------------------------------------------------------------------------------------- training


def train(kind: str, minutes: float, batch: int, out: Path, sigma: float) -> None:
    """CMA-ES; the mean of the search is looked at on cases for selection now and then, and the best one is kept."""
    import cma

    make, size = MAKE[kind]
    options = {"seed": 7, "verbose": -9, "CMA_diagonal": size > 40, "popsize": 12 if size < 40 else 16}
    search = cma.CMAEvolutionStrategy(np.zeros(size), sigma, options)
    cases, chosen = Cases(TRAIN), Cases(SELECT)
    began, generation, best, kept = time.process_time(), 0, (0.0, np.zeros(size)), []
    while time.process_time() - began < 60 * minutes:
        shown = cases.take(batch * generation, batch * (generation + 1))
        solutions = search.ask()
        losses = [float(log_ratios(make(x), shown).mean()) + 1e-3 * float(np.mean(x**2)) for x in solutions]
        search.tell(solutions, losses)
        generation += 1
        if generation % 10 == 0:
            score = float(log_ratios(make(search.mean), chosen.take(0, 200)).mean())
            best = min(best, (score, search.mean.copy()), key=lambda pair: pair[0])
            kept.append((generation, float(np.median(losses)), score))
            print(generation, f"{np.median(losses):.4f} selection {score:.4f} sigma {search.sigma:.3f}", flush=True)
            found = {"best": best[1].tolist(), "selection": best[0], "history": kept, "generations": generation}
            out.write_text(json.dumps(found | {"seconds": time.process_time() - began, "batch": batch}))


# --------------------------------------------------------------------------------------------------- judgement


def rivals(found: dict[str, Any]) -> dict[str, Refine]:
    """What was trained, and the two constants that moved most, alone."""
    constants = with_constants(np.array(found["constants"]["best"]))
    return {
        "controller": with_weights(np.array(found["controller"]["best"])),
        "constants": constants,
        "first radius alone": ControlledRefine(first_radius=constants.first_radius),
        "self-scaling alone": ControlledRefine(tau=constants.tau),
    }


def interval(each: np.ndarray) -> dict[str, float]:
    """exp of a mean of logarithms, and its bootstrap interval."""
    drawn = np.random.default_rng(0).integers(len(each), size=(2000, len(each)))
    low, high = np.exp(np.quantile(each[drawn].mean(axis=1), [0.025, 0.975]))
    return {"ratio": float(np.exp(each.mean())), "low": float(low), "high": float(high)}


def on_landscapes(tactics: dict[str, Refine], first: int, count: int) -> dict[str, dict[str, Any]]:
    """One descent on each landscape left out, whatever becomes of it: calls where both the rule and the rival come to
    the lowest floor of all, and how many do."""
    logs: dict[str, list[float]] = {name: [] for name in tactics}
    reached = dict.fromkeys(("rule", *tactics), 0)
    each: dict[str, Refine] = {"rule": Refine()} | tactics
    for seed in range(first, first + count):
        one = sample(seed)
        with np.errstate(all="ignore"):
            runs = {name: descend(tactic, one, MOST) for name, tactic in each.items()}
        floor, start = min(values[-1] for values in runs.values()), runs["rule"][0]
        goals = floor + np.array(TAUS) * (start - floor)
        calls = {name: np.array([_first(values, goal, 0) for goal in goals]) for name, values in runs.items()}
        for name, found in calls.items():
            reached[name] += int(found[1] > 0)
            if name != "rule" and found[1] > 0 and calls["rule"][1] > 0:
                both = (found > 0) & (calls["rule"] > 0)
                logs[name].append(float(np.log(found[both] / calls["rule"][both]).mean()))
    rows = {name: interval(np.array(one)) | {"both": len(one), "problems": count} for name, one in logs.items()}
    return {name: row | {"reached": reached[name], "rule_reached": reached["rule"]} for name, row in rows.items()}


def on_suite(tactics: dict[str, Refine], suite: str, most: int, calls: int) -> dict[str, dict[str, Any]]:
    """Whole runs on a dev half: calls to 1e-5 where both get there, how many do, and the change of area."""
    from ablation import Solver

    from shapeopt.bench.suite_metrics import TAUS as SUITE_TAUS
    from shapeopt.bench.suite_metrics import score
    from shapeopt.bench.suite_run import run_one
    from shapeopt.bench.suites import SUITES
    from shapeopt.optimizer import TACTICS

    made = {name: tuple(t if isinstance(one, Refine) else one for one in TACTICS) for name, t in tactics.items()}
    solvers = {"rule": Solver("rule", Policy())} | {name: Solver(name, Policy(one)) for name, one in made.items()}
    found: dict[str, Any] = {name: {} for name in solvers}
    for problem in SUITES[suite].half("dev"):
        if problem.dimension > most or not problem.gradients:
            continue
        problem, objective = replace(problem, budget=min(problem.budget, calls)), problem.make()
        start = float(objective.fun(np.array(objective.x0))[0])
        for name, solver in solvers.items():
            run = run_one(solver, problem, objective, start, 0)
            found[name][run.key] = run
    scores = score(suite, "dev", found, sorted(found["rule"]))
    place = int(np.argmin(np.abs(np.log(SUITE_TAUS / 1e-5))))
    rule, rows = scores.hits[scores.row("rule"), :, place], {}
    for name in tactics:
        hits = scores.hits[scores.row(name), :, place]
        both = np.isfinite(rule) & np.isfinite(hits)
        lead = scores.areas[scores.row(name)] - scores.areas[scores.row("rule")]
        drawn = lead[np.random.default_rng(0).integers(len(lead), size=(2000, len(lead)))].mean(axis=1)
        low, high = (float(end) for end in np.quantile(drawn, [0.025, 0.975]))
        rows[name] = interval(np.log(hits[both] / rule[both])) | {"problems": len(lead), "both": int(both.sum())}
        rows[name] |= {"reached": int(np.isfinite(hits).sum()), "rule_reached": int(np.isfinite(rule).sum())}
        rows[name] |= {"area": float(lead.mean()), "area_low": low, "area_high": high}
    return rows


def judge(trained: dict[str, Any], count: int) -> dict[str, Any]:
    """The record: what was trained, and how it does on landscapes left out and on dev halves."""
    tactics = rivals(trained)
    record = {"trained": trained, "landscapes": on_landscapes(tactics, JUDGE, count)}
    record["constants"] = {name: getattr(tactics["constants"], name) for name in CONSTANTS}
    print(json.dumps(record["landscapes"], indent=1), flush=True)
    for suite, most, calls in (("cutest", 50, 300), ("nist", 50, 300)):
        record[suite] = on_suite(tactics, suite, most, calls)
        print(suite, json.dumps(record[suite], indent=1), flush=True)
    return record


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("train", "judge"))
    parser.add_argument("kind", nargs="?", choices=tuple(MAKE))
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--batch", type=int, default=40)
    parser.add_argument("--sigma", type=float, default=0.5)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--out", type=Path, default=Path("runs"), help="folder of what was trained")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    if given.what == "train":
        train(given.kind, given.minutes, given.batch, given.out / f"{given.kind}.json", given.sigma)
        return
    paths = {kind: given.out / f"{kind}.json" for kind in MAKE}
    trained = {kind: json.loads(path.read_text()) for kind, path in paths.items() if path.exists()}
    trained = trained or json.loads(RECORD.read_text())["trained"]
    RECORD.write_text(json.dumps(judge(trained, given.count), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
