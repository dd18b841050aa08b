"""From what a user says to a policy: a shipped name, a path, or the object itself."""

import functools
import os
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import equinox as eqx
import jax

from .base import AbstractPolicy
from .universal import UniversalPolicy
from .weights import PolicyFileError, load_policy

FOLDER = Path(__file__).parent / "shipped"
FITTED = re.compile(r"(?P<family>paper-\w+)-(?P<dimension>\d+)(?P<variant>(-[\w-]+)?)")  # for one family and dimension


def shipped() -> tuple[str, ...]:
    """Names of the shipped policies."""
    return tuple(sorted(card.stem for card in FOLDER.glob("*.json")))


def grouped(names: Iterable[str]) -> dict[str, list[int]]:
    """Names with N in place of the dimension -> the dimensions; a policy for any dimension has none."""
    groups: dict[str, list[int]] = {}
    for name in names:
        fitted = FITTED.fullmatch(name)
        group = groups.setdefault(name if fitted is None else f"{fitted['family']}-N{fitted['variant']}", [])
        group += [] if fitted is None else [int(fitted["dimension"])]
    return {name: sorted(groups[name]) for name in sorted(groups, key=lambda name: (bool(groups[name]), name))}


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


def stored_policy(name: str | os.PathLike) -> eqx.Module:
    """The policy of a shipped name or a path as its files have it, with heads that change nothing."""
    try:
        return _load(FOLDER / name if name in shipped() else name)
    except PolicyFileError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            raise ValueError(
                f"`policy` must be one of {_in_words()} or a saved policy's path; got {name!r}: {error}"
            ) from error
        raise


def _named(name: str | os.PathLike) -> eqx.Module:
    return _shipped(FOLDER / name) if name in shipped() else stored_policy(name)


def _load(path: str | os.PathLike) -> eqx.Module:
    with jax.enable_x64(True):  # weights keep the precision in which they were saved; the run casts them to its own
        return load_policy(path)


@functools.cache
def _shipped(stem: Path) -> eqx.Module:
    policy = _load(stem)
    return policy.pruned() if isinstance(policy, UniversalPolicy) else policy


def _in_words() -> str:
    """The shipped names, those that differ in their dimension alone as one."""
    sizes = lambda dimensions: f" (N = {', '.join(map(str, dimensions))})" if dimensions else ""  # noqa: E731
    return ", ".join(name + sizes(dimensions) for name, dimensions in grouped(shipped()).items())
