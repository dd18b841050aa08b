"""Mutated policies and journals: is every one refused with a clear error, or harmless?

    .venv/bin/python benchmarks/hostile_files.py [--mutants 10000] [--out benchmarks/records/hostile_files.json]

A mutant is a valid file with bytes flipped, cut, inserted, repeated or swapped. An altered weights file must be refused
with a `PolicyFileError`, a journal with a `JournalError` that leaves it as it is; a journal that only lost its end must
lead to the bytes of the unbroken run instead; of calls that overlap, to its lines in any order. Then as many mutants
whose checksums were made right again, so that they get past the first check. They may be accepted (a checksum is no
signature), but nothing else than those errors may come
out; `fuzz.py` goes on from there, guided by coverage. All the while an audit hook counts what a parser has no business
to do: run code, start a program, open another file, unpickle, connect.
Exit code 1 if anything of that happened.
"""

import hashlib
import json
import os
import random
import sys
import tempfile
import zlib
from collections import Counter
from concurrent.futures import Executor, Future
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tyro

import shapeopt
from shapeopt.oracles import JournalError
from shapeopt.paper.find import CHECKOUT
from shapeopt.paper.weights import PolicyFileError, read_policy

POLICY = "paper-ackley-2"
CALLS = 12
FOREIGN = ("exec", "compile", "pickle.find_class", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork")
FOREIGN += ("subprocess.Popen", "ctypes.dlopen", "socket.connect", "os.remove", "os.rename", "shutil.rmtree")


@dataclass(frozen=True)
class Config:
    """How many mutants of each kind."""

    mutants: int = 10_000
    seed: int = 0
    out: Path | None = None


class Guard:
    """Counts foreign deeds while it is entered; files may be opened in `folder` alone."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.deeds, self.on = str(folder), Counter[str](), False
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.on and (event in FOREIGN or (event == "open" and self._strange(arguments[0]))):
            self.deeds[f"{event} {arguments[:1]}"] += 1

    def _strange(self, path: Any) -> bool:
        """Whether a file is opened that does not belong here; tracebacks show lines of sources, handles are open."""
        return isinstance(path, str) and not path.startswith(self.folder) and not path.endswith(".py")

    def __enter__(self) -> None:
        self.on = True

    def __exit__(self, *exception: object) -> None:
        self.on = False


def mutated(raw: bytes, draw: random.Random) -> bytes:
    """Another file, which differs from `raw`."""
    text = bytearray(raw)
    for _ in range(draw.choice((1, 1, 1, 2, 5))):
        place, length = draw.randrange(len(text) + 1), draw.randrange(1, 40)
        match draw.randrange(7):
            case 0 if place < len(text):
                text[place] ^= 1 << draw.randrange(8)
            case 1:
                del text[place:]
            case 2:
                text[place:place] = draw.randbytes(length)
            case 3:
                del text[place : place + length]
            case 4:
                text[place:place] = text[place : place + 10 * length]
            case 5:
                other = draw.randrange(len(text) + 1)
                text[place : place + length] = text[other : other + length]
            case 6:
                text[place : place + length] = draw.choice(
                    (b"", b"\0" * length, b"9" * 400, b"[" * 2000, b"nan", b"\n")
                )
    return bytes(text) if bytes(text) != raw else raw + b"x"


class Policies:
    """The parser of weights and cards."""

    def __init__(self, folder: Path) -> None:
        self.stem = folder / POLICY
        self.weights, self.card = ((CHECKOUT / f"{POLICY}.{end}").read_bytes() for end in ("safetensors", "json"))

    def judge(self, raw: bytes, card: bytes) -> str:
        self.stem.with_suffix(".safetensors").write_bytes(raw)
        self.stem.with_suffix(".json").write_bytes(card)
        try:
            read_policy(self.stem)
        except PolicyFileError as error:
            return "refused" if POLICY in str(error) else f"refused without the file's name: {error}"
        except Exception as error:
            return f"raised {type(error).__name__}: {error}"
        return "accepted"

    def plain(self, draw: random.Random) -> str:
        return self.judge(mutated(self.weights, draw), self.card)

    def forged(self, raw: bytes) -> str:
        """`raw`: a card, a zero byte, and weights, of which the card then gets the right hash."""
        card, _, rest = raw.partition(b"\0")
        digest = hashlib.sha256(rest).hexdigest().encode()
        return self.judge(rest, card.replace(self._digest(), digest))

    def _digest(self) -> bytes:
        return json.loads(self.card)["sha256"].encode()

    @property
    def seeds(self) -> list[bytes]:
        return [self.card + b"\0" + self.weights]


class Journals:
    """The parser of journals, by the runs that go on from them."""

    def __init__(self, folder: Path, workers: Any = 1) -> None:
        self.path, self.workers = folder / "run.journal", workers
        self.path.unlink(missing_ok=True)
        self.whole = self.run()
        self.raw = self.path.read_bytes()

    def run(self) -> bytes:
        settings = {"budget": CALLS, "journal": self.path, "workers": self.workers}
        result = shapeopt.minimize(bowl, [3.0, -2.0], bounds=(-5, 5), jac=True, **settings)
        return b"".join(np.asarray(part).tobytes() for part in (result.x, result.fun, result.trace.value))

    def judge(self, raw: bytes) -> str:
        self.path.write_bytes(raw)
        try:
            told = self.run()
        except JournalError as error:
            kept = self.path.read_bytes() == raw or self.workers != 1  # calls may have ended before the wrong one
            return "refused" if kept and "run.journal" in str(error) else f"refused, kept {kept}: {error}"
        except Exception as error:
            return f"raised {type(error).__name__}: {error}"
        same = told == self.whole and self._lines(self.path.read_bytes()) == self._lines(self.raw)
        return "went on to the same bytes" if same else "accepted"

    def _lines(self, raw: bytes) -> Any:
        """What is compared: bytes, or lines in any order where calls overlap."""
        return raw if self.workers == 1 else set(raw.splitlines())

    def plain(self, draw: random.Random) -> str:
        return self.judge(mutated(self.raw, draw))

    def forged(self, raw: bytes) -> str:
        lines = [line[9:] for line in raw.split(b"\n")]
        return self.judge(b"\n".join(b"%08x %s" % (zlib.crc32(line), line) for line in lines[:-1]) + b"\n" + lines[-1])

    @property
    def seeds(self) -> list[bytes]:
        return [self.raw]


class AtOnce(Executor):
    """Makes a call when it is submitted, as if by four workers."""

    max_workers = 4

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def bowl(x: Any) -> tuple[float, np.ndarray]:
    x = np.asarray(x)
    return float(np.sum(x * x)), 2 * x


def main(config: Config) -> int:
    draw = random.Random(config.seed)
    record: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        several = folder / "several"
        several.mkdir()
        parsers = {
            "weights": Policies(folder),
            "journals": Journals(folder),
            "overlapping": Journals(several, AtOnce()),
        }
        harmless = {name: {"refused", "went on to the same bytes"} for name in parsers} | {"weights": {"refused"}}
        for parser in parsers.values():  # what a first use imports and compiles is no deed of a file
            parser.forged(parser.seeds[0])
        guard, wrong = Guard(folder), 0
        for name, parser in parsers.items():
            with guard:
                verdicts = Counter(parser.plain(draw) for _ in range(config.mutants))
                forged = Counter(parser.forged(mutated(parser.seeds[0], draw)) for _ in range(config.mutants))
            wrong += sum(verdicts[word] for word in verdicts.keys() - harmless[name])
            wrong += sum(forged[word] for word in forged.keys() - harmless[name] - {"accepted"})
            record[name] = {"mutants": dict(verdicts), "forged": dict(forged)}
            print(name, json.dumps(record[name], indent=1), flush=True)
    record |= {"foreign": dict(guard.deeds), "wrong": wrong + guard.deeds.total()}
    print(f"foreign deeds: {dict(guard.deeds)}; wrong outcomes: {wrong}")
    if config.out is not None:
        settings = {key: value for key, value in asdict(config).items() if key != "out"}
        config.out.write_text(json.dumps({"config": settings, **record}, indent=1) + "\n")
    return 1 if record["wrong"] else 0


if __name__ == "__main__":
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    sys.exit(main(tyro.cli(Config, description=__doc__)))
