"""Policies on disk: `<stem>.safetensors` with the arrays, `<stem>.json` beside it with the card.

The card says the format's version, the kind of policy and its settings, the SHA-256 of the weights, and whatever the
author wants to tell. Nothing on disk is trusted: the kind picks from a closed table, sizes are checked before anything
is read, and names, shapes and dtypes must be those of the policy that the settings describe. Neither file names a file.
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

import equinox as eqx
import jax
import numpy as np

from ..core.policy_files import MAX_WEIGHTS_BYTES, PolicyFileError, load_card, policy_files, read_arrays, write_arrays
from .kinds import POLICY_KINDS

Kinds = Mapping[str, Callable[[dict[str, Any]], eqx.Module]]
Policy = TypeVar("Policy", bound=eqx.Module)


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
    leaves = {name: np.ascontiguousarray(leaf) for name, leaf in _named_arrays(policy)}
    write_arrays(path, policy.kind, policy.settings, leaves, card)


def read_policy(
    path: str | os.PathLike, *, kinds: Kinds = POLICY_KINDS, max_bytes: int = MAX_WEIGHTS_BYTES
) -> eqx.Module:
    """The policy at the stem `path`, bit for bit as it was saved; `PolicyFileError` if anything is amiss."""
    weights_path, card_path = policy_files(path)
    card = load_card(path)
    skeleton = _skeleton(card, card_path, kinds)
    stored = read_arrays(path, card, max_bytes)
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
