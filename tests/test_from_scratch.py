"""The implementation made for reading, examples/shape_from_scratch.py, does what the library does."""

import importlib.util
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.core import Box, box
from shapeopt.dynamics import SemiImplicitStep, secant
from shapeopt.oracles import AdjointOracle
from shapeopt.policy import UniversalPolicy, drift, line, moves, universal
from shapeopt.rollout import rollout
from shapeopt.shape import ShapeOptimizer

EXAMPLE = Path(__file__).parents[1] / "examples" / "shape_from_scratch.py"
READINGS = 150
STARTS = 4
NUDGE = 4e-15  # a few units in the last place of x, at every reading
ROUND_OFF = 1e-9  # a run is compared until a nudge of the objective's argument has grown to this in the library itself
AGREEMENT = 1e-5  # up to there; a rule that differs shows as a difference of order 1


def rastrigin(x: jax.Array) -> jax.Array:
    return 10.0 * x.size + jnp.sum(x**2 - 10.0 * jnp.cos(2 * jnp.pi * x))


def ackley(x: jax.Array) -> jax.Array:
    r, ripple = jnp.sqrt(jnp.mean(x**2) + 1e-3), jnp.exp(jnp.mean(jnp.cos(2 * jnp.pi * x)))
    return -20.0 * jnp.exp(-0.2 * r) - ripple


def rosenbrock(x: jax.Array) -> jax.Array:
    return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def with_a_hole(x: jax.Array) -> jax.Array:
    return jnp.where(x[0] > 2.0, jnp.nan, rastrigin(x))


def with_wrong_forces(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    value, gradient = jax.value_and_grad(rastrigin)(x)
    return value, jnp.roll(gradient, 1)


class Case(NamedTuple):
    """A pair (value, gradient) of x, and the sides of its box."""

    fun: Callable
    d: int
    lower: float
    upper: float


CASES = {
    "rastrigin": Case(jax.value_and_grad(rastrigin), 4, -4.0, 6.0),
    "rastrigin, its best on the bounds": Case(jax.value_and_grad(rastrigin), 4, 0.3, 4.0),
    "ackley": Case(jax.value_and_grad(ackley), 4, -5.0, 5.0),
    "rosenbrock": Case(jax.value_and_grad(rosenbrock), 4, -5.0, 5.0),
    "not finite somewhere": Case(jax.value_and_grad(with_a_hole), 4, -5.0, 5.0),
    "forces that do not match": Case(with_wrong_forces, 4, -5.0, 5.0),
    "rosenbrock, more pairs than are kept": Case(jax.value_and_grad(rosenbrock), 12, -2.0, 2.0),
}


def load_example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("shape_from_scratch", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def library_runs(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Starts, values read by the library from each, and how many of those readings say more than round-off."""
    case = CASES[name]
    sides = np.full(case.d, case.lower), np.full(case.d, case.upper)
    starts = np.random.default_rng(len(name)).uniform(*sides, (STARTS, case.d))

    def values(x0: jax.Array, key: jax.Array, nudge: jax.Array) -> jax.Array:
        oracle = AdjointOracle(lambda x: case.fun(x * (1.0 + nudge)))
        return rollout(ShapeOptimizer(UniversalPolicy()), oracle, x0, Box.around(*sides), READINGS, key).steps.value

    over_nudges = jax.vmap(values, (None, None, 0))
    keys = jax.vmap(jax.random.key)(jnp.arange(STARTS))
    nudges = jnp.asarray([0.0, NUDGE, -NUDGE])
    run, *nudged = np.moveaxis(np.asarray(jax.jit(jax.vmap(over_nudges, (0, 0, None)))(starts, keys, nudges)), 1, 0)
    apart = np.maximum.accumulate(np.max([distance(other, run) for other in nudged], axis=0), axis=-1)
    return starts, run, np.sum(apart < ROUND_OFF, axis=-1)


def distance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Relative to 1 + |b|; zero where both are not finite, infinite where one is."""
    both = np.isfinite(a) & np.isfinite(b)
    apart = np.abs(np.where(both, a, 0.0) - np.where(both, b, 0.0)) / (1.0 + np.abs(np.where(both, b, 0.0)))
    return np.where(both | (np.isnan(a) & np.isnan(b)), apart, np.inf)


@cache
def readings_of(name: str) -> Callable:
    return jax.jit(CASES[name].fun)


@cache
def library_draws(seed: int, d: int, escape: int) -> list[np.ndarray]:
    run_key, _ = jax.random.split(jax.random.key(seed))
    draws = moves.draw(jax.random.fold_in(run_key, escape), d, jnp.dtype(float))
    return [np.asarray(drawn) for drawn in draws]


def example_run(example: ModuleType, name: str, start: int, readings: int) -> tuple[np.ndarray, object]:
    """The values that the example reads, and the example's run itself."""
    case = CASES[name]
    draws = lambda escape: example.Draws(*library_draws(start, case.d, escape))  # noqa: E731
    sides = np.full(case.d, case.lower), np.full(case.d, case.upper)
    shape = example.Shape(library_runs(name)[0][start], *sides, READINGS, draws)
    values = []
    for _ in range(readings):
        value, gradient = readings_of(name)(shape.x)
        values.append(float(value))
        shape.tell(float(value), np.asarray(gradient))
    return np.array(values), shape


def disagreements(example: ModuleType, name: str) -> Iterator[str]:
    """Where the example leaves the library's path."""
    _, run, windows = library_runs(name)
    for start, window in enumerate(windows):
        values, _ = example_run(example, name, start, window)
        apart = distance(values, run[start, :window]) > AGREEMENT
        if apart.any():
            yield f"start {start}, reading {np.argmax(apart)} of {window}"
