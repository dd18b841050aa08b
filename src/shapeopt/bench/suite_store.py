"""Scores of suites in one small file, for pages that are made without the records themselves."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from .errors import RecordError
from .scoreboard import Board, board_of
from .suite_metrics import TAUS, Scores, rescored
from .suite_records import Runs

FORMAT = "shapeopt-suite-scores-2"
MAX_BYTES = 2**28
WORDS = ("suite", "half", "part", "methods", "problems", "groups")
KINDS = {
    "budgets": np.int32,
    "dimensions": np.int32,
    "hits": np.int32,
    "goals": np.float64,
    "wall": np.float32,
    "there": np.uint8,
}


def save_boards(path: Path, boards: Sequence[Board]) -> None:
    """Write boards at once or not at all; a target that was never reached is call 0."""
    heads = [
        {name: getattr(one.scores, name) for name in WORDS} | {"method": one.method, "audit": one.audit}
        for one in boards
    ]
    arrays = {f"{i}.{name}": _small(one.scores, name) for i, one in enumerate(boards) for name in KINDS}
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{os.getpid()}.part")
    scratch.write_bytes(save(arrays, metadata={"format": FORMAT, "boards": json.dumps(heads)}))
    os.replace(scratch, path)


def load_boards(path: Path) -> list[Board]:
    """What `save_boards` wrote.

    Raises:
        RecordError: if the file is not that, or is damaged.
    """
    if path.stat().st_size > MAX_BYTES:
        raise RecordError(f"{path} is larger than {MAX_BYTES} bytes.")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            if metadata.get("format") != FORMAT:
                raise RecordError(f"{path} holds no scores of this version: format {metadata.get('format')!r}.")
            heads = json.loads(metadata["boards"])
            rows = [{name: file.get_tensor(f"{i}.{name}") for name in KINDS} for i in range(len(heads))]
        return [_board(head, arrays) for head, arrays in zip(heads, rows, strict=True)]
    except RecordError:
        raise
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise RecordError(f"{path} is damaged: {error}") from error


def renewed(kept: Sequence[Board], found: Mapping[str, Runs]) -> list[Board]:
    """Boards of one half of a suite, the whole and its parts, with other runs of some methods (`found`)."""
    boards = []
    for one in kept:
        scores = one.scores
        for method, runs in found.items():
            scores = rescored(scores, method, runs)
        boards.append(board_of(scores, one.method, one.audit))
    return boards


def merged(kept: Sequence[Board], new: Sequence[Board]) -> list[Board]:
    """All of both in the order of their names; the new ones of a suite's half where both have some."""
    renewed = {(one.scores.suite, one.scores.half) for one in new}
    found = [one for one in kept if (one.scores.suite, one.scores.half) not in renewed] + list(new)
    return sorted(found, key=lambda one: (one.scores.suite, one.scores.half, one.scores.part))


def _small(scores: Scores, name: str) -> np.ndarray:
    array = getattr(scores, name)
    return np.ascontiguousarray(np.where(np.isinf(array), 0, array) if name == "hits" else array).astype(KINDS[name])


def _board(head: dict, arrays: dict[str, np.ndarray]) -> Board:
    wide = {name: array.astype(float) for name, array in arrays.items()}
    shape = (len(head["methods"]), len(head["problems"]), len(TAUS))
    if wide["hits"].shape != shape:
        raise RecordError(f"The calls to targets must have the shape {shape}; got {wide['hits'].shape}.")
    scores = Scores(
        suite=head["suite"],
        half=head["half"],
        part=head["part"],
        methods=tuple(head["methods"]),
        problems=tuple(head["problems"]),
        groups=tuple(head["groups"]),
        budgets=wide["budgets"],
        dimensions=arrays["dimensions"],
        hits=np.where(wide["hits"] > 0, wide["hits"], np.inf),
        goals=wide["goals"],
        wall=wide["wall"],
        there=arrays["there"].astype(bool),
    )
    return board_of(scores, head["method"], head["audit"])
