"""Calls without NumPy's warnings, in a context that is made once."""

import contextvars
from collections.abc import Callable
from typing import Any

import numpy as np


class Quiet:
    """Calls functions without NumPy's warnings of overflow and the like, in a context that is kept: `np.errstate` would
    make one at every call."""

    def __init__(self) -> None:
        self._context = contextvars.copy_context()
        self._context.run(np.seterr, all="ignore")

    def __call__(self, call: Callable[..., Any], *arguments: Any) -> Any:
        return self._context.run(call, *arguments)

    def __reduce__(self) -> tuple[Any, ...]:
        return Quiet, ()  # a context can't be copied
