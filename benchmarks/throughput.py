"""Speed of the untrained universal policy, side by side with SciPy in one run.

    .venv/bin/python benchmarks/throughput.py [--sections batch single host first scale] [--out FILE]

batch    calls a second of many runs at once on two threads, against SciPy's basinhopping with L-BFGS-B
single   overhead per call of one compiled run of a traceable objective, against basinhopping's on a NumPy one
host     the same for `shapeopt.minimize` on the NumPy objective
first    seconds from the start of a fresh process to its first answer, with an empty and with a warm compile cache
scale    overhead per call and memory for d up to 100,000, against the overhead of SciPy's L-BFGS-B

Overhead is time less the objective's own. Each time is the least of some repeats, ours and SciPy's in turn, so that a
busy machine disturbs it less. Exit code 1 if a target is missed.
"""

import contextlib
import json
import multiprocessing
import operator
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, get_args

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
from shapeopt.tasks import StartLaw, make_family

Section = Literal["batch", "single", "host", "first", "scale"]
BATCH_TARGETS = {2: 50.0, 20: 25.0}  # times SciPy's calls a second
SINGLE_TARGET, HOST_TARGET, SCALE_TARGET = 1.0, 3.0, 2.0  # times SciPy's overhead per call
COLD_TARGET, WARM_TARGET = 8.0, 3.0  # seconds
LINEAR = 1.1  # largest exponent of cost or memory against d that passes as linear
OPTIMIZER = ShapeOptimizer(UniversalPolicy(), record_energy=False)
SPAWN = multiprocessing.get_context("spawn")  # compiled code does not survive a fork
FIRST = """
import jax.numpy as jnp, numpy as np, shapeopt

def ackley(x):
    return 20 - 20 * jnp.exp(-0.2 * jnp.sqrt(jnp.mean(x**2))) + jnp.e - jnp.exp(jnp.mean(jnp.cos(2 * jnp.pi * x)))

print(shapeopt.minimize(ackley, np.full(20, 1.7), bounds=(np.full(20, -5.0), np.full(20, 5.0)), budget=500).fun)
"""


@dataclass(frozen=True)
class Config:
    """What is run, and where the record goes."""

    sections: tuple[Section, ...] = get_args(Section)
    batches: tuple[int, ...] = (128, 256, 512, 1024)  # runs on each of the two threads; the fastest counts
    budget: int = 500  # calls of each run of `batch`
    hops: int = 30  # runs of basinhopping that measure its calls a second
    calls: int = 2000  # of each run of `single` and `host`
    scale_calls: int = 200
    scale_dimensions: tuple[int, ...] = (100, 1_000, 10_000, 100_000)
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
        met = operator.ge if self.at_least else operator.le
        return self.target is None or met(self.figure, self.target)


def rastrigin(x: np.ndarray) -> tuple[float, np.ndarray]:
    angle = 2 * np.pi * x
    return float(np.sum(x * x + 10 - 10 * np.cos(angle))), 2 * x + 20 * np.pi * np.sin(angle)


def ackley(x: np.ndarray) -> tuple[float, np.ndarray]:
    root, angle = np.sqrt(np.mean(x * x)) + 1e-150, 2 * np.pi * x
    bowl, ripple = 20 * np.exp(-0.2 * root), np.exp(np.mean(np.cos(angle)))
    slope = (0.2 * bowl * x / root + 2 * np.pi * ripple * np.sin(angle)) / x.size
    return float(20 + np.e - bowl - ripple), slope


NUMPY = {"rastrigin": rastrigin, "ackley": ackley}


def hop(name: str, x0: np.ndarray, budget: int, seed: int) -> None:
    """One run of basinhopping, stopped after exactly `budget` calls."""
    fun, calls = NUMPY[name], iter(range(budget))

    def counted(x: np.ndarray) -> tuple[float, np.ndarray]:
        next(calls)  # raises once the budget is gone
        return fun(x)

    options = {"method": "L-BFGS-B", "jac": True, "bounds": [(-5.0, 5.0)] * x0.size}
    with contextlib.suppress(StopIteration):
        basinhopping(counted, x0, niter=budget, minimizer_kwargs=options, rng=seed)


def hops_a_second(name: str, dimension: int, config: Config) -> float:
    """Calls a second of basinhopping runs in this process."""
    starts = np.random.default_rng(0).uniform(-5, 5, (config.hops, dimension))
    job = lambda: [hop(name, x0, config.budget, seed) for seed, x0 in enumerate(starts)]  # noqa: E731
    return config.hops * config.budget / least(config.repeats, job)[0]


def least(repeats: int, *jobs: Callable[[], object]) -> list[float]:
    """Least seconds that each job took; they take turns, after one round to warm up."""
    times: list[list[float]] = [[] for _ in jobs]
    for _ in range(repeats + 1):
        for taken, job in zip(times, jobs, strict=True):
            began = time.perf_counter()
            job()
            taken.append(time.perf_counter() - began)
    return [min(taken[1:]) for taken in times]


