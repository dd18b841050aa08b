"""Jobs on any executor: one outcome for every job, whatever dies on the way."""

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from ..workers.orphans import begin_worker

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
class Done:
    """What became of a job: its result, or why there is none."""

    job: Any
    result: Any = None
    error: str | None = None


def run_jobs(
    jobs: Sequence[Any],
    work: Callable[[Any], Any],
    open_executor: OpenExecutor,
    kind: Callable[[Any], Any] = lambda job: job,
) -> Iterator[Done]:
    """One outcome for every job, as they come; a result that is a string says what went wrong.

    Jobs that were under way when a worker died are run again at the end, each alone, so that the one that kills its
    worker is found out; other jobs of the same `kind` wait until all else is done.
    """
    left, suspects, idle = list(jobs), [], 0
    while left and idle < ATTEMPTS:
        idle, gone = idle + 1, set()
        for done in _batch(left, work, open_executor):
            gone.add(done.job)
            if done.error == DIED:
                suspects.append(done.job)
            else:
                idle = 0
                yield done
        left = [job for job in left if job not in gone]
        left.sort(key=lambda job: kind(job) in {kind(suspect) for suspect in suspects})
    for job in suspects:
        yield from list(_batch([job], work, open_executor)) or [Done(job, error=DIED)]
    yield from (Done(job, error=DIED) for job in left)


def _batch(jobs: Sequence[Any], work: Callable[[Any], Any], open_executor: OpenExecutor) -> Iterator[Done]:
    """Outcomes of `jobs` on one executor; once it breaks, `DIED` for each that was under way, and none for the rest."""
    waiting: dict[Future[Any], Any] = {}
    under_way: list[Any] = []
    with open_executor() as executor:
        with suppress(BrokenExecutor):
            for job in jobs:
                waiting[executor.submit(work, job)] = job
        broken = False
        while waiting and not broken:
            under_way = [job for future, job in waiting.items() if future.running()]
            finished = wait(waiting, POLL, FIRST_COMPLETED).done
            for future in [future for future in waiting if future in finished]:
                done = _done(future, waiting[future])
                if done is None:
                    broken = True
                else:
                    del waiting[future]
                    yield done
    lost = list(waiting.values())
    yield from (Done(job, error=DIED) for job in [job for job in lost if job in under_way] or lost[:1])


def _done(future: "Future[Any]", job: Any) -> Done | None:
    """What came of a job; None where the executor is broken."""
    try:
        result = future.result()
    except BrokenExecutor:
        return None
    except Exception as error:  # a cluster's word on a worker that it lost
        result = f"{type(error).__name__}: {error}"
    return Done(job, error=result) if isinstance(result, str) else Done(job, result)


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
