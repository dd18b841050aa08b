"""Traced operations on JAX arrays: the same methods as `Host`, recorded once and compiled by XLA.

A branch that no lane of a batch takes is not run: `dispatch` and `when` are loops of at most one round, since a
conditional under `vmap` would compute both branches at every step. They can't be differentiated backwards.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

SMALL_TABLE = 8192  # numbers up to which rewriting a table under a mask is cheaper than placing one row in it


class Device:
    """The operations of the device engine."""

    traced = True
    xp: Any = jnp

    @staticmethod
    def pick(flag: Any, a: Any, b: Any) -> Any:
        return jax.tree.map(lambda x, y: x if x is y else _select(flag, x, y), a, b)

    @staticmethod
    def where(flags: Any, a: Any, b: Any) -> Any:
        return _select(flags, a, b)

    @staticmethod
    def no(flag: Any) -> Any:
        return jnp.logical_not(flag)

    @staticmethod
    def cond(flag: Any, f: Callable[[], Any], g: Callable[[], Any]) -> Any:
        return Device.pick(flag, f(), g())

    @staticmethod
    def when(flag: Any, change: Callable[[Any], Any], old: Any) -> Any:
        return _once(flag, change, old)

    @staticmethod
    def loop(test: Callable[[Any], Any], body: Callable[[Any], Any], x: Any) -> Any:
        return lax.while_loop(test, body, x)

    @staticmethod
    def repeat(n: int, body: Callable[[Any, Any], Any], x: Any) -> Any:
        return lax.fori_loop(jnp.int32(0), jnp.int32(n), body, x)

    @staticmethod
    def dispatch(
        i: Any, work: Callable[[int], Callable[[Any, Any], tuple[Any, Any]]], memories: tuple, common: Any
    ) -> tuple[tuple, Any]:
        done: list[Any] = []
        for k, memory in enumerate(memories):
            if memory is None:
                done.append(None)
                continue
            one = work(k)
            memory, common = _once(i == k, lambda held, one=one: one(*held), (memory, common))
            done.append(memory)
        return tuple(done), common

    @staticmethod
    def put(rows: Any, i: Any, row: Any) -> Any:
        if rows.size <= SMALL_TABLE:
            chosen = jnp.arange(rows.shape[0], dtype=jnp.int32) == Device.whole(i)
            return jnp.where(chosen.reshape(-1, *[1] * (rows.ndim - 1)), row, rows)
        return rows.at[i].set(row)

    @staticmethod
    def finite(f: Any, g: Any, largest: float) -> Any:
        return (jnp.abs(f) < largest) & (jnp.dot(g, g) < largest)

    @staticmethod
    def max(a: Any, b: Any) -> Any:
        return jnp.maximum(a, b)

    @staticmethod
    def min(a: Any, b: Any) -> Any:
        return jnp.minimum(a, b)

    @staticmethod
    def sqrt(x: Any) -> Any:
        return jnp.sqrt(jnp.maximum(x, 0.0))

    @staticmethod
    def norm(v: Any) -> Any:
        return jnp.sqrt(jnp.dot(v, v))

    @staticmethod
    def floor(x: Any) -> Any:
        return jnp.floor(x)

    @staticmethod
    def whole(n: Any) -> Any:
        return jnp.asarray(n).astype(jnp.int32)

    @staticmethod
    def flag(x: Any) -> Any:
        return jnp.asarray(x, bool)

    @staticmethod
    def real(x: Any, dtype: Any = None) -> Any:
        return jnp.asarray(x, dtype or jnp.result_type(float))

    @staticmethod
    def choose(i: Any, values: tuple[float, ...], dtype: Any = None) -> Any:
        return jnp.asarray(values, dtype or jnp.result_type(float))[i]

    @staticmethod
    def solve(A: Any, b: Any) -> Any:
        return jnp.linalg.solve(A, b)

    @staticmethod
    def eigh(A: Any) -> Any:
        return jnp.linalg.eigh(A)


def _select(flags: Any, a: Any, b: Any) -> Any:
    """As `jnp.where`, in as few operations as the shapes allow; Python numbers stay without a precision."""
    dtype = jnp.result_type(a, b)
    if jax.typeof(a).weak_type and jax.typeof(b).weak_type and jnp.result_type(a) == jnp.result_type(b):
        dtype = None
    shape = jnp.broadcast_shapes(jnp.shape(a), jnp.shape(b))
    if jnp.ndim(flags):
        shape = jnp.broadcast_shapes(shape, jnp.shape(flags))
    a, b = (_shaped(x, shape, dtype) for x in (a, b))
    if jnp.ndim(flags) and jnp.shape(flags) != shape:
        flags = jnp.broadcast_to(flags, shape)
    return lax.select_n(jnp.asarray(flags), b, a)


def _shaped(x: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    x = jnp.asarray(x, dtype)
    return x if x.shape == shape else jnp.broadcast_to(x, shape)


def _once(flag: Any, change: Callable[[Any], Any], old: Any) -> Any:
    """change(old), in the types of old, where flag holds; else old."""

    def once(carry: tuple[Any, Any]) -> tuple[Any, Any]:
        new = jax.tree.map(lambda leaf, like: jnp.asarray(leaf, like.dtype), change(carry[1]), carry[1])
        return jnp.zeros_like(carry[0]), new

    return lax.while_loop(lambda carry: carry[0], once, (jnp.asarray(flag), jax.tree.map(jnp.asarray, old)))[1]


DEVICE = Device()
