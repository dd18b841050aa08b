"""What a user names as `package.module:Attribute` on the command line."""

import importlib
import inspect
import sys
from pathlib import Path
from typing import Any


class UnknownNameError(ValueError):
    """A name that stands for nothing; the message names the argument."""


def load_attribute(name: str, argument: str) -> Any:
    """The attribute `package.module:Attribute`; the working folder is searched, too."""
    module, _, attribute = name.partition(":")
    if not all(part.isidentifier() for part in (*module.split("."), attribute)):
        raise UnknownNameError(f"`{argument}` must look like package.module:Attribute; got {name!r}.")
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise UnknownNameError(f"`{argument}` must name something that can be imported; {name!r}: {error}") from error


def built(found: Any, kinds: type | tuple[type, ...]) -> Any:
    """`found` if it is one of `kinds` or needs an argument; else what it makes when it is called without."""
    if isinstance(found, kinds) or not callable(found):
        return found
    parameters = inspect.signature(found).parameters.values()
    needs = any(p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters)
    return found if needs else found()
