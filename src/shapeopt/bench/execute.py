"""Run one method on one cell: the same tasks, starts and noise for every method, and one counter for all."""

import functools
import time
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..core import AbstractOptimizer
from ..oracles import Reader
from ..peers import AbstractPeer, run_peer
from ..rollout import rollout
from ..tasks import AbstractTask
from .cells import Cell
from .curves import Curves
from .methods import AbstractMethod, Hosted, Traceable
from .minima import local_minima, nearest_minimum

LANES = 256  # runs in one batch: more of them fall out of the processor's caches
AT_MINIMUM = 0.2  # distance at which a run is at a local minimum; the paper's radius of a hit


class Keys(NamedTuple):
    """What decides a run: its task, its start, and the randomness of method and oracle."""

    task: PRNGKeyArray
    start: PRNGKeyArray
    run: PRNGKeyArray


class Seen(NamedTuple):
    """What an onlooker sees of a reading's point."""

    value: Float[Array, ""]
    distance: Float[Array, ""]
    x: Float[Array, " d"] | None


def run_cell(cell: Cell, method: AbstractMethod, seed: int) -> Curves:
    """All runs of `method` on `cell`, in double precision."""
    with jax.enable_x64(True):
        if isinstance(method, Traceable):
            return _run_traceable(cell, method.optimizer(cell), seed)
        if isinstance(method, Hosted):
            return _run_hosted(cell, method.peer, seed)
    raise TypeError(f"`method` must be Traceable or Hosted; got {method!r}.")


def run_keys(cell: Cell, seed: int) -> Keys:
    """The keys of all runs, task-major; the same for every method, budget and way of reading."""
    base = jax.random.fold_in(jax.random.key(seed), cell.stream)
    tasks = jax.vmap(lambda i: jax.random.fold_in(base, i))(jnp.arange(cell.tasks))
    each = jax.vmap(
        lambda key: jax.vmap(lambda j: jax.random.split(jax.random.fold_in(key, j + 1)))(jnp.arange(cell.starts))
    )
    pairs = each(tasks).reshape(cell.runs, 2)
    return Keys(jnp.repeat(tasks, cell.starts), pairs[:, 0], pairs[:, 1])


