"""A function of the user's own structure as a function of the flat vector, NumPy's or JAX's."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..core.arrays import namespace
from ..core.problem import Layout
from ..core.tree import LEAF, Structure, flatten


@dataclass(frozen=True)
class Flat:
    """x -> fun(structure of x)."""

    fun: Callable[..., Any]
    layout: Layout

    def __call__(self, x: Any) -> Any:
        return self.fun(self.layout.restore(x))


@dataclass(frozen=True)
class FlatPair:
    """x -> (value, flat gradient), from one function that returns both (`jac` None) or from two."""

    fun: Callable[..., Any]
    jac: Callable[..., Any] | None
    layout: Layout

    def __call__(self, x: Any) -> Any:
        point = self.layout.restore(x)
        value, gradient = self.fun(point) if self.jac is None else (self.fun(point), self.jac(point))
        return value, self._raveled(gradient, x)

    def _raveled(self, gradient: Any, x: Any) -> Any:
        leaves, structure = flatten(gradient)
        if structure != LEAF and _names(structure) != _names(self.layout.structure):
            wanted = "one array" if self.layout.structure == LEAF else self.layout.structure
            raise ValueError(f"`jac` must return a gradient built as `x0`, which is {wanted}; got {structure}.")
        if len(leaves) == 1:
            return leaves[0].reshape(-1) if getattr(leaves[0], "size", None) == x.size else leaves[0]
        xp: Any = namespace(x, *leaves)
        return xp.concatenate([xp.asarray(leaf).reshape(-1) for leaf in leaves])


def _names(structure: Structure) -> Any:
    """What must agree between x0 and a gradient: names and numbers of branches; a list may stand for a tuple."""
    return structure.keys, tuple(map(_names, structure.children))
