"""What decides the bytes of a run, in words and hashes that can be kept and compared."""

import dataclasses
import functools
import hashlib
import importlib.metadata
import inspect
import platform
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

PACKAGES = ("shapeopt", "jax", "jaxlib", "numpy")
RECORDED = ("shapeopt", "jax", "numpy", "scipy", "optax", "cma", "nlopt")


@functools.cache
def environment() -> dict[str, str]:
    """The kind of machine, and the installed versions that the numbers of a run may depend on."""
    return {"machine": platform.machine()} | installed(PACKAGES)


def versions() -> dict[str, str]:
    """The installed versions of what a recorded result may depend on."""
    return installed(RECORDED)


def installed(packages: Iterable[str]) -> dict[str, str]:
    """The versions of those that are installed."""
    found = {}
    for name in packages:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def describe(thing: Any) -> str:
    """The name of a function, or of an object's class with a hash of the numbers and words in its fields.

    It is the same in every process. Two functions of one name are not told apart; what wraps another is not seen.
    """
    thing = inspect.unwrap(thing)
    named = thing if hasattr(thing, "__qualname__") else type(thing)
    name = f"{named.__module__}.{named.__qualname__}"
    return f"{name} {digest(*_contents(thing))}" if dataclasses.is_dataclass(thing) else name


def _contents(thing: Any) -> Iterator[Any]:
    """The names of dataclasses (which every Equinox module is), and numbers, arrays and words in their fields."""
    if dataclasses.is_dataclass(thing):
        yield type(thing).__qualname__
        for field in dataclasses.fields(thing):
            yield field.name
            yield from _contents(getattr(thing, field.name))
    elif isinstance(thing, list | tuple):
        for item in thing:
            yield from _contents(item)
    elif thing is None or isinstance(thing, int | float | str) or hasattr(thing, "dtype"):
        yield str(thing) if thing is None else thing
    else:
        yield describe(thing)


def digest(*parts: Any) -> str:
    """SHA-256 of numbers, arrays and words, with their dtypes and shapes."""
    total = hashlib.sha256()
    for part in parts:
        array = np.asarray(part)
        total.update(f"{array.dtype.str} {array.shape} ".encode() + array.tobytes())
    return total.hexdigest()
