"""Speed of the untrained universal policy, side by side with SciPy in one run.

    .venv/bin/python benchmarks/throughput.py [--sections batch single host first scale] [--out benchmarks/records/x.json]

batch    calls a second of many runs at once on two threads, against SciPy's basinhopping with L-BFGS-B
single   overhead per call of one compiled run of a traceable objective, against basinhopping's on a NumPy one
host     the same for `shapeopt.minimize` on the NumPy objective
first    seconds from the start of a fresh process to its first answer, with an empty and with a warm compile cache
scale    overhead per call and memory for d up to 100,000, against the overhead of SciPy's L-BFGS-B

Overhead is time less the objective's own. Every figure is the best of some repeats, so that a busy machine disturbs it
less. Exit code 1 if a target is missed.
"""

import json
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
import tyro
from jaxtyping import Array, Float
from scipy.optimize import basinhopping, minimize

import shapeopt
from shapeopt.core import Box
from shapeopt.oracles import ExactOracle
from shapeopt.policy.universal import UniversalPolicy
from shapeopt.rollout import rollout
from shapeopt.shape import ShapeOptimizer
from shapeopt.tasks import AbstractFamily, StartLaw, make_family

Section = Literal["batch", "single", "host", "first", "scale"]
NumpyObjective = Callable[[np.ndarray], tuple[float, np.ndarray]]

BATCH_TARGETS = {2: 50.0, 20: 25.0}  # times SciPy's calls a second
SINGLE_TARGET, HOST_TARGET, SCALE_TARGET = 1.0, 3.0, 2.0  # times SciPy's overhead per call
COLD_TARGET, WARM_TARGET = 8.0, 3.0  # seconds
LINEAR = 1.1  # largest exponent of cost or memory against d that passes as linear
FIRST = """
import jax.numpy as jnp
import numpy as np
import shapeopt

def ackley(x):
    return 20 - 20 * jnp.exp(-0.2 * jnp.sqrt(jnp.mean(x**2))) + jnp.e - jnp.exp(jnp.mean(jnp.cos(2 * jnp.pi * x)))

result = shapeopt.minimize(ackley, np.full(20, 1.7), bounds=(np.full(20, -5.0), np.full(20, 5.0)), budget=500)
print(result.fun)
"""


@dataclass(frozen=True)
class Config:
    """What is run, and where the record goes."""

    sections: tuple[Section, ...] = ("batch", "single", "host", "first", "scale")
    batches: tuple[int, ...] = (128, 512, 2048)  # runs on each of the two threads; the fastest counts
    budget: int = 500  # calls of each run of `batch`
    calls: int = 2000  # of each run of `single` and `host`
    scale_calls: int = 200
    scale_dimensions: tuple[int, ...] = (100, 1_000, 10_000, 100_000)
    seconds: float = 2.0  # of each measurement of SciPy's calls a second
    repeats: int = 3
    out: Path | None = None


@dataclass(frozen=True)
class Row:
    """One line of the table: ours, SciPy's, and the figure that the target is about (None: only shown)."""

    what: str
    ours: str
    scipy: str
    figure: float
    target: float | None
    at_least: bool = False

    @property
    def passes(self) -> bool:
        if self.target is None:
            return True
        return self.figure >= self.target if self.at_least else self.figure <= self.target


def numpy_rastrigin(x: np.ndarray) -> tuple[float, np.ndarray]:
    angle = 2 * np.pi * x
    return float(np.sum(x * x + 10 - 10 * np.cos(angle))), 2 * x + 20 * np.pi * np.sin(angle)


def numpy_ackley(x: np.ndarray) -> tuple[float, np.ndarray]:
    root, angle = np.sqrt(np.mean(x * x)), 2 * np.pi * x
    bowl, ripple = 20 * np.exp(-0.2 * root), np.exp(np.mean(np.cos(angle)))
    slope = 0.2 * bowl * x / (max(root, 1e-300) * x.size) + 2 * np.pi * ripple * np.sin(angle) / x.size
    return float(20 + np.e - bowl - ripple), slope


NUMPY: dict[str, NumpyObjective] = {"rastrigin": numpy_rastrigin, "ackley": numpy_ackley}


class Spent(Exception):
    """The budget of a SciPy run is gone."""


