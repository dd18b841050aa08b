"""Running a protocol: resumed where it stopped, nothing lost with a worker, the same records on any executor."""

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec

import pytest
from same_results import same_results

from shapeopt.bench.cells import Cell, Protocol
from shapeopt.bench.execute import run_cell
from shapeopt.bench.methods import UnknownMethodError, find_method
from shapeopt.bench.pool import ATTEMPTS, DIED, WORKER_ENVIRONMENT, dask_cluster, local_processes
from shapeopt.bench.records import load_record, load_records, make_record, save_record
from shapeopt.bench.runner import jobs_of, run_protocol
from shapeopt.tasks import make_family

FAMILY = make_family("rastrigin", 2)
PROTOCOL = Protocol("tiny", "for tests", (Cell(FAMILY, 12, 2, 2), Cell(FAMILY, 9, 2, 2)), ("direct",), seed=5)
ONE_CELL = replace(PROTOCOL, cells=PROTOCOL.cells[:1])

MODULE = """
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from shapeopt.peers import AbstractPeer, MultiStart, Start


class TwoWords(Exception):
    def __init__(self, first, second):  # so that it can't be unpickled
        super().__init__(f"{first} {second}")


@dataclass(frozen=True)
class Dies(AbstractPeer):
    '''Multi-start that kills its own process the first time that it is run.'''

    name: str = "dies"
    package: ClassVar[str] = "scipy"
    uses_gradients: ClassVar[bool] = True
    start: ClassVar[Start] = Start.READS

    def search(self, *arguments):
        try:
            Path(__file__).with_name("died").touch(exist_ok=False)
        except FileExistsError:
            return MultiStart().search(*arguments)
        os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True)
class Raises(AbstractPeer):
    name: str = "raises"
    package: ClassVar[str] = "scipy"
    uses_gradients: ClassVar[bool] = False
    start: ClassVar[Start] = Start.READS

    def search(self, reader, x0, lower, upper, seed):
        reader.value(x0)
        raise TwoWords("half", "way")


@dataclass(frozen=True)
class Leaves(AbstractPeer):
    name: str = "leaves"
    package: ClassVar[str] = "scipy"
    uses_gradients: ClassVar[bool] = False
    start: ClassVar[Start] = Start.READS

    def search(self, *arguments):
        sys.exit("enough")
"""


class Here(Executor):
    """Runs jobs at once in this process; breaks, as a pool does, at the first job that `kills`."""

    def __init__(self, kills=lambda job: False):
        self.kills, self.broken, self.submitted = kills, False, []

    def submit(self, function, job):
        if self.broken:
            raise BrokenProcessPool
        self.submitted.append(job)
        future = Future()
        self.broken = self.kills(job)
        if self.broken:
            future.set_exception(BrokenProcessPool())
        else:
            future.set_result(function(job))
        return future


class Openings(list):
    """Opens executors of one kind, and keeps those that it opened."""

    def __init__(self, kills=lambda job: False):
        super().__init__()
        self.kills = kills

    @contextmanager
    def __call__(self):
        self.append(Here(self.kills))
        yield self[-1]

    @property
    def submitted(self):
        return [(job.cell.budget, job.method) for executor in self for job in executor.submitted]


@pytest.fixture
def brought(tmp_path, monkeypatch):
    """A folder, on every process's path, with the module `brought`."""
    folder = tmp_path / "modules"
    folder.mkdir()
    (folder / "brought.py").write_text(MODULE)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]))
    yield folder
    sys.modules.pop("brought", None)


def expected(protocol, method, folder):
    """The record of a method on a protocol's only cell, made without a runner."""
    curves = run_cell(protocol.cells[0], find_method(method), protocol.seed)
    return load_record(save_record(folder, make_record(protocol, protocol.cells[0], find_method(method).name, curves)))


def test_a_protocol_s_records_are_those_of_its_cells_and_a_second_run_has_nothing_to_do(tmp_path):
    heard, methods = [], ("direct", "multistart")
    outcomes = run_protocol(PROTOCOL, methods, tmp_path / "a", Openings(), heard.append)
    assert outcomes == heard and [outcome.error for outcome in outcomes] == [None] * 4
    assert {outcome.path for outcome in outcomes} == set((tmp_path / "a").glob("tiny/*/*.safetensors"))
    for method in methods:
        found = load_record(tmp_path / "a" / "tiny" / PROTOCOL.cells[0].name / f"{method}.safetensors")
        assert same_results(found, expected(PROTOCOL, method, tmp_path / "b"))
    again = Openings()
    assert run_protocol(PROTOCOL, methods, tmp_path / "a", again, heard.append) == [] and not again and len(heard) == 4