def _run_traceable(cell: Cell, optimizer: AbstractOptimizer, seed: int) -> Curves:
    """Batches of compiled rollouts."""
    keys = run_keys(cell, seed)
    lanes = min(cell.runs, LANES)
    run = jax.jit(jax.vmap(functools.partial(_roll, cell, optimizer)))
    padded = jax.tree.map(lambda rows: rows[jnp.arange(-(-cell.runs // lanes) * lanes) % cell.runs], keys)
    parts = [jax.tree.map(lambda rows, i=i: rows[i : i + lanes], padded) for i in range(0, len(padded.task), lanes)]
    compiled = run.lower(parts[0]).compile()
    began = time.perf_counter()
    outcomes = [jax.device_get(compiled(part)) for part in parts]
    seconds = (time.perf_counter() - began) * cell.runs / len(padded.task)
    calls, observed, seen, final, minimum = jax.tree.map(lambda *rows: np.concatenate(rows)[: cell.runs], *outcomes)
    objective = min(seconds, _objective_seconds(cell, seed))
    return Curves.from_readings(
        calls,
        observed,
        seen.value - minimum[:, None],
        seen.distance,
        final.value - minimum,
        final.distance,
        budget=cell.budget,
        tasks=cell.tasks,
        minimum_index=_minimum_index(cell, seed, seen.x),
        seconds_objective=objective,
        seconds_optimizer=seconds - objective,
    )


def _roll(cell: Cell, optimizer: AbstractOptimizer, keys: Keys) -> tuple[Any, ...]:
    """(calls after each reading, observed values, what was seen, what is seen of the last position, f*)."""
    task = cell.family.sample(keys.task)
    oracle, look = cell.sensing.oracle(task, cell.budget), functools.partial(_look, task, cell.counts_minima)
    trace = rollout(optimizer, oracle, task.start(keys.start), task.box, cell.budget, keys.run, watch=look)
    final = look(optimizer.ask(trace.end.state))
    return trace.steps.calls, trace.steps.value, trace.steps.seen, final, task.minimum


def _look(task: AbstractTask, keeps_point: bool, x: Float[Array, " d"]) -> Seen:
    return Seen(task(x), task.distance(x), x if keeps_point else None)


@functools.lru_cache(maxsize=8)
def _objective_seconds(cell: Cell, seed: int) -> float:
    """Seconds that the cell's readings take alone, without a method; the least of two goes."""
    keys = run_keys(cell, seed)
    lanes = min(cell.runs, LANES)

    def alone(keys: Keys) -> Float[Array, ""]:
        task = cell.family.sample(keys.task)
        oracle = cell.sensing.oracle(task, cell.budget)

        def read(carry: Any, _: None) -> tuple[Any, Float[Array, ""]]:
            state, x = carry
            state, reading = oracle.read(state, x)
            return (state, x - 1e-9 * reading.gradient), reading.value

        start = oracle.init(keys.run), task.start(keys.start)
        return jax.lax.scan(read, start, length=cell.budget // oracle.cost)[1].sum()

    part = jax.tree.map(lambda rows: rows[:lanes], keys)
    compiled = jax.jit(jax.vmap(alone)).lower(part).compile()
    times = []
    for _ in range(2):
        began = time.perf_counter()
        compiled(part).block_until_ready()
        times.append(time.perf_counter() - began)
    return min(times) * cell.runs / lanes


def _run_hosted(cell: Cell, peer: AbstractPeer, seed: int) -> Curves:
    """One run after another under the counter. A peer stands where its best reading was: that is what it returns."""
    keys, runs, clock = run_keys(cell, seed), [], []
    prepare = jax.jit(functools.partial(_prepare, cell))
    for i in range(cell.runs):
        task, x0 = prepare(jax.tree.map(lambda rows, i=i: rows[i], keys))
        reader = Reader(cell.sensing.oracle(task, cell.budget), task.box, cell.budget, keys.run[i])
        seed_i, start = int(jax.random.key_data(keys.run[i])[-1]), np.asarray(x0)
        began = time.perf_counter()
        run_peer(peer, reader, start, reader.lower, reader.upper, cell.budget, seed_i)
        clock.append((time.perf_counter() - began, reader.seconds))
        runs.append((*_padded(reader, cell.budget), task))
    timed = clock[1:] or clock  # the first run also compiles
    seconds, objective = (float(sum(column)) * len(clock) / len(timed) for column in zip(*timed, strict=True))
    calls, observed, points = (np.stack(rows) for rows in list(zip(*runs, strict=True))[:3])
    seen, minimum = _seen(cell, [task for *_, task in runs], points)
    gap = np.where(calls > 0, seen.value - minimum[:, None], np.nan)
    best = np.argmin(np.where((calls > 0) & np.isfinite(observed), observed, np.inf), axis=1)[:, None]
    return Curves.from_readings(
        calls,
        observed,
        gap,
        np.where(calls > 0, seen.distance, np.nan),
        np.take_along_axis(gap, best, axis=1)[:, 0],
        np.take_along_axis(np.asarray(seen.distance), best, axis=1)[:, 0],
        budget=cell.budget,
        tasks=cell.tasks,
        minimum_index=_minimum_index(cell, seed, points if cell.counts_minima else None),
        seconds_objective=objective,
        seconds_optimizer=seconds - objective,
    )


def _prepare(cell: Cell, keys: Keys) -> tuple[AbstractTask, Float[Array, " d"]]:
    task = cell.family.sample(keys.task)
    return task, task.start(keys.start)


def _padded(reader: Reader, budget: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Calls, observed values and points of the readings, filled up to `budget` rows; 0 calls where there is none."""
    calls, values, points = reader.calls_after, reader.values, reader.points
    rest = budget - len(calls)
    last = points[-1:] if len(points) else reader.lower[None]
    return (
        np.pad(calls, (0, rest)),
        np.pad(values, (0, rest), constant_values=np.nan),
        np.concatenate([points, np.repeat(last, rest, axis=0)]),
    )


def _seen(cell: Cell, tasks: list[AbstractTask], points: np.ndarray) -> tuple[Seen, np.ndarray]:
    """What an onlooker sees of every point, and f* of every run."""
    look = jax.jit(lambda task, rows: jax.vmap(functools.partial(_look, task, False))(rows))
    seen = [jax.device_get(look(task, rows)) for task, rows in zip(tasks, points, strict=True)]
    return jax.tree.map(lambda *rows: np.stack(rows), *seen), np.array([float(task.minimum) for task in tasks])


def _minimum_index(cell: Cell, seed: int, points: np.ndarray | None) -> np.ndarray | None:
    """Which local minimum of its task each point is at."""
    if points is None or not cell.counts_minima:
        return None
    groups = points.reshape(cell.tasks, cell.starts, *points.shape[1:])
    rows = [nearest_minimum(group, _minima(cell, seed, i), AT_MINIMUM) for i, group in enumerate(groups)]
    return np.stack(rows).reshape(points.shape[:2])


@functools.lru_cache(maxsize=256)
def _minima(cell: Cell, seed: int, i: int) -> np.ndarray:
    return local_minima(cell.family.sample(run_keys(cell, seed).task[i * cell.starts]))
