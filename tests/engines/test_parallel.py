"""Several calls at the same time: the same run whatever makes them, a hard budget, a journal, and workers that die."""

import multiprocessing
import random
import threading
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor

import jax.numpy as jnp
import numpy as np
import pytest
from worker_objectives import deadly, ripples, ripples_value

import shapeopt
from shapeopt.core import Reading, Status
from shapeopt.core.problem import read_problem
from shapeopt.engines.host import HostRun
from shapeopt.engines.parallel import Trajectories
from shapeopt.policies import find_policy

X0 = np.full(3, 3.3)
LONG = 60.0  # seconds that a call waits for others before the test fails


class AtOnce(Executor):
    """Makes a call when it is submitted."""

    max_workers = 8

    def submit(self, fn, /, *args, **kwargs):
        future = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


def minimize(fun=ripples, workers=8, **settings):
    settings = {"bounds": (-5, 5), "jac": True, "budget": 160} | settings
    return shapeopt.minimize(fun, X0, workers=workers, **settings)


def same(one, other):
    return (
        np.array_equal(one.trace.x, other.trace.x)
        and np.array_equal(one.x, other.x)
        and [(event.call, event.cause) for event in one.events] == [(event.call, event.cause) for event in other.events]
        and [(basin.fun, basin.visits) for basin in one.minima] == [(basin.fun, basin.visits) for basin in other.minima]
    )


def in_order_of(rng, values_only):
    """A run of six trajectories whose readings arrive in the order that `rng` draws."""
    run = HostRun(find_policy("universal"), read_problem(X0, (-5, 5), rng), 150, 0, 6, values_only=values_only)
    tracks, pending = Trajectories(run, lead=4), list(range(6))
    while pending:
        i = pending.pop(int(rng.integers(len(pending))))
        value, gradient = ripples(tracks.point(i))
        tracks.arrive(i, Reading(value, 0 * gradient if values_only else gradient, 1))
        pending += [j for j in tracks.advance(150) if tracks.number(j) < 150]
        while tracks.log(0):
            pass
    return run.result(Status.BUDGET_SPENT)


@pytest.mark.parametrize("values_only", [False, True])
def test_the_order_in_which_readings_arrive_has_no_effect(values_only):
    runs = [in_order_of(np.random.default_rng(seed), values_only) for seed in range(4)]
    assert all(same(runs[0], other) for other in runs[1:])
    assert runs[0].nfev == 150


def test_trajectories_learn_of_each_others_basins():
    shared = in_order_of(np.random.default_rng(0), False)
    assert max(event.particle for event in shared.events) == 5
    later = [event.best for event in shared.events if event.particle == 3]
    assert len(shared.minima) > 1 and later[-1] == shared.fun


def test_threads_and_calls_one_by_one_give_the_same_run():
    assert same(minimize(), minimize(workers=AtOnce()))
    with ThreadPoolExecutor(8) as threads:
        assert same(minimize(), minimize(workers=threads))


def test_eight_calls_are_under_way_at_the_same_time():
    crowd, active, most, lock = threading.Event(), 0, 0, threading.Lock()

    def fun(x):
        nonlocal active, most
        with lock:
            active, most, first = active + 1, max(most, active + 1), most == 0
            if active == 7:  # the first call, which is alone, has one trajectory wait for its next point
                crowd.set()
        assert first or crowd.wait(LONG)
        with lock:
            active -= 1
        return ripples(x)

    result = minimize(fun)
    assert most >= 7 and result.nfev == 160


def test_a_slow_call_holds_up_no_other():
    others, enough, lock = 0, threading.Event(), threading.Lock()

    def fun(x):
        nonlocal others
        with lock:
            others += 1
            slow = others == 5
            if others == 100:
                enough.set()
        assert not slow or enough.wait(LONG)
        return ripples(x)

    assert same(minimize(fun), minimize())


@pytest.mark.parametrize("budget", [1, 2, 7, 8, 9, 61])
def test_no_call_is_made_past_the_budget(budget):
    points = []

    def fun(x):
        points.append(x)
        assert np.all(np.abs(x) <= 5)
        return ripples(x)

    result = minimize(fun, budget=budget)
    assert len(points) == result.nfev == budget


