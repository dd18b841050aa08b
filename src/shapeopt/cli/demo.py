"""`shapeopt demo`: a cluster of atoms from random starts, beside two of SciPy's methods with as many calls."""

import sys
from dataclasses import dataclass

from ..terminal.environment import one_thread_for_small_matrices
from ..terminal.errors import UsageError
from ..terminal.record import print_json


@dataclass(frozen=True)
class Demo:
    """Find the best shape of 13 atoms that attract each other, with 100 energies, beside two of SciPy's methods."""

    seed: int = 0
    """Of the first run: decides where the atoms start, and each method's own randomness."""
    runs: int = 6
    """How many runs, from --seed on; all methods have the same starts."""
    json: bool = False
    """Print the energies, run by run, as JSON."""

    def run(self) -> int:
        if self.runs < 1:
            raise UsageError(f"--runs must be at least 1; got {self.runs}.")
        if self.seed < 0:
            raise UsageError(f"--seed must not be negative; got {self.seed}.")
        one_thread_for_small_matrices()
        from .demo_scene import ATOMS, BUDGET, LOWEST, Scene, try_all

        rows: list[dict[str, float]] = []
        show = Scene(rows, self.seed, quiet=self.json)
        try:
            with show:
                for seed in range(self.seed, self.seed + self.runs):
                    rows.append(try_all(seed, show))
                    show.draw()
        except KeyboardInterrupt:
            print(f"shapeopt: stopped by Ctrl-C after {len(rows)} of {self.runs} runs", file=sys.stderr)
        if self.json:
            print_json({"atoms": ATOMS, "budget": BUDGET, "lowest": LOWEST, "seed": self.seed, "energies": rows})
        elif rows:
            show.tell()
        return 0 if len(rows) == self.runs else 130
