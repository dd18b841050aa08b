"""kill -9 at random moments: does the same command end with the same journal and the same result?

    .venv/bin/python benchmarks/crash.py [--kills 100] [--out benchmarks/records/crash.json]

A run of 400 calls is begun, killed at a random moment, begun again, and so on until it ends; then the next run begins,
until there were enough kills. One kill in four comes at a random time after the start, the others when the journal has
grown by a random share of what is left. Four kinds of objective take turns: values alone, values with gradients, one
that is compiled, and values with gradients read by four threads. All but the compiled one count their calls in a file
of their own, which no kill can take back. Exit code 1 if a journal or a result differs by a byte from that of a run
that nobody killed (the lines of a journal that four threads wrote may stand in another order), or if a kill cost more
than one call (four, with four threads).
"""

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import tyro

KINDS = ("values", "pair", "compiled", "workers")
THREADS = 4


@dataclass(frozen=True)
class Config:
    """How many kills there are, on runs of how many calls."""

    kills: int = 100
    calls: int = 400
    seconds_a_call: float = 0.004
    seed: int = 0
    out: Path | None = None


def objective(kind: str, counter: Path, seconds: float):
    """The function that a run minimises, and its `jac`; every call of one on the host leaves a byte in `counter`."""
    import jax.numpy as jnp

    def compiled(x):
        return jnp.sum(x * x - 10 * jnp.cos(2 * jnp.pi * x) + 10)

    def pair(x):
        with counter.open("ab", buffering=0) as file:
            file.write(b"*")
        time.sleep(seconds)
        x = np.asarray(x)
        return float(np.sum(x * x - 10 * np.cos(2 * np.pi * x) + 10)), 2 * x + 20 * np.pi * np.sin(2 * np.pi * x)

    def values(x):
        return pair(x)[0]

    pairs = {"values": (values, None), "pair": (pair, True), "compiled": (compiled, None), "workers": (pair, True)}
    return pairs[kind]


def child(folder: Path, kind: str, calls: int, seconds: float) -> None:
    """One attempt at the run; its result is written when it ends."""
    import shapeopt

    fun, jac = objective(kind, folder / "counter", seconds)
    start = np.array([3.3, -2.2, 1.7, 4.1])
    settings = {"journal": folder / "journal", "seed": 1, "workers": THREADS if kind == "workers" else 1}
    bounds = [(1e-6, 5), *[(-5, 5)] * 3] if kind == "values" else (-5, 5)  # decades apart: searched by the logarithm
    start[0] = 0.2 if kind == "values" else start[0]
    result = shapeopt.minimize(fun, start, bounds=bounds, budget=calls, jac=jac, **settings)
    numbers = (result.x, result.fun, result.nfev, result.trace.value, result.trace.x, result.trace.calls)
    told = hashlib.sha256(b"".join(np.asarray(part).tobytes() for part in numbers)).hexdigest()
    (folder / "result").write_text(told)


def attempt(folder: Path, kind: str, config: Config, due: Callable[[float], bool] | None) -> tuple[bool, float]:
    """Start the run, and kill it once `due` says so of the seconds since; (whether it was killed, its seconds)."""
    command = [sys.executable, __file__, "--child", str(folder), kind, str(config.calls), str(config.seconds_a_call)]
    cache = {"JAX_COMPILATION_CACHE_DIR": str(folder.parent / "cache"), "JAX_ENABLE_COMPILATION_CACHE": "true"}
    cache["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    process = subprocess.Popen(command, env=cache | os.environ)
    began = time.monotonic()
    while due is not None and process.poll() is None:
        if due(time.monotonic() - began):
            process.send_signal(signal.SIGKILL)
            break
        time.sleep(0.0005)
    code = process.wait()
    if code not in (0, -signal.SIGKILL):
        raise RuntimeError(f"a run ended with exit code {code}")
    return code != 0, time.monotonic() - began


def moment(draw: random.Random, journal: Path, whole: int, seconds: float) -> Callable[[float], bool]:
    """When the next kill is due."""
    if draw.random() < 0.25:
        late = draw.uniform(0, seconds)
        return lambda now: now > late
    until = draw.uniform(size(journal), 1.2 * whole)  # past the whole: it may end
    return lambda now: size(journal) >= until


def size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def digest(path: Path, kind: str) -> str:
    """Of a journal; where several threads wrote it, of its sorted lines."""
    raw = path.read_bytes()
    return hashlib.sha256(b"".join(sorted(raw.splitlines(True))) if kind == "workers" else raw).hexdigest()


def main(config: Config) -> int:
    draw = random.Random(config.seed)
    runs = []
    with tempfile.TemporaryDirectory() as scratch:
        whole = {}
        for kind in KINDS:
            folder = Path(scratch, kind)
            folder.mkdir()
            attempt(folder, kind, config, None)  # compiles
            calls = size(folder / "counter")
            _, seconds = attempt(folder, kind, config, None)
            kept = folder / "journal"
            whole[kind] = (digest(kept, kind), (folder / "result").read_text(), calls, size(kept), seconds)
        while (kills := sum(run["kills"] for run in runs)) < config.kills:
            kind = KINDS[len(runs) % len(KINDS)]
            folder = Path(scratch, f"{kind}-{len(runs)}")
            folder.mkdir()
            journal, result, calls, long, seconds = whole[kind]
            here = 0
            while kills + here < config.kills:
                if not attempt(folder, kind, config, moment(draw, folder / "journal", long, seconds))[0]:
                    break
                here += 1
            if not (folder / "result").exists():
                attempt(folder, kind, config, None)
            run = {
                "kind": kind,
                "kills": here,
                "same_journal": digest(folder / "journal", kind) == journal,
                "same_result": (folder / "result").read_text() == result,
                "calls_again": size(folder / "counter") - calls,
            }
            runs.append(run)
            print(run, flush=True)
    wrong = [run for run in runs if not _holds(run)]
    total = {"kills": sum(run["kills"] for run in runs), "runs": len(runs), "wrong": len(wrong)}
    print(total)
    if config.out is not None:
        settings = {name: value for name, value in asdict(config).items() if name != "out"}
        config.out.write_text(json.dumps({"config": settings, "total": total, "runs": runs}, indent=1) + "\n")
    return 1 if wrong else 0


def _holds(run: dict) -> bool:
    cost = THREADS if run["kind"] == "workers" else 1
    return run["same_journal"] and run["same_result"] and run["calls_again"] <= cost * run["kills"]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]), float(sys.argv[5]))
    else:
        sys.exit(main(tyro.cli(Config, description=__doc__)))
