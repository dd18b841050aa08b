"""What people read: the timeline, shortened points, JSON that is whole or absent."""

import json
import math

import numpy as np
import pytest
from scipy.optimize import OptimizeResult

from shapeopt.cli.summary import REASONS, basins_left, short_point, thinned, timeline
from shapeopt.core import Cause
from shapeopt.terminal.record import plain, write_record


def event(call, cause, value, best, mode="refine"):
    return OptimizeResult(call=call, cause=cause, value=value, best=best, mode=mode)


def test_the_timeline_has_a_row_for_each_improvement_and_one_for_what_lies_between():
    events = [
        event(9, "converged", 5.0, 5.0),
        event(12, "revisit", 5.5, 5.0),
        event(15, "hopeless", 5.2, 5.0),
        event(20, "revisit", 5.1, 5.0),
        event(30, "converged", 2.0, 2.0),
    ]
    assert list(timeline(events)) == [
        ("9", "converged", 5.0, 5.0),
        ("12-20", "2 revisit, hopeless", 5.1, 5.0),
        ("30", "converged", 2.0, 2.0),
    ]


def test_a_move_between_basins_is_not_a_basin_left():
    events = [event(2, "clock", 3.0, 3.0, mode="escape"), event(9, "stall", 2.0, 2.0, mode="settle")]
    assert [left.call for left in basins_left(events)] == [9]


def test_a_long_timeline_keeps_its_ends_and_says_how_many_rows_lack():
    rows = [(str(i), "converged", float(-i), float(-i)) for i in range(30)]
    shown = thinned(rows, 12)
    assert len(shown) == 12 and shown[0][0] == "0" and shown[-1][0] == "29"
    lacking = [calls for calls, *_ in rows if calls not in {row[0] for row in shown}]
    assert shown[4][1] == f"({len(lacking)} rows left out)"
    assert len(thinned(rows, None)) == 30


def test_every_cause_has_its_words():
    assert REASONS.keys() == {cause.name.lower() for cause in Cause} - {"none"}


def test_a_long_point_keeps_its_ends_and_its_length():
    assert short_point(np.arange(3.0)) == r"\[0, 1, 2]"
    assert short_point(np.arange(20.0)) == r"\[0, 1, 2, 3, ..., 19]  (20 numbers)"


def test_json_has_null_for_what_is_not_finite():
    value = {"a": np.array([1.0, math.nan]), "b": (np.float32(math.inf), np.int64(2)), "c": None, "d": np.True_}
    assert plain(value) == {"a": [1.0, None], "b": [None, 2], "c": None, "d": True}


def test_a_record_is_replaced_at_once_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "out.json"
    path.write_text("the old one")

    def fail(*arguments):
        raise OSError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr("shapeopt.terminal.record.os.replace", fail)
        with pytest.raises(OSError, match="no space"):
            write_record(path, {}, {"fun": 1.0})
    assert path.read_text() == "the old one" and list(tmp_path.iterdir()) == [path]
    write_record(path, {"seed": 0}, {"fun": 1.0, "unknown": 2})
    assert json.loads(path.read_text()) == {"about": {"seed": 0}, "fun": 1.0}
