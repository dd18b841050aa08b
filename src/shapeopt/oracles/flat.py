"""A function of the user's own structure as a function of the flat vector, NumPy's or JAX's."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..core.arrays import namespace
from ..core.problem import Layout
from ..core.tree import flatten


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
        return value, _raveled(gradient, x)


def _raveled(gradient: Any, x: Any) -> Any:
    leaves = flatten(gradient)[0]
    if len(leaves) == 1:
        return leaves[0].reshape(-1) if getattr(leaves[0], "size", None) == x.size else leaves[0]
    xp: Any = namespace(x, *leaves)
    return xp.concatenate([leaf.reshape(-1) for leaf in leaves])
