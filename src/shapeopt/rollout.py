"""The only loops that spend: (optimizer, oracle, budget, key) -> trace (Algorithm alg:streaming_shape_compact).

`rollout` compiles a whole run and can be batched; `advance` compiles a stretch of it, with a length known only at run
time, so that a host loop can report in between; `Stepper` steps a run from Python around a host objective.
"""

import functools
import math
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.xla_metadata import set_xla_metadata
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from .core import AbstractOptimizer, Box, Reading
from .oracles import AbstractOracle, OracleState


class Best(NamedTuple):
    """The best point read so far; value +inf while none was finite."""

    x: Float[Array, " d"]
    value: Float[Array, ""]

    def after(self, x: Float[Array, " d"], value: Float[Array, ""]) -> "Best":
        better = jnp.isfinite(value) & (value < self.value)
        return Best(jnp.where(better, x, self.x), jnp.where(better, value, self.value))


class Carry(NamedTuple):
    """What a run hands from one reading to the next."""

    state: PyTree
    oracle: OracleState
    best: Best


class Step(NamedTuple):
    """What one reading left in the trace."""

    value: Float[Array, ""]
    best: Float[Array, ""]
    calls: Int[Array, ""]
    x: Float[Array, " d"] | None
    info: PyTree


class Trace(NamedTuple):
    """A whole run: its end, and one `Step` a reading (stacked)."""

    best: Best
    steps: Step
    end: Carry


def start(
    optimizer: AbstractOptimizer,
    oracle: AbstractOracle,
    x0: Float[Array, " d"],
    box: Box,
    budget: int,
    key: PRNGKeyArray,
    spent: int = 0,
) -> Carry:
    """The carry before the first reading; `spent` calls were made before (to learn whether the objective traces)."""
    run_key, noise_key = jax.random.split(key)
    best = Best(x0, jnp.asarray(jnp.inf, x0.dtype))
    return Carry(optimizer.init(x0, box, budget, run_key), oracle.init(noise_key, spent), best)


def compiled_start(optimizer: AbstractOptimizer) -> Any:
    """init(x0, box, budget, key) -> state, compiled, so that a first run is not a long series of tiny compilations."""
    params, static = eqx.partition(optimizer, eqx.is_array)
    return functools.partial(_compiled_start(static), params)


@functools.lru_cache(maxsize=64)
def _compiled_start(static: Any) -> Any:
    def init(params: PyTree, x0: Any, box: Box, budget: Any, key: PRNGKeyArray) -> PyTree:
        return eqx.combine(params, static).init(x0, box, budget, key)

    return jax.jit(init)


