"""The gate: quiet where nothing changed, loud at planted faults, blind to noise."""

import copy
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der
from toy_suite import TOY

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

import gate  # noqa: E402
import gate_measure as measure  # noqa: E402

from shapeopt.bench.suites.base import Objective, SuiteProblem, unbounded  # noqa: E402
from shapeopt.optimizer import Policy  # noqa: E402


def make_valley():
    return Objective(lambda x: (float(rosen(x)), rosen_der(x)), np.full(4, -1.2), *unbounded(4), minimum=0.0)


@pytest.fixture(scope="module")
def record():
    """A record of a small slice, without clocks."""
    rows, readings = measure.run_slice(TOY.half("dev"), measure.Subject(), None)
    return {"slices": {"toy": rows}, "tactics": dict(readings), "functions a reading": {"d=2": 100.0}}


def short(before, now):
    return [line.what for line in gate.compared(before, now) if line.short]


def again(record, subject):
    known = {name: row["targets"] for name, row in record["slices"]["toy"].items()}
    rows, readings = measure.run_slice(TOY.half("dev"), subject, known)
    return record | {"slices": {"toy": rows}, "tactics": dict(readings)}


def test_an_unchanged_run_is_the_record_s(record):
    now = again(record, measure.Subject())
    assert now == record and short(record, now) == []


def test_a_local_search_that_got_weaker_is_seen(record):
    assert gate.planted("weak-line-search").policy != Policy()
    valley = SuiteProblem("valley", "valley", "dev", 4, True, 200, make_valley)
    rows = [
        measure.run_slice([valley], subject, None)[0]
        for subject in (measure.Subject(), gate.planted("weak-line-search"))
    ]
    before, now = (measure.area(row["valley"]) for row in rows)
    assert now < before - 0.05


def test_a_tactic_that_is_switched_off_is_named(record):
    before = record | {"tactics": record["tactics"] | {"separable sum": 50, "rare": 5}}
    assert gate.planted("no-tactic").policy == Policy().without("separable sum")
    now = again(record, gate.planted("no-tactic"))
    assert "readings of the tactic separable sum" in short(before, now)
    assert not any("rare" in what for what in short(before, now))


def test_a_slower_step_is_seen_in_what_is_called_for_a_reading():
    def work():
        return [len("") for _ in range(50)] and None

    plain, slow = (
        measure.function_calls(subject)["d=2"] for subject in (measure.Subject(), measure.Subject(step=work))
    )
    assert slow > 1.1 * plain
    assert measure.function_calls(measure.Subject())["d=2"] == pytest.approx(plain, rel=0.01), "nothing stays planted"


def test_times_have_wide_margins_and_calls_have_those_of_their_scatter():
    before = {"overhead a call": {"d=2": 3.0}, "batch throughput": {"d=10": 4.0}}
    assert short(before, {"overhead a call": {"d=2": 3.5}, "batch throughput": {"d=10": 3.0}}) == []
    now = {"overhead a call": {"d=2": 4.5}, "batch throughput": {"d=10": 2.0}}
    assert short(before, now) == ["overhead a call, d=2", "batch throughput, d=10"]
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 0.05, 40)
    assert not gate.is_short(noise - noise.mean() + 0.01, 2.0, 0.005)
    assert gate.is_short(noise - noise.mean() + 0.03, 2.0, 0.005)
    assert not gate.is_short(np.full(9, 0.004), 2.0, 0.005) and gate.is_short(np.full(9, 0.006), 2.0, 0.005)


def test_a_slice_that_lost_its_targets_falls_short(record):
    now = copy.deepcopy(record)
    for row in now["slices"]["toy"].values():
        row["hits"] = [0 if i > 3 else hit for i, hit in enumerate(row["hits"])]
    assert any(what.startswith("area, all slices") for what in short(record, now))


def test_the_stored_record_has_every_slice_and_figure():
    stored = json.loads(gate.RECORD.read_text())
    assert set(measure.slices()) == set(stored["slices"])
    assert set(gate.MARGINS) <= set(stored) and min(len(rows) for rows in stored["slices"].values()) >= 4
    names = {name: {problem.name for problem in problems} for name, problems in measure.slices().items()}
    assert all(set(rows) == names[name] for name, rows in stored["slices"].items())
