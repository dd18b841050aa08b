"""Records in short: the same numbers, in the order that people read, and never of different tasks."""

import dataclasses

import numpy as np
import pytest

from shapeopt.bench.curves import Curves
from shapeopt.bench.digest import (
    by_cell,
    cell_title,
    digest,
    digests,
    methods_of,
    natural,
    place_title,
)
from shapeopt.bench.metrics import METRICS
from shapeopt.bench.profiles import Targets, area, ecdf
from shapeopt.bench.records import Record, RecordError
from shapeopt.cli.bench import all_protocols
from shapeopt.paper.tables.choice import lacking, of_protocol

PROTOCOLS = all_protocols()
PAPER = tuple(dataclasses.replace(cell, tasks=16, starts=32) for cell in PROTOCOLS["paper"].cells)


def record(method="adam", cell=PAPER[0], protocol="paper", seed=0):
    gap = np.array([[3.0, 2.0, 5.0], [3.0, 0.5, 1.0], [9.0, 8.0, 7.0], [9.0, 4.0, 4.0]])
    best = np.minimum.accumulate(gap, axis=1)
    curves = Curves(gap, best, gap, gap[:, -1], gap[:, -1], np.full(4, 3), None, 2, 0.0, 0.0)
    return Record(protocol, cell.describe(), method, seed, curves, {"jax": "1"})


def test_a_digest_has_one_number_a_task_and_the_lowest_of_all_runs():
    one = digest(record())
    assert one.values.keys() == METRICS.keys()
    np.testing.assert_array_equal(one.values["best_gap"], [1.25, 5.5])
    np.testing.assert_array_equal(one.values["final_gap"], [3.0, 5.5])
    assert one.lowest == 0.5 and one.versions == {"jax": "1"}
    profile = ecdf(record().curves, Targets())
    assert (one.area, one.area_over_calls) == (area(profile), area(profile, log_calls=False))


def test_a_digest_where_no_minimum_is_known_says_so():
    made = record()
    nothing = np.full((4, 3), np.nan)
    curves = dataclasses.replace(made.curves, gap=nothing, best_gap=nothing, final_gap=np.full(4, np.nan))
    assert np.isnan(digest(dataclasses.replace(made, curves=curves)).lowest)


def test_records_are_taken_one_at_a_time():
    taken = []

    def stream():
        for method in ("adam", "gd"):
            taken.append(method)
            yield record(method)

    assert [one.method for one in digests(stream())] == taken == ["adam", "gd"]


def test_cells_and_methods_are_in_reading_order():
    made = digests(record(method, cell) for cell in PAPER for method in ("Mine", "adam", "gd", "cma", "universal"))
    cells = by_cell(made)
    assert list(cells)[:3] == ["ackley-2-paper-varied-48", "ackley-20-paper-varied-48", "ackley-100-paper-varied-56"]
    assert list(cells[PAPER[0].name]) == methods_of(made) == ["universal", "Mine", "gd", "adam", "cma"]
    assert natural("a-2") < natural("a-10") < natural("b-1")


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (record("gd", seed=1), r"must come from the same tasks and settings; adam \(seed 0\) and gd \(seed 1\) do not"),
        (record("gd", dataclasses.replace(PAPER[0], tasks=3)), "must come from the same tasks and settings"),
        (record("adam"), "must have each method once a cell; got adam twice"),
    ],
)
def test_methods_of_a_cell_that_ran_on_different_things_are_refused(other, said):
    with pytest.raises(RecordError, match=said):
        by_cell([digest(record()), digest(other)])


def test_a_protocol_s_records_are_its_quick_ones_only_where_there_are_no_others():
    quick, whole = digest(record(protocol="paper-quick")), digest(record())
    assert of_protocol([quick, whole], "paper") == [whole]
    assert of_protocol([quick], "paper") == [quick] and of_protocol([quick], "box") == []


def test_a_cell_s_title_says_what_its_name_says():
    cells = {cell.name: cell.describe() for protocol in PROTOCOLS.values() for cell in protocol.cells}
    cells |= {cell.name: cell.describe() for cell in PAPER}
    assert (
        cell_title(cells["ackley-2-paper-varied-48"])
        == "ackley 2, paper, varied, 48 calls, 16 tasks \N{MULTIPLICATION SIGN} 32 starts"
    )
    assert cell_title(cells["levy-20-near-noise0.05-500"]) == "levy 20, near, noise0.05, 500 calls, 64 tasks"
    assert place_title(cells["ackley-2-box-S4-512"]) == "ackley 2, box, S4"


def test_what_lacks_is_named_once():
    there = [digest(record("adam")), digest(record("gd")), digest(record("gd", PAPER[1]))]
    places = [PAPER[0].name, PAPER[1].name]
    assert lacking(there, places, ["gd"]) == ""
    assert lacking(there, places, ["gd", "adam", "nag"]) == (
        "Records missing: adam (ackley-20-paper-varied-48); nag (every cell)."
    )
