"""Speed of both engines, side by side with SciPy in one run.

    .venv/bin/python benchmarks/throughput.py [--sections host scale device batch] [--out FILE]

host     overhead a call of `shapeopt.minimize` on a NumPy objective, against SciPy's basinhopping with L-BFGS-B
scale    the same at d = 100,000 against L-BFGS-B, and the peak memory of the process
device   equations of one `tell` with all tactics, and processor seconds to compile it and a batch of runs
batch    calls a second of many compiled runs at once on two threads, against basinhopping's

Overhead is processor time less the objective's own; each time is the least of some repeats, ours and SciPy's in turn,
with one BLAS thread, with which SciPy is fastest at these sizes. Exit code 1 if a target is missed.
"""

import contextlib
import json
import operator
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import tyro
from scipy.optimize import basinhopping, minimize

import shapeopt

Section = Literal["host", "scale", "device", "batch"]
HOST_TARGET, SCALE_TARGET = 2.0, 1.5  # times SciPy's overhead a call
EQUATIONS_TARGET, COMPILE_TARGET = 2500, 6.0  # of one `tell`; processor seconds at d = 10
BATCH_TARGETS = {2: 50.0, 10: None, 20: 25.0}  # times SciPy's calls a second
LARGE = 100_000


@dataclass(frozen=True)
class Config:
    """What is run, and where the record goes."""

    sections: tuple[Section, ...] = get_args(Section)
    dimensions: tuple[int, ...] = (2, 10, 20, 50)  # of `host`
    calls: int = 2000  # of each run of `host`
    scale_calls: int = 200
    batches: tuple[int, ...] = (256, 1024)  # runs on each of the two threads; the fastest counts
    budget: int = 500  # calls of each run of `batch`
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


def rosenbrock(x: np.ndarray) -> tuple[float, np.ndarray]:
    bend, slope = x[1:] - x[:-1] ** 2, np.zeros_like(x)
    slope[1:] += 200 * bend
    slope[:-1] -= 400 * bend * x[:-1] + 2 * (1 - x[:-1])
    return float(np.sum(100 * bend**2 + (1 - x[:-1]) ** 2)), slope


def hop(fun: Callable[..., Any], x0: np.ndarray, budget: int) -> None:
    """One run of basinhopping, stopped after exactly `budget` calls."""
    calls = iter(range(budget))

    def counted(x: np.ndarray) -> tuple[float, np.ndarray]:
        next(calls)  # raises once the budget is gone
        return fun(x)

    options = {"method": "L-BFGS-B", "jac": True, "bounds": [(-5.0, 5.0)] * x0.size}
    with contextlib.suppress(StopIteration):
        basinhopping(counted, x0, niter=10**9, minimizer_kwargs=options, rng=1)


def least(repeats: int, *jobs: Callable[[], object], clock: Callable[[], float] = time.process_time) -> list[float]:
    """Least seconds that each job took; they take turns, after one round to warm up."""
    times: list[list[float]] = [[] for _ in jobs]
    for _ in range(repeats + 1):
        for taken, job in zip(times, jobs, strict=True):
            began = clock()
            job()
            taken.append(clock() - began)
    return [min(taken[1:]) for taken in times]


def micro(seconds: float) -> str:
    return f"{1e6 * seconds:,.1f} us/call"


def host(config: Config) -> Iterator[Row]:
    calls = config.calls
    for d in config.dimensions:
        x0 = np.linspace(-3, 3.3, d)
        for fun in (rastrigin, rosenbrock):
            ours, theirs, alone = least(
                config.repeats,
                lambda fun=fun, x0=x0: shapeopt.minimize(fun, x0, bounds=(-5, 5), budget=calls, jac=True),
                lambda fun=fun, x0=x0: hop(fun, x0, calls),
                lambda fun=fun, x0=x0: [fun(x0) for _ in range(calls)],
            )
            ours, theirs = (ours - alone) / calls, (theirs - alone) / calls
            yield Row(f"host {fun.__name__} d={d}", micro(ours), micro(theirs), ours / theirs, HOST_TARGET)


def scale(config: Config) -> Iterator[Row]:
    """In a process of its own, whose peak memory is that of the run."""
    told = subprocess.run([sys.executable, __file__, "large"], check=True, capture_output=True, text=True).stdout
    ours, theirs, before, after = map(float, told.split())
    shown = f"{micro(ours)}, peak memory +{(after - before) / 1e6:.0f} MB"
    yield Row(f"scale d={LARGE:,}", shown, micro(theirs), ours / theirs, SCALE_TARGET)


def large() -> None:
    """Overheads a call, ours and L-BFGS-B's, on a weighted sum of squares, and the peak of memory before and after."""
    config = Config()
    weights, x0 = np.geomspace(1.0, 1e6, LARGE), np.random.default_rng(0).uniform(-3, 3, LARGE)

    def fun(x: np.ndarray) -> tuple[float, np.ndarray]:
        gradient = weights * x
        return 0.5 * float(gradient @ x), gradient

    calls, before = config.scale_calls, peak()
    run = lambda: shapeopt.minimize(fun, x0, bounds=(-5, 5), budget=calls, jac=True)  # noqa: E731
    run()
    after, spent = peak(), []
    options = {"maxfun": calls, "maxcor": 10, "ftol": 0.0, "gtol": 0.0}
    descend = lambda: spent.append(  # noqa: E731
        minimize(fun, x0, jac=True, method="L-BFGS-B", bounds=[(-5, 5)] * LARGE, options=options).nfev
    )
    ours, theirs, alone = least(config.repeats, run, descend, lambda: [fun(x0) for _ in range(calls)])
    print((ours - alone) / calls, theirs / spent[-1] - alone / calls, before, after)


