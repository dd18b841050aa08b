"""From what a user says to a policy: a shipped name, a path, or the object itself."""

from dataclasses import replace
from pathlib import Path

from .base import AbstractPolicy
from .universal import UniversalPolicy
from .weights import load_policy

SHIPPED = ("universal",)


def find_policy(policy: str | AbstractPolicy, noise: float | None = None) -> AbstractPolicy:
    """The policy, told of the noise where it can make use of it."""
    if noise is not None and not noise >= 0:
        raise ValueError(f"`noise` must be None or a standard deviation of at least 0; got {noise!r}.")
    if isinstance(policy, str):
        policy = _named(policy)
    if not isinstance(policy, AbstractPolicy):
        raise ValueError(f"`policy` must be a name, a path or a policy; got {policy!r}.")
    if noise is not None and isinstance(policy, UniversalPolicy):
        policy = replace(policy, sigma=float(noise))
    return policy


def _named(name: str) -> AbstractPolicy:
    if name == "universal":
        return UniversalPolicy()
    if not Path(name).exists():
        raise ValueError(f"`policy` must be one of {', '.join(SHIPPED)} or a path that exists; got {name!r}.")
    return load_policy(name)
