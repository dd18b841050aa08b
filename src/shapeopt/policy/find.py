"""From what a user says to a policy: a shipped name, a path, or the object itself."""

import functools
import os
from dataclasses import replace
from pathlib import Path

import equinox as eqx
import jax

from .base import AbstractPolicy
from .universal import UniversalPolicy
from .weights import PolicyFileError, load_policy

FOLDER = Path(__file__).parent / "shipped"
SHIPPED = tuple(sorted(card.stem for card in FOLDER.glob("*.json")))


def find_policy(policy: str | os.PathLike | AbstractPolicy, noise: float | None = None) -> AbstractPolicy:
    """The policy, told of the noise where it can make use of it. A path may be the stem of a policy's files or either
    of them."""
    if noise is not None and not noise >= 0:
        raise ValueError(f"`noise` must be None or a standard deviation of at least 0; got {noise!r}.")
    found = _named(policy) if isinstance(policy, str | os.PathLike) else policy
    if not isinstance(found, AbstractPolicy):
        raise ValueError(f"`policy` must be a name, a path or a policy; got {policy!r}.")
    if noise is not None and isinstance(found, UniversalPolicy):
        found = replace(found, sigma=float(noise))
    return found


def _named(name: str | os.PathLike) -> eqx.Module:
    if name in SHIPPED:
        return _shipped(str(name))
    try:
        with jax.enable_x64(True):  # weights keep the precision in which they were saved; the run casts them to its own
            return load_policy(name)
    except PolicyFileError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            known = ", ".join(SHIPPED)
            raise ValueError(
                f"`policy` must be one of {known} or a saved policy's path; got {name!r}: {error}"
            ) from error
        raise


@functools.cache
def _shipped(name: str) -> eqx.Module:
    policy = load_policy(FOLDER / name)
    return policy.pruned() if isinstance(policy, UniversalPolicy) else policy
