"""The user's own structure of arrays taken apart and put together again, as `jax.tree` does it, without JAX.

A dictionary (its keys sorted), an OrderedDict, a list, a tuple, a NamedTuple and None are nodes. What is none of these
is a node if JAX is loaded and knows its type (registered pytrees, Equinox modules), and otherwise a leaf.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .arrays import loaded_jax


@dataclass(frozen=True, repr=False)
class Structure:
    """How a tree is built, apart from its leaves; hashable.

    kind        the node's type; None for a leaf; JAX's own description where JAX has taken the node apart
    keys        of a dictionary
    children    the structures below the node
    """

    kind: Any = None
    keys: tuple[Any, ...] = ()
    children: tuple["Structure", ...] = ()

    @property
    def size(self) -> int:
        """How many leaves there are."""
        return 1 if self.kind is None else sum(child.size for child in self.children)

    def __repr__(self) -> str:
        if not isinstance(self.kind, type):
            return "*" if self.kind is None else repr(self.kind)
        return repr(_node(self, [_Text(repr(child)) for child in self.children]))


LEAF = Structure()


def flatten(tree: Any) -> tuple[list[Any], Structure]:
    """The leaves of a tree, in the order of `jax.tree`, and its structure.

    Example:
        leaves, structure = flatten({"b": 1.0, "a": [2.0, None]})  # [2.0, 1.0]
        restore(structure, leaves)
    """
    keys, children = _children(tree)
    if children is None:
        return _flatten_by_jax(tree)
    parts = [flatten(child) for child in children]
    leaves = [leaf for part, _ in parts for leaf in part]
    return leaves, Structure(type(tree), keys, tuple(structure for _, structure in parts))


def restore(structure: Structure, leaves: Iterable[Any]) -> Any:
    """The tree of a structure with these leaves."""
    return _restore(structure, iter(leaves))


def _children(tree: Any) -> tuple[tuple[Any, ...], Iterable[Any] | None]:
    """(keys, children) of a node of Python's own; children None where it is none."""
    if type(tree) in (dict, OrderedDict):
        keys = tuple(sorted(tree) if type(tree) is dict else tree)
        return keys, [tree[key] for key in keys]
    if type(tree) in (list, tuple) or (isinstance(tree, tuple) and hasattr(tree, "_fields")):
        return (), tree
    return (), () if tree is None else None


def _flatten_by_jax(node: Any) -> tuple[list[Any], Structure]:
    jax = loaded_jax()
    if jax is None or isinstance(node, np.ndarray | np.generic | float | int):
        return [node], LEAF
    leaves, treedef = jax.tree.flatten(node)
    if jax.tree_util.treedef_is_leaf(treedef) and treedef.num_leaves == 1:
        return [node], LEAF
    return leaves, Structure(treedef, (), (LEAF,) * len(leaves))


def _restore(structure: Structure, leaves: Iterator[Any]) -> Any:
    if structure.kind is None:
        return next(leaves)
    return _node(structure, [_restore(child, leaves) for child in structure.children])


def _node(structure: Structure, parts: list[Any]) -> Any:
    """The node of a structure with these children."""
    kind = structure.kind
    if kind is type(None):
        return None
    if kind in (list, tuple):
        return kind(parts)
    if kind in (dict, OrderedDict):
        return kind(zip(structure.keys, parts, strict=True))
    if isinstance(kind, type):  # of a NamedTuple
        return kind(*parts)
    return loaded_jax().tree.unflatten(kind, parts)


class _Text(str):
    """A word that is shown without quotes."""

    def __repr__(self) -> str:
        return str(self)
