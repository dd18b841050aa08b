"""Whether the code of a function refers to JAX, found out without calling the function and without importing JAX."""

import dis
import functools
from collections.abc import Iterator
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from ..core.arrays import loaded_jax

OF_JAX = ("jax", "jaxlib")
COMPUTING = ("jax.numpy", "jax.scipy", "jax.lax", "jax.nn")  # `jax` itself may be there to ask for the type of x only
MOST_OBJECTS = 500  # looked at before the search is given up
LEAVES = (type(None), bool, int, float, complex, str, bytes)


def refers_to_jax(fun: Any) -> bool:
    """Whether `fun`, a function that it calls by a name, or an attribute of the object that it is, belongs to JAX.

    Names that are bound when the function runs (imports in its body, entries of containers) are not seen. A function
    that calls `float` is taken to answer with a Python number, and is not looked into.

    Arguments:
        fun: any callable.

    Returns:
        True if something of JAX was found; False if not, or if the process has not imported JAX.

    Example:
        refers_to_jax(lambda x: jnp.sum(x**2))
    """
    if loaded_jax() is None:
        return False
    if isinstance(fun, FunctionType) and "float" in _globals(fun.__code__):
        return False
    waiting, seen = [fun], {id(fun)}
    while waiting and len(seen) < MOST_OBJECTS:
        one = waiting.pop()
        if _is_of_jax(one):
            return True
        for part in _parts(one):
            if id(part) not in seen and not isinstance(part, LEAVES):
                seen.add(id(part))
                waiting.append(part)
    return False


def _is_of_jax(one: Any) -> bool:
    if isinstance(one, ModuleType):
        return one.__name__.startswith(COMPUTING)
    home = getattr(one, "__module__", None) if callable(one) else None
    return _root(type(one).__module__) in OF_JAX or _root(home) in OF_JAX


def _root(name: Any) -> str:
    return name.partition(".")[0] if isinstance(name, str) else ""


def _parts(one: Any) -> Iterator[Any]:
    """What a function or a callable object is made of."""
    if isinstance(one, FunctionType):
        yield from _named(one)
    elif isinstance(one, MethodType):
        yield from (one.__func__, one.__self__)
    elif isinstance(one, functools.partial):
        yield from (one.func, *one.args, *one.keywords.values())
    elif not isinstance(one, type | ModuleType):
        yield from getattr(one, "__dict__", {}).values()
        yield from (call for call in (vars(kind).get("__call__") for kind in type(one).__mro__) if call is not None)


def _named(function: FunctionType) -> Iterator[Any]:
    """The values of a function's closure and defaults, and of the global names that its code loads."""
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not bound yet
            continue
    yield from function.__defaults__ or ()
    for name in _globals(function.__code__):
        if name in function.__globals__:
            yield function.__globals__[name]


@functools.lru_cache(maxsize=256)
def _globals(code: CodeType) -> frozenset[str]:
    """Names of globals that a function's code and the code inside it load."""
    names = {step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL"}
    inner = (_globals(part) for part in code.co_consts if isinstance(part, CodeType))
    return frozenset(names.union(*inner))