def rollout(
    optimizer: AbstractOptimizer,
    oracle: AbstractOracle,
    x0: Float[Array, " d"],
    box: Box,
    budget: int,
    key: PRNGKeyArray,
    *,
    record_points: bool = False,
) -> Trace:
    """Run `optimizer` from x0 until no further reading fits into `budget`; traceable, so that `vmap` batches it."""
    carry = start(optimizer, oracle, x0, box, budget, key)
    one = lambda carry, _: _read(optimizer, oracle, carry, record_points)  # noqa: E731
    end, steps = jax.lax.scan(one, carry, length=budget // oracle.cost)
    return Trace(end.best, steps, end)


def advance(
    optimizer: AbstractOptimizer, oracle: AbstractOracle, carry: Carry, readings: int, room: int, record_points: bool
) -> tuple[Carry, Step]:
    """`readings` (at most `room`) more readings, which the caller knows to fit; steps after those are zeros.

    Compiled once for a problem and `room`, whatever `readings` is.
    """
    params, static = eqx.partition((optimizer, oracle), eqx.is_array)
    return _compiled_stretch(static, room, record_points)(params, carry, jnp.asarray(readings, jnp.int32))


@functools.lru_cache(maxsize=64)
def _compiled_stretch(static: Any, room: int, record_points: bool) -> Any:
    def stretch(params: PyTree, carry: Carry, readings: Int[Array, ""]) -> tuple[Carry, Step]:
        optimizer, oracle = eqx.combine(params, static)
        one = lambda carry: _read(optimizer, oracle, carry, record_points)  # noqa: E731
        shapes = jax.eval_shape(one, carry)[1]
        blank = jax.tree.map(lambda leaf: jnp.zeros((room, *leaf.shape), leaf.dtype), shapes)

        def body(i, held):
            carry, step = one(held[0])
            return carry, jax.tree.map(lambda rows, row: rows.at[i].set(row), held[1], step)

        return jax.lax.fori_loop(0, readings, body, (carry, blank))

    return jax.jit(stretch)


class Stepper:
    """A run stepped from Python, around an objective that runs on the host.

    Calls into compiled code cost time per array, so a small state travels as one array a dtype, and a step's outcome
    comes back as one; a large state stays as it is, and is donated rather than copied.
    """

    def __init__(self, optimizer: AbstractOptimizer, state: PyTree) -> None:
        self._params, static = eqx.partition(optimizer, eqx.is_array)
        self._info = jax.tree.structure(jax.eval_shape(optimizer.info, state))
        self._shape = jax.eval_shape(optimizer.ask, state).shape
        pack, self._tell, self._plain_tell, self._unpack = _compiled_step(static, Packing.of(state), self._shape)
        self._held = pack(state)

    @property
    def state(self) -> PyTree:
        return self._unpack(self._held)

    def tell(self, value: Any, gradient: Any, cost: Any) -> tuple[np.ndarray, PyTree]:
        """Take in a reading at the last x; (next x, info), both NumPy's."""
        try:
            self._held, outcome = self._tell(self._params, self._held, value, gradient, cost)
        except jax.errors.JaxRuntimeError:  # it does not compile into one kernel
            self._tell = self._plain_tell
            self._held, outcome = self._tell(self._params, self._held, value, gradient, cost)
        outcome, points = np.asarray(outcome), math.prod(self._shape)
        scalars = outcome[points:] if len(self._shape) == 1 else outcome[points:].reshape(-1, self._shape[0])
        return outcome[:points].reshape(self._shape), jax.tree.unflatten(self._info, scalars)


# XLA's CPU backend would spread the step's two hundred little kernels over its threads, which costs more than they do;
# these attributes ask for one kernel. An XLA that does not know them ignores them.
ONE_KERNEL = {"xla_cpu_small_call": "true", "inlineable": "false"}
PACKED = 100_000  # numbers up to which copying a state is cheaper than handing over its arrays one by one


class Packing(NamedTuple):
    """How a state's leaves lie in one array a dtype; hashable. No groups: the state is too large and is not packed."""

    treedef: Any
    shapes: tuple[tuple[tuple[int, ...], Any], ...]
    groups: tuple[Any, ...]

    @staticmethod
    def of(state: PyTree) -> "Packing":
        leaves, treedef = jax.tree.flatten(state)
        small = sum(leaf.size for leaf in leaves) <= PACKED
        groups = tuple(dict.fromkeys(leaf.dtype for leaf in leaves)) if small else ()
        return Packing(treedef, tuple((leaf.shape, leaf.dtype) for leaf in leaves), groups)

    def pack(self, state: PyTree) -> Any:
        leaves = jax.tree.leaves(state)
        if not self.groups:
            return leaves
        return [jnp.concatenate([leaf.reshape(-1) for leaf in leaves if leaf.dtype == dtype]) for dtype in self.groups]

    def unpack(self, held: Any) -> PyTree:
        if not self.groups:
            return jax.tree.unflatten(self.treedef, held)
        starts, leaves = dict.fromkeys(self.groups, 0), []
        for shape, dtype in self.shapes:
            size = math.prod(shape)
            leaves.append(held[self.groups.index(dtype)][starts[dtype] : starts[dtype] + size].reshape(shape))
            starts[dtype] += size
        return jax.tree.unflatten(self.treedef, leaves)


@functools.lru_cache(maxsize=64)
def _compiled_step(static: Any, packing: Packing, shape: tuple[int, ...]) -> Any:
    def tell(params: PyTree, held: Any, value: Any, gradient: Any, cost: Any) -> Any:
        optimizer = eqx.combine(params, static)
        state = optimizer.tell(packing.unpack(held), Reading(value, gradient, cost))
        x = optimizer.ask(state)
        scalars = [leaf.astype(x.dtype).reshape(-1) for leaf in jax.tree.leaves(optimizer.info(state))]
        return packing.pack(state), jnp.concatenate([x.reshape(-1), *scalars])

    inner = jax.jit(tell)

    def one_kernel(*arguments: Any) -> Any:
        with set_xla_metadata(**ONE_KERNEL):
            return inner(*arguments)

    plain = jax.jit(tell, donate_argnums=1)
    single = jax.jit(one_kernel, donate_argnums=1) if packing.groups and len(shape) == 1 else plain
    return jax.jit(packing.pack), single, plain, jax.jit(packing.unpack)


def _read(
    optimizer: AbstractOptimizer, oracle: AbstractOracle, carry: Carry, record_points: bool
) -> tuple[Carry, Step]:
    """One reading, or one round of them if the optimizer asks for several points at once."""
    x = optimizer.ask(carry.state)
    ledger, reading = (oracle.read if x.ndim == 1 else oracle.read_all)(carry.oracle, x)
    state = optimizer.tell(carry.state, reading)
    rows, values = jnp.atleast_2d(x), jnp.atleast_1d(reading.value)
    finite = jnp.where(jnp.isfinite(values), values, jnp.inf)
    lowest = jnp.argmin(finite)
    best = carry.best.after(rows[lowest], finite[lowest])
    bests = jnp.minimum(carry.best.value, jax.lax.cummin(finite)).reshape(reading.value.shape)
    calls = carry.oracle.calls + jnp.cumsum(jnp.atleast_1d(reading.cost)).reshape(reading.cost.shape)
    step = Step(reading.value, bests, calls, x if record_points else None, optimizer.info(state))
    return Carry(state, ledger, best), step
