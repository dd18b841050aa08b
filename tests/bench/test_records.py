"""Records on disk: what comes back, what is refused, and that a crash leaves all or nothing."""

import json
import os
from dataclasses import replace

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load, save

from shapeopt.bench import records
from shapeopt.bench.cells import Cell, Protocol
from shapeopt.bench.curves import Curves
from shapeopt.bench.metrics import PAPER_HIT
from shapeopt.bench.records import (
    RecordError,
    is_done,
    load_record,
    load_records,
    make_record,
    record_path,
    save_record,
)
from shapeopt.bench.sensing import Noisy
from shapeopt.tasks import make_family

NAN, INF = np.nan, np.inf
CELL = Cell(make_family("rastrigin", 2), budget=3, tasks=2, sensing=Noisy(0.2), rule=PAPER_HIT)
PROTOCOL = Protocol("tiny", "for tests", (CELL,), ("gd",), seed=7)
CURVES = Curves(
    gap=np.array([[NAN, np.pi * 1e-9, INF], [1e300, -2.5, 3e-45]]),
    best_gap=np.array([[NAN, np.pi, np.pi], [1e5 / 3, 1.0, 1.0]]),
    distance=np.array([[NAN, 1.0, 2.0], [0.1, 0.2, 0.3]]),
    final_gap=np.array([INF, 1 / 3]),
    final_distance=np.array([NAN, 0.2]),
    calls=np.array([3, 2]),
    minimum_index=np.array([[-1, 0, 7], [1, 2, 3]], np.int32),
    tasks=2,
    seconds_objective=0.125,
    seconds_optimizer=1 / 3,
)


def record(**changes):
    return make_record(PROTOCOL, CELL, "gd", replace(CURVES, **changes))


@pytest.fixture
def path(tmp_path):
    return save_record(tmp_path, record())


def test_a_record_comes_back_with_all_that_decides_it(tmp_path, path):
    found = load_record(path)
    assert path == tmp_path / "tiny" / "rastrigin-2-box-noise0.2-3" / "gd.safetensors"
    assert (found.protocol, found.method, found.seed) == ("tiny", "gd", 7)
    assert found.cell == CELL.describe() and found.rule == PAPER_HIT
    assert found.versions == record().versions and {"shapeopt", "jax", "numpy", "scipy"} <= found.versions.keys()
    assert (found.curves.tasks, found.curves.budget) == (2, 3)
    assert (found.curves.seconds_objective, found.curves.seconds_optimizer) == (0.125, 1 / 3)


def test_curves_keep_seven_digits_infinities_and_nan(path):
    found = load_record(path).curves
    for name in ("best_gap", "distance", "final_gap", "final_distance"):
        stored, given = getattr(found, name), getattr(CURVES, name)
        assert stored.dtype == np.float64
        np.testing.assert_allclose(stored, given, rtol=6e-8, atol=0)
    np.testing.assert_allclose(found.gap[0], CURVES.gap[0], rtol=6e-8, atol=0)
    assert found.gap[1, 0] == INF  # beyond single precision, and no warning
    assert found.gap[1, 1] == -2.5 and 0 < found.gap[1, 2] < 1e-44
    np.testing.assert_array_equal(found.calls, CURVES.calls)
    np.testing.assert_array_equal(found.minimum_index, CURVES.minimum_index)


def test_curves_without_minima_come_back_without_them(tmp_path):
    assert load_record(save_record(tmp_path, record(minimum_index=None))).curves.minimum_index is None


