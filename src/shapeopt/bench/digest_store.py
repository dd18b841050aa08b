"""Digests in one small file, so that tables can be made again where the records themselves are too large to keep."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from .digest import Digest
from .records import MAX_BYTES, RecordError

FORMAT = "shapeopt-digests-2"
ABOUT = ("protocol", "cell", "method", "seed", "lowest", "area", "area_over_calls", "versions")


def save_digests(path: Path, found: Sequence[Digest]) -> None:
    """Write digests at once or not at all, in single precision."""
    heads = [{name: getattr(one, name) for name in ABOUT} | {"metrics": list(one.values)} for one in found]
    with np.errstate(over="ignore"):
        arrays = {
            str(i): np.stack([one.values[m] for m in one.values]).astype(np.float32) for i, one in enumerate(found)
        }
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{os.getpid()}.part")
    scratch.write_bytes(save(arrays, metadata={"format": FORMAT, "digests": json.dumps(heads)}))
    os.replace(scratch, path)


def load_digests(path: Path) -> list[Digest]:
    """What `save_digests` wrote; `RecordError` if the file is not that, or is damaged."""
    if path.stat().st_size > MAX_BYTES:
        raise RecordError(f"{path} is larger than {MAX_BYTES} bytes.")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            if metadata.get("format") != FORMAT:
                raise RecordError(f"{path} holds no digests of this version: format {metadata.get('format')!r}.")
            heads = json.loads(metadata["digests"])
            arrays = [file.get_tensor(str(i)).astype(float) for i in range(len(heads))]
        return [_digest(head, rows) for head, rows in zip(heads, arrays, strict=True)]
    except RecordError:
        raise
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise RecordError(f"{path} is damaged: {error}") from error


def _digest(head: dict, rows: np.ndarray) -> Digest:
    values = dict(zip(head["metrics"], rows, strict=True))
    return Digest(**{name: head[name] for name in ABOUT}, values=values)
