"""From what a user names to something to minimise: a function in a module, or a task of a built-in family."""

import functools
import importlib
import inspect
import math
import os
import pkgutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..core.extras import require
from ..terminal.errors import UsageError, did_you_mean, raised_here
from ..terminal.interrupt import Interrupt


@dataclass(frozen=True)
class Objective:
    """A function, where it starts and stays, and what is known about it (`minimum` is nan where nothing is)."""

    title: str
    fun: Callable[..., Any]
    dimension: int
    x0: Any = None
    bounds: Any = None
    jac: bool | None = None
    minimum: float = math.nan
    minimum_source: str = ""


class UserFunction:
    """A user's function that remembers what it raised, so that its own errors can be told from those of shapeopt.

    Once Ctrl-C has asked the run to end, it is not called again.
    """

    def __init__(self, fun: Callable[..., Any]) -> None:
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.raised: Exception | None = None
        self.interrupt: Interrupt | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process gets the function alone."""
        return UserFunction, (self.fun,)

    def __call__(self, x: Any) -> Any:
        if self.interrupt is not None and self.interrupt.asked:
            raise KeyboardInterrupt
        try:
            return self.fun(x)
        except Exception as error:
            self.raised = error
            raise


class ImportFailed(Exception):
    """The user's module was found, and raised while it was imported; the cause is what it raised."""


def load_function(spec: str) -> UserFunction:
    """The function that `package.module:function` names; the current directory counts."""
    module_name, _, attribute = spec.partition(":")
    if not module_name or not attribute:
        raise UsageError(f"{spec!r} is not package.module:function.")
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    found: Any = _import(module_name)
    for name in attribute.split("."):
        if not hasattr(found, name):
            hint = did_you_mean(name, (word for word in dir(found) if not word.startswith("_")))
            raise UsageError(f"{module_name!r} has no attribute {name!r}{hint or '.'}")
        found = getattr(found, name)
    if inspect.isclass(found) and hasattr(found, "sample"):
        raise UsageError(
            f"{spec!r} is a family's class, not a function; `shapeopt train {spec}` trains a policy for it."
        )
    if not callable(found):
        raise UsageError(f"{spec!r} is not a function; it is {type(found).__name__}.")
    return UserFunction(found)


