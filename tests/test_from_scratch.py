"""The implementation made for reading, examples/shape_from_scratch.py, does what the library does."""

import importlib.util
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple
from unittest.mock import patch

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.core import REACH, Box
from shapeopt.oracles import AbstractOracle
from shapeopt.policy import UniversalPolicy, drift, line, moves, route, sampling, stock, sweep, universal
from shapeopt.policy.draws import SAMPLES_FROM, draw
from shapeopt.policy.secant import CURVATURE_FLOOR
from shapeopt.rollout import rollout
from shapeopt.shape import ShapeOptimizer

EXAMPLE = Path(__file__).parents[1] / "examples" / "shape_from_scratch.py"
READINGS = 200
STARTS = 4
NUDGE = 4e-15  # a few units in the last place of x, at every reading
ROUND_OFF = 1e-7  # a run is compared until a nudge of the objective's argument has grown to this in the library itself
AGREEMENT = 1e-4  # up to there; a rule that differs shows as a difference of order 1


def rastrigin(x: jax.Array) -> jax.Array:
    return 10.0 * x.size + jnp.sum(x**2 - 10.0 * jnp.cos(2 * jnp.pi * x))


def root_of_rastrigin(x: jax.Array) -> jax.Array:
    return jnp.sqrt(1.0 + rastrigin(x))


def turned_rastrigin(x: jax.Array) -> jax.Array:
    across = jnp.linspace(1.0, 2.0, x.size)
    return rastrigin(x - 2.0 * across * (across @ x) / (across @ across))


def steep_rastrigin(x: jax.Array) -> jax.Array:
    return jnp.exp(0.06 * turned_rastrigin(x))


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
    """A pair (value, gradient) of x, the sides of its box, and the noise on its gradient."""

    fun: Callable
    d: int
    lower: float
    upper: float
    sigma: float = 0.0


class PerturbedOracle(AbstractOracle):
    """A pair (value, gradient) whose gradient has noise that depends on the number of the reading alone."""

    fun: Callable
    sigma: jax.Array

    @property
    def cost(self) -> int:
        return 1

    def measure(self, q, key):
        value, gradient = self.fun(q)
        return value, gradient + self.sigma * jax.random.normal(key, q.shape, q.dtype)


CASES = {
    "rastrigin": Case(jax.value_and_grad(rastrigin), 4, -4.0, 6.0),
    "rastrigin, its best on the bounds": Case(jax.value_and_grad(rastrigin), 4, 0.3, 4.0),
    "ackley": Case(jax.value_and_grad(ackley), 4, -5.0, 5.0),
    "rosenbrock": Case(jax.value_and_grad(rosenbrock), 4, -5.0, 5.0),
    "not finite somewhere": Case(jax.value_and_grad(with_a_hole), 4, -5.0, 5.0),
    "forces that do not match": Case(with_wrong_forces, 4, -5.0, 5.0),
    "noisy forces": Case(jax.value_and_grad(rosenbrock), 4, -2.0, 2.0, sigma=30.0),
    "noisy forces of a sum": Case(jax.value_and_grad(rastrigin), 4, -5.0, 5.0, sigma=5.0),
    "a function of a sum": Case(jax.value_and_grad(root_of_rastrigin), 14, -5.0, 5.0),
    "small basins": Case(jax.value_and_grad(turned_rastrigin), 14, -5.0, 5.0),
    "small basins and noisy forces": Case(jax.value_and_grad(turned_rastrigin), 14, -5.0, 5.0, sigma=30.0),
    "noisy forces and few readings": Case(jax.value_and_grad(rosenbrock), 60, -2.0, 2.0, sigma=30.0),
    "small basins and steep walls": Case(jax.value_and_grad(steep_rastrigin), 14, -5.0, 5.0),
    "rosenbrock, more pairs than are kept": Case(jax.value_and_grad(rosenbrock), 60, -2.0, 2.0),
}