def hop(fun: NumpyObjective, x0: np.ndarray, budget: int, seed: int) -> None:
    """One run of basinhopping that stops with exactly `budget` calls."""
    left = budget

    def counted(x: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal left
        if left == 0:
            raise Spent
        left -= 1
        return fun(x)

    options = {"method": "L-BFGS-B", "jac": True, "bounds": [(-5.0, 5.0)] * x0.size}
    try:
        basinhopping(counted, x0, niter=budget, minimizer_kwargs=options, rng=seed)
    except Spent:
        pass


def hops_a_second(name: str, dimension: int, budget: int, seconds: float) -> float:
    """Calls a second of basinhopping runs in this process."""
    rng, runs, began = np.random.default_rng(0), 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        hop(NUMPY[name], rng.uniform(-5, 5, dimension), budget, runs)
        runs += 1
    return runs * budget / (time.perf_counter() - began)


def best_of(repeats: int, job: Callable[[], object]) -> float:
    """Least seconds that `job` took, after one call to warm up."""
    job()
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        job()
        times.append(time.perf_counter() - began)
    return min(times)


def optimizer() -> ShapeOptimizer:
    return ShapeOptimizer(UniversalPolicy(), record_energy=False)


def batch_a_second(family: AbstractFamily, config: Config) -> tuple[float, int]:
    """The best calls a second over the batch sizes, and that size; one shard a thread."""

    def one(key):
        key_task, key_start, key_run = jax.random.split(key, 3)
        task = family.sample(key_task)
        oracle = ExactOracle(task)
        return rollout(optimizer(), oracle, task.start(key_start), task.box, config.budget, key_run).best.value

    run, rates, x64 = jax.jit(jax.vmap(one)), [], jax.config.jax_enable_x64
    with ThreadPoolExecutor(2) as pool:
        for size in config.batches:
            shards = [jax.random.split(jax.random.key(shard), size) for shard in range(2)]

            def work(keys):
                with jax.enable_x64(x64):  # the context is a thread's own
                    return run(keys).block_until_ready()

            seconds = best_of(config.repeats, lambda: list(pool.map(work, shards)))  # noqa: B023
            rates.append((2 * size * config.budget / seconds, size))
    return max(rates)


def batch(config: Config) -> Iterator[Row]:
    for name in ("rastrigin", "ackley"):
        for d in BATCH_TARGETS:
            arguments = (name, d, config.budget, config.seconds)
            alone = hops_a_second(*arguments)
            with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
                two = sum(future.result() for future in [pool.submit(hops_a_second, *arguments) for _ in range(2)])
            for bits in ("float32", "float64"):
                with jax.enable_x64(bits == "float64"):
                    rate, size = batch_a_second(make_family(name, d, StartLaw.BOX), config)
                ours = f"{rate:,.0f} calls/s, 2 x {size}"
                label = f"batch {name} d={d} {bits}"
                yield Row(label, ours, f"{alone:,.0f} calls/s", rate / alone, BATCH_TARGETS[d], at_least=True)
                yield Row(f"{label}, SciPy on both cores", ours, f"{two:,.0f} calls/s", rate / two, None)


def objective_seconds(fun: Callable[[Array], Array], x0: Float[Array, " d"], calls: int, repeats: int) -> float:
    """Seconds per call of a traceable objective and its gradient, each call at a new point."""

    @jax.jit
    def chain(x):
        def step(x, _):
            value, gradient = jax.value_and_grad(fun)(x)
            return x - 1e-9 * gradient, value

        return jax.lax.scan(step, x, length=calls)

    return best_of(repeats, lambda: jax.block_until_ready(chain(x0))) / calls


def run_seconds(fun: Callable[[Array], Array], x0: Float[Array, " d"], calls: int, repeats: int) -> tuple[float, int]:
    """Seconds per call of one compiled run in [-5, 5]^d, objective included, and the bytes that it works in."""
    side = np.full(x0.size, 5.0, x0.dtype)
    box = Box.around(-side, side)

    def one(x, key):
        return rollout(optimizer(), ExactOracle(fun), x, box, calls, key).best

    key = jax.random.key(0)
    compiled = jax.jit(one).lower(x0, key).compile()
    memory = compiled.memory_analysis()
    used = memory.temp_size_in_bytes + memory.argument_size_in_bytes + memory.output_size_in_bytes
    return best_of(repeats, lambda: jax.block_until_ready(compiled(x0, key))) / calls, used


def hop_overhead(name: str, x0: np.ndarray, config: Config) -> tuple[float, float]:
    """Basinhopping's seconds per call beyond the objective's, and the objective's."""
    fun = NUMPY[name]
    own = best_of(config.repeats, lambda: [fun(x0) for _ in range(config.calls)]) / config.calls
    whole = best_of(config.repeats, lambda: hop(fun, x0, config.calls, 0)) / config.calls
    return whole - own, own


def single(config: Config) -> Iterator[Row]:
    for d in (2, 20, 100):
        x0 = np.random.default_rng(0).uniform(-3, 3, d)
        landscape = make_family("ackley", d).sample(jax.random.key(0)).landscape
        theirs, _ = hop_overhead("ackley", x0, config)
        whole, _ = run_seconds(landscape, jnp.asarray(x0), config.calls, config.repeats)
        ours = whole - objective_seconds(landscape, jnp.asarray(x0), config.calls, config.repeats)
        yield Row(f"single ackley d={d}", micro(ours), micro(theirs), ours / theirs, SINGLE_TARGET)


def host(config: Config) -> Iterator[Row]:
    for d in (2, 20, 100):
        x0, side = np.random.default_rng(0).uniform(-3, 3, d), np.full(d, 5.0)
        theirs, own = hop_overhead("ackley", x0, config)

        def run(x0=x0, side=side):
            return shapeopt.minimize(numpy_ackley, x0, jac=True, bounds=(-side, side), budget=config.calls)

        ours = best_of(config.repeats, run) / config.calls - own
        yield Row(f"host ackley d={d}", micro(ours), micro(theirs), ours / theirs, HOST_TARGET)


def first(config: Config) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"JAX_COMPILATION_CACHE_DIR": cache}

        def fresh() -> float:
            began = time.perf_counter()
            subprocess.run([sys.executable, "-c", FIRST], env=environment, check=True, stdout=subprocess.DEVNULL)
            return time.perf_counter() - began

        cold = fresh()
        yield Row("first answer, cold", f"{cold:.1f} s", "", cold, COLD_TARGET)
        warm = min(fresh() for _ in range(config.repeats))
        yield Row("first answer, warm", f"{warm:.1f} s", "", warm, WARM_TARGET)


