"""`shapeopt bench run | table | compare | plot | scoreboard | show`: comparisons under one counted budget."""

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from ..core.extras import require
from ..terminal.environment import keep_compiled_code
from ..terminal.errors import UsageError, did_you_mean
from .bench_learning import LEARNING, LearningCommand
from .bench_suites import Half, Scoreboard, Show, SuiteCommand, all_suites, workers_or_all
from .bench_tables import Compare, Plot, Table


@dataclass(frozen=True)
class Run:
    """Run methods on every cell of a protocol or every problem of a suite, resumed where it stopped."""

    protocol: tyro.conf.Positional[str]
    """A protocol's or a suite's name (see `shapeopt list`), package.module:PROTOCOL, or learning, which trains."""
    out: Path
    """Folder of the records."""
    methods: tuple[str, ...] = ()
    """Names of methods, policies' files, or package.module:Attribute. None: those that the protocol names."""
    seed: int | None = None
    """Tasks, starts and noise follow from it. None: the protocol's own."""
    quick: bool = False
    """A minute's worth: few cells, runs and calls."""
    cells: tuple[str, ...] = ()
    """Run only cells, or problems of a suite, whose name contains one of these."""
    half: Half = "dev"
    """Which half of a suite: dev to look at and tune on, test to record a release."""
    workers: int = 0
    """Local processes; 0 stands for one a core."""
    scheduler: str | None = None
    """Address of a Dask scheduler, such as tcp://127.0.0.1:8786, instead of local processes."""
    json: bool = False
    """Print what was made, what failed and what was left out as JSON; all else goes to the standard error."""

    def run(self) -> int:
        if self.workers < 0:
            raise UsageError(f"`workers` must not be negative; got {self.workers}")
        if self.protocol in all_suites():
            return self._suite()
        if self.protocol == LEARNING:
            return LearningCommand(self.out, self.cells, self.quick, self.json).run()
        require("jax", "shapeopt bench")
        keep_compiled_code()
        from ..bench.records import RecordError
        from ..bench.runner import jobs_of, left_out, run_protocol
        from ..core.attribute import UnknownNameError
        from ..paper.methods import find_method

        try:
            protocol = self._protocol()
            methods = tuple(dict.fromkeys(self.methods or protocol.methods))
            absent, jobs = left_out(protocol, methods, find_method), jobs_of(protocol, methods, self.out, find_method)
        except (UnknownNameError, RecordError, ModuleNotFoundError) as error:
            raise UsageError(str(error)) from error
        told = sys.stderr if self.json else sys.stdout
        for line in [*_told(absent), *(_unmeasured(protocol.cells) if ":" in self.protocol else [])]:
            print(line, file=told)
        total = len(methods) * len(protocol.cells) - len(absent)
        print(
            f"{protocol.name}: {total - len(jobs)} of {total} records are there, {len(jobs)} to make in {self.out}",
            file=told,
        )
        with _Progress(len(jobs), told) as progress:
            try:
                outcomes = run_protocol(protocol, methods, self.out, self._executor, progress.note, find_method)
            except (OSError, ValueError) as error:
                what = f"`out` {self.out}" if self.scheduler is None else f"`scheduler` {self.scheduler!r}"
                raise UsageError(f"{what} can't be used: {error}") from error
            except KeyboardInterrupt:
                print(f"stopped; {self.out} keeps what was made, and the same command goes on from there")
                return 130
        made, failed = [o for o in outcomes if o.path], [o for o in outcomes if o.error]
        for outcome in failed:
            reason = str(outcome.error).partition("\n")[0]
            print(f"failed: {outcome.job.cell.name} {outcome.job.method}: {reason}", file=sys.stderr)
        print(f"{len(made)} records made" + (f", {len(failed)} failed" if failed else ""), file=told)
        if self.json:
            from ..terminal.record import print_json

            named = lambda one: {"cell": one.job.cell.name, "method": one.job.method}  # noqa: E731
            print_json(
                {
                    "protocol": protocol.name,
                    "made": [named(one) | {"path": str(one.path)} for one in made],
                    "failed": [named(one) | {"error": one.error} for one in failed],
                    "left_out": [named(one) | {"reason": one.reason} for one in absent],
                }
            )
        return 1 if failed or len(made) < len(jobs) else 0

    def _suite(self) -> int:
        """A suite instead of a protocol."""
        common = (self.methods, self.seed or 0, self.quick, self.cells, self._executor, self.json)
        return SuiteCommand(self.protocol, self.half, self.out, *common).run()

    def _executor(self) -> Any:
        from ..bench import pool

        if self.scheduler is not None:
            return pool.dask_cluster(self.scheduler)
        return pool.local_processes(workers_or_all(self.workers))

    def _protocol(self) -> Any:
        import dataclasses

        from ..bench.cells import Protocol
        from ..core.attribute import load_attribute

        known = all_protocols()
        if self.protocol not in known and ":" not in self.protocol:
            names = [*known, *all_suites(), LEARNING]
            hint, there = did_you_mean(self.protocol, names), ", ".join(names)
            raise UsageError(f"`protocol` must be one of {there}; got {self.protocol!r}{hint}")
        found = known.get(self.protocol) or load_attribute(self.protocol, "protocol")
        if not isinstance(found, Protocol):
            raise UsageError(f"`protocol` must name a Protocol; {self.protocol!r} is {found!r}")
        names = [cell.name for cell in found.cells]
        unknown = [part for part in self.cells if not any(part in name for name in names)]
        if unknown:
            raise UsageError(f"`cells` must be parts of {', '.join(names)}; got {' '.join(unknown)}")
        chosen = tuple(cell for cell in found.cells if not self.cells or any(part in cell.name for part in self.cells))
        seed = found.seed if self.seed is None else self.seed
        if not 0 <= seed < 2**32:
            raise UsageError(f"`seed` must lie in [0, 2^32); got {seed}")
        protocol = dataclasses.replace(found, cells=chosen, seed=seed)
        return protocol.quick() if self.quick else protocol


