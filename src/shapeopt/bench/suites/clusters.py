"""`clusters`: atoms in a container, from random starts: metals with ASE's EMT, Lennard-Jones and Morse pairs.

    emt      effective medium theory for copper, gold, other metals and alloys, 5 to 20 atoms, in eV and Angstrom
    lj       E = sum_{i<j} 4 (r^-12 - r^-6), 6 to 20 atoms; published minima, polished to 14 digits
    morse    E = sum_{i<j} e^{rho (1 - r)} (e^{rho (1 - r)} - 2), rho = 6 and 14

A point is all positions, flattened; a call returns the energy with minus the forces, and a run has 500 calls. The
sources name no bounds. Rule, with the distance d of nearest neighbours (that of the largest atom, in an alloy): a
start is drawn in a cube of volume n d^3, atom by atom, no two closer than 0.7 d; the bounds are the cube of twice that
side, so that an atom that has left comes back. Three starts a group, drawn from (group, seed).

Sources: Jacobsen, Stoltze and Norskov (1996), "A semi-empirical effective medium theory for metals and alloys"; Larsen
et al. (2017), "The atomic simulation environment"; Wales and Doye (1997), "Global optimization by basin-hopping and
the lowest energy structures of Lennard-Jones clusters"; Doye and Wales (1997) for Morse clusters.

Halves: groups alternate in the order of the table, which is by number of atoms within each kind.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .base import Objective, Suite, SuiteProblem, alternate

BUDGET = 500
SEEDS = (1, 2, 3)
CLOSEST = 0.7  # of two atoms at the start, in units of the distance of nearest neighbours
NEIGHBOURS = {"Al": 2.86, "Ni": 2.49, "Cu": 2.55, "Pd": 2.75, "Ag": 2.89, "Pt": 2.77, "Au": 2.88}  # Angstrom, in bulk
CORE = 0.5  # below this distance a pair's energy goes on linearly in r^2, so that atoms may meet at a corner of the box
LENNARD_JONES = 2 ** (1 / 6)  # where a pair has its least energy


@dataclass(frozen=True)
class Metal:
    """A metal cluster by its chemical formula."""

    formula: str
    atoms: int

    @property
    def name(self) -> str:
        return self.formula.lower()


@dataclass(frozen=True)
class LennardJones:
    """A Lennard-Jones cluster with its published minimum."""

    atoms: int
    minimum: float

    @property
    def name(self) -> str:
        return f"lj{self.atoms}"


@dataclass(frozen=True)
class Morse:
    """A Morse cluster of one range."""

    atoms: int
    rho: float

    @property
    def name(self) -> str:
        return f"morse{self.rho:.0f}_{self.atoms}"


METALS = (
    Metal("Cu5", 5),
    Metal("Au6", 6),
    Metal("Al7", 7),
    Metal("Cu8", 8),
    Metal("Au9", 9),
    Metal("Cu10", 10),
    Metal("Cu5Au5", 10),
    Metal("Ni12", 12),
    Metal("Ag6Ni6", 12),
    Metal("Cu13", 13),
    Metal("Au13", 13),
    Metal("Cu7Pd6", 13),
    Metal("Pt4Au10", 14),
    Metal("Cu16", 16),
    Metal("Au18", 18),
    Metal("Cu20", 20),
)
LENNARD_JONES_CLUSTERS = (
    LennardJones(6, -12.712062256809),
    LennardJones(8, -19.821489192155),
    LennardJones(10, -28.422531893438),
    LennardJones(13, -44.326801419534),
    LennardJones(15, -52.322627261839),
    LennardJones(17, -61.317994660111),
    LennardJones(19, -72.659782454392),
    LennardJones(20, -77.177042568297),
)
MORSES = (Morse(7, 6.0), Morse(8, 14.0), Morse(10, 6.0), Morse(12, 14.0), Morse(13, 6.0), Morse(17, 6.0))
TABLE: tuple[Metal | LennardJones | Morse, ...] = (*METALS, *LENNARD_JONES_CLUSTERS, *MORSES)


class _Emt:
    """Energy and gradient of a cluster by ASE's EMT calculator."""

    def __init__(self, formula: str) -> None:
        from ase import Atoms
        from ase.calculators.emt import EMT

        self.atoms = Atoms(formula)
        self.calculator = EMT()
        self.calculator.initialize(self.atoms)

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        self.atoms.positions = np.asarray(x, float).reshape(-1, 3)
        with np.errstate(all="ignore"):
            self.calculator.calculate(self.atoms, ["energy", "forces"], ["positions"])
        results = self.calculator.results
        return float(results["energy"]), -np.array(results["forces"], float).ravel()


