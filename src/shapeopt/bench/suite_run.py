"""Run methods on the problems of a suite: every call counted by the objective itself, one line a run, resumed."""

import abc
import functools
import math
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .pool import DIED, OpenExecutor, run_jobs
from .suite_records import SuiteRun, append_runs, keep_only, load_runs, runs_path
from .suites.base import Objective, Suite, SuiteProblem

QUICK_PROBLEMS = 6  # of a half, spread over its table


class Tally:
    """An objective that counts its own calls, whoever makes them, and keeps the best value at each improvement.

    It refuses nothing: a call beyond the budget is answered, counted, and not taken for a result.
    """

    def __init__(self, objective: Objective, gradients: bool, budget: int) -> None:
        self.objective, self.gradients, self.budget = objective, gradients, budget
        self.spent = self.outside = 0
        self.calls: list[int] = []
        self.values: list[float] = []

    def __call__(self, x: np.ndarray) -> Any:
        self.spent += 1
        self.outside += not bool(np.all((x >= self.objective.lower) & (x <= self.objective.upper)))
        answer = self.objective.fun(x)
        self._keep(float(answer[0] if self.gradients else answer))
        return answer

    def _keep(self, value: float) -> None:
        improved = not self.values or value < self.values[-1]
        if math.isfinite(value) and improved and self.spent <= self.budget:
            self.calls.append(self.spent)
            self.values.append(value)


class OwnCount(NamedTuple):
    """A method's own count of its readings, that of the counter, and readings that were moved into the bounds."""

    reported: int = 0
    asked: int = 0
    moved: int = 0


class AbstractSolver(abc.ABC):
    """A method as it is run on a problem of a suite; final classes are frozen dataclasses."""

    name: str

    @property
    def version(self) -> str:
        """What tells it from an earlier method of its name."""
        return ""

    def lacks(self, problem: SuiteProblem, objective: Objective) -> str:
        """Why it can't be run on a problem; "" if it can."""
        return ""

    @abc.abstractmethod
    def solve(self, tally: Tally, problem: SuiteProblem, seed: int) -> OwnCount:
        """Spend the problem's budget on `tally`."""


FindSolver = Callable[[str], AbstractSolver]


@dataclass(frozen=True)
class SuiteJob:
    """Methods on one problem, which is made once for all of them."""

    problem: SuiteProblem
    methods: tuple[str, ...]
    seed: int


class SuiteOutcome(NamedTuple):
    """What became of a job: its runs by method, or why there are none."""

    job: SuiteJob
    runs: dict[str, SuiteRun]
    error: str | None = None


def run_suite(
    suite: Suite,
    half: str,
    methods: Sequence[str],
    folder: Path,
    open_executor: OpenExecutor,
    find: FindSolver,
    *,
    seed: int = 0,
    problems: Sequence[SuiteProblem] | None = None,
    on_outcome: Callable[[SuiteOutcome], None] = lambda outcome: None,
) -> list[SuiteOutcome]:
    """Run what is missing of `methods` on a half of a suite, and add it to the records in `folder`.

    Args:
        suite: the suite.
        half: "dev" or "test".
        methods: their names.
        folder: where the records are; what is there of the same version, budget and seed is not run again.
        open_executor: gives a context manager of a `concurrent.futures.Executor`.
        find: gives the method of a name; workers import it by its own name.
        seed: further randomness of methods follows from it and from the problem's name.
        problems: only these of the half; None stands for all.
        on_outcome: hears of every job.

    Returns:
        One outcome for every job that was run.

    Example:
        run_suite(SUITES["nist"], "dev", ("universal", "lbfgsb"), Path("runs"), lambda: local_processes(2), find_solver)
    """
    jobs = missing_jobs(suite, half, methods, folder, find, seed, problems)
    outcomes = []
    for outcome in _outcomes(jobs, open_executor, find):
        for method, run in outcome.runs.items():
            append_runs(runs_path(folder, suite.name, half, find(method).name), [run])
        outcomes.append(outcome)
        on_outcome(outcome)
    return outcomes


