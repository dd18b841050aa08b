"""Calls to the bottom of one basin: the default policy against SciPy's L-BFGS-B from the same starts.

    .venv/bin/python benchmarks/local_search.py [--starts 50] [--only quadratic levy] [--out benchmarks/records/x.json]

The bottom is a known minimum, or the one in which SciPy's descent from that start ends, polished by Newton's method.
A method has reached it with the first call whose value is within 1e-8 above it, or lower. Exit code 1 unless every
median ratio is at most 1.1. Ratios: both fail 1, only ours fails infinite, only SciPy fails calls / budget.
"""

import contextlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import tyro
from jaxtyping import Array, Float, PRNGKeyArray
from scipy.optimize import minimize

from shapeopt.core import Box
from shapeopt.engines.device import DeviceShape
from shapeopt.oracles import ExactOracle
from shapeopt.rollout import rollout
from shapeopt.tasks import (
    AbstractFamily,
    AbstractTask,
    Ackley,
    DixonPrice,
    LennardJones,
    Levy,
    Quadratic,
    Rastrigin,
    Rosenbrock,
    StartLaw,
)

GAP = 1e-8
BAR = 1.1  # the median ratio of calls, ours to SciPy's, that no problem may pass
FLOW_STEPS = 4000  # of the gradient flow that tells whether a start lies in the basin
SAME_BASIN = 1e-3  # gap at which that flow has found the bottom


@dataclass(frozen=True)
class Config:
    """What is run, and where the record goes."""

    starts: int = 50
    budget: int = 3000
    seed: int = 0
    only: tuple[str, ...] = ()  # parts of the names of the problems to run; all if empty
    out: Path | None = None


@dataclass(frozen=True)
class Problem:
    """Tasks and starts in one batch; `bottom` is None where SciPy's own end defines it."""

    tasks: AbstractTask  # batched
    starts: Float[Array, "n d"]
    box: Box
    bottom: Float[Array, " n"] | None


@dataclass(frozen=True)
class Row:
    """One line of the table; calls and ratios are over starts, counts are of starts that never got there."""

    name: str
    dimension: int
    scipy: float
    ours: float
    lower: float
    median: float
    upper: float
    scipy_failed: int
    ours_failed: int
    both_failed: int
    seconds: float

    @property
    def passes(self) -> bool:
        return self.median <= BAR


def spread(family: AbstractFamily, reach: float, known: bool, key: PRNGKeyArray, number: int) -> Problem:
    """A fresh task a start; starts uniform in a cube of half-width `reach` around the minimiser."""
    key_task, key_start = jax.random.split(key)
    tasks = jax.vmap(family.sample)(jax.random.split(key_task, number))
    offset = jax.random.uniform(key_start, tasks.minimiser.shape, minval=-reach, maxval=reach)
    box = family.sample(key).box
    starts = jnp.clip(tasks.minimiser + offset, box.lower, box.upper)
    return Problem(tasks, starts, box, tasks.minimum if known else None)


def one_basin(family: AbstractFamily, reach: float, known: bool, key: PRNGKeyArray, number: int) -> Problem:
    """One task and one of its minima (the global one if `known`), with starts at most `reach` off in each coordinate.

    Starts from which the gradient flow ends elsewhere are drawn again.
    """
    key_task, key_minimum, key_start = jax.random.split(key, 3)
    task = family.sample(key_task)
    minimum = task.minimiser if known else newton(task, descend(task, task.start(key_minimum), 3000, -np.inf)[1])
    bottom = task(minimum)
    offsets = jax.random.uniform(key_start, (8 * number, minimum.size), minval=-reach, maxval=reach)
    candidates = minimum + offsets
    inside = flow(task, candidates) - bottom <= SAME_BASIN
    kept = candidates[inside][:number]
    if len(kept) < number:
        raise ValueError(f"`reach` must keep most starts in the basin; got {reach}, which kept {jnp.sum(inside)}.")
    tasks = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (number, *leaf.shape)), task)
    return Problem(tasks, kept, task.box, jnp.full(number, bottom))


