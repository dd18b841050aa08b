"""`shapeopt bench run learning`: what training for a family brings, and what it costs on a wrong one."""

import sys
from dataclasses import dataclass
from pathlib import Path

from ..terminal.errors import UsageError
from ..terminal.record import print_json

LEARNING = "learning"
QUICK = ("arm", "cup", "ripples")  # families that need no extra and take seconds


@dataclass(frozen=True)
class LearningCommand:
    """What `shapeopt bench run` does where it is given the name `learning`."""

    out: Path
    parts: tuple[str, ...]  # of names of families
    quick: bool
    json: bool

    def run(self) -> int:
        from ..learning import Size, run_learning, table

        told, size = sys.stderr if self.json else sys.stdout, Size.quick() if self.quick else Size()
        folder = self.out / (f"{LEARNING}-quick" if self.quick else LEARNING)
        note = lambda name: print(f"made: {name}", file=told, flush=True)  # noqa: E731
        try:
            found = run_learning(folder, self._families(), size, note)
        except KeyboardInterrupt:
            print(f"stopped; {self.out} keeps what was made, and the same command goes on from there", file=told)
            return 130
        if self.json:
            print_json(found)
        else:
            print(table(found))
        return 0

    def _families(self) -> list[str]:
        from ..learning.families import FAMILIES, NEEDS
        from ..peers.packages import available

        names = QUICK if self.quick and not self.parts else tuple(FAMILIES)
        unknown = [part for part in self.parts if not any(part in name for name in names)]
        if unknown:
            raise UsageError(f"`cells` must be parts of {', '.join(names)}; got {' '.join(unknown)}")
        chosen = [name for name in names if not self.parts or any(part in name for part in self.parts)]
        for name in chosen:
            if name in NEEDS and not available(NEEDS[name]):
                print(f"left out: {name}, which needs {NEEDS[name]}: pip install 'shapeopt[suites]'", file=sys.stderr)
        return [name for name in chosen if name not in NEEDS or available(NEEDS[name])]
