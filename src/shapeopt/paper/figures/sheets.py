"""Records of single runs for figures: named arrays, and as JSON what they were made of, in one safetensors file."""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from ...bench.records import RecordError

FORMAT = "shapeopt-sheet-1"


@dataclass(frozen=True, eq=False)
class Sheet:
    """What a figure is drawn from."""

    about: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray]

    def __getitem__(self, name: str) -> np.ndarray:
        return self.arrays[name]


def save_sheet(path: Path, sheet: Sheet) -> Path:
    """Write a sheet at once or not at all."""
    arrays = {name: np.ascontiguousarray(array) for name, array in sheet.arrays.items()}
    text = json.dumps(dict(sheet.about), sort_keys=True)
    metadata = {"format": FORMAT, "about": text, "sha256": _digest(text, arrays)}
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{os.getpid()}.part")
    scratch.write_bytes(save(arrays, metadata=metadata))
    os.replace(scratch, path)
    return path


def load_sheet(path: Path) -> Sheet:
    """A sheet; `RecordError` if the file is not one, or is damaged."""
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            if metadata.get("format") != FORMAT:
                raise RecordError(f"{path} is not a sheet of this version: format {metadata.get('format')!r}.")
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no dictionary)
    except (SafetensorError, OSError) as error:
        raise RecordError(f"{path} is damaged: {error}") from error
    if metadata["sha256"] != _digest(metadata["about"], arrays):
        raise RecordError(f"{path} is damaged: its contents are not those that were written.")
    return Sheet(json.loads(metadata["about"]), arrays)


def _digest(text: str, arrays: Mapping[str, np.ndarray]) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        digest.update(name.encode() + str(arrays[name].shape).encode() + arrays[name].tobytes())
    return digest.hexdigest()
