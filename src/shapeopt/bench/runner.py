"""Run a protocol: every method on every cell, on any executor, one record at a time, resumed where it stopped."""

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ..workers.orphans import begin_worker
from .cells import Cell, Protocol
from .curves import Curves
from .execute import run_cell
from .methods import FindMethod, Hosted, UnknownMethodError, find_method
from .records import is_done, make_record, save_record

# One thread a worker: with more, small matrices wait for threads, and the workers for each other.
WORKER_ENVIRONMENT = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}
ATTEMPTS = 3  # starts of the workers in a row that bring nothing, after which what is left is given up
DIED = "its worker died"
POLL = 0.5  # seconds between looks at which jobs are under way

OpenExecutor = Callable[[], AbstractContextManager[Executor]]


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
    for outcome in _outcomes(protocol, jobs_of(protocol, methods, folder, find), folder, open_executor, find):
        outcomes.append(outcome)
        on_outcome(outcome)
    return outcomes


def _outcomes(
    protocol: Protocol, jobs: Sequence[Job], folder: Path, open_executor: OpenExecutor, find: FindMethod
) -> Iterator[Outcome]:
    """One outcome for every job, as they come.

    Jobs that were under way when a worker died are run again at the end, each alone, so that the one that kills its
    worker is found out; other jobs of their methods wait until all else is done.
    """
    left, suspects, idle = list(jobs), [], 0
    while left and idle < ATTEMPTS:
        idle, gone = idle + 1, set()
        for outcome in _batch(protocol, left, folder, open_executor, find):
            gone.add(outcome.job)
            if outcome.error == DIED:
                suspects.append(outcome.job)
            else:
                idle = 0
                yield outcome
        left = [job for job in left if job not in gone]
        left.sort(key=lambda job: job.method in {suspect.method for suspect in suspects})
    for job in suspects:
        yield from list(_batch(protocol, [job], folder, open_executor, find)) or [Outcome(job, None, DIED)]
    yield from (Outcome(job, None, DIED) for job in left)


def _batch(
    protocol: Protocol, jobs: Sequence[Job], folder: Path, open_executor: OpenExecutor, find: FindMethod
) -> Iterator[Outcome]:
    """Outcomes of `jobs` on one executor; once it breaks, `DIED` for each that was under way, and none for the rest."""
    waiting: dict[Future[Curves | str], Job] = {}
    under_way: list[Job] = []
    with open_executor() as executor:
        with suppress(BrokenExecutor):
            for job in jobs:
                waiting[executor.submit(run_job, job, protocol.seed, find)] = job
        broken = False
        while waiting and not broken:
            under_way = [job for future, job in waiting.items() if future.running()]
            done = wait(waiting, POLL, FIRST_COMPLETED).done
            for future in [future for future in waiting if future in done]:
                outcome = _outcome(future, protocol, waiting[future], folder, find)
                if outcome is None:
                    broken = True
                else:
                    del waiting[future]
                    yield outcome
    lost = list(waiting.values())
    yield from (Outcome(job, None, DIED) for job in [job for job in lost if job in under_way] or lost[:1])


def _outcome(
    future: "Future[Curves | str]", protocol: Protocol, job: Job, folder: Path, find: FindMethod
) -> Outcome | None:
    """The record that came of a job, or why none did; None where the executor is broken."""
    try:
        result = future.result()
    except BrokenExecutor:
        return None
    except Exception as error:  # a cluster's word on a worker that it lost
        result = f"{type(error).__name__}: {error}"
    if isinstance(result, str):
        return Outcome(job, None, result)
    method = find(job.method)
    version = method.version(job.cell)
    return Outcome(job, save_record(folder, make_record(protocol, job.cell, method.name, result, version)))


def run_job(job: Job, seed: int, find: FindMethod = find_method) -> Curves | str:
    """What a worker does: the curves, or what went wrong in words, since not every exception survives the way back."""
    try:
        return run_cell(job.cell, find(job.method), seed)
    except (Exception, SystemExit) as error:
        return f"{type(error).__name__}: {error}"


@contextmanager
def local_processes(workers: int) -> Iterator[Executor]:
    """Fresh processes on this machine, one thread each."""
    before = {name: os.environ.get(name) for name in WORKER_ENVIRONMENT}
    os.environ.update({name: os.environ.get(name, value) for name, value in WORKER_ENVIRONMENT.items()})
    executor = ProcessPoolExecutor(
        workers,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=begin_worker,
    )
    try:
        yield executor
    finally:
        executor.shutdown(cancel_futures=True)  # whoever stops here does not wait for what has not begun
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def dask_cluster(address: str) -> Iterator[Executor]:
    """The workers of a Dask scheduler; they and the scheduler must have this package (the extra `distributed`)."""
    try:
        from distributed import Client
    except ImportError as error:
        raise ValueError("`scheduler` needs Dask; install shapeopt[distributed].") from error
    with Client(address, timeout="10s") as client:
        yield client.get_executor(retries=ATTEMPTS, pure=False)