def load_example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("shape_from_scratch", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Runs(NamedTuple):
    """A case in the library, one row a start: where it started, the values that it read, how many of those readings
    round-off has not touched, what the policy remembers at the end, and whether round-off has touched none of that."""

    starts: np.ndarray
    values: np.ndarray
    windows: np.ndarray
    ends: np.ndarray
    sure: np.ndarray


@cache
def library_runs(d: int) -> dict[str, Runs]:
    """The library's runs of every case in d dimensions; one compiled rollout, whose objective is a switch."""
    names = [name for name, case in CASES.items() if case.d == d]
    cases = [CASES[name] for name in names]

    def run(index: jax.Array, seed: jax.Array, nudge: jax.Array, x0: jax.Array, domain: Box) -> Any:
        fun = lambda x: jax.lax.switch(index, [case.fun for case in cases], x * (1.0 + nudge))  # noqa: E731
        oracle = PerturbedOracle(fun, jnp.asarray([case.sigma for case in cases])[index])
        optimizer = ShapeOptimizer(UniversalPolicy(), record_energy=False)
        trace = rollout(optimizer, oracle, x0, domain, READINGS, jax.random.key(seed))
        return trace.steps.value, memory_of(trace.end.state.policy)

    domains = [Box.around(*sides_of(case)) for case in cases]
    starts = [np.random.default_rng(7).uniform(*sides_of(case), (STARTS, d)) for case in cases]
    sizes = (0.0, *(sign * size * NUDGE for size in (1.0, 3.0, 10.0) for sign in (1.0, -1.0)))
    grid = [(i, seed, nudge) for i in range(len(cases)) for seed in range(STARTS) for nudge in sizes]
    index, seeds, nudges = (jnp.asarray(column) for column in zip(*grid, strict=True))
    x0 = jnp.asarray([starts[i][seed] for i, seed, _ in grid])
    boxes = jax.tree.map(lambda *leaves: jnp.stack(leaves), *(domains[i] for i, _, _ in grid))
    with patch.object(route, "TURN_SHARE", 0.0):  # the example does not look for turned axes
        runs = jax.jit(jax.vmap(run))(index, seeds, nudges, x0, boxes)
    values, ends = (np.asarray(rows).reshape(len(cases), STARTS, len(sizes), -1) for rows in runs)
    apart = np.maximum.accumulate(distance(values[:, :, 1:], values[:, :, :1]).max(axis=2), axis=-1)
    windows = np.sum(apart < ROUND_OFF, axis=-1)
    sure = distance(ends[:, :, 1:], ends[:, :, :1]).max(axis=(2, 3)) < AGREEMENT
    return {name: Runs(starts[i], values[i, :, 0], windows[i], ends[i, :, 0], sure[i]) for i, name in enumerate(names)}


def memory_of(state: Any) -> jax.Array:
    """What the library's policy remembers; not where on its line it stands, which round-off decides at a bottom."""
    basin = state.line
    numbers = (basin.f, basin.gamma, basin.radius, basin.mismatch, state.base_f, state.spread, state.sigma)
    return jnp.concatenate([jnp.stack(numbers), state.credit.trials, state.credit.successes, state.archive.values])


def memory_of_example(shape: Any) -> np.ndarray:
    basin, empty = shape.line, [np.inf] * (UniversalPolicy().basins - len(shape.values))
    numbers = (basin.f, basin.gamma, basin.radius, basin.mismatch, shape.base_f, shape.spread, shape.sigma)
    return np.concatenate([numbers, shape.trials, shape.successes, shape.values, empty])


def sides_of(case: Case) -> tuple[np.ndarray, np.ndarray]:
    return np.full(case.d, case.lower), np.full(case.d, case.upper)


def distance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Relative to 1 + |b|; zero where both are not finite, infinite where one is."""
    a_known, b_known = np.isfinite(a), np.isfinite(b)
    a, b = np.where(a_known, a, 0.0), np.where(b_known, b, 0.0)
    return np.where(a_known == b_known, np.abs(a - b) / (1.0 + np.abs(b)), np.inf)


@cache
def readings_of(name: str) -> Callable:
    return jax.jit(CASES[name].fun)


@cache
def library_draws(seed: int, d: int, escape: int) -> list[np.ndarray]:
    run_key, _ = jax.random.split(jax.random.key(seed))
    draws = draw(jax.random.key_data(run_key), jnp.asarray(escape), d, len(moves.KINDS), jnp.dtype(float))
    return [np.asarray(drawn) for drawn in draws]


@cache
def library_noise(seed: int, d: int) -> np.ndarray:
    """Standard normal noise on every reading's gradient."""
    _, noise_key = jax.random.split(jax.random.key(seed))
    keys = jax.vmap(lambda i: jax.random.fold_in(noise_key, i))(jnp.arange(READINGS, dtype=jnp.int32))
    return np.asarray(jax.vmap(lambda key: jax.random.normal(key, (d,), float))(keys))


def example_run(example: ModuleType, name: str, seed: int, readings: int = READINGS) -> tuple[np.ndarray, Any]:
    """The values that the example reads from a start of the library's, with the library's draws; and the run itself."""
    case = CASES[name]
    x0 = library_runs(case.d)[name].starts[seed]
    draws = lambda escape: example.Draws(*library_draws(seed, case.d, escape))  # noqa: E731
    shape = example.Shape(x0, *sides_of(case), READINGS, draws)
    noise = case.sigma * library_noise(seed, case.d)
    values = np.zeros(readings)
    for i in range(readings):
        value, gradient = readings_of(name)(shape.x)
        values[i] = value
        shape.tell(float(value), np.asarray(gradient) + noise[i])
    return values, shape


def disagreements(example: ModuleType, name: str) -> Iterator[str]:
    """Where the example leaves the library's path, or remembers something else at its end."""
    runs = library_runs(CASES[name].d)[name]
    for seed, window in enumerate(runs.windows):
        values, shape = example_run(example, name, seed, window)
        apart = distance(values, runs.values[seed, :window]) > AGREEMENT
        if apart.any():
            yield f"seed {seed}: reading {np.argmax(apart)} of {window}"
        elif (
            window == READINGS
            and runs.sure[seed]
            and (distance(memory_of_example(shape), runs.ends[seed]) > AGREEMENT).any()
        ):
            yield f"seed {seed}: memory"


NOT_THERE = {
    "FOREVER",
    "LEAST_FORCES",
    "LEAST_TURNED",
    "MOST_TURNED",
    "SAMPLED_FORCES",
    "TURNED_COUPLED",
    "TURN_SHARE",
    "VALUES_FINE",
    "VALUES_SHARE",
}  # infinity there; of readings that are values alone; of turned axes


def library_constants() -> dict[str, Any]:
    """Every number that the library's policy names, under its name in the example."""
    named = {
        name: value
        for module in (line, drift, moves, route, sampling, stock, sweep, universal)
        for name, value in vars(module).items()
        if name.isupper() and isinstance(value, int | float) and name not in NOT_THERE
    }
    policy, kinds = UniversalPolicy(), tuple(tuple(kind) for kind in moves.KINDS)
    sizes = {"REACH": REACH, "H": policy.h, "PAIRS": policy.pairs, "BASINS": policy.basins}
    return {**named, **sizes, "SAMPLES_FROM": SAMPLES_FROM, "CURVATURE_FLOOR": CURVATURE_FLOOR, "KINDS": kinds}


def load_with_library_constants() -> ModuleType:
    """Rules are compared under the library's constants, so that a constant that was tuned fails its own test only."""
    example = load_example()
    vars(example).update(library_constants())
    return example


def test_the_example_has_the_library_s_constants():
    example = vars(load_example())
    differ = {name: value for name, value in library_constants().items() if example.get(name) != value}
    assert not differ, "set these in examples/shape_from_scratch.py"
    unknown = {name for name in example if name.isupper()} - library_constants().keys()
    assert not unknown, "the library no longer has these"


@pytest.mark.parametrize("name", CASES)
def test_the_example_reads_the_values_that_the_library_reads(name):
    windows = library_runs(CASES[name].d)[name].windows
    assert np.sum(windows) >= 0.3 * STARTS * READINGS, f"round-off leaves too little to compare: {windows}"
    assert not list(disagreements(load_with_library_constants(), name))


def test_the_runs_compared_see_every_mode_cause_and_kind_of_move():
    causes, kinds = set(), set()
    example = load_with_library_constants()
    for name, case in CASES.items():
        for seed, window in enumerate(library_runs(case.d)[name].windows):
            _, shape = example_run(example, name, seed, window)
            causes |= {cause for _, cause, _, _ in shape.log}
            kinds |= {kind for _, _, _, kind in shape.log}
    assert causes == {"nonfinite", "converged", "stall", "revisit", "hopeless"}
    assert kinds == {kind.name for kind in moves.KINDS}


THRESHOLDS = {
    "ARMIJO": 0.3,
    "BASINS": 8,
    "CONVERGED": 1e-4,
    "COUPLED": 3.0,
    "LARGEST_SAMPLE_STEP": 0.5,
    "LEAST_GENERATIONS": 50,
    "LEAST_SAMPLED": 20,
    "ROUGH": 1e12,
    "SAMPLE_FINE": 3.0,
    "SAMPLED_NOISE": 40.0,
    "SAMPLE_ROOM": 3.0,
    "RIPPLE": 0.01,
    "HOPPED": 50.0,
    "NOISY_RIPPLE": 0.01,
    "CURVATURE_FLOOR": 0.5,
    "KEPT": 5.0,
    "LARGEST_FACTOR": 0.1,
    "LARGEST_STEP": 0.02,
    "LEAST_FACTOR": 3.0,
    "LEAST_CHANGE": 1e15,
    "LEAST_LEFT": 1,
    "LOWER": 0.1,
    "MISMATCH": 0.9,
    "MOST_HOPE": 3.0,
    "PLAIN": 1e6,
    "RECENT": 3,
    "NOISE_IN_OWN": 50.0,
    "NOISY": 3.0,
    "SAME_FORCE": 1e18,
    "SAME_VALUE": 0.3,
    "SETTLE_LEAST": 100.0,
    "SHORTEST": 0.02,
    "SWEEP": 5,
    "SWEEP_LONG": 40.0,
    "SWEEP_MOST": 0.3,
    "SWEEP_ROOM": 9.0,
    "SWEEP_SHARE": 0.35,
    "RETESTED_RUN": 300.0,
    "TESTED_RUN": 300.0,
    "TEST_LEAST": 1.0,
    "UNKNOWN": 0.1,
    "WIDEST": 0.2,
    "WORTH": 30.0,
}


def changed(name: str, value: Any) -> Any:
    """By a fifth, or by one; thresholds that few readings come near are moved farther."""
    if name == "KINDS":
        return tuple((label, 1.2 * radius, few, prior) for label, radius, few, prior in value)
    return THRESHOLDS.get(name, value + 1 if isinstance(value, int) else 1.2 * value)


# h cancels in all three limits; three act at round-off, where runs are no longer compared, and two in shorter runs
UNSEEN = {"H", "ON_BOUND", "ROUND_OFF", "STANDSTILL", "SWEEP_FINE", "WIDE_RIPPLE"}


@pytest.mark.parametrize("name", sorted(library_constants().keys() - UNSEEN))
def test_a_constant_that_differs_makes_the_example_disagree(name):
    example = load_with_library_constants()
    setattr(example, name, changed(name, library_constants()[name]))
    assert any(any(disagreements(example, case)) for case in CASES)


def test_the_example_runs_by_itself_and_finds_the_minimum(capsys):
    load_example().main()
    *events, last = capsys.readouterr().out.splitlines()
    assert len(events) > 10 and all(line.startswith("call") for line in events)
    assert float(last.split(": ")[1].split(";")[0]) < 1e-8
