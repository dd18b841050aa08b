"""What `shapeopt demo` shows: a cluster of atoms from random starts, beside two of SciPy's methods."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.result import Result

ATOMS, BUDGET = 13, 100
LOWEST = -44.326801  # Hoare and Pal (1971): the icosahedron
SAME = 0.01  # an energy this near to the lowest is the icosahedron; the next minimum lies 2.9 above it
CORE = 0.25  # squared distance below which the pair energy is constant, so that atoms may meet
WIDTH, HEIGHT = 34, 11  # characters of the picture
METHODS = ("shapeopt", "basinhopping", "L-BFGS-B restarts")
MORE = 10  # times as many calls, with which basinhopping tries again at the end
Pair = Callable[[np.ndarray], tuple[float, np.ndarray]]


def lennard_jones(x: np.ndarray) -> tuple[float, np.ndarray]:
    """Energy of atoms at x, sum over pairs of 4 (r^-12 - r^-6), and its gradient."""
    places = x.reshape(-1, 3)
    away = places[:, None] - places[None]
    squared = np.maximum((away**2).sum(axis=-1), CORE)
    sixth = 1 / squared**3
    np.fill_diagonal(sixth, 0.0)
    slope = np.where(squared > CORE, 4 * (6 * sixth - 12 * sixth**2) / squared, 0.0)
    return float(2 * (sixth**2 - sixth).sum()), (slope[..., None] * away).sum(axis=1).ravel()


def half_side() -> float:
    """Of the cube that the atoms start and stay in."""
    return (1.4 * ATOMS) ** (1 / 3)


def found(energy: float) -> bool:
    """Whether it is the energy of the icosahedron."""
    return energy <= LOWEST + SAME


class _Spent(Exception):
    """The budget of a peer is spent."""


def best_of_peer(method: str, seed: int, budget: int) -> float:
    """The lowest energy that one of SciPy's methods reads with `budget` calls, from the start of `seed`."""
    from scipy.optimize import basinhopping, minimize

    energies: list[float] = []

    def counted(x: np.ndarray) -> tuple[float, np.ndarray]:
        if len(energies) == budget:
            raise _Spent
        energy, gradient = lennard_jones(x)
        energies.append(energy)
        return energy, gradient

    rng, side = np.random.default_rng(seed), half_side()
    start = rng.uniform(-side, side, 3 * ATOMS)
    local: Any = {"method": "L-BFGS-B", "jac": True, "bounds": [(-side, side)] * start.size}
    try:
        if method == "basinhopping":
            basinhopping(counted, start, niter=budget, minimizer_kwargs=local, rng=seed)
        while True:
            minimize(counted, start, **local)
            start = rng.uniform(-side, side, start.size)
    except _Spent:
        return min(energies)


def try_all(seed: int, show: "Scene") -> dict[str, float]:
    from ..minimizer import minimize

    side = half_side()
    start = np.random.default_rng(seed).uniform(-side, side, 3 * ATOMS)
    energies = {name: best_of_peer(name, seed, BUDGET) for name in METHODS[1:]}
    show.result = minimize(
        lennard_jones, start, bounds=(-side, side), jac=True, budget=BUDGET, seed=seed, callback=show.watch
    )
    return {METHODS[0]: float(show.result.fun)} | energies


class Scene:
    """The live picture: the best atoms so far, the energy over the calls, and the runs that are done."""

    def __init__(self, rows: list[dict[str, float]], seed: int, quiet: bool) -> None:
        from rich.console import Console
        from rich.live import Live

        self.rows, self.first, self.result = rows, seed, Result()
        self.console = Console(highlight=False, quiet=quiet)
        self._live = Live(console=self.console, auto_refresh=False, transient=True)
        self._drawn = np.inf

    def __enter__(self) -> "Scene":
        self.console.print(
            f"[bold]{ATOMS} atoms, Lennard-Jones forces, {BUDGET} energies a run[/]: which shape is lowest?"
        )
        self._live.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._live.__exit__(*exception)

    def watch(self, progress: Result) -> None:
        """The callback of the run that is under way."""
        if progress.fun < self._drawn - 0.5 or progress.nfev % 20 == 0:
            self._drawn = progress.fun
            self.draw(progress)
        if progress.nfev == BUDGET:
            self._drawn = np.inf

    def draw(self, progress: Result | None = None) -> None:
        from rich.columns import Columns
        from rich.text import Text

        if self.console.is_terminal:
            now = self.result if progress is None else progress
            head = f"run {len(self.rows) + 1}: call {now.nfev}, energy {now.fun:.3f}\n"
            self._live.update(Columns([Text(head + picture(now.x)), self._table()], padding=(0, 4)), refresh=True)

    def tell(self) -> None:
        """What is left on the screen."""
        self.console.print(self._table())
        told = [event for event in self.result.events if event.tactic == "pair model"]
        if told:
            why = "the forces fit a sum over pairs of atoms, so it hopped in a model of them, which costs no call"
        else:
            why = f"it left {sum(event.wrote for event in self.result.events)} basins that could not beat the best one"
        self.console.print(f"Why it moved: {why}.")
        more = sum(found(best_of_peer("basinhopping", self.first + i, MORE * BUDGET)) for i in range(len(self.rows)))
        counts = {name: sum(found(row[name]) for row in self.rows) for name in METHODS}
        runs = len(self.rows)
        self.console.print(
            f"[bold]shapeopt found the icosahedron, the best shape known, in {counts[METHODS[0]]} of {runs} runs; "
            f"with as many calls SciPy's basinhopping did in {counts[METHODS[1]]} and L-BFGS-B with restarts in "
            f"{counts[METHODS[2]]} (basinhopping with {MORE} times the calls: {more}).[/]"
        )

    def _table(self) -> Any:
        from .summary import make_table

        table = make_table(f"Lowest energy found (best known {LOWEST:.3f})")
        for column in ("run", *METHODS):
            table.add_column(column, justify="right")
        for seed, row in enumerate(self.rows, self.first):
            cells = (f"[green]{row[name]:.3f}[/]" if found(row[name]) else f"{row[name]:.3f}" for name in METHODS)
            table.add_row(str(seed), *cells)
        return table


def picture(x: Any) -> str:
    """The atoms seen from the front, in characters; near ones are larger."""
    places = np.asarray(x, float).reshape(-1, 3)
    places = places - places.mean(axis=0)
    frame = np.linalg.svd(places, full_matrices=False)[2]
    turned = places @ frame.T
    reach = max(1.6, float(np.abs(turned[:, :2]).max()))
    grid = [[" "] * WIDTH for _ in range(HEIGHT)]
    for across, up, near in sorted(turned.tolist(), key=lambda place: place[2]):
        row = round((HEIGHT - 1) * (0.5 - 0.5 * up / reach))
        column = round((WIDTH - 1) * (0.5 + 0.5 * across / reach))
        grid[row][column] = "O" if near > 0.3 else "o" if near > -0.3 else "."
    return "\n".join("".join(line) for line in grid)
