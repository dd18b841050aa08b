"""Run a protocol: every method on every cell, on any executor, one record at a time, resumed where it stopped."""

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .cells import Cell, Protocol
from .curves import Curves
from .execute import run_cell
from .methods import find_method
from .records import is_done, make_record, save_record

# One thread a worker: with more, small matrices wait for threads, and the workers for each other.
WORKER_ENVIRONMENT = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}
ATTEMPTS = 3  # times that the workers are started again after one of them died


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


def jobs_of(protocol: Protocol, methods: Sequence[str], folder: Path) -> list[Job]:
    """The jobs whose records are not there yet, the slowest methods first so that none is left alone at the end."""
    names = {method: find_method(method).name for method in methods}
    jobs = [Job(cell, method) for method in methods for cell in protocol.cells]
    return [job for job in jobs if not is_done(folder, protocol, job.cell, names[job.method])]


def run_protocol(
    protocol: Protocol,
    methods: Sequence[str],
    folder: Path,
    open_executor: Callable[[], Any],
    on_outcome: Callable[[Outcome], None] = lambda outcome: None,
) -> list[Outcome]:
    """Run what is missing; a worker that dies costs its own job's time and nothing else.

    `open_executor` gives a context manager of a `concurrent.futures.Executor`: local processes, or a cluster's. A job
    that fails is reported and the others go on.
    """
    outcomes: list[Outcome] = []
    for _ in range(ATTEMPTS):
        failed = {(outcome.job.cell.name, outcome.job.method) for outcome in outcomes if outcome.error}
        jobs = [job for job in jobs_of(protocol, methods, folder) if (job.cell.name, job.method) not in failed]
        if not jobs:
            break
        with open_executor() as executor:
            for outcome in _outcomes(executor, protocol, jobs, folder):
                outcomes.append(outcome)
                on_outcome(outcome)
    return outcomes


def _outcomes(executor: Executor, protocol: Protocol, jobs: Iterable[Job], folder: Path) -> Iterator[Outcome]:
    """Outcomes as they come; ends early if the executor breaks."""
    waiting: dict[Future[Curves], Job] = {executor.submit(run_job, job, protocol.seed): job for job in jobs}
    while waiting:
        for future in wait(waiting, return_when=FIRST_COMPLETED).done:
            job = waiting.pop(future)
            try:
                curves = future.result()
            except BrokenExecutor:
                return
            except Exception as error:
                yield Outcome(job, None, f"{type(error).__name__}: {error}")
                continue
            record = make_record(protocol, job.cell, find_method(job.method).name, curves)
            yield Outcome(job, save_record(folder, record))


def run_job(job: Job, seed: int) -> Curves:
    """What a worker does."""
    return run_cell(job.cell, find_method(job.method), seed)


@contextmanager
def local_processes(workers: int) -> Iterator[Executor]:
    """Fresh processes on this machine, one thread each."""
    before = {name: os.environ.get(name) for name in WORKER_ENVIRONMENT}
    os.environ.update({name: os.environ.get(name, value) for name, value in WORKER_ENVIRONMENT.items()})
    try:
        with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as executor:
            yield executor
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def dask_cluster(address: str) -> Iterator[Executor]:
    """The workers of a Dask scheduler, which must have this package (the extra `distributed`)."""
    try:
        from distributed import Client
    except ImportError as error:
        raise ValueError("`scheduler` needs Dask; install shapeopt[distributed].") from error
    with Client(address, timeout="10s") as client:
        yield client.get_executor(retries=ATTEMPTS, pure=False)