def test_what_is_deleted_damaged_or_made_otherwise_is_made_again_and_nothing_else(tmp_path):
    methods = ("direct", "multistart")
    paths = {(o.job.cell.budget, o.job.method): o.path for o in run_protocol(PROTOCOL, methods, tmp_path, Openings())}
    kept = {key: path.read_bytes() for key, path in paths.items()}
    paths[12, "direct"].unlink()
    paths[9, "multistart"].write_bytes(kept[9, "multistart"][:-9])
    again = Openings()
    run_protocol(PROTOCOL, methods, tmp_path, again)
    assert sorted(again.submitted) == [(9, "multistart"), (12, "direct")]
    assert all(path.exists() for path in paths.values())
    assert paths[9, "direct"].read_bytes() == kept[9, "direct"]

    another = Openings()
    run_protocol(replace(PROTOCOL, seed=6), methods, tmp_path, another)
    assert len(another.submitted) == 4
    assert {record.seed for record in load_records(tmp_path)} == {6}
    assert len(jobs_of(PROTOCOL, methods, tmp_path)) == 4
    save_record(tmp_path, replace(load_record(paths[9, "direct"]), version="of other weights"))
    assert [job.cell.budget for job in jobs_of(replace(PROTOCOL, seed=6), ("direct",), tmp_path)] == [9]
    paths[9, "direct"].unlink()
    run_protocol(replace(PROTOCOL, seed=6), methods, tmp_path, Openings())
    more = replace(PROTOCOL, seed=6, cells=(replace(PROTOCOL.cells[0], tasks=3), PROTOCOL.cells[1]))
    assert [(job.cell.tasks, job.method) for job in jobs_of(more, methods, tmp_path)] == [(3, m) for m in methods]


def test_a_job_that_raises_is_reported_and_the_others_are_made(tmp_path, brought):
    methods = ("brought:Raises", "direct", "brought:Leaves")
    outcomes = run_protocol(PROTOCOL, methods, tmp_path, Openings())
    errors = {(outcome.job.cell.budget, outcome.job.method): outcome.error for outcome in outcomes}
    assert errors == {
        **{(budget, "brought:Raises"): "TwoWords: half way" for budget in (12, 9)},
        **{(budget, "brought:Leaves"): "SystemExit: enough" for budget in (12, 9)},
        **{(budget, "direct"): None for budget in (12, 9)},
    }
    assert [record.method for record in load_records(tmp_path)] == ["direct", "direct"]
    again = Openings()
    run_protocol(PROTOCOL, methods, tmp_path, again)
    assert len(again.submitted) == 4, "what failed is tried again by the next run"


def test_hosted_methods_come_first_and_each_name_once(tmp_path):
    jobs = jobs_of(PROTOCOL, ("adam", "direct", "adam"), tmp_path)
    assert [(job.method, job.cell.budget) for job in jobs] == [("direct", 12), ("direct", 9), ("adam", 12), ("adam", 9)]


def test_two_methods_whose_records_would_be_one_file_are_refused(tmp_path, brought):
    (brought / "other.py").write_text("from brought import Dies\n")
    with pytest.raises(UnknownMethodError, match="distinct names in the records; got Dies, Dies"):
        jobs_of(PROTOCOL, ("brought:Dies", "other:Dies"), tmp_path)


def test_a_worker_that_dies_once_loses_nothing(tmp_path):
    lives = iter([True])
    openings = Openings(lambda job: job.method == "multistart" and next(lives, False))
    outcomes = run_protocol(PROTOCOL, ("direct", "multistart", "basinhopping"), tmp_path, openings)
    assert len(outcomes) == 6 and all(outcome.path and outcome.error is None for outcome in outcomes)
    assert len(list(load_records(tmp_path))) == 6
    assert len(openings.submitted) == 7, "only the job that was under way is run again"


def test_a_method_that_always_kills_its_worker_is_found_out_and_the_others_are_made(tmp_path):
    heard, openings = [], Openings(lambda job: job.method == "multistart")
    outcomes = run_protocol(PROTOCOL, ("multistart", "direct", "basinhopping"), tmp_path, openings, heard.append)
    errors = {(outcome.job.method, outcome.job.cell.budget): outcome.error for outcome in outcomes}
    assert outcomes == heard and len(outcomes) == len(errors) == 6
    assert {key for key, error in errors.items() if error == DIED} == {("multistart", 12), ("multistart", 9)}
    assert sorted(record.method for record in load_records(tmp_path)) == ["basinhopping"] * 2 + ["direct"] * 2