def scale_one(d: int, config: Config) -> tuple[float, int, int]:
    """Our overhead per call on a weighted sum of squares, the bytes of the run, and this process's peak memory."""
    with jax.enable_x64(True):
        weights = jnp.geomspace(1.0, 1e6, d)
        fun = lambda x: 0.5 * jnp.sum(weights * x**2)  # noqa: E731
        x0 = jnp.asarray(np.random.default_rng(0).uniform(-3, 3, d))
        whole, used = run_seconds(fun, x0, config.scale_calls, config.repeats)
        own = objective_seconds(fun, x0, config.scale_calls, config.repeats)
    return whole - own, used, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def descent_overhead(d: int, config: Config) -> float:
    """The same overhead of SciPy's L-BFGS-B with as many stored pairs as ours."""
    weights, x0, calls = np.geomspace(1.0, 1e6, d), np.random.default_rng(0).uniform(-3, 3, d), 0

    def fun(x: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal calls
        calls += 1
        gradient = weights * x
        return 0.5 * float(gradient @ x), gradient

    options = {"maxfun": config.scale_calls, "maxiter": config.scale_calls, "maxcor": UniversalPolicy().pairs}
    options |= {"ftol": 0.0, "gtol": 0.0}
    own = best_of(config.repeats, lambda: [fun(x0) for _ in range(50)]) / 50
    calls = 0
    whole = best_of(config.repeats, lambda: minimize(fun, x0, jac=True, method="L-BFGS-B", options=options))
    return whole * (config.repeats + 1) / calls - own


def scale(config: Config) -> Iterator[Row]:
    measured = []
    for d in config.scale_dimensions:
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
            measured.append(pool.submit(scale_one, d, config).result())
        ours, used, peak = measured[-1]
        theirs = descent_overhead(d, config)
        shown = f"{micro(ours)}, {used / 1e6:.2f} MB, peak {peak / 1e6:.0f} MB"
        target = SCALE_TARGET if d == 100_000 else None
        yield Row(f"scale d={d:,}", shown, micro(theirs), ours / theirs, target)
    d = np.array(config.scale_dimensions, float)
    costs, sizes, _ = np.array(measured, float).T
    for what, values in (("cost per call", costs), ("memory of the run", sizes)):
        exponent = float(np.polyfit(np.log(d), np.log(values), 1)[0])
        yield Row(f"{what} grows like d^x", f"x = {exponent:.2f}", "", exponent, LINEAR)


def micro(seconds: float) -> str:
    return f"{1e6 * seconds:,.1f} us/call"


SECTIONS: dict[Section, Callable[[Config], Iterator[Row]]] = {
    "batch": batch,
    "single": single,
    "host": host,
    "first": first,
    "scale": scale,
}


def main(config: Config) -> int:
    print(f"{'what':50}{'ours':>36}{'SciPy':>18}{'ratio':>9}  target")
    rows = []
    for section in config.sections:
        with jax.enable_x64(True):
            for row in SECTIONS[section](config):
                rows.append(row)
                sign = ">=" if row.at_least else "<="
                target = "" if row.target is None else f"{sign} {row.target:g} {'met' if row.passes else 'MISSED'}"
                print(f"{row.what:50}{row.ours:>36}{row.scipy:>18}{row.figure:9.2f}  {target}", flush=True)
    missed = [row.what for row in rows if not row.passes]
    print(f"missed: {'; '.join(missed)}" if missed else "all targets met")
    if config.out is not None:
        config.out.parent.mkdir(parents=True, exist_ok=True)
        record = {"config": asdict(config) | {"out": str(config.out)}, "rows": [asdict(row) for row in rows]}
        config.out.write_text(json.dumps(record, indent=1) + "\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(tyro.cli(Config, description=__doc__)))
