"""A journal: cut anywhere, the run ends as if nothing had happened; damaged, foreign or in use, it is refused."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from trust_objectives import HOST, START, Counted, ripples, traceable, value

import shapeopt
from shapeopt.optimizer import Policy
from shapeopt.oracles import JournalError

BUDGET = 30
READ_ONLY = Path("/")  # to all but the superuser


def run(fun, jac, path, **settings):
    settings = {"bounds": (-5, 5), "budget": BUDGET, **settings}
    return shapeopt.minimize(fun, START, jac=jac, journal=path, **settings)


def told(result):
    """All numbers of a result, as bytes."""
    trace = result.trace
    return b"".join(np.asarray(part).tobytes() for part in (result.x, result.fun, result.nfev, trace.value, trace.x))


def pair(x):
    return ripples(x)


@pytest.mark.parametrize("kind", [*HOST, "traceable", "particles"])
def test_a_journal_cut_anywhere_gives_the_same_bytes_and_at_most_one_call_again(kind, tmp_path):
    fun, jac = HOST.get(kind, (traceable, None) if kind == "traceable" else (pair, True))
    starts = 3 if kind == "particles" else 1
    path = tmp_path / "run.journal"
    whole = run(fun, jac, path, num_starts=starts)
    raw = path.read_bytes()
    lines = raw.splitlines(keepends=True)
    assert whole.nfev <= BUDGET and len(lines) == 1 + 2 * whole.nfev
    ends = np.cumsum([len(line) for line in lines])
    for cut in (0, 7, ends[0], ends[1] - 3, ends[1], ends[2], ends[3], ends[20] + 9, ends[21], ends[-1] - 1, ends[-1]):
        path.write_bytes(raw[:cut])
        counted = Counted(fun)
        counted.__qualname__, counted.__module__ = fun.__qualname__, fun.__module__
        again = run(counted, jac, path, num_starts=starts)
        assert told(again) == told(whole) and path.read_bytes() == raw
        if kind != "traceable":  # a compiled function is called by XLA
            answers = sum(line.endswith(b"\n") and b" ask " not in line for line in raw[:cut].splitlines(True)[1:])
            assert counted.calls == whole.nfev - answers


@pytest.mark.parametrize("starts", [1, 3])
@pytest.mark.parametrize("jac", [None, True])
def test_a_vectorised_function_is_asked_again_only_for_what_its_journal_does_not_have(jac, starts, tmp_path):
    asked, path = [], tmp_path / "run.journal"

    def rows(x):
        asked.extend(x)
        values, gradients = zip(*map(ripples, np.asarray(x)), strict=True)
        return (np.array(values), np.array(gradients)) if jac else np.array(values)

    whole = run(rows, jac, path, batched=True, num_starts=starts)
    lines = path.read_bytes().splitlines(keepends=True)
    assert len(asked) == whole.nfev
    for answers in (1, 2, 8, 9, 10, whole.nfev):
        path.write_bytes(b"".join(lines[: 1 + 2 * answers]))
        asked.clear()
        assert told(run(rows, jac, path, batched=True, num_starts=starts)) == told(whole)
        assert path.read_bytes().splitlines(keepends=True) == lines and len(asked) == whole.nfev - answers


def test_complex_steps_are_not_kept(tmp_path):
    with pytest.raises(ValueError, match="cs"):
        run(lambda x: np.sum(x * x), "cs", tmp_path / "run.journal")
    assert not (tmp_path / "run.journal").exists()


def test_a_run_without_a_journal_reads_the_same(tmp_path):
    assert told(run(pair, True, tmp_path / "a")) == told(run(pair, True, None))


def test_a_failed_call_that_was_skipped_stays_failed_and_one_that_ended_the_run_is_made_again(tmp_path):
    path, fails = tmp_path / "run.journal", {4, 5, 11}
    broken = lambda n: OSError("lost") if n in fails else None  # noqa: E731
    whole = run(Counted(ripples, broken), True, path, on_error="skip")
    raw = path.read_bytes()
    path.write_bytes(raw[: len(raw) // 2])
    done = sum(b" ask " not in line for line in path.read_bytes().splitlines()[1:-1])
    rest = Counted(ripples, lambda n: broken(n + done))
    assert told(run(rest, True, path, on_error="skip")) == told(whole) and path.read_bytes() == raw
    path = tmp_path / "other.journal"
    with pytest.raises(OSError, match="lost") as caught:
        run(Counted(ripples, broken), True, path)
    assert caught.value.shapeopt_result.nfev == 4
    mended = Counted(ripples)
    result = run(mended, True, path)
    assert result.nfev == BUDGET and mended.calls == BUDGET - 3
    assert told(result) == told(run(ripples, True, None))


@pytest.mark.parametrize("kind", ["bit", "line", "order", "twice", "end", "more", "long", "foreign", "numbers", "kind"])
def test_damage_is_refused_before_any_call(kind, tmp_path):
    path = tmp_path / "run.journal"
    run(Counted(ripples), True, path)
    lines = path.read_bytes().splitlines(keepends=True)
    middle = len(lines) // 2
    if kind == "bit":
        last = lines[-1]  # after which no other point is asked for that could tell
        lines[-1] = last[:-6] + (b"B" if last[-6:-5] == b"A" else b"A") + last[-5:]
    elif kind == "line":
        del lines[middle]
    elif kind == "order":
        lines[middle], lines[middle + 1] = lines[middle + 1], lines[middle]
    elif kind == "twice":
        lines.insert(middle, lines[middle])
    elif kind == "end":
        lines[-1] = lines[-1][:-3] + b"!!\n"
    elif kind == "more":
        lines.append(lines[-1])
    elif kind == "long":
        lines[-1] = b"x" * 500
    elif kind == "foreign":
        lines = [b"my notes\n", b"which nobody may overwrite"]
    elif kind == "numbers":
        lines[2] = signed(b"answer 1 AAAA")
    elif kind == "kind":
        lines[2] = signed(lines[2][9:-1].replace(b"answer", b"exec"))
    damaged = b"".join(lines)
    path.write_bytes(damaged)
    counted = Counted(ripples)
    with pytest.raises(JournalError, match=r"run\.journal"):
        run(counted, True, path)
    assert counted.calls == 0 and path.read_bytes() == damaged, "nothing is called, and nothing is overwritten"


def signed(body):
    import zlib

    return b"%08x %s\n" % (zlib.crc32(body), body)


def test_a_header_in_another_encoding_is_refused_and_loads_no_codec(tmp_path):
    path, codec = tmp_path / "journal", "encodings.utf_32_be"
    header = b"".join(b"\0\0\0%c" % letter for letter in b'{"format": 1}')  # by hand: encoding it loads the codec
    path.write_bytes(signed(b"header " + header))
    assert codec not in sys.modules
    with pytest.raises(JournalError, match="journal"):
        run(pair, True, path)
    assert codec not in sys.modules


def test_a_file_larger_than_the_run_could_have_made_is_refused_unread(tmp_path):
    path = tmp_path / "run.journal"
    with path.open("wb") as file:
        file.truncate(2**36)  # sparse: reading it would take minutes
    with pytest.raises(JournalError, match="at most"):
        run(Counted(ripples), True, path)


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"seed": 1}, "seed is 0 there and 1 here"),
        ({"budget": 31}, "budget is 30 there and 31 here"),
        ({"bounds": (-6, 6)}, "bounds"),
        ({"policy": Policy().without("pair model")}, "policy"),
        ({"on_error": "skip"}, "on_error"),
        ({"noise": 0.1}, "noise"),
        ({"num_starts": 2}, "num_starts"),
    ],
)
def test_a_journal_of_another_run_is_refused_with_what_differs(changes, word, tmp_path):
    path = tmp_path / "run.journal"
    run(pair, True, path)
    with pytest.raises(JournalError, match=word):
        run(pair, True, path, **changes)
    with pytest.raises(JournalError, match="objective"):
        run(value, True, path)


def test_an_objective_that_changed_is_noticed_where_the_run_turns_elsewhere(tmp_path):
    path = tmp_path / "run.journal"
    run(pair, True, path)
    lines = path.read_bytes().splitlines(keepends=True)
    asked = lines[9].split()
    lines[9] = signed(b" ".join([*asked[1:3], lines[3].split()[3]]))
    path.write_bytes(b"".join(lines))
    with pytest.raises(JournalError, match="call 5 was made at another point"):
        run(pair, True, path)


def test_two_runs_on_one_journal_are_refused_and_the_first_goes_on(tmp_path):
    path = tmp_path / "run.journal"
    seen = []

    def intruder(progress):
        if not seen:
            with pytest.raises(JournalError, match="in use by another run") as caught:
                run(pair, True, path)
            seen.append(str(caught.value))
            code = f"import fcntl, sys; fcntl.flock(open({str(path)!r}, 'r+b'), fcntl.LOCK_EX | fcntl.LOCK_NB)"
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
            assert b"BlockingIOError" in done.stderr, "another process is kept out as well"

    first = run(pair, True, path, callback=intruder)
    assert seen and first.nfev == BUDGET
    assert told(run(pair, True, path)) == told(first)


@pytest.mark.parametrize("place", ["no/such/folder/run.journal", "folder", "file/run.journal", "pipe"])
def test_a_place_where_no_journal_can_be_is_refused_before_any_call(place, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    os.mkfifo(tmp_path / "pipe")
    counted = Counted(ripples)
    with pytest.raises(JournalError, match="journal"):
        run(counted, True, tmp_path / place)
    assert counted.calls == 0


@pytest.fixture
def no_superuser():
    """The superuser may write anywhere, so for a while he is nobody."""
    run(ripples, True, None)  # what is compiled and imported is there before
    if os.geteuid() == 0:
        os.seteuid(65534)
    yield
    if os.getuid() == 0:
        os.seteuid(0)


def test_a_read_only_folder_is_refused_before_any_call(no_superuser):
    counted = Counted(ripples)
    with pytest.raises(JournalError, match="Permission denied"):
        run(counted, True, READ_ONLY / "run.journal")
    assert counted.calls == 0


def test_a_full_disk_ends_the_run_with_its_result_and_the_same_run_goes_on_later(tmp_path):
    path = tmp_path / "run.journal"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    counted = Counted(ripples)

    def fill(progress):
        if progress.nfev == 12:
            resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 70, hard))  # one line and a half

    try:
        with pytest.raises(JournalError, match=r"run\.journal.*can.t be written") as caught:
            run(counted, True, path, callback=fill)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.shapeopt_result.nfev == 13 and np.isfinite(caught.value.shapeopt_result.fun)
    assert path.read_bytes().endswith(b"\n"), "half a line is taken back"
    rest = Counted(ripples)
    assert told(run(rest, True, path)) == told(run(ripples, True, None))
    assert rest.calls == BUDGET - 12


def test_on_error_skip_does_not_skip_a_journal_that_cannot_be_written(tmp_path, monkeypatch):
    def full(handle, line):
        raise OSError(28, "No space left on device")

    def fill(progress):
        monkeypatch.setattr(os, "write", full)

    counted = Counted(ripples)
    with pytest.raises(JournalError, match="No space left"):
        run(counted, True, tmp_path / "run.journal", on_error="skip", callback=fill)
    assert counted.calls == 1


def test_float32_structures_and_bad_values_come_back_bit_for_bit(tmp_path):
    def tree(x):
        total = float(np.sum(np.asarray(x["a"]) ** 2) + np.sum(np.asarray(x["b"]) ** 2))
        calls.append(1)
        return -np.nan if len(calls) == 3 else np.inf if len(calls) == 5 else total

    def minimize():
        calls.clear()
        start = {"a": np.ones(2, np.float32), "b": np.full((1, 2), -1.5, np.float32)}
        return shapeopt.minimize(tree, start, budget=40, journal=path)

    calls, path = [], Path(tmp_path / "run.journal")
    whole = minimize()
    again = minimize()
    assert calls == [] and whole.x["b"].dtype == np.float32
    assert whole.trace.value.tobytes() == again.trace.value.tobytes()
    np.testing.assert_array_equal(whole.x["b"], again.x["b"])
