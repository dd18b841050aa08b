"""`shapeopt bench table | compare | plot`: what the records of `shapeopt bench run` say."""

import itertools
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from ..terminal.errors import UsageError, did_you_mean, raised_here
from ..terminal.record import plain, print_json

Format = Literal["markdown", "csv", "latex"]
Kind = Literal["ecdf", "data-profile", "performance-profile", "progress", "budget"]


@dataclass(frozen=True)
class Records:
    """Which records are read."""

    folder: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="FOLDER")]
    """Folder of the records, as given to `shapeopt bench run --out`."""
    protocol: str | None = None
    """Only this protocol's. None: all that are there."""
    methods: tuple[str, ...] = ()
    """Only these methods'."""
    cells: tuple[str, ...] = ()
    """Only those of cells whose name contains one of these."""

    def load(self, wanted: Iterable[str] = ()) -> Iterator[Any]:
        """Records one at a time, cell by cell, of no other protocols than those `wanted`, if any are; a wrong name is
        refused before any is read."""
        from ..bench.digest import QUICK
        from ..bench.records import RecordError, load_records

        self.check()
        there = self.protocols() if self.protocol is None else [self.protocol]
        read, chosen = 0, [name for name in there if not wanted or name.removesuffix(QUICK) in wanted]
        try:
            for record in itertools.chain.from_iterable(load_records(self.folder, name) for name in chosen):
                if self._chosen(record):
                    read += 1
                    yield record
        except RecordError as error:
            raise UsageError(str(error)) from error
        if not read:
            raise UsageError(f"`folder` has no record that is asked for; got {self.folder}")

    def digests(self, wanted: Iterable[str] = ()) -> list[Any]:
        from ..bench.digest import digests

        return digests(self.load(wanted))

    def check(self) -> None:
        if not self.folder.is_dir():
            raise UsageError(f"`folder` must be a folder of records; got {self.folder}")
        if self.protocol is not None:
            require("protocol", self.protocol, self.protocols())

    def protocols(self) -> list[str]:
        """Protocols of which the folder has records."""
        return sorted({path.parts[-3] for path in self.folder.glob("*/*/*.safetensors")})

    def only_protocol(self) -> str:
        """The one protocol that is meant."""
        self.check()
        there = self.protocols() if self.protocol is None else [self.protocol]
        if len(there) != 1:
            raise UsageError(f"`protocol` must be given, one of {', '.join(there) or 'none, as there are no records'}")
        return there[0]

    def _chosen(self, record: Any) -> bool:
        method = not self.methods or record.method in self.methods
        return method and (not self.cells or any(part in record.cell["name"] for part in self.cells))


@dataclass(frozen=True)
class Table:
    """Make tables from records: the paper's, with its figures beside shapeopt's, and one of each protocol."""

    records: Records
    table: str = "all"
    """goals, main, multiwell, synthetic, science, settings, settings-compact, oracles, oracles-compact, controller,
    memory, horizon, training, paper-learning, paper-learning-box, reproduction, outside, unmatched, mechanisms;
    overview and protocol for whatever protocols are there; or all."""
    format: Format = "markdown"
    """How it is written."""
    json: bool = False
    """As JSON instead."""
    out: Path | None = None
    """Write to this file instead of the terminal."""
    seed: int = 0
    """Of the bootstrap behind the marks."""

    def run(self) -> int:
        from ..bench.formats import FORMATS, to_plain
        from ..paper.tables.table import PER_PROTOCOL, TABLES

        require("table", self.table, ["all", *TABLES, *PER_PROTOCOL])
        with usage_errors():
            wanted = TABLES[self.table].protocols if self.table in TABLES else ()
            tables = list(self._tables(self.records.digests(wanted) if self.table != "mechanisms" else []))
        if self.json:
            show(_json([to_plain(table) for table in tables]), self.out)
            return 0
        texts = [FORMATS[self.format](table) for table in tables]
        if self.format == "csv" and len(texts) > 1:
            texts = [f"# {table.title}\n{text}" for table, text in zip(tables, texts, strict=True)]
        show("\n".join(texts), self.out)
        return 0

    def _tables(self, found: list[Any]) -> Iterator[Any]:
        from ..bench.tables import protocols_of
        from ..paper.tables.table import PER_PROTOCOL, TABLES, table_names

        for name in table_names(found) if self.table == "all" else [self.table] if self.table in TABLES else []:
            yield TABLES[name].build(found, self.seed)
        for protocol in protocols_of(found):
            for name in PER_PROTOCOL if self.table == "all" else [self.table] if self.table in PER_PROTOCOL else []:
                yield PER_PROTOCOL[name]([one for one in found if one.protocol == protocol], self.seed)


