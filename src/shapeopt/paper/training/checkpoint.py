"""Checkpoints of a training run: one safetensors file with all arrays, and the rest as JSON in its header.

One file, replaced atomically, so that arrays and progress never disagree. Nothing on disk is trusted: names, shapes and
dtypes must be those of the run that reads it.
"""

import json
import os
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import safetensors
import safetensors.numpy
from jaxtyping import PyTree


class CheckpointError(ValueError):
    """A checkpoint is damaged or belongs to another run; the message names the file."""


def save_checkpoint(path: Path, arrays: PyTree, progress: dict[str, Any]) -> None:
    """Replace the checkpoint at `path`; where that fails, the old one stays."""
    named = {name: np.asarray(_plain(leaf), order="C") for name, leaf in _named(arrays)}
    replace_file(path, safetensors.numpy.save(named, metadata={"progress": json.dumps(progress, sort_keys=True)}))


def read_progress(blob: bytes, path: Path) -> dict[str, Any]:
    """The progress in the bytes of a checkpoint; `path` is for the message."""
    try:
        header = json.loads(blob[8 : 8 + int.from_bytes(blob[:8], "little")].decode())
        return json.loads(header["__metadata__"]["progress"])
    except (ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{path} is no valid checkpoint: {error}.") from error


def restore(blob: bytes, path: Path, like: PyTree) -> PyTree:
    """The arrays in the bytes of a checkpoint, bit for bit, in the shape of `like`; `path` is for the message."""
    try:
        stored = safetensors.numpy.load(blob)
    except (safetensors.SafetensorError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{path} is no valid checkpoint: {error}.") from error
    expected = dict(_named(like))
    if stored.keys() != expected.keys():
        raise CheckpointError(f"{path} has other arrays than this run: {sorted(stored.keys() ^ expected.keys())}.")
    for name, leaf in expected.items():
        if (stored[name].shape, stored[name].dtype) != (_plain(leaf).shape, _plain(leaf).dtype):
            raise CheckpointError(f"{path}: {name} has another shape or dtype than in this run.")
    leaves = [_like(stored[name], leaf) for name, leaf in _named(like)]
    return jax.tree.unflatten(jax.tree.structure(like), leaves)


def replace_file(path: Path, content: bytes) -> None:
    """Write beside `path`, then rename over it; leaves nothing half written."""
    temporary = path.with_name(path.name + ".part")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def _named(tree: PyTree) -> list[tuple[str, Any]]:
    return [(jax.tree_util.keystr(where), leaf) for where, leaf in jax.tree_util.tree_leaves_with_path(tree)]


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _plain(leaf: Any) -> np.ndarray:
    return np.asarray(jax.random.key_data(leaf) if _is_key(leaf) else leaf)


def _like(stored: np.ndarray, leaf: Any) -> Any:
    return jax.random.wrap_key_data(jnp.asarray(stored)) if _is_key(leaf) else jax.device_put(stored)
