"""Traced operations on JAX arrays: the same methods as `Host`, recorded once and compiled by XLA.

A branch that no lane of a batch takes is not run: `dispatch` and `when` are loops of at most one round, since a
conditional under `vmap` would compute both branches at every step. They can't be differentiated backwards.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.extend.core
import jax.numpy as jnp
from jax import lax

CHEAP = 24  # operations up to which a branch is computed for all lanes rather than gated
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
        traced = _Body(body, x)
        again = lambda carried: test(traced.whole(carried))  # noqa: E731
        return traced.whole(lax.while_loop(again, traced, traced.start))

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
            return _select(chosen.reshape(-1, *[1] * (rows.ndim - 1)), row, rows)
        return rows.at[i].set(row)

    @staticmethod
    def put_column(rows: Any, i: Any, column: Any) -> Any:
        return _select(jnp.arange(rows.shape[1], dtype=jnp.int32) == i, column[:, None], rows)

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
    def log(x: Any) -> Any:
        return jnp.log(x)

    @staticmethod
    def dot(a: Any, b: Any) -> Any:
        return jnp.dot(a, b)

    @staticmethod
    def times(A: Any, v: Any) -> Any:
        if A.size + v.size > SMALL_TABLE:
            return A @ v
        return jnp.sum(A * v, axis=-1) if A.ndim > 1 else jnp.sum(A[:, None] * v, axis=0)  # one loop, no library call

    @staticmethod
    def over(a: Any, b: Any) -> Any:
        return a / b

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
    def solve(A: Any, b: Any) -> Any:
        return jnp.linalg.solve(A, b)

    @staticmethod
    def eigh(A: Any) -> Any:
        return jnp.linalg.eigh(A)


def _select(flags: Any, a: Any, b: Any) -> Any:
    """As `jnp.where`, in as few operations as the shapes allow; Python numbers stay without a precision."""
    dtype: Any = jnp.result_type(a, b)
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
    body = _Body(change, old)
    if body.size <= CHEAP:  # quicker computed than asked for
        return body.whole(
            [_select(flag, new, before) for new, before in zip(body(body.start), body.start, strict=True)]
        )
    once = lambda carry: (jnp.zeros_like(carry[0]), body(carry[1]))  # noqa: E731
    return body.whole(lax.while_loop(lambda carry: carry[0], once, (jnp.asarray(flag), body.start))[1])


class _Body:
    """The body of a loop, traced once; what it does not change is not carried, since a batched loop copies what it
    carries."""

    def __init__(self, change: Callable[[Any], Any], old: Any) -> None:
        leaves, self._treedef = jax.tree.flatten(jax.tree.map(jnp.asarray, old))

        def flat(*leaves: Any) -> list[Any]:
            new = jax.tree.leaves(change(jax.tree.unflatten(self._treedef, leaves)))
            return [jnp.asarray(leaf, like.dtype) for leaf, like in zip(new, leaves, strict=True)]

        closed = jax.make_jaxpr(flat)(*leaves)
        inputs, outputs = closed.jaxpr.invars, closed.jaxpr.outvars
        self._changed = [
            i for i, (before, after) in enumerate(zip(inputs, outputs, strict=True)) if before is not after
        ]
        self._leaves, self._jaxpr, self._run = leaves, closed.jaxpr, jax.extend.core.jaxpr_as_fun(closed)

    @property
    def size(self) -> int:
        """How many operations it has."""
        return _count(self._jaxpr)

    @property
    def start(self) -> list[Any]:
        return [self._leaves[i] for i in self._changed]

    def __call__(self, carried: list[Any]) -> list[Any]:
        new = self._run(*self._merged(carried))
        return [new[i] for i in self._changed]

    def whole(self, carried: list[Any]) -> Any:
        """The structure that the body works on, from what is carried."""
        return jax.tree.unflatten(self._treedef, self._merged(carried))

    def _merged(self, carried: list[Any]) -> list[Any]:
        leaves = list(self._leaves)
        for i, leaf in zip(self._changed, carried, strict=True):
            leaves[i] = leaf
        return leaves


def _count(jaxpr: Any) -> int:
    """Equations, with those of nested programs."""
    total = len(jaxpr.eqns)
    for equation in jaxpr.eqns:
        for value in equation.params.values():
            for inner in value if isinstance(value, tuple | list) else (value,):
                nested = getattr(inner, "jaxpr", inner)
                total += _count(nested) if hasattr(nested, "eqns") else 0
    return total


DEVICE = Device()