@jax.jit
def flow(task: AbstractTask, starts: Float[Array, "n d"]) -> Float[Array, " n"]:
    """Values at which gradient descent in steps too short to leave a basin ends."""

    def descent(x):
        def step(carry, _):
            x, value, length = carry
            trial = x - length * jax.grad(task)(x)
            trial_value = task(trial)
            better = trial_value < value
            x, value = jnp.where(better, trial, x), jnp.where(better, trial_value, value)
            return (x, value, jnp.where(better, 1.1 * length, 0.3 * length)), None

        (_, value, _), _ = jax.lax.scan(step, (x, task(x), jnp.asarray(1e-5, x.dtype)), length=FLOW_STEPS)
        return value

    return jax.vmap(descent)(starts)


@jax.jit
def newton(task: AbstractTask, x: Float[Array, " d"]) -> Float[Array, " d"]:
    """x after a few Newton steps, each kept only if it shortens the gradient."""

    def step(x, _):
        g = jax.grad(task)(x)
        trial = x - jnp.linalg.lstsq(jax.hessian(task)(x), g)[0]
        better = jnp.linalg.norm(jax.grad(task)(trial)) < jnp.linalg.norm(g)
        return jnp.where(better, trial, x), None

    return jax.lax.scan(step, x, length=5)[0]


value_and_gradient = jax.jit(lambda task, x: jax.value_and_grad(task)(x))


class Reached(Exception):
    """The target is met: SciPy need not go on."""


