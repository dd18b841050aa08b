"""How long a fresh process takes to import the package and to answer `--help`.

    .venv/bin/python benchmarks/startup.py [--repeats 15] [--out benchmarks/records/startup.json]

Each row is the least of a few fresh processes, in wall time and in processor time; every one runs with `-W error`, so a
warning at import fails it. Exit code 1 if a wall time is above its target: other work on the machine shows there, and
hardly in the processor time.
"""

import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import tyro

HELP_TARGET = 0.7  # seconds
ROWS = {
    "python alone": (["-c", "pass"], None),
    "import shapeopt": (["-c", "import shapeopt"], None),
    "import shapeopt.cli": (["-c", "import shapeopt.cli"], None),
    "shapeopt --help": (["-m", "shapeopt.cli", "--help"], HELP_TARGET),
    "shapeopt minimize --help": (["-m", "shapeopt.cli", "minimize", "--help"], None),
    "shapeopt completion bash": (["-m", "shapeopt.cli", "completion", "bash"], None),
    "from shapeopt import minimize": (["-c", "from shapeopt import minimize"], None),
}


@dataclass(frozen=True)
class Config:
    repeats: int = 15
    """Processes of each row."""
    out: Path | None = None
    """Keep the rows in this file."""


@dataclass(frozen=True)
class Row:
    what: str
    wall: float
    processor: float
    target: float | None

    @property
    def passes(self) -> bool:
        return self.target is None or self.wall <= self.target


def measure(words: list[str]) -> tuple[float, float]:
    """Wall and processor seconds of one process."""
    before, began = os.times(), time.perf_counter()
    subprocess.run([sys.executable, "-W", "error", *words], check=True, stdout=subprocess.DEVNULL)
    wall, after = time.perf_counter() - began, os.times()
    return wall, after.children_user + after.children_system - before.children_user - before.children_system


def main(config: Config) -> int:
    rows = []
    print("| what | wall, s | processor, s | target |\n|---|---|---|---|")
    for what, (words, target) in ROWS.items():
        wall, processor = (min(column) for column in zip(*(measure(words) for _ in range(config.repeats)), strict=True))
        row = Row(what, wall, processor, target)
        rows.append(row)
        said = "" if target is None else f"<= {target:g}, {'met' if row.passes else 'missed'}"
        print(f"| {what} | {wall:.2f} | {processor:.2f} | {said} |", flush=True)
    if config.out is not None:
        config.out.parent.mkdir(parents=True, exist_ok=True)
        record = {"config": {"repeats": config.repeats}, "rows": [asdict(row) for row in rows]}
        config.out.write_text(json.dumps(record, indent=1) + "\n")
    return int(not all(row.passes for row in rows))


if __name__ == "__main__":
    sys.exit(main(tyro.cli(Config, description=__doc__)))
