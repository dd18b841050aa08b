"""`shapeopt figures`: a figure of the paper, from records that are made where they are missing."""

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from ...core.extras import require
from ...terminal.environment import keep_compiled_code
from ...terminal.errors import UsageError
from ...terminal.record import print_json

Name = Literal["minima", "trajectories", "curves", "shaped", "field", "multiwell", "science", "search"]


@dataclass(frozen=True)
class Figures:
    """Draw a figure of the paper, as PDF, SVG or PNG; what of its records is missing is run first."""

    name: Annotated[tyro.conf.Positional[Name], tyro.conf.arg(metavar="NAME")]
    """minima: what 512 starts find; trajectories: all optimizers in two dimensions; curves: 20 dimensions; shaped: the
    landscape as stages see it; field: forces of a stage; multiwell; science; search: beside basin hopping and CEM."""
    out: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="OUT")]
    """The figure's file; its ending decides the format."""
    records: Path = Path("runs")
    """Folder of the records, as of `shapeopt bench run --out`."""
    workers: int = 0
    """Local processes for what is missing; 0 stands for one a core."""
    json: bool = False
    """Print the figure's path as JSON; all else goes to the standard error."""

    def run(self) -> int:
        require("jax", "shapeopt figures")
        keep_compiled_code()
        try:
            from ...plots.style import METADATA, save
            from ..figures.table import FIGURES
        except ModuleNotFoundError as error:
            raise UsageError(f"`figures` needs {error.name}; install shapeopt[report]") from error
        from ...bench.records import RecordError

        if self.out.suffix not in METADATA:
            raise UsageError(f"`out` must end in one of {', '.join(METADATA)}; got {self.out}")
        if self.workers < 0:
            raise UsageError(f"`workers` must not be negative; got {self.workers}")
        try:
            figure = FIGURES[self.name].draw(self._source())
        except RecordError as error:
            raise UsageError(str(error)) from error
        save(figure, self.out)
        print_json({"figure": str(self.out)}) if self.json else print(f"wrote {self.out}")
        return 0

    @property
    def _told(self) -> Any:
        return sys.stderr if self.json else sys.stdout

    def _source(self) -> Any:
        from ..figures.sheets import load_sheet, save_sheet
        from ..figures.sources import FIGURE_PROTOCOLS, FIGURE_SHEETS

        if self.name in FIGURE_PROTOCOLS:
            return self._records(FIGURE_PROTOCOLS[self.name])
        sheets = []
        for part, make in FIGURE_SHEETS[self.name].items():
            path = self.records / "sheets" / f"{self.name}-{part}.safetensors"
            if not path.is_file():
                print(f"running {part} for {path}", flush=True, file=self._told)
                save_sheet(path, make())
            sheets.append(load_sheet(path))
        return sheets

    def _records(self, protocol: Any) -> Iterator[Any]:
        """The protocol's records; runs what is missing."""
        from ...bench.pool import local_processes
        from ...bench.records import load_records
        from ...bench.runner import jobs_of, left_out, run_protocol
        from ..methods import find_method

        jobs = jobs_of(protocol, protocol.methods, self.records, find_method)
        if jobs:
            print(f"{len(jobs)} records to make in {self.records}", flush=True, file=self._told)
            workers = self.workers or os.cpu_count() or 1
            outcomes = run_protocol(
                protocol, protocol.methods, self.records, lambda: local_processes(workers), find=find_method
            )
            failed = [outcome for outcome in outcomes if outcome.error]
            if failed:
                one = failed[0]
                raise UsageError(f"{len(failed)} records failed; {one.job.cell.name} {one.job.method}: {one.error}")
        wanted = {cell.name for cell in protocol.cells}
        for left in left_out(protocol, protocol.methods, find_method):
            print(f"left out: {left.job.method} on {left.job.cell.name}: {left.reason}", file=self._told)
        for record in load_records(self.records, protocol.name):
            if record.cell["name"] in wanted and record.method in protocol.methods:
                yield record
