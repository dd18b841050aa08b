"""Runs on instances, here or in several processes, each kept as it ends."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..bench.pool import local_processes
from .instance import Instance, Source, class_source
from .run import Run, RunStore, run_instance

Progress = Callable[[str, int, int], Any]  # what goes on, runs done, runs in all


@dataclass(frozen=True, eq=False)
class Job:
    """A run that is to be made; equal keys are equal runs."""

    key: str
    number: int
    policy: Any
    budget: int
    x0: Any = None


class Jobs:
    """Makes runs on the instances of a source."""

    def __init__(self, source: Source, store: RunStore, seed: int, workers: int, progress: Progress | None) -> None:
        if workers > 1 and source.name is None:
            raise ValueError("`workers` must be 1 unless `family` is package.module:Class, which processes can import.")
        self.source, self.store, self.seed, self.workers = source, store, seed, workers
        self.progress = progress or (lambda *told: None)
        self._made: dict[int, Instance] = {}

    def instance(self, number: int) -> Instance:
        if number not in self._made:
            self._made[number] = self.source.instance(number)
        return self._made[number]

    def run(self, what: str, jobs: Sequence[Job]) -> list[Run]:
        """The runs of all jobs, in their order; those that are on disk are not made again."""
        left = [job for job in jobs if job.key not in self.store.runs]
        done = len(jobs) - len(left)
        self.progress(what, done, len(jobs))
        for job, run in self._runs(left):
            self.store.keep(job.key, run)
            done += 1
            self.progress(what, done, len(jobs))
        return [self.store.runs[job.key] for job in jobs]

    def _runs(self, jobs: Sequence[Job]) -> Any:
        if self.workers == 1 or len(jobs) < 2:
            for job in jobs:
                yield job, run_instance(self.instance(job.number), job.policy, job.budget, job.number, job.x0)
            return
        where = (self.source.name, self.source.training, self.source.held_out, self.seed)
        with local_processes(self.workers) as executor:
            for job, run in zip(jobs, executor.map(_work, [(where, job) for job in jobs]), strict=True):
                yield job, run


def _work(given: tuple[tuple[Any, ...], Job]) -> Run:
    where, job = given
    return run_instance(class_source(*where).instance(job.number), job.policy, job.budget, job.number, job.x0)
