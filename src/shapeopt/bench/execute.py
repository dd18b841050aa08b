"""Run one method on one cell: the same tasks, starts and noise for every method, and one counter for all."""

import functools
import time
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree, UInt32

from ..core import AbstractOptimizer, Box, Reading, compiler_options
from ..oracles import AbstractOracle, Reader
from ..peers import AbstractPeer, run_peer
from ..rollout import rollout
from ..tasks import AbstractTask
from .cells import Cell
from .curves import Curves
from .methods import AbstractCompiled, AbstractMethod, Hosted
from .minima import local_minima, nearest_minimum

LANES = 256  # runs in one batch: more of them fall out of the processor's caches
AT_MINIMUM = 0.2  # distance at which a run is at a local minimum; the paper's radius of a hit


class Keys(NamedTuple):
    """What decides a run: its task, its start, and the randomness of method and oracle; the words of JAX's keys."""

    task: UInt32[Array, "runs words"]
    start: UInt32[Array, "runs words"]
    run: UInt32[Array, "runs words"]


class Seen(NamedTuple):
    """What an onlooker sees of a reading's point."""

    value: Float[Array, ""]
    distance: Float[Array, ""]
    x: Float[Array, " d"] | None


class InBox(AbstractOptimizer):
    """An optimizer whose queries are moved to the nearest point of the box, as `Reader` moves those of peers."""

    optimizer: AbstractOptimizer
    box: Box

    def init(self, x0: Float[Array, " d"], box: Box, budget: int, key: PRNGKeyArray) -> PyTree:
        return self.optimizer.init(x0, box, budget, key)

    def ask(self, state: PyTree) -> Float[Array, " d"]:
        x = self.optimizer.ask(state)
        if x.shape != self.box.lower.shape:
            raise ValueError(f"`ask` must give one point of shape {self.box.lower.shape}; got shape {x.shape}.")
        return jnp.fmin(jnp.fmax(x, self.box.lower), self.box.upper)  # unlike clip, these send NaN to a bound

    def tell(self, state: PyTree, reading: Reading) -> PyTree:
        return self.optimizer.tell(state, reading)


def run_cell(cell: Cell, method: AbstractMethod, seed: int) -> Curves:
    """All runs of `method` on `cell`, in double precision."""
    with jax.enable_x64(True):
        if isinstance(method, AbstractCompiled):
            return _run_traceable(cell, method.optimizer(cell), seed)
        if isinstance(method, Hosted):
            return _run_hosted(cell, method.peer, seed)
    raise TypeError(f"`method` must be compiled or hosted; got {method!r}.")


@functools.lru_cache(maxsize=8)
def run_keys(cell: Cell, seed: int) -> Keys:
    """The keys of all runs, task-major; the same for every method, budget and way of reading."""
    return jax.device_get(_keys(seed, np.uint32(cell.stream), cell.tasks, cell.starts))


