"""Whether an array is NumPy's or JAX's, found out without importing JAX: who holds a JAX array has imported it."""

import sys
from contextlib import nullcontext
from types import ModuleType
from typing import Any

import numpy as np


def loaded_jax() -> Any:
    """The module `jax` if this process has imported it, else None."""
    jax = sys.modules.get("jax")
    return jax if hasattr(jax, "Array") else None  # one that is being imported right now has no arrays yet


def is_jax(x: Any) -> bool:
    """Whether x is a JAX array or a tracer."""
    if isinstance(x, np.ndarray | float | int):
        return False
    jax = loaded_jax()
    return jax is not None and isinstance(x, jax.Array)


def is_tracer(x: Any) -> bool:
    """Whether x is known only inside a JAX transformation."""
    return is_jax(x) and isinstance(x, loaded_jax().core.Tracer)


def double_precision() -> Any:
    """A context in which JAX, if it is loaded, keeps 64 bits."""
    jax = loaded_jax()
    return nullcontext() if jax is None else jax.enable_x64(True)


def namespace(*arrays: Any) -> ModuleType:
    """`jax.numpy` if one of the arrays is JAX's, else `numpy`."""
    return loaded_jax().numpy if any(map(is_jax, arrays)) else np
