"""`shapeopt report`: a page about a saved run, or about a folder of comparisons."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from ..core.extras import require
from ..terminal.environment import keep_compiled_code, one_thread_for_small_matrices
from ..terminal.errors import UsageError
from ..terminal.record import print_json


@dataclass(frozen=True)
class Report:
    """Write a page about a run (of `shapeopt minimize --json`) or a folder (of `shapeopt bench run`)."""

    source: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN_OR_DIR")]
    """The saved run, or the folder of records."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="DIR", help_behavior_hint="")] = None
    """Folder of the page, which opens without a network. If not given: beside the source, its name and `-report`."""
    protocol: str | None = None
    """Folders of records: only this protocol's."""
    alone: bool = False
    """Runs: let no other method try the same task."""
    json: bool = False
    """Print the page's path as JSON."""

    def run(self) -> int:
        keep_compiled_code()
        one_thread_for_small_matrices()
        from ..report import ReportError

        folder = self.out or self.source.with_name(f"{self.source.absolute().with_suffix('').name}-report")
        try:
            if not self.source.exists():
                raise UsageError(f"`source` must be a saved run or a folder of records; got {self.source}")
            page = self._bench(folder) if self.source.is_dir() else self._run(folder)
        except (ReportError, OSError) as error:
            raise UsageError(str(error)) from error
        print_json({"page": str(page)}) if self.json else print(f"wrote {page}")
        return 0

    def _bench(self, folder: Path) -> Path:
        require("jax", "the report of a comparison")
        from ..bench.records import RecordError, load_records
        from ..report.bench_page import write_bench_report

        try:
            return write_bench_report(folder, load_records(self.source, self.protocol), self.source.absolute().name)
        except RecordError as error:
            raise UsageError(str(error)) from error

    def _run(self, folder: Path) -> Path:
        from ..report import write_run_report
        from ..report.saved import load_run

        if self.protocol is not None:
            raise UsageError(f"--protocol is for folders of records; {self.source} is a file.")
        about, result = load_run(self.source)
        return write_run_report(folder, result, subject_of(about, result, _task_of(about)), rivals=not self.alone)


def subject_of(about: Mapping[str, Any], result: Mapping[str, Any], task: Any) -> Any:
    """What a run was about, from its saved settings; `task` is None for a user's function."""
    import numpy as np

    from ..report import Subject

    hidden = ("title", "versions", "minimum", "gap", "lower", "upper", "dimension")
    settings = {name: value for name, value in about.items() if name not in hidden}
    lower, upper = (np.array(about[side], float) for side in ("lower", "upper"))
    settings |= {"lower bounds": lower, "upper bounds": upper}
    return Subject(
        title=about["title"],
        settings=settings,
        x0=np.asarray(result["trace"]["x"][0], float),
        lower=np.where(np.isnan(lower), -np.inf, lower),
        upper=np.where(np.isnan(upper), np.inf, upper),
        task=task,
        seed=about["seed"],
        budget=about["budget"],
        versions=about["versions"],
    )


def _task_of(about: Mapping[str, Any]) -> Any:
    """The family's task that a run was on, drawn again; None for a user's function or program."""
    from .objective import make_task

    if ":" in about["objective"] or "command" in about:
        return None
    settings = (about[name] for name in ("objective", "dimension", "law", "rotated", "varied", "seed"))
    return make_task(*settings).fun
