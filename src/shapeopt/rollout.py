"""The only loops that spend: (optimizer, oracle, budget, key) -> trace (Algorithm alg:streaming_shape_compact).

`rollout` compiles a whole run and can be batched; `advance` compiles a stretch of it, with a length known only at run
time, so that a host loop can report in between; `Stepper` steps a run from Python around a host objective.
"""

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.xla_metadata import set_xla_metadata
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from .core import AbstractOptimizer, Box, Reading, compiler_options
from .oracles import AbstractOracle, OracleState

Watch = Callable[[Float[Array, " d"]], PyTree]


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
    seen: PyTree = None  # what `watch` said of x
    gradient: Float[Array, " d"] | None = None


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
    """(x0, box, budget, key) -> (state, first query), compiled: a first run is not a series of tiny compilations."""
    params, static = eqx.partition(optimizer, eqx.is_array)
    return functools.partial(_compiled_start(static), params)


@functools.lru_cache(maxsize=64)
def _compiled_start(static: Any) -> Any:
    def init(params: PyTree, x0: Any, box: Box, budget: Any, key: PRNGKeyArray) -> tuple[PyTree, Any]:
        optimizer = eqx.combine(params, static)
        state = optimizer.init(x0, box, budget, key)
        return state, optimizer.ask(state)

    return jax.jit(init, compiler_options=compiler_options())