class _Pairs:
    """Energy and gradient of a sum over pairs, from a pair's energy and its derivative by the squared distance s."""

    def __init__(self, pair: Any, atoms: int) -> None:
        self.pair = pair
        self.first, self.second = np.triu_indices(atoms, 1)

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        positions = np.asarray(x, float).reshape(-1, 3)
        apart = positions[self.first] - positions[self.second]
        s = np.sum(apart**2, axis=1)
        energy, slope = self.pair(np.maximum(s, CORE**2))
        energy = energy + slope * np.minimum(s - CORE**2, 0)
        pull, gradient = 2 * slope[:, None] * apart, np.zeros_like(positions)
        np.add.at(gradient, self.first, pull)
        np.subtract.at(gradient, self.second, pull)
        return float(np.sum(energy)), gradient.ravel()


def lennard_jones(s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """4 (s^-6 - s^-3) and its derivative by s."""
    inverse = s**-3.0
    return 4 * inverse * (inverse - 1), -12 * inverse * (2 * inverse - 1) / s


def morse(rho: float, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """e^{rho (1 - r)} (e^{rho (1 - r)} - 2) and its derivative by s = r^2."""
    r = np.sqrt(s)
    decay = np.exp(rho * (1 - r))
    return decay * (decay - 2), -rho * decay * (decay - 1) / r


def draw_start(atoms: int, neighbours: float, rng: np.random.Generator) -> np.ndarray:
    """Positions in a cube of volume n d^3, drawn one after the other, no two closer than `CLOSEST` d."""
    half = neighbours * atoms ** (1 / 3) / 2
    placed = np.empty((0, 3))
    while len(placed) < atoms:
        trial = rng.uniform(-half, half, 3)
        if np.all(np.sum((placed - trial) ** 2, axis=1) > (CLOSEST * neighbours) ** 2):
            placed = np.vstack([placed, trial])
    return placed.ravel()


def make(row: Metal | LennardJones | Morse, seed: int) -> Objective:
    """One cluster from one start."""
    fun, neighbours, minimum = _potential(row)
    x0 = draw_start(row.atoms, neighbours, np.random.default_rng([*row.name.encode(), seed]))
    box = np.full(3 * row.atoms, neighbours * row.atoms ** (1 / 3))
    return Objective(fun, x0, -box, box, minimum=minimum)


def _potential(row: Metal | LennardJones | Morse) -> tuple[Any, float, float | None]:
    """The objective, the distance of nearest neighbours and the known minimum."""
    if isinstance(row, Metal):
        fun = _Emt(row.formula)
        return fun, max(NEIGHBOURS[symbol] for symbol in set(fun.atoms.symbols)), None
    if isinstance(row, LennardJones):
        return _Pairs(lennard_jones, row.atoms), LENNARD_JONES, row.minimum
    return _Pairs(partial(morse, row.rho), row.atoms), 1.0, None


def _problem(row: Metal | LennardJones | Morse, half: str, seed: int) -> SuiteProblem:
    kind = "emt" if isinstance(row, Metal) else "pairs"
    name, call = f"{row.name}/seed{seed}", partial(make, row, seed)
    return SuiteProblem(name, row.name, half, 3 * row.atoms, True, BUDGET, call, ("bounded", kind))


def _problems() -> tuple[SuiteProblem, ...]:
    halves = alternate(row.name for row in TABLE)
    return tuple(_problem(row, halves[row.name], seed) for row in TABLE for seed in SEEDS)


CLUSTERS = Suite(
    "clusters",
    "metal clusters with ASE's EMT, Lennard-Jones and Morse clusters, from random starts",
    "suites",
    _problems(),
    ("ase",),
)
