"""What is kept of runs on a suite: one file a method, one line a run, each line with its checksum.

    FOLDER/SUITE/HALF/METHOD.jsonl        a line: CRC-32 of what follows in eight hex digits, a space, a JSON object

A file that is copied under another name stands for a method of that name, such as an earlier version.
"""

import json
import math
import os
import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from .errors import RecordError
from .suites.base import HALVES

ENDING = ".jsonl"


@dataclass(frozen=True)
class SuiteRun:
    """One method on one problem.

    Arguments:
        problem, group, dimension, budget, seed: what was run; `seed` is the one that the problem's own was made of.
        version: what tells the method from an earlier one of its name.
        start, minimum: the value at x0, and the certified minimum or None.
        calls, values: the best value so far, at the calls at which it improved.
        spent: calls that the objective itself has counted.
        outside, overshoot: calls outside the bounds, and beyond the budget.
        moved: readings that the method asked for outside the bounds, and that were moved inside before the call.
        reported, reported_asked: the method's own count of its readings where it has one, and the counter's.
        wall, cpu: seconds of the run, the objective's included, once it was compiled.
        error: why it ended early or could not be run; "" if nothing went wrong.
    """

    problem: str
    group: str
    dimension: int
    budget: int
    seed: int
    version: str
    start: float
    minimum: float | None
    calls: tuple[int, ...]
    values: tuple[float, ...]
    spent: int
    outside: int
    overshoot: int
    moved: int
    reported: int
    reported_asked: int
    wall: float
    cpu: float
    error: str = ""

    @property
    def key(self) -> tuple[str, int]:
        return self.problem, self.seed

    @property
    def best(self) -> float:
        """The lowest value; infinite where there is none."""
        return self.values[-1] if self.values else math.inf


Runs = dict[tuple[str, int], SuiteRun]


def runs_path(folder: Path, suite: str, half: str, method: str) -> Path:
    """Where the runs of a method lie; names that are no file's names are refused."""
    for part in (suite, method):
        if not re.fullmatch(r"[\w.+=-]+", part) or part.startswith("."):
            raise RecordError(f"`name` must be made of letters, digits and .+=-_; got {part!r}.")
    if half not in HALVES:
        raise RecordError(f"`half` must be one of {', '.join(HALVES)}; got {half!r}.")
    return folder / suite / half / f"{method}{ENDING}"


def append_runs(path: Path, runs: Iterable[SuiteRun]) -> None:
    """Add lines to a file; a line that an earlier process left unfinished is closed first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")
        file.write(b"".join(_line(run) for run in runs))
        file.flush()
        os.fsync(file.fileno())


def load_runs(path: Path) -> Runs:
    """The runs of a file; of two of the same problem and seed the later one. What a killed process left is passed over.

    Raises:
        RecordError: if a whole line is damaged.
    """
    runs: Runs = {}
    if not path.is_file():
        return runs
    lines = path.read_bytes().split(b"\n")
    for number, line in enumerate(lines):
        if not line or _is_torn(line):
            continue
        run = _parsed(line, f"{path}, line {number + 1}")
        runs[run.key] = run
    return runs


def keep_only(path: Path, runs: Runs) -> None:
    """Write a file anew with these runs, at once or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{os.getpid()}.part")
    scratch.write_bytes(b"".join(_line(run) for run in runs.values()))
    os.replace(scratch, path)


def load_suite(folder: Path, suite: str, half: str) -> dict[str, Runs]:
    """Method -> runs, of one half of a suite."""
    found = sorted((folder / suite / half).glob(f"*{ENDING}"))
    return {path.name.removesuffix(ENDING): load_runs(path) for path in found if not path.name.startswith(".")}


def suites_in(folder: Path, half: str) -> list[str]:
    """The suites of which a folder has runs of that half."""
    return sorted({path.parts[-3] for path in folder.glob(f"*/{half}/*{ENDING}")})


def _line(run: SuiteRun) -> bytes:
    text = json.dumps({name: _written(value) for name, value in asdict(run).items()}).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _is_torn(line: bytes) -> bool:
    """Whether a line was not written to its end."""
    return not line.endswith(b"}")


def _parsed(line: bytes, where: str) -> SuiteRun:
    checksum, _, text = line.partition(b" ")
    if checksum != b"%08x" % zlib.crc32(text):
        raise RecordError(f"{where} is damaged: its checksum is wrong.")
    try:
        return _run(json.loads(text))
    except (KeyError, TypeError, ValueError) as error:
        raise RecordError(f"{where} is no run of this version: {error}") from error


def _run(found: Mapping[str, Any]) -> SuiteRun:
    content = {field.name: found[field.name] for field in fields(SuiteRun)}
    content |= {"calls": tuple(content["calls"]), "values": tuple(content["values"])}
    return SuiteRun(**content | {"start": math.inf if content["start"] is None else content["start"]})


def _written(value: Any) -> Any:
    """JSON has no infinity: a start without a value is null."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
