"""Stored policies with a part of what they learned taken away: what a table needs to say what learning does."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from .policy import PaperPolicy
from .training.config import from_plain
from .training.trainer import untrained

Change = Callable[[PaperPolicy, Mapping[str, Any]], PaperPolicy]  # policy, card -> policy


def initialised(policy: PaperPolicy, card: Mapping[str, Any]) -> PaperPolicy:
    """The policy with which its training run began, bit for bit."""
    config = from_plain(card["about"]["schedule"])
    with jax.enable_x64(config.precision.value == "float64"):
        return untrained(config)


def zero_networks(policy: PaperPolicy, card: Mapping[str, Any]) -> PaperPolicy:
    """All weights and biases of both networks zero; the gains that coordinates share stay as trained."""
    policy = eqx.tree_at(lambda p: p.planner.network, policy, _zero(policy.planner.network))
    if policy.controller is None:
        return policy
    return eqx.tree_at(lambda p: p.controller.network, policy, _zero(policy.controller.network))


def blind(policy: PaperPolicy, card: Mapping[str, Any]) -> PaperPolicy:
    """The same weights, which are not told where in the box they are: no pull to its middle."""
    controller = None if policy.controller is None else replace(policy.controller, sees_place=False)
    return replace(policy, sees_place=False, controller=controller)


def uncontrolled(policy: PaperPolicy, card: Mapping[str, Any]) -> PaperPolicy:
    """The trained planner with plain damping in place of the controller."""
    return replace(policy, controller=None)


def forgetful(policy: PaperPolicy, card: Mapping[str, Any]) -> PaperPolicy:
    """The same weights over a memory and an archive that nothing is written to."""
    return replace(policy, writes=False)


CHANGES: Mapping[str, Change] = MappingProxyType(
    {change.__name__: change for change in (initialised, zero_networks, blind, uncontrolled, forgetful)}
)


def _zero(network: eqx.nn.MLP) -> eqx.nn.MLP:
    return jax.tree.map(lambda leaf: jnp.zeros_like(leaf) if eqx.is_array(leaf) else leaf, network)