def peak() -> int:
    """Most bytes that this process ever held (Linux; ru_maxrss has the parent's in it)."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) * 1024 if found else 0


def device(config: Config) -> Iterator[Row]:
    import jax

    from shapeopt.core import Box, Reading, compiler_options
    from shapeopt.engines.device import DeviceShape

    optimizer = DeviceShape()
    for d in BATCH_TARGETS:
        side, key = np.full(d, 5.0), jax.random.key(0)
        box = Box.around(-side, side)
        state = jax.eval_shape(lambda x0, key, box=box: optimizer.init(x0, box, 500, key), side - 1, key)
        reading = Reading(
            *(jax.ShapeDtypeStruct(shape, kind) for shape, kind in (((), float), ((d,), float), ((), int)))
        )
        tell = jax.jit(lambda state, reading: optimizer.tell(state, reading), compiler_options=compiler_options())
        began = time.process_time()
        traced = tell.trace(state, reading)
        traced.lower().compile()
        spent, count = time.process_time() - began, equations(traced.jaxpr.jaxpr)
        yield Row(f"device d={d}, equations of a tell", f"{count:,}", "", count, EQUATIONS_TARGET)
        target = COMPILE_TARGET if d == 10 else None
        yield Row(f"device d={d}, compiling a tell", f"{spent:.1f} s", "", spent, target)
        run, keys = batched("rastrigin", d, config.budget), jax.random.split(key, 16)
        began = time.process_time()
        run.lower(keys).compile()
        spent = time.process_time() - began
        yield Row(f"device d={d}, compiling a batch of runs", f"{spent:.1f} s", "", spent, None)


def equations(jaxpr: Any) -> int:
    """Equations of a program, those inside its loops and branches included."""
    inner = (value for one in jaxpr.eqns for value in one.params.values())
    parts = (part for value in inner for part in (value if isinstance(value, tuple | list) else (value,)))
    bodies = (getattr(part, "jaxpr", part) for part in parts)
    return len(jaxpr.eqns) + sum(equations(body) for body in bodies if hasattr(body, "eqns"))


def batched(name: str, dimension: int, budget: int) -> Any:
    """Keys of tasks and starts -> the best value of each run."""
    import jax

    from shapeopt.core import compiler_options
    from shapeopt.engines.device import DeviceShape
    from shapeopt.oracles import ExactOracle
    from shapeopt.rollout import rollout
    from shapeopt.tasks import make_family

    family = make_family(name, dimension)

    def run(key: Any) -> Any:
        key_task, key_start, key_run = jax.random.split(key, 3)
        task = family.sample(key_task)
        x0 = task.start(key_start)
        return rollout(DeviceShape(), ExactOracle(task), x0, task.box, budget, key_run).best.value

    return jax.jit(jax.vmap(run), compiler_options=compiler_options())  # as the bench does


def batch(config: Config) -> Iterator[Row]:
    import jax

    def work(keys: Any) -> Any:
        with jax.enable_x64(True):  # the context is a thread's own
            return run(keys).block_until_ready()

    with ThreadPoolExecutor(2) as pool:
        for d, target in BATCH_TARGETS.items():
            starts = np.random.default_rng(0).uniform(-5, 5, (10, d))
            hops = lambda starts=starts: [hop(rastrigin, x0, config.budget) for x0 in starts]  # noqa: E731
            alone = len(starts) * config.budget / least(config.repeats, hops, clock=time.perf_counter)[0]
            run, rates = batched("rastrigin", d, config.budget), []
            for size in config.batches:
                shards = [jax.random.split(jax.random.key(shard), size) for shard in range(2)]
                job = lambda shards=shards: list(pool.map(work, shards))  # noqa: E731
                rates.append((2 * size * config.budget / least(config.repeats, job, clock=time.perf_counter)[0], size))
            rate, size = max(rates)
            ours = f"{rate:,.0f} calls/s, 2 x {size}"
            yield Row(f"batch rastrigin d={d}", ours, f"{alone:,.0f} calls/s", rate / alone, target, at_least=True)


SECTIONS = {section.__name__: section for section in (host, scale, device, batch)}


def main(config: Config) -> int:
    if set(config.sections) & {"device", "batch"}:
        import jax

        jax.config.update("jax_enable_x64", True)
    print(f"{'what':40}{'shapeopt':>44}{'SciPy':>18}{'ratio':>9}  target")
    rows = []
    for row in (row for section in config.sections for row in SECTIONS[section](config)):
        rows.append(row)
        sign, word = ">=" if row.at_least else "<=", "met" if row.passes else "MISSED"
        target = "" if row.target is None else f"{sign} {row.target:g} {word}"
        print(f"{row.what:40}{row.ours:>44}{row.scipy:>18}{row.figure:9.2f}  {target}", flush=True)
    missed = [row.what for row in rows if not row.passes]
    print(f"missed: {'; '.join(missed)}" if missed else "all targets met")
    if config.out is not None:
        config.out.parent.mkdir(parents=True, exist_ok=True)
        settings = {key: value for key, value in asdict(config).items() if key != "out"}
        record = {"config": settings, "rows": [asdict(row) for row in rows]}
        config.out.write_text(json.dumps(record, indent=1) + "\n")
    return 1 if missed else 0


if __name__ == "__main__":
    if os.environ.get("OMP_NUM_THREADS") != "1":
        one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | one)
    if sys.argv[1:] == ["large"]:
        large()
    else:
        sys.exit(main(tyro.cli(Config, description=__doc__)))
