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


# What compiles nothing that the others have not compiled; `tests/adapters` and the script itself see to the rest.
LIGHT = ("pair", "two functions", "values", "2-point", "3-point", "cs", "branching", "writing", "batched", "journal")
LIGHT += ("batched, values", "scipy", "scipy, values", "scipy, 2-point", "basinhopping", "ask/tell", "ask/tell, values")
LIGHT += ("command", "command, values")


def rows_of(guarantees, part, config):
    return [guarantees.Row(part, *key, *counts()) for key, counts in guarantees.MEASURES[part](config)]


@pytest.mark.parametrize("door", LIGHT)
def test_an_independent_counter_sees_no_call_past_a_budget_or_outside_the_bounds(benchmark, door):
    guarantees = benchmark("guarantees")
    config = guarantees.Config(budgets=(1, 2, 3, 7, 60), seeds=2, doors=(door,))
    rows = rows_of(guarantees, "doors", config)
    assert len(rows) == 5 and all(row.holds for row in rows), rows
    assert rows[-1].evaluations > 100


@pytest.fixture
def float64_in_all_threads():
    """Compiled code calls the counter from a thread of its own, which knows no context."""
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)  # as it comes; a test's own double precision is a context


@pytest.mark.parametrize("door", ["compiled", "compiled particles"])
def test_a_counter_in_compiled_code_sees_no_call_past_a_budget(benchmark, door, float64_in_all_threads):
    guarantees = benchmark("guarantees")
    rows = rows_of(guarantees, "doors", guarantees.Config(budgets=(1, 2, 7, 30), seeds=2, doors=(door,)))
    assert len(rows) == 4 and all(row.holds for row in rows), rows
    assert [row.evaluations for row in rows] == [2, 4, 14, 60]


def test_a_compiled_loop_reads_what_fits_and_no_more(benchmark, float64_in_all_threads):
    guarantees = benchmark("guarantees")
    config = guarantees.Config(budgets=(1, 3, 7, 60), seeds=3, methods=("gd",), oracles=("exact", "value_only"))
    rows = rows_of(guarantees, "loops", config)
    assert [row.evaluations for row in rows] == [3, 9, 21, 180, 0, 9, 18, 180] and all(row.holds for row in rows)


def test_an_overshoot_a_point_outside_and_a_wrong_report_would_be_seen(benchmark):
    guarantees = benchmark("guarantees")
    upper = guarantees.UPPER
    counter = guarantees.Counter(guarantees.LOWER, upper)
    counter.see(upper)
    counter.see([np.add(upper, [0, 0, 1e-12]), [np.nan] * 3])
    assert (counter.count, counter.outside) == (3, 2)
    good = dict(part="", method="", oracle="", budget=3, runs=1, evaluations=3, overshoot=0, outside=0, agrees=True)
    assert guarantees.Row(**good).holds
    for change in ({"overshoot": 1}, {"outside": 1}, {"agrees": False}):
        assert not guarantees.Row(**good | change).holds
    assert guarantees.counts_of([(3, 3), (4, 4)], 3, 0) == (2, 7, 1, 0, True)
    assert not guarantees.counts_of([(3, 2)], 3, 0)[-1]
    counter.count = 7
    assert guarantees.batch_counts([3, 3], counter, 3) == (2, 7, 1, 2, False)


def test_a_record_goes_on_where_it_was_and_not_with_other_code(benchmark, tmp_path, monkeypatch):
    guarantees = benchmark("guarantees")
    config = guarantees.Config(out=tmp_path)
    record = guarantees.Record(config, "doors")
    record.add(guarantees.Row("doors", "pair", "host", 3, 1, 4, 1, 0, True))
    again = guarantees.Record(config, "doors")
    assert again.has(("pair", "host", 3)) and not again.has(("pair", "host", 2)) and again.total["broken"] == 1
    assert guarantees.Record(guarantees.Config(seeds=3, out=tmp_path), "doors").rows == []
    monkeypatch.setattr(guarantees, "code", lambda: "changed")
    assert guarantees.Record(config, "doors").rows == []


@pytest.mark.parametrize("door", ["pair", "values", "2-point", "ask/tell, values", "basinhopping"])
def test_no_query_leaves_a_drawn_box(benchmark, door):
    guarantees = benchmark("guarantees")
    runs, evaluations, overshoot, outside, agrees = guarantees.drawn(door, 200, 6)
    assert runs >= 6 and evaluations > 600 and overshoot <= 0 and outside == 0 and agrees


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
    for parser in (policies, journals):
        assert parser.forged(parser.seeds[0]) in ("accepted", "went on to the same bytes"), "a forged checksum is right"
        with guard:
            forged = {parser.forged(hostile.mutated(parser.seeds[0], draw)) for _ in range(60)}
        assert forged <= {"refused", "accepted", "went on to the same bytes"} and "refused" in forged
    assert not guard.deeds
    with guard:
        exec("1 + 1")
    assert guard.deeds, "a foreign deed would be seen"


@pytest.mark.full
@pytest.mark.parametrize(("kind", "again"), [("pair", 1), ("workers", 4)])
def test_a_run_that_was_killed_ends_as_one_that_was_not(benchmark, tmp_path, kind, again):
    crash = benchmark("crash")
    config = crash.Config(calls=60, seconds_a_call=0.002)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    whole.mkdir()
    killed.mkdir()
    crash.attempt(whole, kind, config, None)
    half = crash.size(whole / "journal") / 2
    assert crash.attempt(killed, kind, config, lambda now: crash.size(killed / "journal") >= half)[0], "it was killed"
    assert 0 < crash.size(killed / "counter") < 60 and not (killed / "result").exists()
    crash.attempt(killed, kind, config, None)
    assert crash.digest(killed / "journal", kind) == crash.digest(whole / "journal", kind)
    assert (killed / "result").read_bytes() == (whole / "result").read_bytes()
    assert crash.size(whole / "counter") == 60 <= crash.size(killed / "counter") <= 60 + again


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