def all_protocols() -> dict[str, Any]:
    """The paper's protocols and the bench's own."""
    from ..bench import protocols
    from ..paper.protocols import PROTOCOLS

    return {**PROTOCOLS, **protocols.PROTOCOLS}


def _told(absent: Sequence[Any]) -> list[str]:
    """What is left out, a line for each method and reason."""
    cells: dict[tuple[str, str], list[str]] = {}
    for left in absent:
        cells.setdefault((left.job.method, left.reason), []).append(left.job.cell.name)
    return [f"left out: {method} on {', '.join(names)}: {reason}" for (method, reason), names in cells.items()]


def _unmeasured(cells: Sequence[Any]) -> list[str]:
    """A line for each family of which no gap can be measured."""
    import jax
    import numpy as np

    families = {cell.family.name: cell.family for cell in cells}
    unknown = [name for name, one in families.items() if np.isnan(one.sample(jax.random.key(0)).minimum)]
    return [
        f"note: tasks of {name} don't know their `minimum` (it is nan), so no gap and no hit can be measured; give the "
        "best value that is known"
        for name in unknown
    ]


class _Progress:
    """A bar with the time left where someone looks, a line a record where nobody does."""

    def __init__(self, total: int, stream: Any) -> None:
        self.total, self.done, self.began, self._stream = total, 0, time.perf_counter(), stream
        self._bar: Any = None

    def __enter__(self) -> "_Progress":
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        console = Console(stderr=True)
        if console.is_terminal and self.total:
            columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
            self._bar = Progress(*columns, console=console)
            self._bar.start()
            self._task = self._bar.add_task("", total=self.total)
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def note(self, outcome: Any) -> None:
        self.done += 1
        what = f"{outcome.job.cell.name} {outcome.job.method}" + (" FAILED" if outcome.error else "")
        if self._bar is not None:
            self._bar.update(self._task, completed=self.done, description=what)
            return
        spent = time.perf_counter() - self.began
        left = spent / self.done * (self.total - self.done)
        print(f"{self.done}/{self.total} {what}, about {left:.0f} s left", flush=True, file=self._stream)


@dataclass(frozen=True)
class Bench:
    """Compare optimizers under one counted budget."""

    command: (
        Annotated[Run, tyro.conf.subcommand("run")]
        | Annotated[Table, tyro.conf.subcommand("table")]
        | Annotated[Compare, tyro.conf.subcommand("compare")]
        | Annotated[Plot, tyro.conf.subcommand("plot")]
        | Annotated[Scoreboard, tyro.conf.subcommand("scoreboard")]
        | Annotated[Show, tyro.conf.subcommand("show")]
    )

    def run(self) -> int:
        if not isinstance(self.command, Run | Scoreboard | Show):
            require("jax", "shapeopt bench")
        return self.command.run()
