"""An objective that computes with JAX, traced: differentiated and compiled, yet read from Python, point by point.

This file imports JAX. It is imported once an objective is known to compute with JAX.
"""

import contextlib
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..core.arrays import is_jax
from ..core.problem import Layout
from .checks import real_gradient, real_scalar, split_pair
from .flat import Flat, FlatPair
from .host import TraceablePair, Untraceable

# What a function raises that can't be called with a tracer: it branches on values, hands its argument to NumPy, or
# asks for what a tracer does not have.
OF_TRACERS = (jax.errors.NonConcreteBooleanIndexError, TypeError, AttributeError)

# As pytrees they are compiled once for all functions that differ in their arrays alone (Equinox modules, say).
jax.tree_util.register_dataclass(Flat, data_fields=["fun"], meta_fields=["layout"])
jax.tree_util.register_dataclass(FlatPair, data_fields=["fun", "jac"], meta_fields=["layout"])


def traced_pair(fun: Callable[..., Any], jac: Any, layout: Layout, dtype: Any) -> TraceablePair:
    """x -> (value, gradient) of an objective that computes with JAX, uncounted: NumPy in and out, compiled by JAX.

    Functions that are equal, or that are pytrees and differ in their arrays alone, share compiled code.

    Arguments:
        fun, jac: as `minimize` has them. `jac` None: `fun` is differentiated; True: it returns (value, gradient); a
            callable: the gradient.
        layout: the structure that `fun` and `jac` expect; the pair is one of flat vectors.
        dtype: of x; with 64 bits, JAX computes in double precision.

    Raises:
        Untraceable: by the pair, at its first call or by its method `trace`, if the objective can't be called with a
            tracer or does not answer one with JAX arrays. That it was called so is a call of the objective.

    Example:
        if refers_to_jax(fun) or oracle.first_reading(x):
            oracle.read_traced(x, traced_pair(fun, jac, layout, x.dtype))
    """
    whole = _whole(fun, jac, layout)
    leaves, treedef = jax.tree.flatten(whole)
    arrays = [leaf if isinstance(leaf, jax.Array | np.ndarray) else None for leaf in leaves]
    others = tuple(leaf if array is None else None for leaf, array in zip(leaves, arrays, strict=True))
    try:
        measure = _compiled(treedef, others, jac is None)
    except TypeError:  # a function without a hash
        measure = _compiled.__wrapped__(treedef, others, jac is None)

    return _Traced(measure, arrays, np.dtype(dtype).itemsize == 8)


@dataclass(frozen=True)
class _Traced:
    """A compiled (arrays of the function, x) -> [value, gradient], with NumPy in and out."""

    measure: Any
    arrays: list[Any]
    double: bool

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        with jax.enable_x64(self.double), untraceable_named():
            outcome = np.asarray(self.measure(self.arrays, x))
        return float(outcome[0]), outcome[1:]

    def trace(self, x: np.ndarray) -> None:
        """Trace the objective without an evaluation; the first call does not trace it again."""
        with jax.enable_x64(self.double), untraceable_named():
            self.measure.trace(self.arrays, x)


@contextlib.contextmanager
def untraceable_named() -> Iterator[None]:
    try:
        yield
    except OF_TRACERS as error:
        raise Untraceable("The objective computes with JAX, but can't be traced.") from error


@functools.lru_cache(maxsize=64)
def _compiled(treedef: Any, others: tuple[Any, ...], differentiated: bool) -> Any:
    """(arrays of the function, x) -> [value, gradient]."""

    def measure(arrays: list[Any], x: Any) -> Any:
        leaves = [other if array is None else array for array, other in zip(arrays, others, strict=True)]
        value, gradient = _measured(jax.tree.unflatten(treedef, leaves), x, differentiated)
        return jnp.concatenate([value[None], gradient])

    return jax.jit(measure)


def traceable_pair(fun: Callable[..., Any], jac: Any, layout: Layout) -> Callable[[Any], tuple[Any, Any]]:
    """x -> (value, gradient) as `traced_pair` computes it, for programs that are traced themselves."""
    return lambda x: _measured(_whole(fun, jac, layout), x, jac is None)


def _whole(fun: Callable[..., Any], jac: Any, layout: Layout) -> Any:
    return Flat(fun, layout) if jac is None else FlatPair(fun, None if jac is True else jac, layout)


def _measured(whole: Any, x: Any, differentiated: bool) -> tuple[Any, Any]:
    if differentiated:
        return jax.value_and_grad(lambda x: real_scalar(all_of_jax(whole(x)), "fun", x.dtype))(x)
    answer, slope = split_pair(whole(x), "fun")
    return real_scalar(answer, "fun", x.dtype), real_gradient(slope, "jac", x)


def all_of_jax(answer: Any) -> Any:
    """The answer, which must not be computed by anything else: it would be a constant of the compiled program."""
    if not all(map(is_jax, jax.tree.leaves(answer))):
        raise Untraceable("The objective does not compute with JAX.")
    return answer
