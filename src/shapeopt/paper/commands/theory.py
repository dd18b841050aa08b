"""`shapeopt theory`: the paper's statements, checked on runs of its policies."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from ...core.extras import require
from ...terminal.environment import keep_compiled_code
from ...terminal.errors import UsageError
from ...terminal.record import print_json

POLICIES = ("paper-ackley-2", "paper-levy-2", "paper-rastrigin-2")


@dataclass(frozen=True)
class Theory:
    """Check the paper's statements on real runs of its policies, and write a report with pictures."""

    folder: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="DIR")]
    """Where report.md and its pictures are written."""
    policies: tuple[str, ...] = POLICIES
    """Stored policies (names in a folder `weights`), each studied on tasks of its own family."""
    runs: int = 256
    """Runs of each policy."""
    seed: int = 0
    """All randomness follows from it."""
    png: bool = False
    """Pictures as PNG instead of SVG."""
    json: bool = False
    """Print every statement, and whether it held, as JSON."""

    def run(self) -> int:
        require("jax", "shapeopt theory")
        if self.runs < 4:
            raise UsageError(f"--runs must be at least 4; got {self.runs}.")
        if not self.policies:
            raise UsageError("--policies must name at least one policy.")
        keep_compiled_code()
        try:
            from ..theory.report import write_report
        except ModuleNotFoundError as error:
            raise UsageError(f"{error}; pictures need the extra `report`: pip install 'shapeopt[report]'.") from error
        from ..theory import check_cell, make_cell

        try:
            cells = [make_cell(name) for name in self.policies]
        except ValueError as error:
            raise UsageError(f"--policies: {error}") from error
        studies = []
        for cell in cells:
            print(f"{cell.name}: {self.runs} runs of {cell.budget} calls", file=sys.stderr, flush=True)
            studies.append(check_cell(cell, self.runs, self.seed))
            for statement in [] if self.json else studies[-1].statements:
                print(f"  {'held  ' if statement.holds else 'BROKEN'}  {statement.title}", flush=True)
        page = write_report(self.folder, studies, ".png" if self.png else ".svg")
        if self.json:
            said = [
                {"policy": s.cell.name, "title": one.title, "holds": one.holds, "found": one.found}
                for s in studies
                for one in s.statements
            ]
            print_json({"page": str(page), "runs": self.runs, "statements": said})
        else:
            print(f"written to {page}")
        return 0 if all(one.holds for one in studies) else 1