@functools.partial(jax.jit, static_argnums=(2, 3))
def _keys(seed: Int[Array, ""], stream: UInt32[Array, ""], tasks: int, starts: int) -> Keys:
    # Tasks and runs get branches of their own: fold_in(key, n) is split(key)[n], so that a start whose key came from
    # its task's key would repeat the task's own draws.
    of_tasks, of_runs = jax.random.split(jax.random.fold_in(jax.random.key(seed), stream))

    def of_run(run: Int[Array, ""]) -> Keys:
        task = jax.random.fold_in(of_tasks, run // starts)
        start, own = jax.random.split(jax.random.fold_in(jax.random.fold_in(of_runs, run // starts), run % starts))
        return Keys(*(jax.random.key_data(key) for key in (task, start, own)))

    return jax.vmap(of_run)(jnp.arange(tasks * starts))


def _run_traceable(cell: Cell, optimizer: AbstractOptimizer, seed: int) -> Curves:
    """Batches of compiled rollouts."""
    keys, tasks = run_keys(cell, seed), _tasks(cell, seed)
    lanes = min(cell.runs, LANES) if optimizer.is_even(cell.family.dimension) else 1
    shared = eqx.filter(tasks, eqx.is_array, inverse=True)
    run = jax.jit(jax.vmap(functools.partial(_roll, cell, optimizer, shared)), compiler_options=compiler_options())
    rows = np.arange(-(-cell.runs // lanes) * lanes).reshape(-1, lanes) % cell.runs  # whole batches; the last one wraps
    parts = [(_of_runs(cell, tasks, chosen), Keys(*(words[chosen] for words in keys))) for chosen in rows]
    compiled = run.lower(*parts[0]).compile()
    began = time.perf_counter()
    outcomes = [jax.device_get(compiled(*part)) for part in parts]
    seconds = (time.perf_counter() - began) * cell.runs / rows.size
    calls, observed, seen, final, minimum = jax.tree.map(lambda *part: np.concatenate(part)[: cell.runs], *outcomes)
    objective = min(seconds, _objective_seconds(cell, seed))
    return Curves.from_readings(
        calls,
        observed,
        _gap(seen.value, minimum[:, None]),
        seen.distance,
        _gap(final.value, minimum),
        final.distance,
        budget=cell.budget,
        tasks=cell.tasks,
        minimum_index=_minimum_index(cell, seed, seen.x),
        seconds_objective=objective,
        seconds_optimizer=seconds - objective,
    )


@functools.lru_cache(maxsize=8)
def _tasks(cell: Cell, seed: int) -> AbstractTask:
    """All tasks of a cell, stacked. Each is sampled once, whatever its starts: of some the minimum is searched for."""
    words = run_keys(cell, seed).task[:: cell.starts]
    return eqx.filter_jit(eqx.filter_vmap(lambda key: cell.family.sample(jax.random.wrap_key_data(key))))(words)


def _of_runs(cell: Cell, tasks: AbstractTask, runs: np.ndarray) -> AbstractTask:
    """The arrays of the task of each run."""
    return jax.tree.map(lambda leaf: leaf[runs // cell.starts], eqx.filter(tasks, eqx.is_array))


def _roll(
    cell: Cell, optimizer: AbstractOptimizer, shared: AbstractTask, own: AbstractTask, keys: Keys
) -> tuple[Any, ...]:
    """(calls after each reading, observed values, what was seen, what is seen of the last position, f*)."""
    task = eqx.combine(own, shared)
    x0 = task.start(jax.random.wrap_key_data(keys.start))
    optimizer = optimizer.informed(task) if hasattr(optimizer, "informed") else optimizer  # of d_tau, as a user would
    oracle, look = read_by(optimizer, cell, task), functools.partial(_look, task, cell.counts_minima)
    inside, key = InBox(optimizer, task.box), jax.random.wrap_key_data(keys.run)
    trace = rollout(inside, oracle, x0, task.box, cell.budget, key, watch=look)
    final = look(inside.ask(trace.end.state))
    return trace.steps.calls, trace.steps.value, trace.steps.seen, final, task.minimum


def read_by(optimizer: AbstractOptimizer, cell: Cell, task: AbstractTask) -> AbstractOracle:
    """The oracle that a cell puts before a method: one that reads values alone pays for no force."""
    oracle = cell.sensing.oracle(task, cell.budget)
    return oracle.value_alone if getattr(optimizer, "values_only", False) else oracle


def _look(task: AbstractTask, keeps_point: bool, x: Float[Array, " d"]) -> Seen:
    return Seen(task(x), task.distance(x), x if keeps_point else None)


def _gap(value: np.ndarray, minimum: np.ndarray) -> np.ndarray:
    """f - f*: +inf where the value is not finite, nan only where no minimum is known."""
    return np.where(np.isfinite(value), value, np.inf) - minimum


@functools.lru_cache(maxsize=8)
def _objective_seconds(cell: Cell, seed: int) -> float:
    """Seconds that the cell's readings take alone, without a method; the least of two goes."""
    keys, tasks = run_keys(cell, seed), _tasks(cell, seed)
    lanes = min(cell.runs, LANES)

    def alone(own: AbstractTask, keys: Keys) -> Float[Array, ""]:
        task = eqx.combine(own, eqx.filter(tasks, eqx.is_array, inverse=True))
        x0 = task.start(jax.random.wrap_key_data(keys.start))
        oracle = cell.sensing.oracle(task, cell.budget)

        def read(carry: Any, _: None) -> tuple[Any, Float[Array, ""]]:
            state, x = carry
            state, reading = oracle.read(state, x)
            return (state, x - 1e-9 * reading.gradient), reading.value

        start = oracle.init(jax.random.wrap_key_data(keys.run)), x0
        return jax.lax.scan(read, start, length=cell.budget // oracle.cost)[1].sum()

    part = _of_runs(cell, tasks, np.arange(lanes)), Keys(*(words[:lanes] for words in keys))
    compiled = jax.jit(jax.vmap(alone), compiler_options=compiler_options()).lower(*part).compile()
    times = []
    for _ in range(2):
        began = time.perf_counter()
        compiled(*part).block_until_ready()
        times.append(time.perf_counter() - began)
    return min(times) * cell.runs / lanes


def _run_hosted(cell: Cell, peer: AbstractPeer, seed: int) -> Curves:
    """One run after another under the counter.

    A peer stands where its best reading was, since that is what it returns; at its start if it never read.
    """
    keys, runs, clock = run_keys(cell, seed), [], []
    prepare = _compiled_prepare(cell)
    for i in range(cell.runs):
        own = Keys(*(words[i] for words in keys))
        task, x0 = prepare(own)
        key = jax.random.wrap_key_data(own.run)
        reader = Reader(cell.sensing.oracle(task, cell.budget), task.box, cell.budget, key)
        seed_i, start = int(own.run[-1]), np.asarray(x0)
        began = time.perf_counter()
        run_peer(peer, reader, start, reader.lower, reader.upper, seed_i)
        clock.append((time.perf_counter() - began, reader.seconds))
        runs.append((*_padded(reader, start, cell.budget), task))
    timed = clock[1:] or clock  # the first run also compiles
    seconds, objective = (float(sum(column)) * len(clock) / len(timed) for column in zip(*timed, strict=True))
    calls, observed, points = (np.stack(rows) for rows in list(zip(*runs, strict=True))[:3])
    seen, minimum = _seen(cell, [task for *_, task in runs], points)
    gap, distance = _gap(np.asarray(seen.value), minimum[:, None]), np.asarray(seen.distance)
    best = np.argmin(np.where((calls > 0) & np.isfinite(observed), observed, np.inf), axis=1)[:, None]
    return Curves.from_readings(
        calls,
        observed,
        gap,
        distance,
        np.take_along_axis(gap, best, axis=1)[:, 0],
        np.take_along_axis(distance, best, axis=1)[:, 0],
        budget=cell.budget,
        tasks=cell.tasks,
        minimum_index=_minimum_index(cell, seed, points if cell.counts_minima else None),
        seconds_objective=objective,
        seconds_optimizer=seconds - objective,
    )


@functools.lru_cache(maxsize=8)
def _compiled_prepare(cell: Cell) -> Any:
    return jax.jit(functools.partial(prepare, cell))


def prepare(cell: Cell, keys: Keys) -> tuple[AbstractTask, Float[Array, " d"]]:
    task = cell.family.sample(jax.random.wrap_key_data(keys.task))
    return task, task.start(jax.random.wrap_key_data(keys.start))


def _padded(reader: Reader, start: np.ndarray, budget: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Calls, observed values and points of the readings, filled up to `budget` rows; 0 calls where there is none."""
    calls, values, points = reader.calls_after, reader.values, reader.points
    rest = budget - len(calls)
    last = points[-1:] if len(points) else start[None]
    return (
        np.pad(calls, (0, rest)),
        np.pad(values, (0, rest), constant_values=np.nan),
        np.concatenate([points, np.repeat(last, rest, axis=0)]),
    )


def _seen(cell: Cell, tasks: list[AbstractTask], points: np.ndarray) -> tuple[Seen, np.ndarray]:
    """What an onlooker sees of every point, and f* of every run."""
    look = _compiled_look(cell)
    seen = [jax.device_get(look(task, rows)) for task, rows in zip(tasks, points, strict=True)]
    return jax.tree.map(lambda *rows: np.stack(rows), *seen), np.array([float(task.minimum) for task in tasks])


@functools.lru_cache(maxsize=8)
def _compiled_look(cell: Cell) -> Any:
    return jax.jit(lambda task, rows: jax.vmap(functools.partial(_look, task, False))(rows))


def _minimum_index(cell: Cell, seed: int, points: np.ndarray | None) -> np.ndarray | None:
    """Which local minimum of its task each point is at."""
    if points is None or not cell.counts_minima:
        return None
    groups = points.reshape(cell.tasks, cell.starts, *points.shape[1:])
    rows = [nearest_minimum(group, _minima(cell, seed, i), AT_MINIMUM) for i, group in enumerate(groups)]
    return np.stack(rows).reshape(points.shape[:2])


@functools.lru_cache(maxsize=256)
def _minima(cell: Cell, seed: int, i: int) -> np.ndarray:
    key = jax.random.wrap_key_data(run_keys(cell, seed).task[i * cell.starts])
    return local_minima(cell.family.sample(key))
