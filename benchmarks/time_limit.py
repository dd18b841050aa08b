"""How long after its time limit does a call end?

    .venv/bin/python benchmarks/time_limit.py [--out benchmarks/records/guarantees_time_limit.json]

Objectives that never answer, each in its own way: one sleeps, one computes, one ignores every polite signal, one has
started a program. Each writes down when it was called, and by which process; then the time is taken until the run
knows, less the limit. The last kind is a program (`shapeopt.Command`). Exit code 1 if one took more than half a second,
or if a process is still there half a second after the limit. Linux only.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tyro

PROMISED = 0.5  # seconds
PLACE = "SHAPEOPT_TIME_LIMIT_FOLDER"


@dataclass(frozen=True)
class Config:
    """How many calls of each kind, and the limit of each."""

    calls: int = 20
    limit: float = 0.3
    out: Path | None = None


def begun(*pids: int) -> None:
    """Write down when this call began, and which processes must end with it."""
    scratch = Path(os.environ[PLACE], "part")
    scratch.write_text(json.dumps([time.monotonic(), os.getpid(), *pids]))
    scratch.replace(scratch.with_name("begun"))


def sleeps(x: np.ndarray) -> float:
    begun()
    time.sleep(60)
    return 0.0


def computes(x: np.ndarray) -> float:
    begun()
    while True:
        sum(range(10**7))


def ignores(x: np.ndarray) -> float:
    for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(one, signal.SIG_IGN)
    return sleeps(x)


def starts(x: np.ndarray) -> float:
    begun(subprocess.Popen(["sleep", "60"]).pid)
    time.sleep(60)
    return 0.0


KINDS = {"sleeps": sleeps, "computes": computes, "ignores signals": ignores, "has started a program": starts}
PROGRAM = """#!{python} -S
import json, os, time
with open({place!r} + "/part", "w") as file:
    file.write(json.dumps([time.monotonic(), os.getpid()]))
os.replace({place!r} + "/part", {place!r} + "/begun")
time.sleep(60)
"""


def there(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def late(fun: Any, config: Config, folder: Path, **settings: Any) -> tuple[list[float], int]:
    """Seconds past the limit, call by call, and how many processes were left half a second after it."""
    import shapeopt

    seconds, left = [], 0

    def callback(progress: Any) -> None:
        nonlocal left
        now = time.monotonic()
        began, *pids = json.loads((folder / "begun").read_text())
        seconds.append(now - began - config.limit)
        while any(there(pid) for pid in pids) and time.monotonic() - began < config.limit + PROMISED:
            time.sleep(0.001)  # a process that was killed takes a moment to end where many wait for a core
        left += sum(there(pid) for pid in pids)

    budget = config.calls
    shapeopt.minimize(fun, np.zeros(2), bounds=(-1, 1), budget=budget, on_error="skip", callback=callback, **settings)
    return seconds[1:], left  # the first call also starts its process


def main(config: Config) -> int:
    import shapeopt

    if config.calls < 4:
        raise ValueError(f"`calls` must be at least 4: the first ones are not timed; got {config.calls}.")
    rows = {}
    with tempfile.TemporaryDirectory() as scratch:
        os.environ[PLACE] = scratch
        folder = Path(scratch)
        program = folder / "program"
        program.write_text(PROGRAM.format(python=sys.executable, place=scratch))
        program.chmod(0o755)
        for name, fun in KINDS.items():
            rows[name] = late(fun, config, folder, call_timeout=config.limit)
        rows["program"] = late(shapeopt.Command(f"{program} {{x}}", time_limit=config.limit), config, folder)
    record = {
        name: {"calls": len(seconds), "median": float(np.median(seconds)), "most": max(seconds), "left": left}
        for name, (seconds, left) in rows.items()
    }
    print(json.dumps(record, indent=1))
    if config.out is not None:
        settings = {key: value for key, value in asdict(config).items() if key != "out"}
        config.out.write_text(json.dumps({"config": settings, "kinds": record}, indent=1) + "\n")
    return 1 if any(row["most"] > PROMISED or row["left"] for row in record.values()) else 0


if __name__ == "__main__":
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    sys.exit(main(tyro.cli(Config, description=__doc__)))
