"""The calls of a run on disk, so that a crash loses none of them: append-only, one line a record, each with a checksum.

    CRC header {"format": ..., ...}         what the run depends on
    CRC ask 17 X                            the intent, written before call 17 is made at the point X
    CRC answer 17 VALUE+GRADIENT            what it brought

Points, values and gradients are little-endian numbers in base64, so that they come back bit for bit. A run with the
same header is answered from the file as far as it goes, at the very points that it asks at, and then goes on: it ends
as if nothing had happened. A call whose intent has no answer was cut short and is made again; it is the only one.

Where calls are under way at the same time, their lines come in any order after those of the first ones (`overlap`), and
all calls that were cut short are made again.

What a file says is data and nothing else: a line has a form, a length that the header's dimension bounds, and a place
in the order of calls, or the file is refused. Only a last line without its end, which a crash leaves, is dropped.
"""

import base64
import binascii
import errno
import json
import os
import re
import stat
import sys
import time
import zlib
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np

FORMAT = "shapeopt-journal-1"
MOST_BYTES = 2**26  # of the numbers of one answer, where their count is not known before
MAX_HEADER = 2**16  # bytes
SYNC_SECONDS = 1.0  # how much of a run a power cut may take; a killed process loses nothing
LINE = re.compile(rb"([0-9a-f]{8}) ([a-z]+) (.*)\n")
CALL = re.compile(rb"([1-9][0-9]{0,17})(?: ([A-Za-z0-9+/]+={0,2}))?")

ASK = "ask"
ANSWER = "answer"  # of a function that computes on the host
TRACEABLE = "traceable"  # the same, made of JAX arrays: the function may be traced
REFUSAL = "refusal"  # it could not take a NumPy array and was asked again, with a JAX array
FAILURE = "failure"  # it raised, and the run was told to go on
OPAQUE = "opaque"  # it could not be traced; that it was begun counts
WITH_NUMBERS = (ANSWER, TRACEABLE)
OUTCOMES = (*WITH_NUMBERS, REFUSAL, FAILURE, OPAQUE)


class JournalError(ValueError):
    """A journal is in use, damaged, of another run, or can't be written; the message names the file."""


class Kept(NamedTuple):
    """How a call ended: one of `OUTCOMES`, with numbers where it brought any."""

    kind: str
    value: float = np.nan
    gradient: np.ndarray | None = None


