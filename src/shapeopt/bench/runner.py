"""Run a protocol: every method on every cell, on any executor, one record at a time, resumed where it stopped."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .cells import Cell, Protocol
from .curves import Curves
from .execute import run_cell
from .methods import FindMethod, Hosted, UnknownMethodError, find_method
from .pool import Done, OpenExecutor, run_jobs
from .records import is_done, make_record, save_record


@dataclass(frozen=True)
class Job:
    """One method on one cell."""

    cell: Cell
    method: str


@dataclass(frozen=True)
class Outcome:
    """What became of a job: its record's path, or why there is none."""

    job: Job
    path: Path | None
    error: str | None = None


@dataclass(frozen=True)
class LeftOut:
    """A job that can't be done, and why."""

    job: Job
    reason: str


def left_out(protocol: Protocol, methods: Sequence[str], find: FindMethod = find_method) -> list[LeftOut]:
    """Jobs of a protocol that are left out, since the method has nothing to run on the cell."""
    found = {method: find(method) for method in methods}
    reasons = {Job(cell, method): found[method].lacks(cell) for method in found for cell in protocol.cells}
    return [LeftOut(job, reason) for job, reason in reasons.items() if reason]


def jobs_of(protocol: Protocol, methods: Sequence[str], folder: Path, find: FindMethod = find_method) -> list[Job]:
    """The jobs whose records are not there yet; hosted methods first, since they are slow and best not left alone."""
    found = {method: find(method) for method in methods}
    names = [method.name for method in found.values()]
    if len(set(names)) < len(names):
        raise UnknownMethodError(f"`methods` must have distinct names in the records; got {', '.join(names)}.")
    ordered = sorted(found, key=lambda method: not isinstance(found[method], Hosted))
    absent = {left.job for left in left_out(protocol, methods, find)}
    jobs = [job for method in ordered for cell in protocol.cells if (job := Job(cell, method)) not in absent]
    label = lambda job: (found[job.method].name, found[job.method].version(job.cell))  # noqa: E731
    return [job for job in jobs if not is_done(folder, protocol, job.cell, *label(job))]


def run_protocol(
    protocol: Protocol,
    methods: Sequence[str],
    folder: Path,
    open_executor: OpenExecutor,
    on_outcome: Callable[[Outcome], None] = lambda outcome: None,
    find: FindMethod = find_method,
) -> list[Outcome]:
    """Run what is missing; a worker that dies costs the time of the jobs that were under way and nothing else.

    `open_executor` gives a context manager of a `concurrent.futures.Executor`: local processes, or a cluster's. A job
    that fails is reported and the others go on. `find` gives the method of a name; workers import it by its own name.
    """
    outcomes = []
    jobs, work = jobs_of(protocol, methods, folder, find), functools.partial(run_job, seed=protocol.seed, find=find)
    for done in run_jobs(jobs, work, open_executor, kind=lambda job: job.method):
        outcomes.append(_outcome(done, protocol, folder, find))
        on_outcome(outcomes[-1])
    return outcomes


def _outcome(done: Done, protocol: Protocol, folder: Path, find: FindMethod) -> Outcome:
    """The record that came of a job, or why none did."""
    if done.error is not None:
        return Outcome(done.job, None, done.error)
    method = find(done.job.method)
    version = method.version(done.job.cell)
    return Outcome(
        done.job, save_record(folder, make_record(protocol, done.job.cell, method.name, done.result, version))
    )


def run_job(job: Job, seed: int, find: FindMethod = find_method) -> Curves | str:
    """What a worker does: the curves, or what went wrong in words, since not every exception survives the way back."""
    try:
        return run_cell(job.cell, find(job.method), seed)
    except (Exception, SystemExit) as error:
        return f"{type(error).__name__}: {error}"
