"""`shapeopt demo`: the main job on one hard task, side by side with SciPy."""

import statistics
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..core.extras import require
from ..terminal.environment import keep_compiled_code
from ..terminal.errors import UsageError
from ..terminal.progress import make_display
from ..terminal.record import print_json

DIMENSION, BUDGET = 20, 500
SOLVED = 1e-2  # a gap below it counts as solved, and two solved runs as a tie


@dataclass(frozen=True)
class Demo:
    """Minimise a rotated, shifted Ackley function in 20 dimensions with 500 calls, and let SciPy try the same."""

    seed: int = 0
    """Decides the task, the start and both methods' own randomness."""
    runs: int = 1
    """Repeat over this many seeds, from --seed on, and count who did better."""
    json: bool = False
    """Print the gaps of both, seed by seed, as JSON."""

    def run(self) -> int:
        require("jax", "shapeopt demo")
        if self.runs < 1:
            raise UsageError(f"--runs must be at least 1; got {self.runs}.")
        if self.seed < 0:
            raise UsageError(f"--seed must not be negative; got {self.seed}.")
        keep_compiled_code()
        return self._one() if self.runs == 1 and not self.json else self._many()

    def _one(self) -> int:
        from rich.console import Console

        from .minimize import attempt
        from .objective import make_task
        from .summary import print_account, print_best

        console = Console(highlight=False)
        console.print(_headline(f"seed {self.seed}"))
        task = make_task("ackley", DIMENSION, "box", rotated=True, varied=False, seed=self.seed)
        outcome = attempt(task, BUDGET, "universal", self.seed, quiet=False)
        if outcome.result is not None:
            print_best(console, outcome.result, BUDGET, outcome.seconds, task.minimum)
            console.print()
            print_account(console, outcome.result, whole=True)
        if outcome.interrupted:
            return 130
        ours, theirs = outcome.result.fun - task.minimum, basinhopping_gap(task, BUDGET, self.seed)
        console.print(_verdict(ours, theirs))
        console.print("[dim]One seed proves little: `shapeopt demo --runs 20` counts wins over twenty.[/]")
        return 0

    def _many(self) -> int:
        from rich.console import Console

        from ..minimizer import minimize
        from .objective import make_task

        pairs: list[tuple[float, float]] = []
        display = make_display(self.runs, unit="runs")
        try:
            with display:
                for seed in range(self.seed, self.seed + self.runs):
                    task = make_task("ackley", DIMENSION, "box", rotated=True, varied=False, seed=seed)
                    result = minimize(task.fun, task.x0, bounds=task.bounds, budget=BUDGET, seed=seed)
                    pairs.append((result.fun - task.minimum, basinhopping_gap(task, BUDGET, seed)))
                    display.show(min(ours for ours, _ in pairs), len(pairs), f"seed {seed}")
        except KeyboardInterrupt:
            if not pairs:
                raise
            print(f"shapeopt: stopped by Ctrl-C after {len(pairs)} of {self.runs} runs", file=sys.stderr)
        if self.json:
            runs = [{"seed": self.seed + i, "shapeopt": a, "basinhopping": b} for i, (a, b) in enumerate(pairs)]
            print_json({"dimension": DIMENSION, "budget": BUDGET, "solved": SOLVED, "gaps": runs})
            return 0 if len(pairs) == self.runs else 130
        console = Console(highlight=False)
        console.print(_headline(f"seeds {self.seed} to {self.seed + len(pairs) - 1}"))
        _print_pairs(console, pairs, self.seed)
        return 0 if len(pairs) == self.runs else 130


def compare(ours: float, theirs: float) -> str:
    """'win', 'loss' or 'tie' of our gap against theirs."""
    if ours == theirs or max(ours, theirs) < SOLVED:
        return "tie"
    return "win" if ours < theirs else "loss"


def basinhopping_gap(task: Any, budget: int, seed: int) -> float:
    """What SciPy's basinhopping, with L-BFGS-B and its own settings, makes of the same start and as many calls."""
    import jax

    from ..oracles import ExactOracle, Reader
    from ..peers import make_peer, run_peer

    with jax.enable_x64(True):
        reader = Reader(ExactOracle(task.fun), task.fun.box, budget, jax.random.key(seed))
    lower, upper = task.bounds
    run_peer(make_peer("basinhopping"), reader, task.x0, lower, upper, seed)
    return reader.best_value - task.minimum


def _headline(which: str) -> str:
    return f"[bold]Rotated, shifted Ackley, {DIMENSION} dimensions, {BUDGET} calls[/], {which}\n"


def _verdict(ours: float, theirs: float) -> str:
    rule = "from the same start with the same calls (L-BFGS-B, exact gradients)"
    words = {"win": "shapeopt came lower", "loss": "SciPy came lower", "tie": "both solved it"}[compare(ours, theirs)]
    return f"SciPy's basinhopping, {rule}: best value [bold]{theirs:.6g}[/], shapeopt [bold]{ours:.6g}[/]; {words}."


def _print_pairs(console: Any, pairs: Sequence[tuple[float, float]], first_seed: int) -> None:
    """The gaps seed by seed, then the count of wins, of solved tasks, and the medians."""
    from .summary import make_table

    table = make_table("Gaps to the minimum")
    for column in ("seed", "shapeopt", "basinhopping"):
        table.add_column(column, justify="right")
    table.add_column("shapeopt's")
    colours = {"win": "green", "loss": "red", "tie": "dim"}
    for seed, (ours, theirs) in enumerate(pairs, first_seed):
        word = compare(ours, theirs)
        table.add_row(str(seed), f"{ours:.4g}", f"{theirs:.4g}", f"[{colours[word]}]{word}[/]")
    columns = list(zip(*pairs, strict=True))
    table.add_row()
    table.add_row("median", *(f"{statistics.median(column):.4g}" for column in columns))
    table.add_row("solved", *(f"{sum(gap < SOLVED for gap in column)}/{len(column)}" for column in columns))
    console.print(table)
    words = Counter(compare(*pair) for pair in pairs)
    console.print(f"shapeopt: [bold]{words['win']} wins, {words['loss']} losses, {words['tie']} ties[/]")
    console.print(f"[dim]Solved: a gap below {SOLVED:g}. A tie: both solved.[/]")