class Journal:
    """The file at `path` of the run that `header` describes, locked until `close`.

    `begin` tells what is known of a call, `keep` and `forgo` what became of it; `finish` follows the last one. Call
    numbers rise by one. An answer is a value with a gradient like `like`, or, where `vectors`, with a flat vector
    of any length.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        header: Mapping[str, Any],
        like: np.ndarray,
        budget: int,
        vectors: bool = False,
    ) -> None:
        self.path = Path(path)
        self._like, self._dtype = like, like.dtype.newbyteorder("<")
        self._vectors = vectors
        self._longest = 64 + 4 * ((8 + (MOST_BYTES if vectors else like.nbytes)) // 3 + 1)
        self._number = 0  # of the last call begun
        self._open: Kept | None = None  # how it ended, where that is known
        self.live = False  # whether the file's end was reached, so that calls are made and not replayed
        self._synced = -np.inf
        self._file = _locked(self.path)
        try:
            self._check_size(MAX_HEADER + (2 * budget + 1) * self._longest)
            self._meet(_line("header", json.dumps({"format": FORMAT, **header}, sort_keys=True).encode()))
        except BaseException:
            self._file.close()
            raise

    def begin(self, number: int, x: np.ndarray) -> Kept | None:
        """How call `number`, at x, ended; None if it has to be made, which is then on disk as an intent."""
        if number == self._number:
            return self._open
        point = self._bytes(x)
        asked = self._next(number, (ASK,))
        if asked is None:
            self._write(_line(ASK, b"%d %s" % (number, base64.b64encode(point))))
            self._number, self._open = number, None
            return None
        if asked[1] != point:
            raise self._error(
                f"call {number} was made at another point than this run asks at; the objective, the policy or the "
                "program has changed since it was begun"
            )
        outcome = self._next(number, OUTCOMES)
        self._number, self._open = number, None if outcome is None else self._kept(*outcome)
        return self._open

    def upcoming(self, number: int, x: np.ndarray) -> str | None:
        """How call `number`, which follows in the file, ended if it was made at x; None if the file does not say."""
        if self.live:
            return None
        place = self._file.tell()
        (kind, asked), (outcome, _) = (_parts(self._file.readline(self._longest + 1)) for _ in range(2))
        self._file.seek(place)
        mine = b"%d %s" % (number, base64.b64encode(self._bytes(x)))
        return outcome if kind == ASK and asked == mine else None

    def keep(self, kind: str, value: float, gradient: np.ndarray | None) -> Kept:
        """What the call under way brought, as it will be read again."""
        numbers = np.array(value, "<f8").tobytes() + (b"" if gradient is None else self._bytes(gradient))
        if len(numbers) > 8 + MOST_BYTES and self._vectors:
            raise self._error(f"can't hold {len(numbers)} bytes of numbers of one call; at most {MOST_BYTES}")
        self._write(_line(kind, b"%d %s" % (self._number, base64.b64encode(numbers))))
        self._open = self._kept(kind, numbers)
        return self._open

    def forgo(self, kind: str) -> None:
        """The call under way came to nothing, and the run goes on; a replayed call is known to have."""
        if self._open is None and self._number > 0:
            self._write(_line(kind, b"%d" % self._number))
            self._open = Kept(kind)

    def overlap(self, budget: int) -> None:
        """From now on calls may be under way at the same time: read what the file has of them, in whatever order."""
        self._asked: dict[int, bytes] = {}
        self._ended: dict[int, Kept] = {}
        while not self.live:
            place = self._file.tell()
            raw = self._file.readline(self._longest + 1)
            if not raw.endswith(b"\n") and len(raw) <= self._longest:
                self._go_on_from(place)
                return
            kind, payload = _parts(raw)
            found = None if payload is None else CALL.fullmatch(payload)
            number = 0 if found is None else int(found[1])
            fits = self._number < number <= budget and number not in self._ended and kind in (ASK, *OUTCOMES)
            if found is None or not fits or (kind == ASK) == (number in self._asked):
                raise self._error(f"is damaged at byte {place}")
            self._note(kind, number, found[2], place)

    def _note(self, kind: str, number: int, text: bytes | None, place: int) -> None:
        try:
            numbers = b"" if text is None else base64.b64decode(text, validate=True)
        except binascii.Error as error:
            raise self._error(f"is damaged at byte {place}") from error
        if kind == ASK:
            self._asked[number] = numbers
        else:
            self._ended[number] = self._kept(kind, numbers)

    def begin_one(self, number: int, x: np.ndarray) -> Kept | None:
        """`begin` of a call that may overlap with others."""
        point = self._bytes(x)
        if number not in self._asked:
            self._write(_line(ASK, b"%d %s" % (number, base64.b64encode(point))))
        elif self._asked[number] != point:
            raise self._error(f"call {number} was made at another point than this run asks at")
        return self._ended.get(number)

    def keep_one(self, number: int, kept: Kept) -> Kept:
        """`keep`, or `forgo` where it brought no numbers, of a call that may overlap with others."""
        if kept.kind not in WITH_NUMBERS:
            self._write(_line(kept.kind, b"%d" % number))
            return kept
        numbers = np.array(kept.value, "<f8").tobytes()
        numbers += b"" if kept.gradient is None else self._bytes(kept.gradient)
        self._write(_line(kept.kind, b"%d %s" % (number, base64.b64encode(numbers))))
        return self._kept(kept.kind, numbers)

    def finish(self) -> None:
        """The run has made its last call; so nothing may follow it in the file."""
        if not self.live and self._file.read(1):
            raise self._error(f"is damaged: it goes on after call {self._number}, the last one of this run")

    def close(self) -> None:
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            raise self._error(f"can't be written: {error.strerror}") from error
        finally:
            self._file.close()

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with nullcontext() if error is None else suppress(JournalError):  # the first error is the one to show
            self.close()

    def _meet(self, mine: bytes) -> None:
        """Write the header into an empty file, or find the same one in it."""
        found = self._file.read(len(mine))
        if len(found) < len(mine) and mine.startswith(found):  # new, or cut short before the first call
            self._go_on_from(0)
            self._write(mine)
        elif found != mine:
            raise self._error(self._difference(mine))

    def _difference(self, mine: bytes) -> str:
        self._file.seek(0)
        fields = _fields(self._file.read(MAX_HEADER))
        if fields is None or fields.get("format") != FORMAT:
            return "is no journal of this version of shapeopt, or its header is damaged"
        wanted = _fields(mine) or {}
        for name in sorted(wanted.keys() | fields.keys()):
            if wanted.get(name) != fields.get(name):
                was, now = (_short(side.get(name)) for side in (fields, wanted))
                return f"belongs to another run: {name} is {was} there and {now} here"
        return "has a damaged header"

    def _next(self, number: int, kinds: tuple[str, ...]) -> tuple[str, bytes] | None:
        """(kind, payload) of the next line, which must be of call `number`; None at the end of the file."""
        if self.live:
            return None
        place = self._file.tell()
        raw = self._file.readline(self._longest + 1)
        if not raw.endswith(b"\n") and len(raw) <= self._longest:
            self._go_on_from(place)
            return None
        kind, payload = _parts(raw)
        found = None if payload is None else CALL.fullmatch(payload)
        if found is None or kind not in kinds or int(found[1]) != number:
            raise self._error(f"is damaged at byte {place}, in call {number}")
        try:
            return kind, b"" if found[2] is None else base64.b64decode(found[2], validate=True)
        except binascii.Error as error:
            raise self._error(f"is damaged at byte {place}, in call {number}") from error

    def _kept(self, kind: str, numbers: bytes) -> Kept:
        if kind not in WITH_NUMBERS:
            return Kept(kind)
        if self._vectors and len(numbers) >= 8 and not (len(numbers) - 8) % self._dtype.itemsize:
            vector = np.frombuffer(numbers, self._dtype, offset=8).astype(self._like.dtype)
            return Kept(kind, float(np.frombuffer(numbers, "<f8", count=1)[0]), vector)
        whole = 8 + self._like.nbytes
        if len(numbers) not in (8, whole):
            raise self._error(f"has {len(numbers)} bytes of numbers in call {self._number}, but 8 or {whole} are due")
        value = float(np.frombuffer(numbers, "<f8", count=1)[0])
        if len(numbers) == 8:
            return Kept(kind, value)
        gradient = np.frombuffer(numbers, self._dtype, offset=8).reshape(self._like.shape)
        return Kept(kind, value, gradient.astype(self._like.dtype))

    def _bytes(self, x: np.ndarray) -> bytes:
        return np.ascontiguousarray(x, self._dtype).tobytes()

    def _write(self, line: bytes) -> None:
        """Append a line, whole or not at all."""
        handle = self._file.fileno()
        place = os.fstat(handle).st_size
        try:
            if os.write(handle, line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if time.monotonic() - self._synced > SYNC_SECONDS:
                os.fsync(handle)
                self._synced = time.monotonic()
        except OSError as error:
            os.ftruncate(handle, place)
            raise self._error(f"can't be written: {error.strerror}") from error

    def _go_on_from(self, place: int) -> None:
        """Nothing is left to replay: drop what a crash left half written, and append from here on."""
        self.live = True
        os.ftruncate(self._file.fileno(), place)

    def _check_size(self, limit: int) -> None:
        size = os.fstat(self._file.fileno()).st_size
        if size > limit:
            raise self._error(f"has {size} bytes, but a journal of this run has at most {limit}")

    def _error(self, what: str) -> JournalError:
        return JournalError(f"`journal` {os.fspath(self.path)!r} {what}.")


def _locked(path: Path) -> Any:
    """The file, made if it is not there, open for reading and appending, and locked."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
    try:
        file = os.fdopen(os.open(path, flags, 0o666), "rb")
    except OSError as error:
        raise JournalError(f"`journal` {os.fspath(path)!r} can't be opened: {error.strerror}.") from error
    try:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise JournalError(f"`journal` {os.fspath(path)!r} is no ordinary file.")
        _lock(file.fileno())
    except OSError as error:
        file.close()
        used = isinstance(error, BlockingIOError | PermissionError)
        what = "is in use by another run" if used else f"can't be locked: {error.strerror}"
        raise JournalError(f"`journal` {os.fspath(path)!r} {what}.") from error
    except JournalError:
        file.close()
        raise
    return file


