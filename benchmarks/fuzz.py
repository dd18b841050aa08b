"""libFuzzer, by atheris, on the parsers of weights and of journals: does anything but a clear refusal come out?

    .venv/bin/python benchmarks/fuzz.py [--minutes 10] [--out benchmarks/records/fuzz.json]

Needs the extra `fuzz`. Inputs are mutated by libFuzzer, which keeps those that reach new code of the parser, and get
their checksums made right, as in `hostile_files.py`, whose judges and guard are used here: an input may be refused,
or accepted where it says nothing that a checksum could know. Exit code 1 for any other exception, for a foreign deed,
and for a process that ends otherwise than by its time.
"""

import json
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import tyro

PARSERS = {"weights": "shapeopt.paper.weights", "journals": "shapeopt.oracles.journal"}
FINE = {"refused", "accepted", "went on to the same bytes"}
LONGEST = 2**16


@dataclass(frozen=True)
class Config:
    """How long, both parsers together."""

    minutes: float = 10.0
    seed: int = 1
    out: Path | None = None


def child(name: str, folder: Path, seconds: int, seed: int) -> None:
    """Fuzz one parser; libFuzzer ends the process, so what was seen is written down every second."""
    import atheris

    with atheris.instrument_imports(include=[PARSERS[name], "json.decoder"]):
        import hostile_files
    parser = {"weights": hostile_files.Policies, "journals": hostile_files.Journals}[name](folder)
    corpus = folder / "corpus"
    corpus.mkdir()
    for i, raw in enumerate(parser.seeds):
        parser.forged(raw)  # what a first use imports and compiles is no deed of a file
        (corpus / str(i)).write_bytes(raw)
    guard, verdicts, told = hostile_files.Guard(folder), hostile_files.Counter[str](), 0.0

    def judge(raw: bytes) -> None:
        nonlocal told
        with guard:
            verdicts[parser.forged(raw)] += 1
        if time.monotonic() > told + 1:
            told = time.monotonic()
            record = {"verdicts": dict(verdicts), "foreign": dict(guard.deeds)}
            (folder / "seen.json").write_text(json.dumps(record))

    options = [
        f"-max_total_time={seconds}",
        f"-seed={seed}",
        f"-max_len={LONGEST}",
        "-timeout=60",
        "-rss_limit_mb=4096",
    ]
    atheris.Setup([sys.argv[0], *options, str(corpus)], judge)
    atheris.Fuzz()


def fuzz(name: str, config: Config) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as scratch:
        seconds = str(max(1, round(30 * config.minutes)))
        command = [sys.executable, __file__, "--child", name, scratch, seconds, str(config.seed)]
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True, errors="replace", check=False)
        seen = json.loads(Path(scratch, "seen.json").read_text())
    status = re.findall(r"cov: (\d+) ft: (\d+) corp: (\d+)", done.stderr)
    numbers = dict(zip(("edges", "features", "corpus"), map(int, status[-1]), strict=True)) if status else {}
    runs = re.findall(r"Done (\d+) runs", done.stderr)
    wrong = sum(n for word, n in seen["verdicts"].items() if word not in FINE) + sum(seen["foreign"].values())
    if done.returncode or not runs:
        print(done.stderr[-2000:], file=sys.stderr)
    return {"inputs": int(runs[-1]) if runs else 0, **numbers, **seen, "exit_code": done.returncode, "wrong": wrong}


def main(config: Config) -> int:
    record = {name: fuzz(name, config) for name in PARSERS}
    print(json.dumps(record, indent=1))
    if config.out is not None:
        settings = {key: value for key, value in asdict(config).items() if key != "out"}
        config.out.write_text(json.dumps({"config": settings, **record}, indent=1) + "\n")
    return 1 if any(one["wrong"] or one["exit_code"] or not one["inputs"] for one in record.values()) else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], Path(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5]))
    else:
        sys.exit(main(tyro.cli(Config, description=__doc__)))