def _import(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not (name == error.name or name.startswith(f"{error.name}.")):
            raise ImportFailed(name) from error
        raise UsageError(f"no module is called {name!r}{_module_hint(name) or '.'}") from None
    except Exception as error:
        raise ImportFailed(name) from error


def _module_hint(name: str) -> str:
    if name.endswith(".py"):
        dotted = name.removesuffix(".py").replace(os.sep, ".").strip(".")
        return f"; did you mean {dotted!r}?"
    parent, _, last = name.rpartition(".")
    package = sys.modules.get(parent)
    where = getattr(package, "__path__", None) if parent else None
    known = [module.name for module in pkgutil.iter_modules(where)]
    hint = did_you_mean(last, known)
    return hint.replace("mean '", f"mean '{parent}.") if parent else hint


def make_function(spec: str, bounds: Sequence[float], dim: int | None, x0: Sequence[float], jac: bool) -> Objective:
    """The objective of a function with bounds (one pair for all coordinates, or a pair each) and a start."""
    _check_pairs(bounds)
    return _placed(spec, load_function(spec), bounds, dim, x0, jac)


def make_command(
    command: str,
    time_limit: float | None,
    bounds: Sequence[float],
    dim: int | None,
    x0: Sequence[float],
    jac: bool,
) -> Objective:
    """The objective of a program, with bounds and a start as of a function."""
    from ..adapters.command import Command

    _check_pairs(bounds)
    try:
        fun = Command(command, gradient=jac, time_limit=time_limit)
    except ValueError as error:
        raise UsageError(
            str(error).replace("`command`", "--command").replace("`time_limit`", "--call-timeout")
        ) from error
    return _placed(command, UserFunction(fun), bounds, dim, x0, jac)


def _check_pairs(bounds: Sequence[float]) -> None:
    if len(bounds) % 2:
        raise UsageError(f"--bounds must be pairs of lower and upper; got {len(bounds)} numbers.")
    for low, high in zip(bounds[::2], bounds[1::2], strict=True):
        if not low <= high:
            raise UsageError(f"--bounds must have lower <= upper; got {low:g} {high:g}; did you mean {high:g} {low:g}?")


def _placed(
    name: str, fun: UserFunction, bounds: Sequence[float], dim: int | None, x0: Sequence[float], jac: bool
) -> Objective:
    """`fun` with a domain and a start."""
    import numpy as np

    dimension = _dimension(bounds, dim, x0)
    start = np.full(dimension, x0[0]) if len(x0) == 1 else np.array(x0) if x0 else None
    if start is not None and start.size != dimension:
        raise UsageError(f"--x0 must have {dimension} numbers; got {start.size}.")
    sides = None
    if bounds:
        pairs = np.broadcast_to(np.array(bounds).reshape(-1, 2), (dimension, 2))
        sides = (pairs[:, 0].copy(), pairs[:, 1].copy())
    domain = f"in [{bounds[0]:g}, {bounds[1]:g}]" if len(bounds) == 2 else "in a box" if bounds else "unbounded"
    return Objective(f"{name}, {_count(dimension)} {domain}", fun, dimension, start, sides, jac or None)


def _dimension(bounds: Sequence[float], dim: int | None, x0: Sequence[float]) -> int:
    """The number of coordinates, on which all that was said must agree."""
    if dim is not None and dim < 1:
        raise UsageError(f"--dim must be at least 1; got {dim}.")
    if not bounds and not x0:
        raise UsageError("a function or a command needs --bounds, or --x0 to start from.")
    said = [size for size in (dim, len(bounds) // 2 if len(bounds) > 2 else None) if size is not None]
    if len(x0) > 1 or (x0 and not said):
        said.append(len(x0))
    if not said:
        raise UsageError("one pair of --bounds needs --dim (or --x0) to say how many coordinates there are.")
    if min(said) != max(said):
        raise UsageError(f"--dim, --bounds and --x0 must agree on the number of coordinates; got {said}.")
    return said[0]


def make_task(
    name: str,
    dim: int | None,
    law: str,
    rotated: bool,
    varied: bool,
    seed: int,
    x0: Sequence[float] = (),
) -> Objective:
    """A task of the family `name` and its start, both drawn from `seed`; `x0` replaces the start."""
    require("jax", f"the family {name!r}")
    import jax
    import numpy as np

    from ..tasks import FAMILIES, StartLaw, make_family

    if name not in FAMILIES:
        hint = did_you_mean(name, FAMILIES) or f"; there are {', '.join(FAMILIES)}, or package.module:function."
        raise UsageError(f"no family is called {name!r}{hint}")
    if dim is None:
        dim = inspect.signature(FAMILIES[name]).parameters["dimension"].default
        if not isinstance(dim, int):
            raise UsageError(f"the family {name!r} needs --dim.")
    try:
        family = make_family(name, dim, StartLaw(law), rotated=rotated or None, varied=varied or None)
    except ValueError as error:
        if not raised_here(error):
            raise
        raise UsageError(f"{name}: {error}") from error
    with jax.enable_x64(True):
        task, start = _compiled_draw()(family, jax.random.key(seed))
        sides = (np.asarray(task.box.lower), np.asarray(task.box.upper))
    start = np.full(dim, x0[0]) if len(x0) == 1 else np.array(x0) if x0 else np.asarray(start)
    if start.size != dim:
        raise UsageError(f"--x0 must have {dim} numbers; got {start.size}.")
    turned = (", rotated" if rotated else "") + (", varied" if varied else "")
    begun = "start as given" if x0 else f"start drawn as in {law!r}"
    title = f"{name}, {_count(dim)}{turned}, {begun}"
    return Objective(title, task, dim, start, sides, None, float(task.minimum), family.minimum_source)


@functools.cache
def _compiled_draw() -> Callable[..., Any]:
    """draw(family, key) -> (task, start) as one program, not a long series of tiny ones."""
    import jax

    def draw(family: Any, key: Any) -> Any:
        key_task, key_start = jax.random.split(key)
        task = family.sample(key_task)
        return task, task.start(key_start)

    return jax.jit(draw, static_argnums=0)


def _count(dimension: int) -> str:
    return f"{dimension} dimension{'s' if dimension > 1 else ''}"
