"""What the gate measures: calls, which repeat exactly, and processor times beside SciPy's in the same run."""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import startup
import throughput

import shapeopt
from shapeopt.bench.suite_metrics import TAUS, targets
from shapeopt.bench.suite_run import Tally, problem_seed, quick_problems, run_one
from shapeopt.bench.suites import SUITES
from shapeopt.bench.suites.base import Objective, SuiteProblem
from shapeopt.optimizer import Policy
from shapeopt.solvers import bounds_of, find_solver

SLICES = {"cutest": 32}  # problems of a suite's slice; others have FEW
FEW = 8
WIDEST, LONGEST = 30, 1000  # dimensions and calls of a problem that is in a slice
RIVALS = {True: ("multistart_scaled", "bfgs"), False: ("bobyqa", "bipop_cma")}  # who helps to find a problem's minimum
OVERHEADS = (2, 10, 50)  # dimensions
CALLS, REPEATS = 1000, 5
BATCH = (10, 128, 300)  # dimension, runs and calls of the compiled batch


@dataclass(frozen=True)
class Subject:
    """What is measured: the policy behind `minimize`, unless a fault is planted."""

    policy: Policy = field(default_factory=Policy)
    step: Callable[[], None] | None = None  # further work of every step

    @contextmanager
    def planted(self) -> Iterator[None]:
        """Inside, every reading that the host engine takes in costs the further work."""
        from shapeopt.engines.host import HostRun

        before = HostRun.tell
        if self.step is not None:
            work = self.step

            def tell(run: HostRun, *arguments: Any) -> Any:
                work()
                return before(run, *arguments)

            HostRun.tell = tell  # type: ignore[method-assign]
        try:
            yield
        finally:
            HostRun.tell = before  # type: ignore[method-assign]

    def minimize(self, fun: Any, x0: np.ndarray, **options: Any) -> Any:
        return shapeopt.minimize(fun, x0, policy=self.policy, **options)


def slices(only: Sequence[str] = ()) -> dict[str, tuple[SuiteProblem, ...]]:
    """A few dev problems of every suite, and of the protocol `unseen`; `only` those that are named, if any are."""
    found = {}
    for name, suite in SUITES.items():
        if only and name not in only:
            continue
        fit = [one for one in suite.half("dev") if one.dimension <= WIDEST]
        chosen = quick_problems(fit, SLICES.get(name, FEW))
        found[name] = tuple(replace(one, budget=min(one.budget, LONGEST)) for one in chosen)
    return found | ({"unseen": unseen_problems()} if not only or "unseen" in only else {})


def unseen_problems() -> tuple[SuiteProblem, ...]:
    """Every second cell of `unseen` with up to 20 dimensions, one task of each."""
    from shapeopt.bench.protocols import PROTOCOLS

    cells = [cell for cell in PROTOCOLS["unseen"].cells if cell.family.dimension <= 20][::2]
    return tuple(
        SuiteProblem(cell.name, cell.name, "dev", cell.family.dimension, True, cell.budget, partial(make_unseen, cell))
        for cell in cells
    )


def make_unseen(cell: Any) -> Objective:
    """The cell's first task and start."""
    import jax

    from shapeopt.bench.execute import Keys, prepare, run_keys

    with jax.enable_x64(True):
        task, x0 = prepare(cell, Keys(*(words[0] for words in run_keys(cell, 0))))
        pair = jax.jit(jax.value_and_grad(task))
        box, minimum = task.box, float(task.minimum)

    def fun(x: np.ndarray) -> tuple[float, np.ndarray]:
        with jax.enable_x64(True):
            value, gradient = pair(x)
            return float(value), np.asarray(gradient, np.float64)

    sides = (np.asarray(side, np.float64) for side in (box.lower, box.upper))
    return Objective(fun, np.asarray(x0, np.float64), *sides, minimum=None if np.isnan(minimum) else minimum)


