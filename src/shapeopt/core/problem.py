"""A user's problem put into one form: a flat start, flat bounds, and the way back to the user's own structure."""

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .box import by_logarithm
from .tree import LEAF, Structure, flatten, restore


@dataclass(frozen=True)
class Layout:
    """How a flat vector of n numbers looks to the objective: an array of some shape, or a tree of arrays.

    Hashable, so that equal problems share their compiled code.
    """

    structure: Structure
    shapes: tuple[tuple[int, ...], ...]

    @property
    def size(self) -> int:
        return sum(math.prod(shape) for shape in self.shapes)

    @property
    def flat(self) -> bool:
        """Whether the objective sees the flat vector itself."""
        return self.structure == LEAF and len(self.shapes[0]) == 1

    def restore(self, x: Any) -> Any:
        """The user's structure, from a flat NumPy or JAX vector."""
        if self.structure is LEAF:
            return x.reshape(self.shapes[0])
        leaves, start = [], 0
        for shape in self.shapes:
            size = math.prod(shape)
            leaves.append(x[start : start + size].reshape(shape))
            start += size
        return restore(self.structure, leaves)

    def flatten(self, tree: Any, name: str) -> np.ndarray:
        """A tree of this layout, or an array that broadcasts to its single leaf, as a flat vector."""
        if self.structure == LEAF:
            try:
                return np.broadcast_to(np.asarray(tree, float), self.shapes[0]).ravel()
            except (TypeError, ValueError):
                raise ValueError(f"`{name}` must be numbers of shape {self.shapes[0]}; got {tree!r}.") from None
        if np.isscalar(tree) or getattr(tree, "ndim", None) == 0:
            return np.full(self.size, float(tree))
        leaves, structure = flatten(tree)
        if structure != self.structure:
            raise ValueError(f"`{name}` must have the structure of `x0`; got {structure}.")
        parts = zip(leaves, self.shapes, strict=True)
        return np.concatenate([np.broadcast_to(np.asarray(leaf, float), shape).ravel() for leaf, shape in parts])


@dataclass(frozen=True)
class Problem:
    """Where to start and where to stay, in one dtype."""

    x0: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    layout: Layout


def seeded(seed: Any) -> np.random.Generator:
    """The generator of a seed, which must be a whole number of at least 0."""
    if not isinstance(seed, int | np.integer) or isinstance(seed, bool) or seed < 0:
        raise ValueError(f"`seed` must be a whole number of at least 0; got {seed!r}.")
    return np.random.default_rng(seed)


def require_callable(name: str, value: Any) -> None:
    """Raise unless the optional argument of this name is None or can be called."""
    if value is not None and not callable(value):
        raise ValueError(f"`{name}` must be callable; got {value!r}.")


def require_path(name: str, value: Any) -> None:
    """Raise unless the optional argument of this name is None or a path."""
    if value is not None and (not isinstance(value, str | os.PathLike) or not os.fspath(value)):
        raise ValueError(f"`{name}` must be a path; got {value!r}.")


def read_problem(x0: Any, bounds: Any, rng: np.random.Generator) -> Problem:
    """Check and flatten a start and bounds; without a start, one is drawn inside the bounds, uniformly in the
    coordinates of `Box`."""
    if x0 is None:
        lower, upper = _read_sides(bounds)
        if lower.ndim != 1 or lower.size == 0:
            raise ValueError(
                f"`x0` is None, so `bounds` must say how many coordinates there are, as [(-5, 5)] * 3; got {bounds!r}."
            )
        layout, dtype, start = Layout(LEAF, (lower.shape,)), np.dtype(np.float64), None
    else:
        layout, start, dtype = _read_start(x0)
        lower, upper = _flat_sides(bounds, layout)
    lower, upper = lower.astype(dtype), upper.astype(dtype)
    _check_sides(lower, upper)
    if start is None:
        endless = ~(np.isfinite(lower) & np.isfinite(upper))
        if endless.any():
            i = int(np.argmax(endless))
            said = f"coordinate {i} has [{lower[i]}, {upper[i]}]"
            raise ValueError(f"`x0` is None, so `bounds` must be finite on both sides; {said}.")
        start = _drawn(lower, upper, rng.uniform(size=lower.size).astype(dtype))
    outside = ~((start >= lower) & (start <= upper))
    if outside.any():
        i = int(np.argmax(outside))
        raise ValueError(f"`x0` must lie inside `bounds`; x0[{i}] = {start[i]} is not in [{lower[i]}, {upper[i]}].")
    return Problem(start, lower, upper, layout)


def _drawn(lower: np.ndarray, upper: np.ndarray, share: np.ndarray) -> np.ndarray:
    """The place so far between the bounds, by logarithm in coordinates that are known by it."""
    with np.errstate(all="ignore"):
        by_orders = lower ** (1 - share) * upper**share
        x = np.where(by_logarithm(lower, upper), by_orders, lower + share * (upper - lower))
    return x.astype(lower.dtype).clip(lower, upper)