def test_workers_that_always_die_are_given_up_and_every_job_is_reported(tmp_path):
    cells = tuple(Cell(FAMILY, budget, 1) for budget in range(1, 11))
    openings = Openings(lambda job: True)
    outcomes = run_protocol(replace(PROTOCOL, cells=cells), ("direct",), tmp_path, openings)
    assert [outcome.error for outcome in outcomes] == [DIED] * 10
    assert {outcome.job.cell.budget for outcome in outcomes} == set(range(1, 11))
    assert len(openings) == 2 * ATTEMPTS


def test_a_stop_in_the_middle_keeps_what_was_made(tmp_path):
    def stop(outcome):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_protocol(PROTOCOL, ("direct",), tmp_path, Openings(), stop)
    assert len(list(load_records(tmp_path))) == 1
    assert len(run_protocol(PROTOCOL, ("direct",), tmp_path, Openings())) == 1


@pytest.mark.full
def test_a_killed_local_process_loses_nothing_and_what_raises_there_is_told(tmp_path, brought, monkeypatch):
    for name in WORKER_ENVIRONMENT:
        monkeypatch.delenv(name, raising=False)
    outcomes = run_protocol(ONE_CELL, ("brought:Dies", "brought:Raises"), tmp_path / "a", lambda: local_processes(1))
    assert (brought / "died").exists()
    errors = {outcome.job.method: outcome.error for outcome in outcomes}
    assert errors == {"brought:Dies": None, "brought:Raises": "TwoWords: half way"}
    (found,) = load_records(tmp_path / "a")
    assert same_results(found, expected(ONE_CELL, "brought:Dies", tmp_path / "b"))
    assert not WORKER_ENVIRONMENT.keys() & os.environ.keys()


def test_the_workers_settings_give_way_to_the_user_s_and_are_taken_back(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    with local_processes(1):
        assert os.environ["OMP_NUM_THREADS"] == "3" and "intra_op_parallelism_threads=1" in os.environ["XLA_FLAGS"]
    assert os.environ["OMP_NUM_THREADS"] == "3" and "XLA_FLAGS" not in os.environ


def test_without_dask_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ValueError, match=r"`scheduler` needs Dask; install shapeopt\[distributed\]"):
        dask_cluster("tcp://127.0.0.1:1").__enter__()


@pytest.fixture
def cluster(tmp_path, brought):
    """The address of a scheduler with two workers on this machine, each a process of one thread."""
    file, command = tmp_path / "scheduler.json", [sys.executable, "-m", "dask"]
    common = ["--host", "127.0.0.1", "--scheduler-file", str(file), "--no-dashboard"]
    scratch = ["--nthreads", "1", "--no-nanny", "--local-directory", str(tmp_path / "scratch")]
    log = (tmp_path / "dask.log").open("w")
    started = [subprocess.Popen([*command, "scheduler", "--port", "0", *common], stdout=log, stderr=log)]
    started += [subprocess.Popen([*command, "worker", *common, *scratch], stdout=log, stderr=log) for _ in range(2)]
    try:
        yield _address(file), started[1:]
    finally:
        for process in reversed(started):
            process.kill()
            process.wait()
        log.close()


def _address(file):
    for _ in range(300):
        if file.exists() and file.read_text():
            return json.loads(file.read_text())["address"]
        time.sleep(0.1)
    raise TimeoutError("the scheduler did not start")


@pytest.mark.full
@pytest.mark.skipif(find_spec("distributed") is None, reason="distributed is not installed")
def test_dask_makes_the_same_records_and_a_killed_worker_loses_nothing(tmp_path, cluster):
    address, workers = cluster
    methods = ("brought:Dies", "brought:Raises", "gd")
    outcomes = run_protocol(ONE_CELL, methods, tmp_path / "dask", lambda: dask_cluster(address))
    assert sorted(worker.poll() or 0 for worker in workers) == [-signal.SIGKILL, 0], "one worker died, one did the rest"
    assert {o.job.method: o.error for o in outcomes} == {
        "brought:Dies": None,
        "brought:Raises": "TwoWords: half way",
        "gd": None,
    }
    run_protocol(ONE_CELL, ("brought:Dies", "gd"), tmp_path / "here", Openings())
    ours, theirs = (list(load_records(tmp_path / name)) for name in ("here", "dask"))
    assert len(ours) == 2 and all(same_results(a, b) for a, b in zip(ours, theirs, strict=True))