def descend(task: AbstractTask, start: Float[Array, " d"], budget: int, target: float) -> tuple[np.ndarray, Array]:
    """The values of SciPy's calls, in order, until the target or its own end; and the best point."""
    values: list[float] = []
    best = np.inf, np.asarray(start)

    def fun(x: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal best
        if len(values) >= budget:
            raise Reached
        value, gradient = value_and_gradient(task, x)
        values.append(float(value))
        best = min(best, (values[-1], x.copy()), key=lambda pair: pair[0])
        if values[-1] <= target:
            raise Reached
        return values[-1], np.asarray(gradient)

    options = {"ftol": 0.0, "gtol": 0.0, "maxfun": 10 * budget, "maxiter": 10 * budget}
    with contextlib.suppress(Reached):
        minimize(fun, np.asarray(start), jac=True, method="L-BFGS-B", options=options)
    return np.array(values), jnp.asarray(best[1])


def scipy_calls(problem: Problem, budget: int) -> tuple[np.ndarray, np.ndarray]:
    """Calls of SciPy to the target (inf if never), and the target, for each start."""
    calls, targets = [], []
    for i, start in enumerate(problem.starts):
        task = jax.tree.map(lambda leaf, i=i: leaf[i], problem.tasks)
        target = -np.inf if problem.bottom is None else float(problem.bottom[i]) + GAP
        values, end = descend(task, start, budget, target)
        if problem.bottom is None:
            target = float(task(newton(task, end))) + GAP
        hit = np.flatnonzero(values <= target)
        calls.append(hit[0] + 1.0 if hit.size else np.inf)
        targets.append(target)
    return np.array(calls), np.array(targets)


def our_calls(problem: Problem, targets: np.ndarray, budget: int, key: PRNGKeyArray) -> np.ndarray:
    """Calls of the untrained policy to the target (inf if never) for each start."""
    optimizer = DeviceShape()

    @jax.jit
    @jax.vmap
    def run(task, start, key):
        steps = rollout(optimizer, ExactOracle(task), start, problem.box, budget, key).steps
        return steps.best, steps.calls

    best, calls = map(np.asarray, run(problem.tasks, problem.starts, jax.random.split(key, len(targets))))
    reached = best <= targets[:, None]
    first = np.take_along_axis(calls, np.argmax(reached, axis=1)[:, None], axis=1)[:, 0]
    return np.where(reached.any(axis=1), first, np.inf)


def ratios(ours: np.ndarray, scipy: np.ndarray, budget: int) -> np.ndarray:
    """Calls of ours a call of SciPy's, by the rules of this file's docstring."""
    both = np.isinf(ours) & np.isinf(scipy)
    return np.where(both, 1.0, ours / np.where(np.isinf(scipy), budget, scipy))


Make = Callable[[PRNGKeyArray, int], Problem]


def problems() -> Iterator[tuple[str, Make]]:
    for condition in (1.0, 1e2, 1e4, 1e6):
        for d in (2, 10, 30, 100):
            family = Quadratic(d, StartLaw.NEAR, condition=condition)
            yield f"quadratic {condition:.0e}", partial(spread, family, 2.0, True)
    for d in (2, 10, 30):
        yield "rosenbrock", partial(spread, Rosenbrock(d, StartLaw.NEAR), 2.0, False)
    yield "dixon_price", partial(spread, DixonPrice(30, StartLaw.NEAR), 2.0, False)
    yield "ackley basin", partial(one_basin, Ackley(10, StartLaw.NEAR), 0.15, False)
    yield "levy basin", partial(one_basin, Levy(10, StartLaw.NEAR), 0.4, False)
    yield "rastrigin basin", partial(one_basin, Rastrigin(10, StartLaw.NEAR), 0.2, False)
    yield "lennard_jones 13", partial(one_basin, LennardJones(39, StartLaw.NEAR), 0.15, True)


def measure(name: str, make: Make, config: Config, number: int) -> tuple[Row, dict[str, list[float]]]:
    began = time.perf_counter()
    key_problem, key_run = jax.random.split(jax.random.fold_in(jax.random.key(config.seed), number))
    problem = make(key_problem, config.starts)
    scipy, targets = scipy_calls(problem, config.budget)
    ours = our_calls(problem, targets, config.budget, key_run)
    ratio = ratios(ours, scipy, config.budget)
    failed = [int(np.sum(which)) for which in (np.isinf(scipy), np.isinf(ours), np.isinf(scipy) & np.isinf(ours))]
    lower, upper = (float(np.quantile(ratio, level, method="inverted_cdf")) for level in (0.25, 0.75))  # inf is allowed
    median, *middle = (float(np.median(which)) for which in (ratio, scipy, ours))
    row = Row(name, problem.starts.shape[1], *middle, lower, median, upper, *failed, time.perf_counter() - began)
    return row, {"scipy": scipy.tolist(), "ours": ours.tolist()}


def main(config: Config) -> int:
    print(f"{'problem':18}{'d':>4}{'SciPy':>8}{'shapeopt':>9}   ratio 25 % / median / 75 %    failed S/O/both      s")
    rows, calls = [], []
    for number, (name, make) in enumerate(problems()):
        if config.only and not any(part in name for part in config.only):
            continue
        row, per_start = measure(name, make, config, number)
        rows.append(row)
        calls.append(per_start)
        ratio = f"{row.lower:9.2f} /{row.median:7.2f} /{row.upper:7.2f}"
        flags = f"{row.scipy_failed}/{row.ours_failed}/{row.both_failed}"
        tied = "  tie: neither got there" if 2 * row.both_failed >= config.starts else ""
        verdict = tied if row.passes else "  above the bar"
        line = f"{row.name:18}{row.dimension:4d}{row.scipy:8.0f}{row.ours:9.0f}{ratio}{flags:>15}{row.seconds:12.1f}"
        print(line + verdict, flush=True)
    missed = [row for row in rows if not row.passes]
    ties = sum(2 * row.both_failed >= config.starts for row in rows)
    count = f"{len(rows) - len(missed)} of {len(rows)}, {ties} of them ties where neither got there"
    print(f"Every median ratio at most {BAR}: {'NO' if missed else 'yes'} ({count})")
    if config.out is not None:
        config.out.parent.mkdir(parents=True, exist_ok=True)
        settings = {key: value for key, value in asdict(config).items() if key != "out"}
        record = {"config": settings, "rows": [asdict(row) | per for row, per in zip(rows, calls, strict=True)]}
        finite = jax.tree.map(lambda leaf: None if leaf == np.inf else leaf, record)  # JSON has no infinity
        config.out.write_text(json.dumps(finite, indent=1, allow_nan=False) + "\n")
    return 1 if missed else 0


if __name__ == "__main__":
    with jax.enable_x64(True):
        sys.exit(main(tyro.cli(Config, description=__doc__)))
