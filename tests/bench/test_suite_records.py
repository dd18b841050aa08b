"""Lines of runs: read back as they were written, refused where damaged, passed over where a process was killed."""

import dataclasses
import math

import pytest
from suite_lines import RUN

from shapeopt.bench.errors import RecordError
from shapeopt.bench.suite_records import (
    append_runs,
    keep_only,
    load_runs,
    load_suite,
    runs_path,
    suites_in,
)


def test_runs_are_read_back_exactly_and_the_later_one_of_a_problem_counts(tmp_path):
    path, other = tmp_path / "a.jsonl", dataclasses.replace(RUN, seed=1, start=math.inf)
    append_runs(path, [RUN, other])
    append_runs(path, [dataclasses.replace(RUN, version="v2")])
    found = load_runs(path)
    assert list(found) == [("bowl/d2", 0), ("bowl/d2", 1)]
    assert found["bowl/d2", 0] == dataclasses.replace(RUN, version="v2")
    assert found["bowl/d2", 1] == other
    keep_only(path, {RUN.key: RUN})
    assert load_runs(path) == {RUN.key: RUN}
    assert load_runs(tmp_path / "none.jsonl") == {}


def test_a_line_that_was_cut_short_is_passed_over_and_the_next_is_whole(tmp_path):
    path = tmp_path / "a.jsonl"
    append_runs(path, [RUN, dataclasses.replace(RUN, seed=1)])
    path.write_bytes(path.read_bytes()[:-30])
    assert list(load_runs(path)) == [RUN.key]
    append_runs(path, [dataclasses.replace(RUN, seed=2)])
    assert [seed for _, seed in load_runs(path)] == [0, 2]


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda text: text.replace(b"1e-17", b"1e-18"), "line 1 is damaged: its checksum is wrong"),
        (lambda text: b"x" + text, "line 1 is damaged"),
    ],
)
def test_a_damaged_line_is_refused(tmp_path, change, message):
    path = tmp_path / "a.jsonl"
    append_runs(path, [RUN])
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(RecordError, match=message):
        load_runs(path)


def test_a_folder_knows_its_suites_and_names_are_file_names(tmp_path):
    for suite, method in (("nist", "a"), ("nist", "b"), ("gp", "a")):
        append_runs(runs_path(tmp_path, suite, "dev", method), [RUN])
    assert suites_in(tmp_path, "dev") == ["gp", "nist"] and suites_in(tmp_path, "test") == []
    assert load_suite(tmp_path, "nist", "dev") == {"a": {RUN.key: RUN}, "b": {RUN.key: RUN}}
    for wrong in (("../nist", "dev", "a"), ("nist", "train", "a"), ("nist", "dev", ".a")):
        with pytest.raises(RecordError):
            runs_path(tmp_path, *wrong)
