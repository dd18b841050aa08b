"""What the networks say to all coordinates alike, as a small set of trained numbers.

An evolution strategy sees one number a run, so that its gradient of d rows of weights is lost in noise. Rows of a last
layer that belong to one head, one a coordinate, therefore move together here, and of the first layer only the columns
that read the cues, the mode and the plan's gains are trained. How many numbers there are does not depend on d.

Departs from the paper: it trains every weight alone, by backpropagation.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ...core import Mode
from ..networks import CUES

SAID = len(Mode) + 3  # the last inputs of the controller: weights of the modes, alpha_J, alpha_R, kappa
PLANNER_SCALARS, CONTROLLER_SCALARS = len(Mode) + 4, 2  # rows of the last layers that belong to no coordinate


class Heads(NamedTuple):
    """What is trained of one network."""

    cues: Float[Array, "hidden cues"]  # columns of the first layer
    biases: tuple[Float[Array, " hidden"], ...]  # of the hidden layers
    weights: Float[Array, "heads hidden"]  # of the last layer: the mean of a head's rows
    offsets: Float[Array, " heads"]  # likewise of its biases


def heads_of(policy: Any) -> tuple[Heads, ...]:
    """The heads of planner and controller."""
    return tuple(_read(getattr(policy, name), columns) for name, columns in _columns(policy).items())


def with_heads(policy: Any, heads: tuple[Heads, ...]) -> Any:
    """The policy whose heads are these; what the rows of a head differ by stays."""
    for (name, columns), one in zip(_columns(policy).items(), heads, strict=True):
        policy = eqx.tree_at(lambda p, name=name: getattr(p, name), policy, _write(getattr(policy, name), columns, one))
    return policy


def unit_of_head(name: str, leaf: Array) -> float:
    """1 for what stands alone, 1/sqrt(inputs) for the weights of a head: all heads then move alike."""
    return leaf.shape[-1] ** -0.5 if name.endswith("weights") else 1.0


def _columns(policy: Any) -> dict[str, Callable[[int], list[int]]]:
    """The networks that there are, and which inputs of each are read by trained weights, given how many it has."""
    d = policy.planner.d
    found = {"planner": lambda n: list(range(n - CUES, n))}
    if policy.controller is not None:
        found["controller"] = lambda n: [*range(n - SAID - d - CUES, n - SAID - d), *range(n - SAID, n)]
    return found


def _read(part: Any, columns: Callable[[int], list[int]]) -> Heads:
    first, *_, last = layers = part.network.layers
    chosen = jnp.asarray(columns(first.weight.shape[1]), jnp.int32)
    return Heads(
        first.weight[:, chosen],
        tuple(layer.bias for layer in layers[:-1]),
        _means(part, last.weight),
        _means(part, last.bias),
    )


def _write(part: Any, columns: Callable[[int], list[int]], heads: Heads) -> Any:
    *hidden, last = part.network.layers
    chosen = jnp.asarray(columns(hidden[0].weight.shape[1]), jnp.int32)
    hidden = [eqx.tree_at(lambda m: m.bias, layer, bias) for layer, bias in zip(hidden, heads.biases, strict=True)]
    hidden[0] = eqx.tree_at(lambda m: m.weight, hidden[0], hidden[0].weight.at[:, chosen].set(heads.cues))
    moved = [_moved(part, leaf, new) for leaf, new in ((last.weight, heads.weights), (last.bias, heads.offsets))]
    last = eqx.tree_at(lambda m: (m.weight, m.bias), last, tuple(moved))
    return eqx.tree_at(lambda p: p.network.layers, part, (*hidden, last))


def _groups(part: Any) -> list[tuple[int, int]]:
    """The heads of a last layer in the order of its rows: how many coordinates, and how many numbers each."""
    d, rank = part.d, getattr(part, "rank", None)
    alone = (1, PLANNER_SCALARS if rank is None else CONTROLLER_SCALARS)
    return [(d, 1), alone] if rank is None else [(d, 1)] * 3 + [(d, rank)] * 3 + [alone]


def _split(part: Any, leaf: Array) -> list[Array]:
    """The rows of a last layer, head by head: coordinates, numbers of each, and the rest."""
    groups = _groups(part)
    ends = [sum(a * b for a, b in groups[: i + 1]) for i in range(len(groups) - 1)]
    return [x.reshape(*group, *leaf.shape[1:]) for group, x in zip(groups, jnp.split(leaf, ends), strict=True)]


def _means(part: Any, leaf: Array) -> Array:
    return jnp.concatenate([jnp.mean(rows, axis=0) for rows in _split(part, leaf)])


def _moved(part: Any, leaf: Array, new: Array) -> Array:
    """The rows, each head shifted as one so that its mean is the new one."""
    shift, rows = new - _means(part, leaf), _split(part, leaf)
    sizes = [b for _, b in _groups(part)]
    ends = [sum(sizes[: i + 1]) for i in range(len(sizes) - 1)]
    moved = [
        (old + by[None]).reshape(-1, *leaf.shape[1:]) for old, by in zip(rows, jnp.split(shift, ends), strict=True)
    ]
    return jnp.concatenate(moved)
