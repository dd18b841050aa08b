"""Running a suite: counted by the objective itself, resumed, the same whatever runs it."""

import dataclasses
from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from toy_suite import TOY, bowl, make, problem

from shapeopt.bench.pool import DIED, local_processes
from shapeopt.bench.suite_records import load_suite
from shapeopt.bench.suite_run import (
    AbstractSolver,
    OwnCount,
    Tally,
    missing_jobs,
    problem_seed,
    quick_problems,
    run_one,
    run_suite,
)
from shapeopt.solvers import find_solver


class Here(Executor):
    """Runs jobs in this process; a job with a method that kills breaks it."""

    def __init__(self):
        self.broken = False

    def submit(self, function, job):
        future = Future()
        if self.broken:
            raise BrokenProcessPool
        if "kills" in job.methods:
            self.broken = True
            future.set_exception(BrokenProcessPool())
        else:
            future.set_result(function(job))
        return future


@contextmanager
def here():
    yield Here()


@dataclasses.dataclass(frozen=True)
class Scripted(AbstractSolver):
    name: str
    calls: int = 3
    version_: str = "1"

    @property
    def version(self):
        return self.version_

    def lacks(self, problem, objective):
        return "too wide" if problem.dimension > 2 and self.name == "narrow" else ""

    def solve(self, tally, problem, seed):
        x = np.array(tally.objective.x0)
        for _ in range(self.calls):
            x = x + 0.5
            tally(x)
        if self.name == "fails":
            raise ZeroDivisionError("half way")
        return OwnCount(self.calls, self.calls)


SOLVERS = {
    "few": Scripted("few"),
    "over": Scripted("over", calls=70),
    "fails": Scripted("fails"),
    "narrow": Scripted("narrow"),
    "kills": Scripted("kills"),
}


def find(name):
    return SOLVERS[name] if name in SOLVERS else find_solver(name)


def run(name, kind="bowl", d=2, budget=60):
    one = problem(kind, d, budget=budget)
    return run_one(find(name), one, make(kind, d), 0.0, 0)


def test_the_tally_counts_every_call_and_keeps_improvements_within_the_budget():
    tally = Tally(make("bowl", 2), True, 3)
    for shift in (2.0, np.nan, 1.0, 0.0):
        tally(np.full(2, 1.0 + shift))
    assert (tally.spent, tally.calls, tally.values) == (4, [1, 3], [8.0, 2.0])


def test_calls_outside_the_bounds_and_beyond_the_budget_are_seen():
    found = run("over", "ripples")
    assert (found.spent, found.overshoot) == (70, 10) and found.outside > 0
    assert all(call <= 60 for call in found.calls)


def test_a_fault_keeps_what_was_found_and_what_is_not_run_says_why():
    failed, narrow = run("fails"), run("narrow", d=3)
    assert failed.error == "ZeroDivisionError: half way" and len(failed.values) == 3
    assert (narrow.error, narrow.spent, narrow.values) == ("too wide", 0, ())


@pytest.mark.parametrize("kind", ["bowl", "ripples", "broken"])
@pytest.mark.parametrize("name", ["universal", "multistart", "bfgs_scaled", "bobyqa", "direct"])
def test_real_methods_keep_the_budget_and_the_bounds_and_agree_with_the_count(name, kind):
    found = run(name, kind)
    assert (found.outside, found.overshoot, found.error) == (0, 0, "")
    assert found.spent == 60 and found.reported == found.reported_asked
    assert np.all(np.diff(found.values) < 0) and np.all(np.diff(found.calls) > 0)


def test_a_suite_is_resumed_and_another_version_is_run_anew(tmp_path, monkeypatch):
    methods = ("few", "narrow")
    first = run_suite(TOY, "dev", methods, tmp_path, here, find)
    assert len(first) == 4 and all(set(outcome.runs) == set(methods) for outcome in first)
    assert run_suite(TOY, "dev", methods, tmp_path, here, find) == []
    monkeypatch.setitem(SOLVERS, "few", Scripted("few", version_="2"))
    jobs = missing_jobs(TOY, "dev", methods, tmp_path, find)
    assert [job.methods for job in jobs] == [("few",)] * 4
    run_suite(TOY, "dev", methods, tmp_path, here, find)
    found = load_suite(tmp_path, "toy", "dev")
    assert {run.version for run in found["few"].values()} == {"2"} and len(found["few"]) == 4
    assert len(missing_jobs(TOY, "dev", methods, tmp_path, find, seed=1)) == 4
    wider = dataclasses.replace(TOY, problems=tuple(dataclasses.replace(p, budget=61) for p in TOY.problems))
    assert len(missing_jobs(wider, "dev", methods, tmp_path, find)) == 4


def test_halves_are_kept_apart(tmp_path):
    (outcome,) = run_suite(TOY, "test", ("few",), tmp_path, here, find)
    assert outcome.job.problem.name == "bowl/d4"
    assert load_suite(tmp_path, "toy", "dev") == {} and len(load_suite(tmp_path, "toy", "test")["few"]) == 1


def test_a_method_that_kills_its_worker_is_found_out_and_the_others_are_kept(tmp_path):
    outcomes = run_suite(TOY, "dev", ("few", "kills"), tmp_path, here, find, problems=TOY.problems[:1])
    assert {outcome.job.methods: outcome.error for outcome in outcomes} == {("few",): None, ("kills",): DIED}
    assert list(load_suite(tmp_path, "toy", "dev")) == ["few"]


def test_a_problem_that_cannot_be_made_is_reported(tmp_path):
    one = dataclasses.replace(TOY.problems[0], make=lambda: 1 / 0)
    (outcome,) = run_suite(TOY, "dev", ("few",), tmp_path, here, find, problems=[one])
    assert outcome.error == "ZeroDivisionError: division by zero" and not outcome.runs


@pytest.mark.full
def test_local_processes_make_the_same_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    for folder, opened in (("a", here), ("b", lambda: local_processes(2))):
        run_suite(TOY, "dev", ("universal", "multistart"), tmp_path / folder, opened, find_solver)
    a, b = (load_suite(tmp_path / folder, "toy", "dev") for folder in ("a", "b"))
    timeless = lambda runs: {key: dataclasses.replace(run, wall=0, cpu=0) for key, run in runs.items()}  # noqa: E731
    assert {m: timeless(runs) for m, runs in a.items()} == {m: timeless(runs) for m, runs in b.items()}


def test_quick_problems_are_few_spread_and_always_the_same():
    many = [problem("bowl", d) for d in range(1, 40)]
    few = quick_problems(many, 4)
    assert [one.dimension for one in few] == [1, 7, 14, 20] and quick_problems(many, 4) == few
    assert quick_problems(many[:2]) == tuple(many[:2]) and quick_problems([]) == ()


def test_a_problem_s_seed_follows_from_its_name():
    assert problem_seed("a", 0) != problem_seed("b", 0) and problem_seed("a", 1) == problem_seed("a", 0) + 1
    assert bowl(np.ones(2))[0] == 0