def _lock(handle: int) -> None:
    """Lock an open file for as long as it is open; OSError if another process has."""
    if sys.platform == "win32":
        import msvcrt

        os.lseek(handle, 2**62, os.SEEK_SET)  # a place past the end, so that the text can still be read
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        os.lseek(handle, 0, os.SEEK_SET)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _line(kind: str, payload: bytes) -> bytes:
    body = kind.encode() + b" " + payload
    return b"%08x %s\n" % (zlib.crc32(body), body)


def _parts(raw: bytes) -> tuple[str, bytes | None]:
    """(kind, payload) of a line; the payload is None where the line is no line or its checksum is wrong."""
    found = LINE.fullmatch(raw)
    if found is None or int(found[1], 16) != zlib.crc32(raw[9:-1]):
        return "", None
    return found[2].decode(), found[3]


def _fields(raw: bytes) -> dict[str, Any] | None:
    """What the header that a file begins with says; None if it begins with none."""
    kind, payload = _parts(raw.partition(b"\n")[0] + b"\n")
    if kind != "header" or payload is None:
        return None
    try:
        fields = json.loads(payload.decode())
    except (ValueError, RecursionError):
        return None
    return fields if isinstance(fields, dict) else None


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


def read_calls(path: str | os.PathLike[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """The answered calls of a journal: points (n, d), values (n,), and gradients (n, d) if every answer has one.

    Raises:
        JournalError: it is no journal, or damaged before its last line.
    """
    content = Path(path).read_bytes()
    fields = _fields(content[:MAX_HEADER])
    if fields is None or fields.get("format") != FORMAT or not isinstance(fields.get("dimension"), int):
        raise JournalError(f"`journal` {os.fspath(path)!r} is no journal of this version of shapeopt.")
    dtype, d, asked = np.dtype(str(fields.get("dtype"))).newbyteorder("<"), int(fields["dimension"]), b""
    points, values, slopes = [], [], []
    for raw in content.splitlines(keepends=True)[1:]:
        kind, payload = _parts(raw)
        found = None if payload is None else CALL.fullmatch(payload)
        if found is None:
            if raw.endswith(b"\n"):
                raise JournalError(f"`journal` {os.fspath(path)!r} is damaged.")
            break
        numbers = b"" if found[2] is None else base64.b64decode(found[2], validate=True)
        if kind == ASK and len(numbers) == d * dtype.itemsize:
            asked = numbers
        elif kind in WITH_NUMBERS and asked and len(numbers) in (8, 8 + d * dtype.itemsize):
            points.append(np.frombuffer(asked, dtype).astype(float))
            values.append(float(np.frombuffer(numbers, "<f8", count=1)[0]))
            slopes.append(np.frombuffer(numbers, dtype, offset=8).astype(float) if len(numbers) > 8 else None)
    whole = bool(slopes) and all(slope is not None for slope in slopes)
    gradients = np.array([slope for slope in slopes if slope is not None]) if whole else None
    return np.array(points).reshape(-1, d), np.array(values), gradients