def _read_start(x0: Any) -> tuple[Layout, np.ndarray, np.dtype]:
    tree = x0 if _is_tree(x0) else np.asarray(x0)
    found, structure = flatten(tree)
    leaves = [np.asarray(leaf) for leaf in found]
    if not leaves or not sum(leaf.size for leaf in leaves):
        raise ValueError(f"`x0` must hold at least one number; got {x0!r}.")
    if type(x0) in (list, tuple) and any(one is None for one in x0):
        raise ValueError(f"`x0` must hold numbers; x0[{[one is None for one in x0].index(True)}] is None.")
    if np.ma.is_masked(x0):
        raise ValueError("`x0` must hold numbers; got an array with masked ones.")
    if any(not (np.issubdtype(leaf.dtype, np.floating) or np.issubdtype(leaf.dtype, np.integer)) for leaf in leaves):
        raise ValueError(f"`x0` must hold real numbers; got dtype {[str(leaf.dtype) for leaf in leaves]}.")
    small = all(leaf.dtype in (np.float32, np.float16) for leaf in leaves)
    dtype = np.dtype(np.float32 if small else np.float64)
    single = (1,) if structure == LEAF else ()  # a number alone is a vector of one, as in SciPy; in a tree it stays one
    layout = Layout(structure, tuple(leaf.shape or single for leaf in leaves))
    start = np.concatenate([leaf.ravel().astype(dtype) for leaf in leaves])
    if not np.isfinite(start).all():
        i = int(np.argmax(~np.isfinite(start)))
        raise ValueError(f"`x0` must be finite; x0[{i}] is {start[i]}.")
    return layout, start, dtype


def _is_tree(x0: Any) -> bool:
    """Whether x0 is a structure of arrays rather than something that NumPy reads as one array of numbers."""
    if isinstance(x0, list | tuple):
        return any(_is_tree(item) or np.ndim(item) > 0 for item in x0) and not _is_rectangle(x0)
    return not hasattr(x0, "shape") and not np.isscalar(x0)


def _is_rectangle(x0: Any) -> bool:
    if any(hasattr(item, "shape") or isinstance(item, dict) for item in x0):
        return False
    try:
        return np.asarray(x0).dtype != object
    except ValueError:
        return False


def _flat_sides(bounds: Any, layout: Layout) -> tuple[np.ndarray, np.ndarray]:
    if bounds is None:
        return np.full(layout.size, -np.inf), np.full(layout.size, np.inf)
    if isinstance(bounds, tuple) and len(bounds) == 2 and len(layout.shapes) > 1:
        return layout.flatten(bounds[0], "lower bounds"), layout.flatten(bounds[1], "upper bounds")
    lower, upper = _read_sides(bounds)
    for name, side in (("lower", lower), ("upper", upper)):
        if side.ndim and side.size not in (1, layout.size):
            raise ValueError(f"`bounds` must have {layout.size} {name} bounds, as `x0`; got {side.size}.")
    wide = [np.broadcast_to(side.ravel() if side.ndim else side, (layout.size,)) for side in (lower, upper)]
    return wide[0].astype(float), wide[1].astype(float)


def _read_sides(bounds: Any) -> tuple[np.ndarray, np.ndarray]:
    """(lower, upper) from a SciPy `Bounds`, a pair (lower, upper) of numbers or arrays, or a sequence of pairs."""
    if bounds is None:
        return np.asarray(-np.inf), np.asarray(np.inf)
    if hasattr(bounds, "lb") and hasattr(bounds, "ub"):
        lower, upper = np.asarray(bounds.lb, float), np.asarray(bounds.ub, float)
        return tuple(np.broadcast_arrays(lower, upper))  # type: ignore[return-value]
    if isinstance(bounds, Iterator):  # zip(lower, upper)
        bounds = list(bounds)
    if not isinstance(bounds, Sequence | np.ndarray) or isinstance(bounds, str) or len(bounds) == 0:
        raise ValueError(f"`bounds` must be (lower, upper), a sequence of pairs, or a SciPy Bounds; got {bounds!r}.")
    arrays = len(bounds) == 2 and all(hasattr(side, "shape") and np.ndim(side) == 1 for side in bounds)
    scalars = len(bounds) == 2 and all(np.ndim(side) == 0 for side in bounds)
    if scalars or (arrays and not isinstance(bounds, np.ndarray)) or _unequal_pair(bounds) or _number_beside(bounds):
        sides = [np.asarray(_INF[i] if side is None else side, float) for i, side in enumerate(bounds)]
        try:
            return tuple(np.broadcast_arrays(*sides))  # type: ignore[return-value]
        except ValueError:
            raise ValueError(f"`bounds` must have as many lower as upper bounds; got {bounds!r}.") from None
    try:
        pairs = [[_INF[i] if side is None else float(side) for i, side in enumerate(pair)] for pair in bounds]
    except (TypeError, ValueError):
        raise ValueError(f"`bounds` must be pairs (lower, upper) of numbers or None; got {bounds!r}.") from None
    if any(len(pair) != 2 for pair in pairs):
        raise ValueError(f"`bounds` must be pairs (lower, upper) of numbers or None; got {bounds!r}.")
    lower, upper = np.array(pairs).T
    return lower, upper


_INF = (-np.inf, np.inf)
_SIDES = (int, float, np.number, list, tuple, np.ndarray)


def _unequal_pair(bounds: Any) -> bool:
    """Two sequences that can't be two pairs, so they are the two sides."""
    return len(bounds) == 2 and all(isinstance(side, Sequence) and len(side) != 2 for side in bounds)


def _number_beside(bounds: Any) -> bool:
    """A number for one side and an array for the other, as (0, [5, 9])."""
    return len(bounds) == 2 and {np.ndim(side) for side in bounds if isinstance(side, _SIDES)} == {0, 1}


def _check_sides(lower: np.ndarray, upper: np.ndarray) -> None:
    wrong = ~(lower <= upper)
    if wrong.any():
        i = int(np.argmax(wrong))
        hint = " ([[a, b], [c, d]] is read as two pairs (lower, upper).)" if wrong.size == 2 else ""
        raise ValueError(f"`bounds` must have lower <= upper; coordinate {i} has [{lower[i]}, {upper[i]}].{hint}")
    empty = (lower == np.inf) | (upper == -np.inf)
    if empty.any():
        i = int(np.argmax(empty))
        raise ValueError(f"`bounds` must leave room for x; coordinate {i} has [{lower[i]}, {upper[i]}].")
