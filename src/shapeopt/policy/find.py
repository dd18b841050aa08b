"""From a user's word to a policy: the shipped name, or the object itself."""

import functools
from dataclasses import replace
from pathlib import Path
from typing import Any

import equinox as eqx
import jax

from ..paper.weights import read_policy
from .base import AbstractPolicy
from .universal import UniversalPolicy

FOLDER = Path(__file__).parent / "shipped"
KINDS = {"universal": UniversalPolicy.skeleton}


def shipped() -> tuple[str, ...]:
    """Names of the shipped policies."""
    return tuple(sorted(card.stem for card in FOLDER.glob("*.json")))


def find_policy(policy: Any, noise: float | None = None) -> AbstractPolicy:
    """The policy, told of the noise where it can make use of it."""
    if noise is not None and not noise >= 0:
        raise ValueError(f"`noise` must be None or a standard deviation of at least 0; got {noise!r}.")
    found = _shipped(policy) if isinstance(policy, str) and policy in shipped() else policy
    if not isinstance(found, AbstractPolicy):
        raise ValueError(
            f"`policy` must be one of {', '.join(shipped())} or a policy; got {policy!r}. Policies of the paper's kind "
            "are run by `shapeopt.paper.minimize`."
        )
    if noise is not None and isinstance(found, UniversalPolicy):
        found = replace(found, sigma=float(noise))
    return found


@functools.cache
def _shipped(name: str) -> eqx.Module:
    with jax.enable_x64(True):  # weights keep the precision in which they were saved; the run casts them to its own
        policy = read_policy(FOLDER / name, kinds=KINDS)
    return policy.pruned() if isinstance(policy, UniversalPolicy) else policy
