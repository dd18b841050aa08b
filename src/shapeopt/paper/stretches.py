"""A run in compiled stretches, between which a host loop can report."""

import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from ..core import AbstractOptimizer, Box, compiler_options
from ..oracles import AbstractOracle
from ..rollout import Carry, Step, read_once


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


def advance(
    optimizer: AbstractOptimizer,
    oracle: AbstractOracle,
    carry: Carry,
    readings: int,
    room: int,
    record_points: bool,
) -> tuple[Carry, Step, Float[Array, " d"]]:
    """`readings` (at most `room`) more readings, which the caller knows to fit, and the query after them.

    Steps after those readings are zeros.

    Compiled once for a problem and `room`, whatever `readings` is.
    """
    params, static = eqx.partition((optimizer, oracle), eqx.is_array)
    return _compiled_stretch(static, room, record_points)(params, carry, np.int32(readings))


@functools.lru_cache(maxsize=64)
def _compiled_stretch(static: Any, room: int, record_points: bool) -> Any:
    def stretch(params: PyTree, carry: Carry, readings: Int[Array, ""]) -> tuple[Carry, Step, Any]:
        optimizer, oracle = eqx.combine(params, static)
        read = functools.partial(read_once, optimizer, oracle, record_points=record_points)
        one = jax.jit(read)  # traced once for both uses
        shapes = jax.eval_shape(one, carry)[1]
        blank = jax.tree.map(lambda leaf: jnp.zeros((room, *leaf.shape), leaf.dtype), shapes)

        def body(i, held):
            carry, step = one(held[0])
            return carry, jax.tree.map(lambda rows, row: rows.at[i].set(row), held[1], step)

        carry, steps = jax.lax.fori_loop(0, readings, body, (carry, blank))
        return carry, steps, optimizer.ask(carry.state)

    return jax.jit(stretch, compiler_options=compiler_options())
