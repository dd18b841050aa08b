"""`shapeopt bench run SUITE | scoreboard | show`: problems from other people's packages, dev and test apart."""

import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import tyro

from ..terminal.errors import UsageError
from ..terminal.record import plain, print_json
from .bench_tables import Format, require, show, usage_errors

Half = Literal["dev", "test"]
REMINDER = "note: the test half is run to record a release; what it shows problem by problem must not guide the design"


@dataclass(frozen=True)
class SuiteCommand:
    """What `shapeopt bench run` does where it is given the name of a suite."""

    suite: str
    half: str
    out: Path
    methods: tuple[str, ...]
    seed: int
    quick: bool
    parts: tuple[str, ...]  # of the names of problems
    open_executor: Callable[[], Any]
    json: bool

    def run(self) -> int:
        from ..bench.errors import RecordError
        from ..bench.suite_methods import default_methods
        from ..bench.suite_run import missing_jobs, run_suite
        from ..core.attribute import UnknownNameError
        from ..solvers import find_solver

        told, suite = sys.stderr if self.json else sys.stdout, all_suites()[self.suite]
        problems = self._problems(suite)
        methods = self.methods or default_methods(suite, self.quick)
        if self.half == "test":
            print(REMINDER, file=told)
        try:
            jobs = missing_jobs(suite, self.half, methods, self.out, find_solver, self.seed, problems)
        except (UnknownNameError, RecordError, ModuleNotFoundError) as error:
            raise UsageError(str(error)) from error
        runs = sum(len(job.methods) for job in jobs)
        total = len(problems) * len(methods)
        print(f"{suite.name}, {self.half}: {total - runs} of {total} runs are there, {runs} to make", file=told)
        progress = _Lines(len(jobs), told)
        what = (suite, self.half, methods, self.out, self.open_executor, find_solver)
        try:
            run_suite(*what, seed=self.seed, problems=problems, on_outcome=progress.note)
        except KeyboardInterrupt:
            print(f"stopped; {self.out} keeps what was made, and the same command goes on from there", file=told)
            return 130
        if self.json:
            print_json({"suite": suite.name, "half": self.half, "runs": progress.runs, "failed": progress.failed})
        return 1 if progress.failed else 0

    def _problems(self, suite: Any) -> Sequence[Any]:
        from ..bench.suite_run import quick_problems

        found = suite.half(self.half)
        unknown = [part for part in self.parts if not any(part in problem.name for problem in found)]
        if unknown:
            raise UsageError(f"`cells` must be parts of names of problems of {suite.name}; got {' '.join(unknown)}")
        chosen = [one for one in found if not self.parts or any(part in one.name for part in self.parts)]
        return quick_problems(chosen) if self.quick else chosen


class _Lines:
    """A line a problem with what is left, and what went wrong."""

    def __init__(self, total: int, stream: Any) -> None:
        self.total, self.stream, self.began = total, stream, time.perf_counter()
        self.done = self.runs = 0
        self.failed: list[dict[str, str]] = []

    def note(self, outcome: Any) -> None:
        self.done, self.runs = self.done + 1, self.runs + len(outcome.runs)
        name = outcome.job.problem.name
        if outcome.error:
            self._fail(name, ", ".join(outcome.job.methods), outcome.error)
        for method, run in outcome.runs.items():
            if run.error and run.spent and "OutOfTime" not in run.error:
                self._fail(name, method, run.error)
        left = (time.perf_counter() - self.began) / self.done * (self.total - self.done)
        print(f"{self.done}/{self.total} {name}, about {left:.0f} s left", flush=True, file=self.stream)

    def _fail(self, problem: str, method: str, error: str) -> None:
        self.failed.append({"problem": problem, "method": method, "error": error})
        print(f"failed: {problem} {method}: {error}", file=sys.stderr)