def rollout(
    optimizer: AbstractOptimizer,
    oracle: AbstractOracle,
    x0: Float[Array, " d"],
    box: Box,
    budget: int,
    key: PRNGKeyArray,
    *,
    record_points: bool = False,
    watch: Watch | None = None,
) -> Trace:
    """Run `optimizer` from x0 until no further reading fits into `budget`; traceable, so that `vmap` batches it.

    `watch` is an onlooker: what it says of each read point is kept, and the optimizer hears nothing of it.
    """
    carry = start(optimizer, oracle, x0, box, budget, key)
    one = lambda carry, _: _read(optimizer, oracle, carry, record_points, watch)  # noqa: E731
    points = math.prod(jax.eval_shape(optimizer.ask, carry.state).shape[:-1])  # of one round; 1 but for a swarm
    end, steps = jax.lax.scan(one, carry, length=budget // (oracle.cost * points))
    return Trace(end.best, steps, end)


def advance(
    optimizer: AbstractOptimizer,
    oracle: AbstractOracle,
    carry: Carry,
    readings: int,
    room: int,
    record_points: bool,
    record_gradients: bool = False,
) -> tuple[Carry, Step, Float[Array, " d"]]:
    """`readings` (at most `room`) more readings, which the caller knows to fit, and the query after them.

    Steps after those readings are zeros.

    Compiled once for a problem and `room`, whatever `readings` is.
    """
    params, static = eqx.partition((optimizer, oracle), eqx.is_array)
    return _compiled_stretch(static, room, record_points, record_gradients)(params, carry, np.int32(readings))


@functools.lru_cache(maxsize=64)
def _compiled_stretch(static: Any, room: int, record_points: bool, record_gradients: bool) -> Any:
    def stretch(params: PyTree, carry: Carry, readings: Int[Array, ""]) -> tuple[Carry, Step, Any]:
        optimizer, oracle = eqx.combine(params, static)
        read = functools.partial(
            _read, optimizer, oracle, record_points=record_points, record_gradients=record_gradients
        )
        one = jax.jit(read)  # traced once for both uses
        shapes = jax.eval_shape(one, carry)[1]
        blank = jax.tree.map(lambda leaf: jnp.zeros((room, *leaf.shape), leaf.dtype), shapes)

        def body(i, held):
            carry, step = one(held[0])
            return carry, jax.tree.map(lambda rows, row: rows.at[i].set(row), held[1], step)

        carry, steps = jax.lax.fori_loop(0, readings, body, (carry, blank))
        return carry, steps, optimizer.ask(carry.state)

    return jax.jit(stretch, compiler_options=compiler_options())


class Stepper:
    """A run stepped from Python, around an objective that runs on the host.

    A call into compiled code costs time for each array, so a small state travels as one array a dtype, a reading and a
    step's outcome as one row each; a large state stays as it is, and is donated rather than copied.
    """

    def __init__(self, optimizer: AbstractOptimizer, state: PyTree) -> None:
        params, static = eqx.partition(optimizer, eqx.is_array)
        self._params, treedef = jax.tree.flatten(params)
        self._packing = Packing.of(state)
        self._compiled = _compiled_step(static, treedef, self._packing)
        self._tell = self._compiled.tell
        self._held = self._compiled.pack(state)
        self._dtype = self._compiled.point.dtype
        self.particles = math.prod(self._compiled.point.shape[:-1])
        self.dimension = self._compiled.point.shape[-1]

    @property
    def state(self) -> PyTree:
        """The state; a packed one comes as NumPy's arrays, since compiled code that takes it apart is slow to make."""
        return self._packing.unpack([np.asarray(part) for part in self._held] if self._packing.groups else self._held)

    def tell(self, value: Any, cost: Any, gradient: Any) -> np.ndarray:
        """Take in a reading of each particle; the outcome in a row: the next points, then what `info` says of them."""
        n = self.particles
        row = np.empty(n * (2 + self.dimension), self._dtype)
        row[:n], row[n : 2 * n], row[2 * n :] = value, cost, gradient
        try:
            self._held, outcome = self._tell(self._params, self._held, row)
        except jax.errors.JaxRuntimeError:  # it does not compile into one kernel
            self._tell = self._compiled.plain_tell
            self._held, outcome = self._tell(self._params, self._held, row)
        return np.asarray(outcome)

    def info(self, tails: np.ndarray) -> PyTree:
        """What `info` said, in columns of one entry a reading, from the outcomes of rounds without their points."""
        leaves, treedef = jax.tree.flatten(self._compiled.info)
        parts = np.split(tails, np.cumsum([leaf.size for leaf in leaves])[:-1], axis=1)
        batch = len(self._compiled.point.shape) - 1  # 1 for a swarm, whose leaves begin with the particles
        rows = len(tails) * self.particles
        columns = [part.reshape(rows, *leaf.shape[batch:]) for part, leaf in zip(parts, leaves, strict=True)]
        return jax.tree.unflatten(treedef, columns)


# XLA's CPU backend would spread the step's two hundred little kernels over its threads, which costs more than they do;
# these attributes ask for one kernel. An XLA that does not know them ignores them.
ONE_KERNEL = {"xla_cpu_small_call": "true", "inlineable": "false"}
PACKED = 100_000  # numbers up to which copying a state is cheaper than handing over its arrays one by one


class Packing(NamedTuple):
    """How a state's leaves lie in one array a dtype, truth values and words among the whole numbers; hashable.

    No groups: the state is too large and is not packed.
    """

    treedef: Any
    shapes: tuple[tuple[tuple[int, ...], Any], ...]
    groups: tuple[Any, ...]

    @staticmethod
    def of(state: PyTree) -> "Packing":
        leaves, treedef = jax.tree.flatten(state)
        small = sum(leaf.size for leaf in leaves) <= PACKED
        groups = tuple(dict.fromkeys(_carrier(leaf.dtype) for leaf in leaves)) if small else ()
        return Packing(treedef, tuple((leaf.shape, leaf.dtype) for leaf in leaves), groups)

    def pack(self, state: PyTree) -> Any:
        leaves = jax.tree.leaves(state)
        if not self.groups:
            return leaves
        carried = [_carried(leaf).reshape(-1) for leaf in leaves]
        return [jnp.concatenate([part for part in carried if part.dtype == dtype]) for dtype in self.groups]

    def unpack(self, held: Any) -> PyTree:
        if not self.groups:
            return jax.tree.unflatten(self.treedef, held)
        starts, leaves = dict.fromkeys(self.groups, 0), []
        for shape, dtype in self.shapes:
            group, size = _carrier(dtype), math.prod(shape)
            part = held[self.groups.index(group)][starts[group] : starts[group] + size]
            leaves.append(_brought_back(part, dtype).reshape(shape))
            starts[group] += size
        return jax.tree.unflatten(self.treedef, leaves)


def _carrier(dtype: Any) -> Any:
    """The dtype of the array in which numbers of `dtype` travel."""
    return np.dtype(np.int32) if dtype in (np.dtype(bool), np.dtype(np.uint32)) else dtype


def _carried(leaf: Array) -> Array:
    return leaf.view(np.int32) if leaf.dtype == np.uint32 else leaf.astype(_carrier(leaf.dtype))


def _brought_back(part: Array | np.ndarray, dtype: Any) -> Any:
    return part.view(dtype) if dtype == np.uint32 else part.astype(dtype)


class CompiledStep(NamedTuple):
    """The compiled parts of a `Stepper`, with the shapes of its points and of its info."""

    pack: Any
    tell: Any
    plain_tell: Any
    point: jax.ShapeDtypeStruct
    info: Any


@functools.lru_cache(maxsize=64)
def _compiled_step(static: Any, treedef: Any, packing: Packing) -> CompiledStep:
    def built(params: list[Array]) -> AbstractOptimizer:
        return eqx.combine(jax.tree.unflatten(treedef, params), static)

    def tell(params: list[Array], held: Any, row: Float[Array, " n"]) -> Any:
        optimizer = built(params)
        state = optimizer.tell(packing.unpack(held), _reading(row, point.shape))
        x = optimizer.ask(state)
        scalars = [leaf.astype(x.dtype).reshape(-1) for leaf in jax.tree.leaves(optimizer.info(state))]
        return packing.pack(state), jnp.concatenate([x.reshape(-1), *scalars])

    optimizer = eqx.combine(jax.tree.unflatten(treedef, [None] * treedef.num_leaves), static)
    blank = jax.tree.unflatten(packing.treedef, [jax.ShapeDtypeStruct(*leaf) for leaf in packing.shapes])
    point, info = jax.eval_shape(lambda state: (optimizer.ask(state), optimizer.info(state)), blank)
    inner = jax.jit(tell)

    def one_kernel(*arguments: Any) -> Any:
        return set_xla_metadata(inner(*arguments), **ONE_KERNEL)  # marks this call, and not the calls within it

    plain = jax.jit(tell, donate_argnums=1, compiler_options=compiler_options())
    small = packing.groups and len(point.shape) == 1 and optimizer.has_small_steps(blank)
    single = jax.jit(one_kernel, donate_argnums=1) if small else plain  # `compiler_options` would prevent it
    return CompiledStep(jax.jit(packing.pack), single, plain, point, info)


def _reading(row: Float[Array, " n"], shape: tuple[int, ...]) -> Reading:
    """The reading that came in as a row: values, costs, gradients."""
    n, batch = math.prod(shape[:-1]), shape[:-1]
    return Reading(row[:n].reshape(batch), row[2 * n :].reshape(shape), row[n : 2 * n].reshape(batch).astype(jnp.int32))


def _read(
    optimizer: AbstractOptimizer,
    oracle: AbstractOracle,
    carry: Carry,
    record_points: bool,
    watch: Watch | None = None,
    record_gradients: bool = False,
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
    kept, seen = x if record_points else None, None if watch is None else watch(x)
    gradient = reading.gradient if record_gradients else None
    step = Step(reading.value, bests, calls, kept, optimizer.info(state), seen, gradient)
    return Carry(state, ledger, best), step
