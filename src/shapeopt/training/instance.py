"""Problems of a family, and where they come from: a class that samples them, a list, or journals of earlier runs.

A family's class has one method:

    class Tones:
        def sample(self, seed: int) -> Instance:
            ...
            return Instance(fun, bounds=bounds, jac=True, descriptor=[...])
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ..core.attribute import built, load_attribute
from ..core.problem import Problem, read_problem

HELD_OUT = 1_000_000  # seeds of held-out instances begin here


@dataclass(frozen=True, eq=False)
class Instance:
    """A problem of a family, as `minimize` takes it.

    Args:
        fun: the objective.
        bounds: finite on both sides of every coordinate.
        jac: as `minimize` takes it.
        x0: where runs start; None: drawn uniformly in the bounds.
        descriptor: numbers that say which problem it is, known before the first call; None where there are none.

    Example:
        class Valleys:
            def sample(self, seed):
                a = np.random.default_rng(seed).uniform(1, 2, size=3)
                return shapeopt.Instance(lambda x: ((x - a) @ (x - a), 2 * (x - a)), [(-5, 5)] * 3, jac=True)
    """

    fun: Callable[..., Any]
    bounds: Any
    jac: Any = None
    x0: Any = None
    descriptor: Any = None

    def problem(self, seed: int) -> Problem:
        """Start and bounds; the start is drawn from the seed where none is given, as `minimize` does.

        Args:
            seed: of the start.

        Returns:
            The problem, as flat arrays.

        Raises:
            ValueError: if a coordinate has no bound on a side.
        """
        found = read_problem(self.x0, self.bounds, np.random.default_rng(seed))
        if not (np.isfinite(found.lower) & np.isfinite(found.upper)).all():
            raise ValueError("`bounds` of a family's problems must be finite on both sides.")
        return found


class Family(Protocol):
    """What a family's class has."""

    def sample(self, seed: int) -> Instance: ...


@dataclass(frozen=True, eq=False)
class Source:
    """Instances by number: those to train on first, then the held-out ones. `name` is package.module:Class, where
    there is one, so that other processes can make the instances themselves."""

    name: str | None
    make: Callable[[int], Instance]
    training: int
    held_out: int

    def instance(self, number: int) -> Instance:
        """Instance `number`; those from `training` on are held out."""
        made = self.make(number)
        if not isinstance(made, Instance):
            raise ValueError(f"`sample` must return a `shapeopt.Instance`; got {type(made).__name__}.")
        return made


def class_source(family: Any, training: int, held_out: int, seed: int) -> Source:
    """The instances that a family's class, or the object of one, samples; or `package.module:Class`."""
    name = family if isinstance(family, str) else None
    found = load_attribute(family, "family") if isinstance(family, str) else family
    made = found if hasattr(found, "sample") and not isinstance(found, type) else built(found, ())
    if not callable(getattr(made, "sample", None)):
        raise ValueError(f"`family` must have a method `sample(seed)`; got {family!r}.")
    start = seed * 2 * HELD_OUT
    make = lambda number: made.sample(start + (number if number < training else HELD_OUT + number - training))  # noqa: E731
    return Source(name, make, training, held_out)


def list_source(objectives: Iterable[Any], bounds: Any, jac: Any, held_out: int | None) -> Source:
    """The instances of a list of `Instance`s, or of functions with the same bounds; the last ones are held out."""
    items: Sequence[Any] = list(objectives)
    made = [item if isinstance(item, Instance) else Instance(item, bounds, jac) for item in items]
    made = [_described(one) for one in made]
    for one in made:
        if one.bounds is None or not callable(one.fun):
            raise ValueError("`family` must be of `Instance`s, or of functions, with `bounds`.")
    last = len(made) // 4 if held_out is None else held_out
    if len(made) - last < 3:
        raise ValueError(f"`family` must have at least 3 objectives to train on; got {len(made)}, {last} held out.")
    return Source(None, lambda number: made[number], len(made) - last, last)


def _described(one: Instance) -> Instance:
    """With the descriptor that the objective itself has."""
    own = getattr(one.fun, "descriptor", None)
    return replace(one, descriptor=own) if one.descriptor is None and own is not None else one


def is_folder(source: Any) -> bool:
    """Whether a family is given as a folder of journals."""
    return isinstance(source, Path) or (isinstance(source, str) and ":" not in source)