def test_a_record_cut_short_anywhere_is_refused(path):
    whole = path.read_bytes()
    for length in (0, 1, 7, 8, 50, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(RecordError, match="damaged"):
            load_record(path)


def test_a_flipped_bit_in_the_arrays_or_in_what_is_said_of_them_is_noticed(path):
    whole = path.read_bytes()
    start = whole.index(b"seed")
    for place in (len(whole) - 1, len(whole) // 2 + 200, start + len(b'seed\\": ')):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(RecordError):
            load_record(path)


def test_a_foreign_file_is_refused(path):
    arrays = load(path.read_bytes())
    for blob, message in (
        (b"not a record at all", "damaged"),
        (save(arrays), "not a record of this version: format None"),
        (save(arrays, metadata={"format": "shapeopt-bench-99"}), "format 'shapeopt-bench-99'"),
        (save(arrays, metadata={"format": records.FORMAT}), "damaged: 'sha256'"),
    ):
        path.write_bytes(blob)
        with pytest.raises(RecordError, match=message):
            load_record(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda about, arrays: about.pop("seed"),
        lambda about, arrays: about["numbers"].pop("tasks"),
        lambda about, arrays: about["numbers"].update(tasks="two"),
        lambda about, arrays: about["numbers"].update(tasks=5),
        lambda about, arrays: arrays.pop("gap"),
        lambda about, arrays: arrays.update(calls=np.array([99, 0], np.int32)),
        lambda about, arrays: arrays.update(distance=np.zeros((1, 3), np.float32)),
    ],
)
def test_a_record_that_says_or_holds_something_else_is_refused_even_if_it_is_signed(path, change):
    with safe_open(path, framework="numpy") as file:
        about, arrays = json.loads(file.metadata()["record"]), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    change(about, arrays)
    text = json.dumps(about)
    signed = {"format": records.FORMAT, "record": text, "sha256": records._digest(text, arrays)}
    path.write_bytes(save(arrays, metadata=signed))
    with pytest.raises(RecordError, match="damaged"):
        load_record(path)


def test_a_huge_file_is_refused_before_it_is_read(path):
    os.truncate(path, records.MAX_BYTES + 1)  # a hole: it takes no room on the disk
    with pytest.raises(RecordError, match="larger than"):
        load_record(path)


def test_what_is_no_file_is_no_record(tmp_path, path):
    path.unlink()
    with pytest.raises(RecordError, match="No such file"):
        load_record(path)
    path.mkdir()
    with pytest.raises(RecordError):
        load_record(path)
    assert not is_done(tmp_path, PROTOCOL, CELL, "gd")


@pytest.mark.parametrize(
    "part", ["", ".", "..", "../up", "a/b", "a\\b", "/abs", ".hidden", "a b", "a\n", "a:b", "nul\0"]
)
def test_names_that_would_leave_the_folder_or_are_no_names_are_refused(tmp_path, part):
    for names in ((part, "cell", "gd"), ("tiny", part, "gd"), ("tiny", "cell", part)):
        with pytest.raises(RecordError, match="`name` must be made of letters, digits"):
            record_path(tmp_path, *names)
    assert record_path(tmp_path, "a.b+c=d-e_f", "cell", "gd").parent.parent.parent == tmp_path


def test_a_crash_between_writing_and_replacing_leaves_what_was_there(tmp_path, path, monkeypatch):
    before = path.read_bytes()

    def crash(source, target):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", crash)
    with pytest.raises(KeyboardInterrupt):
        save_record(tmp_path, record(seconds_objective=9.0))
    with pytest.raises(KeyboardInterrupt):
        save_record(tmp_path, replace(record(), method="adam"))
    assert path.read_bytes() == before
    assert not is_done(tmp_path, PROTOCOL, CELL, "adam")
    assert [found.method for found in load_records(tmp_path)] == ["gd"]
    monkeypatch.undo()
    save_record(tmp_path, replace(record(), method="adam"))
    assert is_done(tmp_path, PROTOCOL, CELL, "adam") and path.read_bytes() == before


def test_a_crash_while_writing_leaves_no_record(tmp_path, monkeypatch):
    path = record_path(tmp_path, "tiny", CELL.name, "gd")

    def half(self, blob):
        with self.open("wb") as file:
            file.write(blob[: len(blob) // 2])
        raise OSError("No space left on device")

    monkeypatch.setattr(type(path), "write_bytes", half)
    with pytest.raises(OSError, match="No space"):
        save_record(tmp_path, record())
    assert not path.exists() and list(load_records(tmp_path)) == []


def test_a_record_is_done_only_for_its_very_cell_and_seed(tmp_path, path):
    assert is_done(tmp_path, PROTOCOL, CELL, "gd")
    assert not is_done(tmp_path, PROTOCOL, CELL, "adam")
    assert not is_done(tmp_path, PROTOCOL, CELL, "gd", "trained anew")
    save_record(tmp_path, replace(record(), version="trained anew"))
    assert is_done(tmp_path, PROTOCOL, CELL, "gd", "trained anew") and not is_done(tmp_path, PROTOCOL, CELL, "gd")
    save_record(tmp_path, record())
    assert not is_done(tmp_path, replace(PROTOCOL, seed=8), CELL, "gd")
    assert not is_done(tmp_path, replace(PROTOCOL, name="other"), CELL, "gd")
    for change in ({"tasks": 3}, {"starts": 2}, {"budget": 4}, {"counts_minima": True}):
        assert not is_done(tmp_path, PROTOCOL, replace(CELL, **change), "gd")
    path.write_bytes(path.read_bytes()[:-1])
    assert not is_done(tmp_path, PROTOCOL, CELL, "gd")


def test_all_records_of_a_folder_or_of_one_protocol_are_found_in_order(tmp_path):
    for protocol in ("b", "a"):
        for method in ("gd", "adam"):
            save_record(tmp_path, replace(record(), protocol=protocol, method=method))
    (tmp_path / "a" / "notes.txt").write_text("not a record")
    found = [(r.protocol, r.method) for r in load_records(tmp_path)]
    assert found == [("a", "adam"), ("a", "gd"), ("b", "adam"), ("b", "gd")]
    assert [r.method for r in load_records(tmp_path, "b")] == ["adam", "gd"]
    with pytest.raises(RecordError, match="`folder` must be a folder"):
        next(load_records(tmp_path / "nothing"))
