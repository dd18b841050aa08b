"""The local minima of a task of one or two dimensions, so that it can be counted how many of them a run was at."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int
from scipy.ndimage import minimum_filter
from scipy.spatial import KDTree

from ..core import REACH
from ..tasks import AbstractTask
from ..tasks.reference import newton_descent

POINTS = {1: 4001, 2: 401}  # grid points along a side, by dimension: 25 or more a ripple of every family
ITERATIONS = 60  # Newton steps of a polish; a kink, where they only halve the distance, gets to 1e-10 or so
SPACING = 2 * REACH / (POINTS[2] - 1)  # minima closer than this are one
PROBE = 1e-3  # radius of the ring on which a minimum's neighbours are read, in internal coordinates
ROOM = 256  # candidates are polished in batches of a multiple of this, so that few shapes are compiled


def local_minima(task: AbstractTask) -> Float[np.ndarray, "n d"]:
    """All local minima inside the task's box, lowest first: the low points of a dense grid, polished, each once.

    A minimum that only the bounds make is not one. Finds what is wider than the grid's spacing, SPACING in two
    dimensions; the task's known minimiser is a candidate too, whatever the grid shows.

    Departs from the paper: it counts minima and does not say how it knows them.
    """
    if task.box.lower.shape[0] not in POINTS:
        raise ValueError(f"`task` must have one or two dimensions; got {task.box.lower.shape[0]}.")
    with jax.enable_x64(True):
        task = _double(task)
        q = _candidates(task)
        padded = np.concatenate([q, np.repeat(q[:1], -len(q) % ROOM, axis=0)])
        ends, values, lower = map(np.asarray, _polish(task, jnp.asarray(padded)))
        kept = _distinct(ends[lower], values[lower])
        return np.asarray(jax.vmap(task.box.outward)(jnp.asarray(kept)))


def nearest_minimum(
    points: Float[np.ndarray, "*batch d"], minima: Float[np.ndarray, "n d"], radius: float
) -> Int[np.ndarray, "*batch"]:
    """Index of the minimum nearest to each point, -1 where none is closer than `radius`."""
    if not radius > 0:
        raise ValueError(f"`radius` must be positive; got {radius}.")
    points = np.asarray(points, float)
    if len(minima) == 0:
        return np.full(points.shape[:-1], -1, np.int32)
    finite = np.isfinite(points).all(axis=-1)
    index = KDTree(minima).query(np.where(finite[..., None], points, 0.0), distance_upper_bound=radius)[1]
    return np.where(finite & (index < len(minima)), index, -1).astype(np.int32)


def _double(task: AbstractTask) -> AbstractTask:
    """The task in double precision, in which a shallow minimum can be told from round-off."""
    wide = lambda leaf: jnp.asarray(leaf, float) if eqx.is_inexact_array(leaf) else leaf  # noqa: E731
    return jax.tree.map(wide, task)


def _candidates(task: AbstractTask) -> Float[np.ndarray, "n d"]:
    """Grid points that are not above any neighbour, and the known minimiser."""
    d = task.box.lower.shape[0]
    axis = np.linspace(-REACH, REACH, POINTS[d])
    grid = np.stack(np.meshgrid(*[axis] * d, indexing="ij"), axis=-1)
    values = np.asarray(_values(task, jnp.asarray(grid.reshape(-1, d)))).reshape(grid.shape[:-1])
    low = grid[values <= minimum_filter(values, size=3, mode="nearest")]
    known = [] if task.minimiser is None else [np.asarray(task.box.inward(task.minimiser))[None]]
    return np.concatenate([low, *known])


@eqx.filter_jit
def _values(task: AbstractTask, q: Float[Array, "n d"]) -> Float[Array, " n"]:
    return jax.vmap(lambda q: task(task.box.outward(q)))(q)


@eqx.filter_jit
def _polish(
    task: AbstractTask, starts: Float[Array, "n d"]
) -> tuple[Float[Array, "n d"], Float[Array, " n"], Bool[Array, " n"]]:
    """Ends of the descents, their values, and whether each lies inside and below all points of a small ring."""
    fun = lambda q: task(task.box.outward(q))  # noqa: E731
    angles = 2 * np.pi * np.arange(16) / 16
    ring = np.array([[-1.0], [1.0]]) if starts.shape[1] == 1 else np.stack([np.cos(angles), np.sin(angles)], axis=1)

    def one(q):
        end, value = newton_descent(fun, q, REACH, ITERATIONS)
        around = jnp.min(jax.vmap(fun)(end + PROBE * ring))
        return end, value, (value < around) & jnp.all(jnp.abs(end) < REACH - PROBE)

    return jax.vmap(one)(starts)


def _distinct(q: Float[np.ndarray, "n d"], values: Float[np.ndarray, " n"]) -> Float[np.ndarray, "m d"]:
    """Points at least SPACING apart, lowest first."""
    kept = np.empty((0, q.shape[1]))
    for point in q[np.argsort(values, kind="stable")]:
        if np.all(np.linalg.norm(kept - point, axis=1) >= SPACING):
            kept = np.concatenate([kept, point[None]])
    return kept