def missing_jobs(
    suite: Suite,
    half: str,
    methods: Sequence[str],
    folder: Path,
    find: FindSolver,
    seed: int = 0,
    problems: Sequence[SuiteProblem] | None = None,
) -> list[SuiteJob]:
    """What has no record of this version; records of other versions that would be run anew are dropped."""
    chosen = suite.half(half) if problems is None else tuple(problems)
    absent: dict[str, list[str]] = {problem.name: [] for problem in chosen}
    for method in dict.fromkeys(methods):
        solver = find(method)
        path = runs_path(folder, suite.name, half, solver.name)
        runs = load_runs(path)
        stale = [
            key
            for problem in chosen
            if (run := runs.get(key := (problem.name, seed))) is not None
            and (run.version, run.budget) != (solver.version, problem.budget)
        ]
        if stale:
            runs = {key: run for key, run in runs.items() if key not in stale}
            keep_only(path, runs)
        for problem in chosen:
            if (problem.name, seed) not in runs:
                absent[problem.name].append(method)
    return [SuiteJob(problem, tuple(absent[problem.name]), seed) for problem in chosen if absent[problem.name]]


def quick_problems(problems: Sequence[SuiteProblem], count: int = QUICK_PROBLEMS) -> tuple[SuiteProblem, ...]:
    """A few of them, evenly from the table, small ones where there is a choice: the same each time."""
    small = [problem for problem in problems if problem.dimension <= 20] or list(problems)
    places = np.unique(np.linspace(0, len(small) - 1, count).round().astype(int))
    return tuple(small[place] for place in places) if small else ()


def problem_seed(problem: str, seed: int) -> int:
    """The seed of a run: the same for all methods, another for each problem."""
    return (zlib.crc32(problem.encode()) + seed) % 2**31


def run_problem(job: SuiteJob, find: FindSolver) -> dict[str, SuiteRun] | str:
    """What a worker does: the runs by method, or why the problem can't be made."""
    try:
        objective = job.problem.make()
        start = _value(objective, job.problem)  # compiles it, too, so that no method pays for that
    except (Exception, SystemExit) as error:
        return _words(error)
    return {method: run_one(find(method), job.problem, objective, start, job.seed) for method in job.methods}


def run_one(solver: AbstractSolver, problem: SuiteProblem, objective: Objective, start: float, seed: int) -> SuiteRun:
    """One run under the objective's own count; an error of the method ends it and keeps what was found."""
    tally, own = Tally(objective, problem.gradients, problem.budget), OwnCount()
    error = solver.lacks(problem, objective)
    wall, cpu = time.perf_counter(), time.process_time()
    if not error:
        try:
            own = solver.solve(tally, problem, problem_seed(problem.name, seed))
        except (Exception, SystemExit) as fault:
            error = _words(fault)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return SuiteRun(
        problem=problem.name,
        group=problem.group,
        dimension=problem.dimension,
        budget=problem.budget,
        seed=seed,
        version=solver.version,
        start=start,
        minimum=objective.minimum,
        calls=tuple(tally.calls),
        values=tuple(tally.values),
        spent=tally.spent,
        outside=tally.outside,
        overshoot=max(0, tally.spent - problem.budget),
        moved=own.moved,
        reported=own.reported,
        reported_asked=own.asked,
        wall=round(wall, 4),
        cpu=round(cpu, 4),
        error=error,
    )


def _value(objective: Objective, problem: SuiteProblem) -> float:
    answer = objective.fun(np.array(objective.x0, np.float64))
    return float(answer[0] if problem.gradients else answer)


def _outcomes(jobs: Sequence[SuiteJob], open_executor: OpenExecutor, find: FindSolver) -> Iterator[SuiteOutcome]:
    """One outcome a job; where a worker died, the job's methods are tried one by one, to find which it was."""
    work = functools.partial(run_problem, find=find)
    split: list[SuiteJob] = []
    for done in run_jobs(jobs, work, open_executor):
        if done.error == DIED and len(done.job.methods) > 1:
            split += [SuiteJob(done.job.problem, (method,), done.job.seed) for method in done.job.methods]
        else:
            yield SuiteOutcome(done.job, done.result or {}, done.error)
    if split:
        yield from _outcomes(split, open_executor, find)


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".partition("\n")[0][:300]
