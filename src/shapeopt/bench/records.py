"""What is kept of a cell: one safetensors file with the curves and, as JSON, everything that decides them."""

import hashlib
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from ..core.fingerprint import versions
from .cells import Cell, Protocol
from .curves import Curves
from .errors import RecordError
from .metrics import HitRule, Quantity

FORMAT = "shapeopt-bench-1"
MAX_BYTES = 2**30
ARRAYS = tuple(field.name for field in fields(Curves) if "ndarray" in str(field.type))
NUMBERS = tuple(field.name for field in fields(Curves) if field.name not in ARRAYS)


@dataclass(frozen=True)
class Record:
    """One method on one cell of one protocol: what was run, and what came out."""

    protocol: str
    cell: dict[str, Any]  # `Cell.describe()`
    method: str
    seed: int
    curves: Curves
    versions: dict[str, str]
    version: str = ""  # of the method: of the policy's weights, where it has any

    @property
    def rule(self) -> HitRule:
        return HitRule(Quantity(self.cell["rule"]["quantity"]), self.cell["rule"]["tolerance"])


def record_path(folder: Path, protocol: str, cell: str, method: str) -> Path:
    """Where a record lies; names that are no file's names are refused."""
    for part in (protocol, cell, method):
        if not re.fullmatch(r"[\w.+=-]+", part) or part.startswith("."):
            raise RecordError(f"`name` must be made of letters, digits and .+=-_; got {part!r}.")
    return folder / protocol / cell / f"{method}.safetensors"


def make_record(protocol: Protocol, cell: Cell, method: str, curves: Curves, version: str = "") -> Record:
    return Record(protocol.name, cell.describe(), method, protocol.seed, curves, versions(), version)


def save_record(folder: Path, record: Record) -> Path:
    """Write a record at once or not at all."""
    path = record_path(folder, record.protocol, record.cell["name"], record.method)
    about = {"protocol": record.protocol, "cell": record.cell, "method": record.method, "seed": record.seed}
    numbers = {name: getattr(record.curves, name) for name in NUMBERS}
    arrays = {name: _small(getattr(record.curves, name)) for name in ARRAYS if getattr(record.curves, name) is not None}
    text = json.dumps({**about, "numbers": numbers, "versions": record.versions, "version": record.version})
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{os.getpid()}.part")
    scratch.write_bytes(save(arrays, metadata={"format": FORMAT, "record": text, "sha256": _digest(text, arrays)}))
    os.replace(scratch, path)
    return path


def load_record(path: Path) -> Record:
    """A record; `RecordError` if the file is not one, or is damaged."""
    try:
        about, arrays = _read(path)
        wide: dict[str, Any] = {name: _wide(arrays[name]) if name in arrays else None for name in ARRAYS}
        curves = Curves(**wide, **{name: about["numbers"][name] for name in NUMBERS})
        protocol, cell, method, seed = (about[name] for name in ("protocol", "cell", "method", "seed"))
        return Record(protocol, cell, method, seed, curves, about["versions"], about.get("version", ""))
    except RecordError:
        raise
    except (SafetensorError, OSError, AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise RecordError(f"{path} is damaged: {error}") from error


def _read(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What a file says of its record, and its arrays, once they are known to be what was written."""
    if path.stat().st_size > MAX_BYTES:
        raise RecordError(f"{path} is larger than {MAX_BYTES} bytes.")
    with safe_open(path, framework="numpy") as file:
        metadata = file.metadata() or {}
        if metadata.get("format") != FORMAT:
            raise RecordError(f"{path} is not a record of this version: format {metadata.get('format')!r}.")
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no dictionary)
    if metadata["sha256"] != _digest(metadata["record"], arrays):
        raise RecordError(f"{path} is damaged: its contents are not those that were written.")
    return json.loads(metadata["record"]), arrays


def load_records(folder: Path, protocol: str | None = None) -> Iterator[Record]:
    """All records under `folder`, in the order of their paths."""
    if not folder.is_dir():
        raise RecordError(f"`folder` must be a folder of records; got {folder}.")
    for path in sorted(folder.glob(f"{protocol or '*'}/*/*.safetensors")):
        if not path.name.startswith("."):
            yield load_record(path)


def is_done(folder: Path, protocol: Protocol, cell: Cell, method: str, version: str = "") -> bool:
    """Whether a whole record of exactly this cell, method, version and seed is there."""
    path = record_path(folder, protocol.name, cell.name, method)
    if not path.is_file():
        return False
    try:
        record = load_record(path)
    except RecordError:
        return False
    same_cell = record.cell == json.loads(json.dumps(cell.describe()))
    return same_cell and (record.seed, record.version) == (protocol.seed, version)


def _digest(text: str, arrays: dict[str, np.ndarray]) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        digest.update(name.encode() + arrays[name].tobytes())
    return digest.hexdigest()


def _small(array: np.ndarray) -> np.ndarray:
    """Curves in single precision: gaps are differences already, so that seven digits of them are plenty."""
    kind = {"f": np.float32, "i": np.int32}[array.dtype.kind]
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(array.astype(kind))


def _wide(array: np.ndarray) -> np.ndarray:
    return array.astype(float) if array.dtype.kind == "f" else array
