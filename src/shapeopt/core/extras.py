"""Packages that are not there unless asked for."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def extra(name: str) -> Iterator[None]:
    """An import inside that fails for want of the package `name` says how to install it."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        hint = f"shapeopt.{name} needs {name}; install shapeopt[{name}]."
        raise ModuleNotFoundError(hint, name=name) from error