def test_values_alone_and_jax_objectives_are_called_by_threads_too():
    by_value = minimize(ripples_value, jac=None, budget=300)
    traced = minimize(lambda x: jnp.sum(x**2 - 10 * jnp.cos(2 * jnp.pi * x) + 10), jac=None)
    assert by_value.njev == 0 and by_value.nfev == 300
    assert traced.njev == 160 and traced.fun < 20


def test_a_target_ends_the_run_at_the_same_call_whatever_makes_the_calls():
    one, other = minimize(target=6.0), minimize(target=6.0, workers=AtOnce())
    assert one.status == Status.TARGET_REACHED and same(one, other) and one.nfev == other.nfev < 160


def test_an_exception_passes_with_what_was_found_or_costs_its_call():
    def fun(x):
        if x[0] > 3.5:
            raise OSError("no disk")
        return ripples(x)

    with pytest.raises(OSError, match="no disk") as caught:
        minimize(fun)
    assert caught.value.shapeopt_result.status == Status.FAILED
    skipped = minimize(fun, on_error="skip")
    assert skipped.nfev == 160 and np.isnan(skipped.trace.value).any()


def test_a_run_that_is_cut_short_goes_on_from_its_journal_to_the_same_end(tmp_path):
    made = []

    def fun(x):
        made.append(x)
        if len(made) == limit:
            raise KeyboardInterrupt
        return ripples(x)

    rng, limit = random.Random(0), 0
    for _ in range(6):
        limit = len(made) + rng.randint(2, 30)
        with pytest.raises(KeyboardInterrupt):
            minimize(fun, journal=tmp_path / "run.journal")
    limit = 0
    result = minimize(fun, journal=tmp_path / "run.journal")
    assert same(result, minimize())
    assert len(made) <= 160 + 6 * 8
    kept = (tmp_path / "run.journal").read_bytes()
    assert same(minimize(fun, journal=tmp_path / "run.journal"), result)
    assert (tmp_path / "run.journal").read_bytes() == kept


def test_a_damaged_journal_is_refused(tmp_path):
    path = tmp_path / "run.journal"
    minimize(journal=path)
    lines = path.read_bytes().splitlines(keepends=True)
    for damaged in (lines[:9] + lines[8:], [*lines[:9], lines[9][:-4] + b"AAA\n", *lines[10:]]):
        path.write_bytes(b"".join(damaged))
        with pytest.raises(ValueError, match="is damaged"):
            minimize(journal=path)


def spawned(count):
    return ProcessPoolExecutor(count, multiprocessing.get_context("spawn"))


@pytest.mark.parametrize("make", [shapeopt.Processes, spawned])
def test_a_worker_that_is_killed_costs_its_call(make):
    with make(2) as workers:
        result = minimize(deadly, workers, budget=60)
    dead = np.isnan(result.trace.value)
    assert result.nfev == 60 and 0 < dead.sum() < 40
    np.testing.assert_array_equal(dead, result.trace.x[:, 0] > 3.5)


@pytest.mark.full
def test_a_dask_cluster_of_two_processes_gives_the_run_of_two_threads():
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(2, threads_per_worker=1, processes=True, dashboard_address=None)
    with cluster, distributed.Client(cluster) as client:
        assert same(minimize(workers=client.get_executor()), minimize(workers=2))


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"workers": 0}, "workers"),
        ({"workers": "many"}, "workers"),
        ({"workers": 2, "batched": True}, "batched"),
        ({"workers": 2, "jac": "2-point"}, "jac"),
        ({"workers": AtOnce(), "call_timeout": 1.0}, "call_timeout"),
    ],
)
def test_what_does_not_go_with_workers_is_refused_by_name(settings, name):
    with pytest.raises(ValueError, match=f"`{name}` must"):
        minimize(**settings)


def test_processes_need_a_function_that_can_be_imported():
    with shapeopt.Processes(2) as workers, pytest.raises(ValueError, match="another process can import"):
        minimize(lambda x: ripples(x), workers)


def test_one_worker_is_the_run_without_workers():
    assert same(minimize(workers=1), shapeopt.minimize(ripples, X0, bounds=(-5, 5), jac=True, budget=160))
