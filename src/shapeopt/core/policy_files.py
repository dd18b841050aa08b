"""A policy's two files: `<stem>.safetensors` with the arrays, `<stem>.json` beside it with the card.

The card says the format's version, the kind of policy and its settings, the SHA-256 of the weights, and whatever the
author wants to tell. Nothing on disk is trusted: sizes are checked before anything is read, and neither file names a
file. Which kinds there are, and which arrays each has, is for the readers of these files to check.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy

FORMAT_VERSION = 1
MAX_WEIGHTS_BYTES = 64 * 2**20
MAX_CARD_BYTES = 2**20


class PolicyFileError(ValueError):
    """A policy's files are missing, damaged, or not what their card says; the message names the file."""


def write_arrays(
    path: str | os.PathLike,
    kind: str,
    settings: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray],
    about: Mapping[str, Any],
) -> None:
    """Write arrays and card at the stem `path` (`path` may also name either file).

    `about` holds free fields (JSON values). Each file is replaced atomically, the card last: a crash in between leaves
    a pair whose hash does not match, which `read_arrays` refuses.
    """
    weights_path, card_path = policy_files(path)
    blob = safetensors.numpy.save(dict(arrays))
    full = {
        "format": FORMAT_VERSION,
        "kind": kind,
        "settings": dict(settings),
        "sha256": hashlib.sha256(blob).hexdigest(),
        "about": dict(about),
    }
    try:
        text = json.dumps(full, indent=2, sort_keys=True, allow_nan=False) + "\n"
    except (TypeError, ValueError) as error:
        raise ValueError(f"`card` must hold JSON values only; got {dict(about)!r} ({error}).") from error
    _replace(weights_path, blob)
    _replace(card_path, text.encode())


def read_arrays(
    path: str | os.PathLike, card: Mapping[str, Any], max_bytes: int = MAX_WEIGHTS_BYTES
) -> dict[str, np.ndarray]:
    """The arrays at the stem `path`, whose card was read before; `PolicyFileError` if they are not what it says."""
    weights_path, card_path = policy_files(path)
    blob = _read(weights_path, max_bytes)
    digest = hashlib.sha256(blob).hexdigest()
    if digest != card["sha256"]:
        raise PolicyFileError(f"{weights_path} has SHA-256 {digest}, but {card_path.name} says {card['sha256']}.")
    try:
        return safetensors.numpy.load(blob)
    except (safetensors.SafetensorError, ValueError, KeyError, TypeError) as error:
        raise PolicyFileError(f"{weights_path} is not a valid safetensors file: {error}.") from error


def load_card(path: str | os.PathLike) -> dict[str, Any]:
    """The card at the stem `path`, checked for form; says nothing of the weights."""
    card_path = policy_files(path)[1]
    raw = _read(card_path, MAX_CARD_BYTES)
    try:
        card = json.loads(raw.decode(), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise PolicyFileError(f"{card_path} is not valid JSON: {error}.") from error
    if not isinstance(card, dict):
        raise PolicyFileError(f"{card_path} must hold a JSON object; got {type(card).__name__}.")
    if card.get("format") != FORMAT_VERSION:
        raise PolicyFileError(f"{card_path} has format {card.get('format')!r}; this version reads {FORMAT_VERSION}.")
    for field, kind in (("kind", str), ("settings", dict), ("sha256", str), ("about", dict)):
        if not isinstance(card.get(field), kind):
            raise PolicyFileError(f'{card_path} needs "{field}" as {kind.__name__}; got {card.get(field)!r}.')
    return card


def policy_files(path: str | os.PathLike) -> tuple[Path, Path]:
    """The weights file and the card of a stem."""
    stem = Path(path)
    if not stem.name:
        raise ValueError(f"`path` must name a policy, not a folder; got {str(path)!r}.")
    name = stem.name.removesuffix(".safetensors").removesuffix(".json")
    return stem.with_name(name + ".safetensors"), stem.with_name(name + ".json")


def _read(path: Path, limit: int) -> bytes:
    """The whole file, which may have at most `limit` bytes; never reads more, whatever the file claims."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            raw = b"" if size > limit else file.read(limit + 1)
    except FileNotFoundError as error:
        raise PolicyFileError(f"{path} does not exist.") from error
    except OSError as error:
        raise PolicyFileError(f"{path} can't be read: {error.strerror}.") from error
    if max(size, len(raw)) > limit:
        raise PolicyFileError(f"{path} has {max(size, len(raw))} bytes; the limit is {limit}.")
    return raw


def _replace(path: Path, content: bytes) -> None:
    """Write to a temporary file in the same folder, then rename it over `path`."""
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)  # mkstemp makes files private; weights are meant to be shared
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _refuse_constant(token: str) -> None:
    raise ValueError(f"{token} is not JSON")
