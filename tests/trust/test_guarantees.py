"""Small sizes of benchmarks/guarantees.py, crash.py, hostile_files.py and soak.py, which check at full size."""

import random
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jax
import numpy as np
import pytest

import shapeopt

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def benchmark(monkeypatch):
    """Loads one of the scripts."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    loaded = []

    def load(name):
        loaded.append(name)
        return __import__(name)

    yield load
    for name in loaded:
        sys.modules.pop(name, None)


def test_an_independent_counter_sees_no_call_past_a_budget_or_outside_the_bounds(benchmark):
    guarantees = benchmark("guarantees")
    config = guarantees.Config(budgets=(1, 2, 3, 7, 60), seeds=2)
    for kind in guarantees.KINDS:
        if "particles" in kind:
            continue
        guarantees.KINDS, guarantees.COMPILED = (kind,), ()
        rows = list(guarantees.of_minimize(config))
        assert len(rows) == 5 and all(row.holds for row in rows), rows


def test_an_overshoot_a_point_outside_and_a_wrong_report_would_be_seen(benchmark):
    guarantees = benchmark("guarantees")
    counter = guarantees.Counter()
    counter.see(guarantees.UPPER)
    counter.see([np.add(guarantees.UPPER, [0, 0, 1e-12]), [np.nan] * 3])
    assert (counter.count, counter.outside) == (3, 2)
    good = dict(part="", method="", oracle="", budget=3, runs=1, evaluations=3, overshoot=0, outside=0, agrees=True)
    assert guarantees.Row(**good).holds
    for change in ({"overshoot": 1}, {"outside": 1}, {"agrees": False}):
        assert not guarantees.Row(**good | change).holds


def test_no_query_leaves_a_drawn_box(benchmark):
    guarantees = benchmark("guarantees")
    (row,) = guarantees.of_boxes(guarantees.Config(evaluations=4500))
    assert row.holds and row.evaluations > 2000


@pytest.mark.parametrize("start", [2e-311, -3e-320])
def test_bounds_below_the_smallest_normal_number_are_kept(start):
    seen = []
    shapeopt.minimize(lambda x: seen.append(float(x[0])) or 1.0, [start], bounds=[(start, start)], budget=9)
    assert set(seen) == {start} and np.abs(start) > 0


def test_mutated_files_are_refused_or_harmless_and_do_nothing(benchmark, tmp_path):
    hostile = benchmark("hostile_files")
    draw = random.Random(5)
    policies, journals = hostile.Policies(tmp_path), hostile.Journals(tmp_path)
    assert policies.judge(policies.weights, policies.card) == "accepted", "the unaltered one is"
    assert {policies.plain(draw) for _ in range(60)} == {"refused"}
    assert {journals.plain(draw) for _ in range(60)} == {"refused", "went on to the same bytes"}
    guard = hostile.Guard(tmp_path)
    with guard:
        found = [hostile.search(parser, 0.02, draw) for parser in (policies, journals)]
        assert not guard.deeds
        exec("1 + 1")
    assert guard.deeds, "a foreign deed would be seen"
    for outcome in found:
        assert (
            outcome["verdicts"].keys() <= {"refused", "accepted", "went on to the same bytes"} and outcome["steps"] > 20
        )


def test_a_run_that_was_killed_ends_as_one_that_was_not(benchmark, tmp_path):
    crash, kind = benchmark("crash"), "pair"
    config = crash.Config(calls=60, seconds_a_call=0.002)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    whole.mkdir()
    killed.mkdir()
    crash.attempt(whole, kind, config, None)
    half = crash.size(whole / "journal") / 2
    assert crash.attempt(killed, kind, config, lambda now: crash.size(killed / "journal") >= half)[0], "it was killed"
    assert 0 < crash.size(killed / "counter") < 60 and not (killed / "result").exists()
    crash.attempt(killed, kind, config, None)
    for name in ("journal", "result"):
        assert (killed / name).read_bytes() == (whole / name).read_bytes()
    assert crash.size(whole / "counter") == 60 <= crash.size(killed / "counter") <= 61


def test_runs_again_and_in_threads_give_the_same_bytes_and_compile_nothing(benchmark):
    soak = benchmark("soak")
    kinds = ("host", "values", "journal")
    expected = {kind: soak.single(kind) for kind in kinds}
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(soak.single, kinds * 4))  # what a thread's own settings compile afresh
        compilations = soak.Compilations()
        got = list(pool.map(soak.single, kinds * 4))
    assert got == [expected[kind] for kind in kinds * 4] and compilations.count == 0
    jax.jit(lambda x: x + 3.25)(1.5)
    assert compilations.count > 0, "a compilation would be seen"
