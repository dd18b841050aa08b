"""Policies on disk: `<stem>.safetensors` with the arrays, `<stem>.json` beside it with the card.

The card says the format's version, the kind of policy and its settings, the SHA-256 of the weights, and whatever the
author wants to tell. Nothing on disk is trusted: the kind picks from a closed table, sizes are checked before anything
is read, and names, shapes and dtypes must be those of the policy that the settings describe. Neither file names a file.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

import equinox as eqx
import jax
import numpy as np
import safetensors
import safetensors.numpy

from .kinds import POLICY_KINDS

FORMAT_VERSION = 1
MAX_WEIGHTS_BYTES = 64 * 2**20
MAX_CARD_BYTES = 2**20

Kinds = Mapping[str, Callable[[dict[str, Any]], eqx.Module]]
Policy = TypeVar("Policy", bound=eqx.Module)


class PolicyFileError(ValueError):
    """A policy's files are missing, damaged, or not what their card says; the message names the file."""


class StorablePolicy(Protocol):
    """What `save_policy` needs of a policy: its kind, and settings from which that kind can be built again."""

    kind: ClassVar[str]

    @property
    def settings(self) -> dict[str, Any]: ...


def save_policy(path: str | os.PathLike, policy: StorablePolicy, card: Mapping[str, Any]) -> None:
    """Write the weights and the card of `policy` at the stem `path` (`path` may also name either file).

    `card` holds free fields (JSON values), kept under "about". Each file is replaced atomically, the card last: a crash
    in between leaves a pair whose hash does not match, which `read_policy` refuses.
    """
    weights_path, card_path = policy_files(path)
    leaves = {name: np.ascontiguousarray(leaf) for name, leaf in _named_arrays(policy)}
    blob = safetensors.numpy.save(leaves)
    full = {
        "format": FORMAT_VERSION,
        "kind": policy.kind,
        "settings": policy.settings,
        "sha256": hashlib.sha256(blob).hexdigest(),
        "about": dict(card),
    }
    try:
        text = json.dumps(full, indent=2, sort_keys=True, allow_nan=False) + "\n"
    except (TypeError, ValueError) as error:
        raise ValueError(f"`card` must hold JSON values only; got {dict(card)!r} ({error}).") from error
    _replace(weights_path, blob)
    _replace(card_path, text.encode())


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


def read_policy(
    path: str | os.PathLike, *, kinds: Kinds = POLICY_KINDS, max_bytes: int = MAX_WEIGHTS_BYTES
) -> eqx.Module:
    """The policy at the stem `path`, bit for bit as it was saved; `PolicyFileError` if anything is amiss."""
    weights_path, card_path = policy_files(path)
    card = load_card(path)
    skeleton = _skeleton(card, card_path, kinds)
    blob = _read(weights_path, max_bytes)
    digest = hashlib.sha256(blob).hexdigest()
    if digest != card["sha256"]:
        raise PolicyFileError(f"{weights_path} has SHA-256 {digest}, but {card_path.name} says {card['sha256']}.")
    try:
        stored = safetensors.numpy.load(blob)
    except (safetensors.SafetensorError, ValueError, KeyError, TypeError) as error:
        raise PolicyFileError(f"{weights_path} is not a valid safetensors file: {error}.") from error
    _check_leaves(stored, dict(_named_arrays(skeleton)), weights_path)
    return jax.tree_util.tree_map_with_path(
        lambda where, leaf: jax.device_put(stored[_name(where)]) if _is_array(leaf) else leaf, skeleton
    )


def cast_policy(policy: Policy, dtype: jax.typing.DTypeLike) -> Policy:
    """The same policy with its floating-point arrays in another precision."""
    return jax.tree.map(lambda leaf: leaf.astype(dtype) if eqx.is_inexact_array(leaf) else leaf, policy)


def _skeleton(card: dict[str, Any], card_path: Path, kinds: Kinds) -> eqx.Module:
    if card["kind"] not in kinds:
        raise PolicyFileError(f'{card_path} has kind "{card["kind"]}"; known kinds are {sorted(kinds)}.')
    try:
        return kinds[card["kind"]](card["settings"])
    except (TypeError, ValueError, OverflowError) as error:
        raise PolicyFileError(f"{card_path} has settings that build no {card['kind']} policy: {error}") from error


def _check_leaves(stored: Mapping[str, np.ndarray], expected: Mapping[str, Any], weights_path: Path) -> None:
    if missing := sorted(expected.keys() - stored.keys()):
        raise PolicyFileError(f"{weights_path} lacks the arrays {missing}.")
    if unknown := sorted(stored.keys() - expected.keys()):
        raise PolicyFileError(f"{weights_path} has arrays that the policy does not: {unknown}.")
    for name, leaf in expected.items():
        found = stored[name]
        if found.shape != leaf.shape:
            raise PolicyFileError(f"{weights_path}: {name} has shape {found.shape}; expected {leaf.shape}.")
        if found.dtype != leaf.dtype:
            raise PolicyFileError(f"{weights_path}: {name} has dtype {found.dtype}; expected {leaf.dtype}.")


def _is_array(leaf: Any) -> bool:
    return isinstance(leaf, jax.ShapeDtypeStruct) or eqx.is_array(leaf)


def _name(where: tuple) -> str:
    return jax.tree_util.keystr(where, simple=True, separator=".")


def _named_arrays(policy: Any) -> list[tuple[str, Any]]:
    leaves = jax.tree_util.tree_leaves_with_path(policy)
    return [(_name(where), leaf) for where, leaf in leaves if _is_array(leaf)]


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