@dataclass(frozen=True)
class Scoreboard:
    """Suites x methods: area over log calls, problems solved, time, and the ratio to the best single peer."""

    folder: tyro.conf.Positional[Path]
    """Folder of the records, as given to `shapeopt bench run SUITE --out`."""
    half: Half = "dev"
    """Which half. Problems of the test half are not listed one by one."""
    method: str = "universal"
    """The method that is judged."""
    suites: tuple[str, ...] = ()
    """Only these. None: all that are there."""
    worst: int = 10
    """How many of the problems that are lost by most are listed."""
    details: bool = False
    """A table of all methods for each suite, too."""
    format: Format = "markdown"
    """How it is written."""
    json: bool = False
    """As JSON instead."""
    out: Path | None = None
    """Write to this file instead of the terminal."""
    pictures: Path | None = None
    """Draw data profiles and ECDFs into this folder, too."""

    def run(self) -> int:
        from ..bench.formats import FORMATS, to_plain
        from ..bench.scoreboard import losses, overview_table, read_boards
        from ..bench.suite_details import detailed_tables

        if not self.folder.is_dir():
            raise UsageError(f"`folder` must be a folder of records; got {self.folder}")
        with usage_errors():
            boards = read_boards(self.folder, self.half, self.method, self.suites)
        if not boards:
            raise UsageError(f"`folder` has no runs of {self.method!r} on a {self.half} half; got {self.folder}")
        lost = losses(boards, self.worst) if self.half == "dev" else []
        tables = [overview_table(boards)]
        for one in boards if self.details or self.json else []:
            tables += detailed_tables(one)
        if self.json:
            rows = [vars(loss) | {"command": loss.command} for loss in lost]
            show(_json({"tables": [to_plain(table) for table in tables], "lost": rows}), self.out)
        else:
            show("\n".join([*(FORMATS[self.format](table) for table in tables), *_lost(lost)]), self.out)
        if self.pictures is not None:
            _draw(boards, self.pictures)
        return 0


@dataclass(frozen=True)
class Show:
    """Run the default policy on one problem of a suite and print its event log."""

    suite: tyro.conf.Positional[str]
    """The suite's name."""
    problem: tyro.conf.Positional[str]
    """The problem's name."""
    seed: int = 0
    """As given to `shapeopt bench run`."""
    budget: int | None = None
    """Calls. None: the problem's own."""
    json: bool = False
    """As JSON instead."""

    def run(self) -> int:
        from ..bench.suite_run import Tally, problem_seed
        from ..minimizer import minimize
        from ..solvers import bounds_of

        if self.suite not in all_suites():
            require("suite", self.suite, all_suites())
        with usage_errors():
            problem = all_suites()[self.suite].problem(self.problem)
        if problem.half == "test":
            print(REMINDER, file=sys.stderr)
        objective, budget = problem.make(), self.budget or problem.budget
        tally, seed = Tally(objective, problem.gradients, budget), problem_seed(problem.name, self.seed)
        jac = True if problem.gradients else None
        result = minimize(tally, objective.x0, bounds=bounds_of(objective), jac=jac, budget=budget, seed=seed)
        if self.json:
            improvements = {"calls": tally.calls, "values": tally.values}
            print_json({"fun": result.fun, "nfev": result.nfev, "events": result.events, "improvements": improvements})
            return 0
        print(f"{problem.name}: {problem.dimension} dimensions, {budget} calls, seed {seed}")
        for event in result.events:
            print(_event(event))
        known = "" if objective.minimum is None else f", certified {objective.minimum:.10g}"
        print(f"lowest {result.fun:.10g} after {tally.spent} calls{known}")
        return 0


def all_suites() -> Any:
    """The suites by name."""
    from ..bench.suite_names import SuiteNames

    return SuiteNames()


def workers_or_all(workers: int) -> int:
    return workers or os.cpu_count() or 1


def _draw(boards: Sequence[Any], folder: Path) -> None:
    try:
        from ..plots.suites import draw_suites
    except ModuleNotFoundError as error:
        raise UsageError(f"`pictures` needs {error.name}; install shapeopt[report,jax]") from error
    for path in draw_suites(boards, folder):
        print(f"wrote {path}", file=sys.stderr)


def _event(event: Any) -> str:
    what = f"{event.tactic} {event.phase}".strip()
    return (
        f"{event.call:6d}  {what:28}{event.cause:24}{event.before:15.8g} -> {event.value:15.8g}  best {event.best:.8g}"
    )


def _lost(lost: Sequence[Any]) -> list[str]:
    if not lost:
        return []
    rows = [f"{one.area - one.peers_area:+.3f}  {one.command}" for one in lost]
    return ["Lost by most (difference of areas to the best single peer, and the command that shows why):\n", *rows, ""]


def _json(value: Any) -> str:
    import json

    return json.dumps(plain(value), indent=1, allow_nan=False) + "\n"