def batch_a_second(name: str, dimension: int, config: Config) -> tuple[float, int]:
    """The best calls a second over the batch sizes, and that size; one shard a thread."""
    family, x64, rates = make_family(name, dimension, StartLaw.BOX), jax.config.jax_enable_x64, []

    @jax.jit
    @jax.vmap
    def run(key):
        key_task, key_start, key_run = jax.random.split(key, 3)
        task = family.sample(key_task)
        oracle = ExactOracle(task)
        return rollout(OPTIMIZER, oracle, task.start(key_start), task.box, config.budget, key_run).best.value

    def work(keys):
        with jax.enable_x64(x64):  # the context is a thread's own
            return run(keys).block_until_ready()

    with ThreadPoolExecutor(2) as pool:
        for size in config.batches:
            shards = [jax.random.split(jax.random.key(shard), size) for shard in range(2)]
            (seconds,) = least(config.repeats, lambda shards=shards: list(pool.map(work, shards)))
            rates.append((2 * size * config.budget / seconds, size))
    return max(rates)


def batch(config: Config) -> Iterator[Row]:
    for name in ("rastrigin", "ackley"):
        for d, target in BATCH_TARGETS.items():
            alone = hops_a_second(name, d, config)
            with ProcessPoolExecutor(2, mp_context=SPAWN) as pool:
                both = sum(pool.map(hops_a_second, [name] * 2, [d] * 2, [config] * 2))
            for bits in ("float32", "float64"):
                with jax.enable_x64(bits == "float64"):
                    rate, size = batch_a_second(name, d, config)
                label, ours = f"batch {name} d={d} {bits}", f"{rate:,.0f} calls/s, 2 x {size}"
                yield Row(label, ours, f"{alone:,.0f} calls/s", rate / alone, target, at_least=True)
                yield Row(f"{label}, SciPy in 2 processes", ours, f"{both:,.0f} calls/s", rate / both, None)


def compiled_run(fun: Callable[[Array], Array], x0: Float[Array, " d"], calls: int) -> tuple[list, int]:
    """Jobs (one run in [-5, 5]^d; the objective alone, each call at a new point), and the bytes that the run needs."""
    side = np.full(x0.size, 5.0, x0.dtype)
    box, key = Box.around(-side, side), jax.random.key(0)

    def step(x, _):
        value, gradient = jax.value_and_grad(fun)(x)
        return x - 1e-9 * gradient, value

    run = jax.jit(lambda x, key: rollout(OPTIMIZER, ExactOracle(fun), x, box, calls, key).best)
    run = run.lower(x0, key).compile()
    alone = jax.jit(lambda x: jax.lax.scan(step, x, length=calls))
    memory = run.memory_analysis()
    used = memory.temp_size_in_bytes + memory.argument_size_in_bytes + memory.output_size_in_bytes
    return [lambda: jax.block_until_ready(run(x0, key)), lambda: jax.block_until_ready(alone(x0))], used


def hop_jobs(x0: np.ndarray, calls: int) -> list[Callable[[], object]]:
    """Jobs (one run of basinhopping on Ackley; the objective alone)."""
    return [lambda: hop("ackley", x0, calls, 0), lambda: [ackley(x0) for _ in range(calls)]]


def single(config: Config) -> Iterator[Row]:
    for d in (2, 20, 100):
        x0 = np.random.default_rng(0).uniform(-3, 3, d)
        landscape = make_family("ackley", d).sample(jax.random.key(0)).landscape
        jobs, _ = compiled_run(landscape, jnp.asarray(x0), config.calls)
        times = least(config.repeats, *jobs, *hop_jobs(x0, config.calls))
        yield overhead_row(f"single ackley d={d}", times, config.calls, SINGLE_TARGET)


def host_times(d: int, config: Config) -> list[float]:
    """Seconds of our run on a NumPy objective, of SciPy's, and of the objective alone."""
    x0, side = np.random.default_rng(0).uniform(-3, 3, d), np.full(d, 5.0)
    options = {"jac": True, "bounds": (-side, side), "budget": config.calls}
    return least(config.repeats, lambda: shapeopt.minimize(ackley, x0, **options), *hop_jobs(x0, config.calls))


def host(config: Config) -> Iterator[Row]:
    for d in (2, 20, 100):
        with ProcessPoolExecutor(1, mp_context=SPAWN) as pool:  # as in a program that does not use JAX itself
            ours, theirs, own = pool.submit(host_times, d, config).result()
        yield overhead_row(f"host ackley d={d}", [ours, own, theirs, own], config.calls, HOST_TARGET)