def run_slice(
    problems: Sequence[SuiteProblem], subject: Subject, known: Mapping[str, list[float]] | None
) -> tuple[dict[str, dict[str, Any]], Counter[str]]:
    """Problem -> calls to each target, and readings by tactic.

    Without `known` targets they are made of the minimum, or of the best of the subject and some peers.
    """
    rows, readings = {}, Counter()
    for problem in problems:
        objective = problem.make()
        tally = Tally(objective, problem.gradients, problem.budget)
        options = {"bounds": bounds_of(objective), "jac": True if problem.gradients else None}
        seed = problem_seed(problem.name, 0)
        result = subject.minimize(tally, objective.x0, budget=problem.budget, seed=seed, **options)
        readings.update(result.trace.tactic.tolist())
        goals = known[problem.name] if known else _goals(problem, objective, tally)
        rows[problem.name] = {"budget": problem.budget, "targets": list(goals), "hits": _hits(tally, goals)}
    return rows, readings


def _goals(problem: SuiteProblem, objective: Objective, tally: Tally) -> list[float]:
    answer = objective.fun(np.array(objective.x0))
    start = float(answer[0] if problem.gradients else answer)
    runs = [run_one(find_solver(name), problem, objective, start, 0) for name in RIVALS[problem.gradients]]
    own = replace(runs[0], calls=tuple(tally.calls), values=tuple(tally.values))
    return targets([own, *runs]).tolist()


def _hits(tally: Tally, goals: Sequence[float]) -> list[int]:
    """The call by which each target was reached; 0 where it never was."""
    values = np.asarray(tally.values)
    reached = [np.flatnonzero(values <= goal) for goal in goals]
    return [int(tally.calls[found[0]]) if found.size else 0 for found in reached]


def area(row: Mapping[str, Any]) -> float:
    """The area of `shapeopt.bench.suite_metrics` from a row of a slice."""
    spent = [np.log(hit) / np.log(row["budget"]) if hit else 1.0 for hit in row["hits"]]
    return float(np.mean([1.0 - share for share in spent]))


def floor_calls(row: Mapping[str, Any]) -> float:
    """Calls to a basin's floor, which is the target 1e-5; twice the budget where it was not reached."""
    hit = row["hits"][int(np.argmin(np.abs(np.log(TAUS / 1e-5))))]
    return float(hit or 2 * row["budget"])


def first_answer(repeats: int = 4) -> dict[str, float]:
    """Processor seconds of a fresh process with 500 calls, as a multiple of basinhopping's."""
    found = {}
    for d in (2, 20):
        head = f"D, GRADIENT = {d}, True\n{startup.BASIN}"
        ours, scipy = startup.least(repeats, ["-c", head + startup.OURS], ["-c", head + startup.SCIPY])
        found[f"d={d}"] = ours / scipy
    return found


def overhead(subject: Subject, repeats: int = REPEATS) -> dict[str, float]:
    """Processor seconds of a run on a cheap objective, as a multiple of basinhopping's."""
    found = {}
    with subject.planted():
        for d in OVERHEADS:
            x0 = np.linspace(-3, 3.3, d)
            options = {"bounds": (-5, 5), "budget": CALLS, "jac": True}
            ours = partial(subject.minimize, throughput.rosenbrock, x0, **options)
            ours, scipy = throughput.least(repeats, ours, partial(throughput.hop, throughput.rosenbrock, x0, CALLS))
            found[f"d={d}"] = ours / scipy
    return found


def function_calls(subject: Subject) -> dict[str, float]:
    """Functions that the interpreter calls for one reading: what a step does, without a clock."""
    found = {}
    with subject.planted():
        for d in OVERHEADS:
            run = partial(subject.minimize, throughput.rosenbrock, np.linspace(-3, 3.3, d), bounds=(-5, 5), jac=True)
            found[f"d={d}"] = (_counted(partial(run, budget=600)) - _counted(partial(run, budget=200))) / 400
    return found


def _counted(job: Callable[[], Any]) -> int:
    count = 0

    def note(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        job()
    finally:
        sys.setprofile(before)
    return count


def batch_rate(repeats: int = 3) -> dict[str, float]:
    """Calls a processor second of a compiled batch, as a multiple of basinhopping's."""
    import jax

    d, runs, calls = BATCH
    starts = np.random.default_rng(0).uniform(-5, 5, (4, d))
    with jax.enable_x64(True):
        keys, run = jax.random.split(jax.random.key(0), runs), throughput.batched("rastrigin", d, calls)
        run(keys).block_until_ready()
        ours, scipy = throughput.least(
            repeats,
            lambda: run(keys).block_until_ready(),
            lambda: [throughput.hop(throughput.rastrigin, x0, calls) for x0 in starts],
        )
    return {f"d={d}": (runs / ours) / (len(starts) / scipy)}
