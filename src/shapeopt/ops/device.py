"""Traced operations on JAX arrays: the same methods as `Host`, recorded once and compiled by XLA.

A branch that no lane of a batch takes is not run: `dispatch` and `when` are loops of at most one round, since a
conditional under `vmap` would compute both branches at every step. A long branch runs on the lanes that take it: they
are gathered, an eighth of the batch at a time. None of them can be differentiated backwards.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .simplify import simplify

CHEAP = 24  # operations up to which a branch is computed for all lanes rather than gated
LONG = 400  # operations from which on the lanes of a batch that need a branch are gathered,
HEAVY = {"cholesky": 400, "eigh": 400, "lu": 400}  # what counts for more than one of them
SHARE = 8  # so many parts of a batch one after the other
SMALL_TABLE = 8192  # numbers up to which rewriting a table under a mask is cheaper than placing one row in it


class Device:
    """The operations of the device engine."""

    traced = True
    xp: Any = jnp

    @staticmethod
    def pick(flag: Any, a: Any, b: Any) -> Any:
        return jax.tree.map(lambda x, y: x if _is_same(x, y) else _select(flag, x, y), a, b)

    @staticmethod
    def last(flags: tuple[Any, ...], codes: tuple[int, ...]) -> Any:
        found = Device.whole(0)
        for flag, code in zip(flags, codes, strict=True):
            found = _select(flag, jnp.int32(code), found)
        return found

    @staticmethod
    def where(flags: Any, a: Any, b: Any) -> Any:
        return _select(flags, a, b)

    @staticmethod
    def entry(table: tuple[bool, ...], i: Any) -> Any:
        bits = sum(1 << k for k, flag in enumerate(table) if flag)
        if bits.bit_count() < 2:
            return i == bits.bit_length() - 1  # of the only one; -1 where there is none
        if len(table) > 31:
            return jnp.asarray(table)[i]
        return (jnp.int32(bits) >> i) & 1 == 1

    @staticmethod
    def no(flag: Any) -> Any:
        return jnp.logical_not(flag)

    @staticmethod
    def cond(flag: Any, f: Callable[[], Any], g: Callable[[], Any]) -> Any:
        return Device.pick(flag, f(), g())

    @staticmethod
    def lazy(make: Callable[[], Any]) -> Callable[[], Any]:
        made = make()
        return lambda: made

    @staticmethod
    def when(flag: Any, change: Callable[[Any], Any], old: Any) -> Any:
        return _once(flag, change, old)

    @staticmethod
    def loop(test: Callable[[Any], Any], body: Callable[[Any], Any], x: Any) -> Any:
        traced = _Body(body, x)
        again = lambda carried: test(traced.whole(carried))  # noqa: E731
        turn = lambda carried: traced(traced.consts, carried)  # noqa: E731
        return traced.whole(lax.while_loop(again, turn, traced.start))

    @staticmethod
    def rounds(test: Callable[[Any], Any], body: Callable[[Any], Any], x: Any) -> Any:
        traced = _Body(body, x)
        again = lambda carried: test(traced.whole(carried))  # noqa: E731
        return traced.whole(_rounds(traced, again)(traced.consts, traced.start))

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
        return (jnp.abs(f) < largest) & (jnp.dot(g, g) < largest * largest)

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
    def exp(x: Any) -> Any:
        return jnp.exp(x)

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
    def outer(a: Any, b: Any) -> Any:
        return a[:, None] * b

    @staticmethod
    def largest(v: Any) -> Any:
        return v.max()

    @staticmethod
    def smallest(v: Any) -> Any:
        return v.min()

    @staticmethod
    def any(flags: Any) -> Any:
        return flags.any()

    @staticmethod
    def over(a: Any, b: Any) -> Any:
        return a / b

    @staticmethod
    def powers(v: Any, n: int) -> Any:
        return jnp.exp(np.arange(1.0, n + 1.0, dtype=v.dtype)[:, None] * jnp.log(v))

    @staticmethod
    def norm(v: Any) -> Any:
        return jnp.sqrt(jnp.dot(v, v))

    @staticmethod
    def floor(x: Any) -> Any:
        return jnp.floor(x)

    @staticmethod
    def remainder(n: Any, m: int) -> Any:
        return lax.rem(n, jnp.int32(m))

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
    def solve_positive(A: Any, b: Any) -> Any:
        L = lax.linalg.cholesky(A, symmetrize_input=False)
        half = lax.linalg.triangular_solve(L, b[:, None], left_side=True, lower=True)
        return lax.linalg.triangular_solve(L, half, left_side=True, lower=True, transpose_a=True)[:, 0]

    @staticmethod
    def root(A: Any) -> Any:
        return lax.linalg.cholesky(A, symmetrize_input=False)

    @staticmethod
    def eigh(A: Any) -> Any:
        return jnp.linalg.eigh(A)


def _is_same(x: Any, y: Any) -> bool:
    """Whether a choice between both is none."""
    return x is y or (type(x) is type(y) and isinstance(x, bool | int | float) and x == y)


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
            [_select(flag, new, before) for new, before in zip(body(body.consts, body.start), body.start, strict=True)]
        )
    if body.size < LONG:
        return body.whole(_gated(body, jnp.asarray(flag), body.consts, body.start))
    return body.whole(_gathered(body)(jnp.asarray(flag), body.consts, body.start))


def _gated(body: "_Body", flag: Any, consts: list[Any], start: list[Any]) -> list[Any]:
    """A loop of at most one round; in a batch it works on all lanes, if any asks for it."""
    once = lambda carry: (jnp.zeros_like(carry[0]), body(consts, carry[1]))  # noqa: E731
    return lax.while_loop(lambda carry: carry[0], once, (flag, start))[1]


def _gathered(body: "_Body") -> Any:
    """(flag, consts, start) -> end of a gated body; a batch gathers the lanes that ask for it."""

    @jax.custom_batching.custom_vmap
    def run(flag: Any, consts: list[Any], start: list[Any]) -> list[Any]:
        return _gated(body, flag, consts, start)

    @run.def_vmap
    def run_batch(size: int, batched: list[Any], flag: Any, consts: list[Any], start: list[Any]) -> tuple[Any, Any]:
        flags, *leaves = _all_lanes(size, [batched[0], *batched[2]], [flag, *start])
        few = _few_lanes(body, size, batched[1], consts)

        def some(held: tuple[Any, list[Any]]) -> tuple[Any, list[Any]]:
            lanes, leaves = few(*held)
            return held[0].at[lanes].set(False, mode="drop"), leaves

        end = lax.while_loop(lambda held: held[0].any(), some, (flags, leaves))[1]
        return end, [True] * len(end)

    return run


def _rounds(body: "_Body", test: Callable[[list[Any]], Any]) -> Any:
    """(consts, start) -> end of a loop; a batch goes on with all lanes while the test holds for any."""

    @jax.custom_batching.custom_vmap
    def run(consts: list[Any], start: list[Any]) -> list[Any]:
        return lax.while_loop(test, lambda carried: body(consts, carried), start)

    @run.def_vmap
    def run_batch(size: int, batched: list[Any], consts: list[Any], start: list[Any]) -> tuple[Any, Any]:
        turn, tests = jax.vmap(body, in_axes=(_axes(batched[0]), 0)), jax.vmap(test)
        leaves = _all_lanes(size, batched[1], start)
        end = lax.while_loop(lambda held: tests(held).any(), lambda held: turn(consts, held), leaves)
        return end, [True] * len(end)

    return run


def _few_lanes(body: "_Body", size: int, batched: list[bool], consts: list[Any]) -> Any:
    """(flags, leaves) -> (lanes, leaves) after the body has worked on the first lanes of those with a flag."""
    few = -(-size // SHARE)
    turn = jax.vmap(body, in_axes=(_axes(batched), 0))

    def run(flags: Any, leaves: list[Any]) -> tuple[Any, list[Any]]:
        ranks = jnp.cumsum(flags.astype(jnp.int32))
        wanted = 1 + jnp.arange(few, dtype=jnp.int32)
        lanes = jnp.searchsorted(ranks, wanted, method="compare_all").astype(jnp.int32)  # `size` where there is none
        taken = jnp.minimum(lanes, size - 1)
        own = [leaf[taken] if mine else leaf for mine, leaf in zip(batched, consts, strict=True)]
        new = turn(own, [leaf[taken] for leaf in leaves])
        pairs = zip(leaves, new, strict=True)
        return lanes, [leaf.at[lanes].set(row, mode="drop") for leaf, row in pairs]

    return run


def _all_lanes(size: int, batched: list[bool], leaves: list[Any]) -> list[Any]:
    """Leaves of which each lane has its own."""
    pairs = zip(batched, leaves, strict=True)
    return [leaf if own else jnp.broadcast_to(leaf, (size, *jnp.shape(leaf))) for own, leaf in pairs]


def _axes(batched: list[bool]) -> list[int | None]:
    return [0 if own else None for own in batched]


class _Body:
    """The body of a loop, traced once; what it does not change is not carried, since a batched loop copies what it
    carries."""

    def __init__(self, change: Callable[[Any], Any], old: Any) -> None:
        leaves, self._treedef = jax.tree.flatten(jax.tree.map(jnp.asarray, old))

        def flat(*leaves: Any) -> list[Any]:
            new = jax.tree.leaves(change(jax.tree.unflatten(self._treedef, leaves)))
            return [jnp.asarray(leaf, like.dtype) for leaf, like in zip(new, leaves, strict=True)]

        closed = jax.make_jaxpr(flat)(*leaves)
        jaxpr = simplify(closed.jaxpr)
        inputs, outputs = jaxpr.invars, jaxpr.outvars
        self._changed = [
            i for i, (before, after) in enumerate(zip(inputs, outputs, strict=True)) if before is not after
        ]
        read = {id(var) for equation in jaxpr.eqns for var in equation.invars} | {id(var) for var in outputs}
        changed = set(self._changed)
        self._fixed = [i for i, var in enumerate(inputs) if i not in changed and id(var) in read]
        self._leaves, self._jaxpr, self._outside = leaves, jaxpr, len(closed.consts)
        self.consts = [*closed.consts, *(leaves[i] for i in self._fixed)]

    @property
    def size(self) -> int:
        """How many operations it has; a factorisation counts for many."""
        return _count(self._jaxpr)

    @property
    def start(self) -> list[Any]:
        return [self._leaves[i] for i in self._changed]

    def __call__(self, consts: list[Any], carried: list[Any]) -> list[Any]:
        """What the body changes; `consts` are what it reads and does not change."""
        leaves: list[Any] = [0] * len(self._leaves)  # what is not read
        for i, leaf in zip((*self._fixed, *self._changed), (*consts[self._outside :], *carried), strict=True):
            leaves[i] = leaf
        new = jax.core.eval_jaxpr(self._jaxpr, consts[: self._outside], *leaves)
        return [new[i] for i in self._changed]

    def whole(self, carried: list[Any]) -> Any:
        """The structure that the body works on, from what is carried."""
        leaves = list(self._leaves)
        for i, leaf in zip(self._changed, carried, strict=True):
            leaves[i] = leaf
        return jax.tree.unflatten(self._treedef, leaves)


def _count(jaxpr: Any) -> int:
    """Equations, with those of nested programs."""
    total = sum(HEAVY.get(equation.primitive.name, 1) for equation in jaxpr.eqns)
    for equation in jaxpr.eqns:
        for value in equation.params.values():
            for inner in value if isinstance(value, tuple | list) else (value,):
                nested = getattr(inner, "jaxpr", inner)
                total += _count(nested) if hasattr(nested, "eqns") else 0
    return total


DEVICE = Device()