def overhead_row(what: str, times: list[float], calls: int, target: float) -> Row:
    """`times`: our run, our objective alone, SciPy's run, SciPy's objective alone."""
    ours, theirs = (times[0] - times[1]) / calls, (times[2] - times[3]) / calls
    return Row(what, micro(ours), micro(theirs), ours / theirs, target)


def micro(seconds: float) -> str:
    return f"{1e6 * seconds:,.1f} us/call"


def first(config: Config) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as cache:
        keep_all = {
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        }
        environment = os.environ | {"JAX_COMPILATION_CACHE_DIR": cache} | keep_all  # as the command line sets them
        command = [sys.executable, "-c", FIRST]
        times = []
        for _ in range(config.repeats + 1):
            began = time.perf_counter()
            subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
            times.append(time.perf_counter() - began)
    cold, warm = times[0], min(times[1:])
    yield Row("first answer, cold cache", f"{cold:.1f} s", "", cold, COLD_TARGET)
    yield Row("first answer, warm cache", f"{warm:.1f} s", "", warm, WARM_TARGET)


def scale_one(d: int, config: Config) -> tuple[float, float, int, int]:
    """Overheads per call, ours and L-BFGS-B's, on a weighted sum of squares; bytes of our run; peak of the process."""
    weights, x0 = np.geomspace(1.0, 1e6, d), np.random.default_rng(0).uniform(-3, 3, d)

    def fun(x: np.ndarray) -> tuple[float, np.ndarray]:
        gradient = weights * x
        return 0.5 * float(gradient @ x), gradient

    options = {"maxfun": config.scale_calls, "maxcor": OPTIMIZER.policy.pairs, "ftol": 0.0, "gtol": 0.0}
    with jax.enable_x64(True):
        jobs, used = compiled_run(lambda x: 0.5 * jnp.sum(weights * x**2), jnp.asarray(x0), config.scale_calls)
        whole, own = (seconds / config.scale_calls for seconds in least(config.repeats, *jobs))
    peak = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())  # ru_maxrss has the parent's in it
    alone = least(config.repeats, lambda: [fun(x0) for _ in range(50)])[0] / 50
    descent = lambda: minimize(fun, x0, jac=True, method="L-BFGS-B", options=options)  # noqa: E731
    theirs = least(config.repeats, descent)[0] / descent().nfev - alone
    return whole - own, theirs, used, int(peak[1]) * 1024 if peak else 0


def scale(config: Config) -> Iterator[Row]:
    measured = []
    for d in config.scale_dimensions:
        with ProcessPoolExecutor(1, mp_context=SPAWN) as pool:
            measured.append(pool.submit(scale_one, d, config).result())
        ours, theirs, used, peak = measured[-1]
        shown = f"{micro(ours)}, {used / 1e6:.1f} MB, peak {peak / 1e6:.0f} MB"
        yield Row(f"scale d={d:,}", shown, micro(theirs), ours / theirs, SCALE_TARGET if d == 100_000 else None)
    costs, _, sizes, _ = np.array(measured, float).T
    for what, values in (("cost per call", costs), ("memory of a run", sizes)):
        exponent = float(np.polyfit(np.log(config.scale_dimensions), np.log(values), 1)[0])
        yield Row(f"{what} grows like d^x", f"x = {exponent:.2f}", "", exponent, LINEAR)


SECTIONS = {section.__name__: section for section in (batch, single, host, first, scale)}


def main(config: Config) -> int:
    print(f"{'what':52}{'ours':>42}{'SciPy':>18}{'ratio':>9}  target")
    rows = []
    for row in (row for section in config.sections for row in SECTIONS[section](config)):
        rows.append(row)
        sign, word = ">=" if row.at_least else "<=", "met" if row.passes else "MISSED"
        target = "" if row.target is None else f"{sign} {row.target:g} {word}"
        print(f"{row.what:52}{row.ours:>42}{row.scipy:>18}{row.figure:9.2f}  {target}", flush=True)
    missed = [row.what for row in rows if not row.passes]
    print(f"missed: {'; '.join(missed)}" if missed else "all targets met")
    if config.out is not None:
        config.out.parent.mkdir(parents=True, exist_ok=True)
        settings = {key: value for key, value in asdict(config).items() if key != "out"}
        record = {"config": settings, "rows": [asdict(row) for row in rows]}
        config.out.write_text(json.dumps(record, indent=1) + "\n")
    return 1 if missed else 0


if __name__ == "__main__":
    # SciPy is fastest with one BLAS thread: with more, tiny matrices wait for threads on a busy machine.
    if "OPENBLAS_NUM_THREADS" not in os.environ:
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | {"OPENBLAS_NUM_THREADS": "1"})
    with jax.enable_x64(True):
        sys.exit(main(tyro.cli(Config, description=__doc__)))