@dataclass(frozen=True)
class Compare:
    """Compare a method with others, cell by cell, with intervals and corrected tests."""

    records: Records
    method: str
    """The method that is judged."""
    against: tuple[str, ...] = ()
    """Those that it is compared with. None: all others."""
    metric: str = "best_gap"
    """What is compared: best_gap, final_gap, hit_best, auc_best_gap, expected_calls and others."""
    plain: bool = False
    """Compare a gap itself, not its logarithm."""
    format: Format = "markdown"
    """How it is written."""
    json: bool = False
    """As JSON instead."""
    out: Path | None = None
    """Write to this file instead of the terminal."""
    seed: int = 0
    """Of the bootstrap."""

    def run(self) -> int:
        from ..bench.comparison import Scale, comparison_table
        from ..bench.digest import methods_of
        from ..bench.formats import FORMATS, to_plain
        from ..bench.metrics import METRICS

        self.records.only_protocol()
        require("metric", self.metric, METRICS)
        found = self.records.digests()
        for name, values in (("method", [self.method]), ("against", self.against)):
            for value in values:
                require(name, value, methods_of(found))
        scale = Scale.PLAIN if self.plain or not self.metric.endswith("gap") else Scale.LOG
        with usage_errors():
            table = comparison_table(found, self.method, self.against, self.metric, scale, seed=self.seed)
        show(_json(to_plain(table)) if self.json else FORMATS[self.format](table), self.out)
        return 0


@dataclass(frozen=True)
class Plot:
    """Draw a picture of one protocol's records, as PNG, PDF or SVG."""

    records: Records
    out: Path
    """The picture's file; its ending decides the format."""
    kind: Kind = "ecdf"
    """ecdf: targets reached against calls; data-profile and performance-profile: runs solved; progress: best gap
    against calls; budget: best gap at the end against the budget."""
    json: bool = False
    """Print the picture's path as JSON."""

    def run(self) -> int:
        self.records.only_protocol()
        try:
            from ..plots import PICTURES
            from ..plots.style import METADATA, save
        except ModuleNotFoundError as error:
            raise UsageError(f"`plot` needs {error.name}; install shapeopt[report]") from error
        if self.out.suffix not in METADATA:
            raise UsageError(f"`out` must end in one of {', '.join(METADATA)}; got {self.out}")
        with usage_errors():
            figure = PICTURES[self.kind].draw(self.records.load())
        save(figure, self.out)
        print_json({"picture": str(self.out)}) if self.json else print(f"wrote {self.out}")
        return 0


@contextmanager
def usage_errors() -> Iterator[None]:
    """What our own checks refuse is a wrong argument, in one line."""
    try:
        yield
    except ValueError as error:
        if not raised_here(error):
            raise
        raise UsageError(str(error)) from error


def require(argument: str, value: str, known: Iterable[str]) -> None:
    """Refuse a value that is not known, with the known ones and the nearest."""
    names = list(known)
    if value not in names:
        hint = did_you_mean(value, names)
        raise UsageError(f"`{argument}` must be one of {', '.join(names) or 'none'}; got {value!r}{hint}")


def _json(value: Any) -> str:
    return json.dumps(plain(value), indent=1, allow_nan=False) + "\n"


def show(text: str, out: Path | None) -> None:
    """Print, or write to a file."""
    if out is None:
        print(text, end="")
        return
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"`out` {out} can't be written: {error}") from error
    print(f"wrote {out}")
