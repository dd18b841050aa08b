"""What each tactic of the default policy earns on the dev halves of the suites: the policy without it, case by case.

    .venv/bin/python benchmarks/ablation.py [--only sample hop] [--groups "real, gradients"] [--out FILE]

Every variant is another `Policy` behind `shapeopt.minimize`, from the same starts with the same seeds and calls.
Real problems (other people's objectives and data) and classic test functions are counted apart, as are gradients,
values alone, noise and made landscapes (funnels.py); of suites with several starts a problem, the first one is run. In
noise the reading is not what counts, but the true value at the point that was read. Areas are those of the scoreboard,
with the lowest value of all variants as the target where no minimum is known. A difference is the whole policy's area
less the variant's; its interval is a bootstrap over groups of problems (data set, molecule, function). A variant that
chose the same points on a problem counts as a difference of 0 there. Rows of other tactics and groups stay in the
record.
"""

import json
import time
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import funnels
import numpy as np
import tyro

from shapeopt.bench.suite_metrics import Scores, score
from shapeopt.bench.suite_records import Runs
from shapeopt.bench.suite_run import AbstractSolver, OwnCount, Tally, run_one
from shapeopt.bench.suites import SUITES
from shapeopt.bench.suites.base import DEV, Objective, SuiteProblem
from shapeopt.core.board import Spec
from shapeopt.minimizer import minimize
from shapeopt.ops import HOST
from shapeopt.optimizer import Policy
from shapeopt.solvers import bounds_of

WHOLE = "whole"
FUNNELS = "funnels"
ALWAYS = ("start", "refine", "hop", "gauss_newton")  # no run is possible without them
NOISE = 0.5  # of a gradient's size, or of the spread of values around the start
OUT = Path(__file__).parent / "records" / "ablation.json"
DRAWS = 2000


@dataclass(frozen=True)
class Part:
    """Problems that are counted together: suites, how many calls a run has, and with what noise."""

    name: str
    suites: tuple[str, ...]
    gradients: bool
    budget: int | None = None  # None: the suite's own
    noise: float = 0.0
    largest: int = 10**6  # dimension


PARTS = (
    Part("real, gradients", ("nist", "fits", "molecules", "cutest", "clusters", "gp"), True),
    Part("classic, gradients", ("classic",), True, 200),
    Part("funnels, gradients", (FUNNELS,), True),
    Part("real, values", ("molecules", "trajectories"), False, 500),
    Part("classic, values", ("classic", "bbob"), False, largest=5),
    Part("noisy gradients", ("fits", "classic"), True, 300, NOISE),
    Part("noisy values", ("classic",), False, 300, 0.01),
)


@dataclass(frozen=True)
class Solver(AbstractSolver):
    """A policy behind `minimize`, on readings with noise if asked for."""

    name: str
    policy: Policy
    noise: float = 0.0

    def solve(self, tally: Tally, problem: SuiteProblem, seed: int) -> OwnCount:
        one, rng = tally.objective, np.random.default_rng(seed)
        fun = noisy(tally, problem, self.noise, rng) if self.noise else tally
        jac = True if problem.gradients else None
        minimize(fun, one.x0, bounds=bounds_of(one), jac=jac, budget=problem.budget, policy=self.policy, seed=seed)
        return OwnCount(tally.spent, tally.spent)


def noisy(tally: Tally, problem: SuiteProblem, level: float, rng: np.random.Generator):
    """Readings with noise: of `level` times its size on a gradient, of `level` times a spread of values on a value."""
    one = tally.objective
    if not problem.gradients:
        places = np.random.default_rng(0).uniform(one.search_lower, one.search_upper, (32, one.x0.size))
        values = np.array([float(one.fun(x)) for x in places])
        scale = level * np.subtract(*np.percentile(values[np.isfinite(values)], [75, 25]))
        return lambda x: tally(x) + scale * rng.normal()

    def read(x: np.ndarray):
        value, gradient = tally(x)
        return value, gradient + level * np.linalg.norm(gradient) / x.size**0.5 * rng.normal(size=x.size)

    return read


@dataclass(frozen=True)
class Row:
    """A tactic in a part: the area with it, and what is lost without it, with its interval."""

    tactic: str
    part: str
    problems: int
    changed: int  # problems on which the runs differ
    area: float
    lost: float
    interval: tuple[float, float]


@dataclass(frozen=True)
class Config:
    """What is run, and where the record goes."""

    only: tuple[str, ...] = ()  # tactics; none: all
    groups: tuple[str, ...] = ()  # names of parts; none: all
    seed: int = 0
    out: Path = OUT


def problems(part: Part) -> Iterator[tuple[SuiteProblem, Objective]]:
    """The first of every problem's starts, so far as it is of the part's kind."""
    for name in part.suites:
        seen = set()
        for problem in funnels.problems() if name == FUNNELS else SUITES[name].half(DEV):
            key = (problem.group, problem.dimension, problem.name.rpartition("/")[0])
            if problem.gradients != part.gradients or key in seen or problem.dimension > part.largest:
                continue
            seen.add(key)
            calls = min(problem.budget, part.budget or problem.budget)
            yield replace(problem, name=f"{name} {problem.name}", budget=calls), problem.make()


def measure(part: Part, solvers: dict[str, Solver], seed: int) -> Scores:
    found: dict[str, Runs] = {name: {} for name in solvers}
    for problem, objective in problems(part):
        answer = objective.fun(np.array(objective.x0))
        start = float(answer[0] if problem.gradients else answer)
        spec = Spec(problem.dimension, values_only=not problem.gradients)
        idle = {tactic.name for tactic in solvers[WHOLE].policy.tactics if tactic.blank(HOST, spec) is None}
        whole = run_one(solvers[WHOLE], problem, objective, start, seed)
        for name, solver in solvers.items():  # without a tactic that has no part in such runs nothing changes
            same = name == WHOLE or name in idle
            found[name][whole.key] = whole if same else run_one(solver, problem, objective, start, seed)
    return score(part.name, DEV, found, sorted(found[WHOLE]))


def rows(part: Part, scores: Scores, seed: int) -> list[Row]:
    areas, made = scores.areas, []
    names, place = np.unique(np.array(scores.groups), return_inverse=True)
    drawn = np.random.default_rng(seed).integers(0, len(names), (DRAWS, len(names)))
    count = np.bincount(place)
    for name in scores.methods[1:]:
        lost = areas[0] - areas[scores.row(name)]
        sums = np.bincount(place, lost)
        means = sums[drawn].sum(axis=1) / count[drawn].sum(axis=1)
        low, high = (float(end) for end in np.quantile(means, [0.025, 0.975]))
        changed = int((scores.hits[0] != scores.hits[scores.row(name)]).any(axis=1).sum())
        made.append(Row(name, part.name, len(lost), changed, float(areas[0].mean()), float(lost.mean()), (low, high)))
    return made


def merged(before: list[dict], found: list[Row]) -> list[dict]:
    """The rows of a record with those that were made anew in their place, in the order of `PARTS`."""
    new = {(row.part, row.tactic): asdict(row) for row in found}
    kept = {(row["part"], row["tactic"]): row for row in before} | new
    order = [part.name for part in PARTS]
    return sorted(kept.values(), key=lambda row: order.index(row["part"]))


def main(config: Config) -> None:
    warnings.simplefilter("ignore")
    whole = Policy()
    lacking = [tactic.name for tactic in whole.tactics if tactic.name not in ALWAYS]
    chosen = [name for name in lacking if not config.only or name in config.only]
    found: list[Row] = []
    before = json.loads(config.out.read_text())["rows"] if config.out.exists() else []
    for part in PARTS:
        if config.groups and part.name not in config.groups:
            continue
        began = time.perf_counter()
        solvers = {WHOLE: Solver(WHOLE, whole, part.noise)}
        solvers |= {name: Solver(name, whole.without(name), part.noise) for name in chosen}
        new = rows(part, measure(part, solvers, config.seed), config.seed)
        found += new
        print(f"{part.name}: {new[0].problems} problems, {time.perf_counter() - began:.0f} s", flush=True)
        for row in new:
            low, high = row.interval
            print(
                f"  without {row.tactic:14} {row.lost:+.4f} [{low:+.4f}, {high:+.4f}], {row.changed} changed",
                flush=True,
            )
        config.out.parent.mkdir(parents=True, exist_ok=True)
        record = {"config": asdict(config) | {"out": config.out.name}, "rows": merged(before, found)}
        config.out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main(tyro.cli(Config, description=__doc__))
