"""`shapeopt.ase`: a relaxation and a global search of structures, in ASE's conventions."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from ase import Atoms
from ase.calculators.singlepoint import SinglePointCalculator
from ase.constraints import FixAtoms
from ase.data import covalent_radii
from ase.io.trajectory import Trajectory
from ase.optimize.optimize import Optimizer

from ..core.problem import read_problem
from ..core.result import Result
from ..optimizer import Policy
from ..tactics import Refine
from .stepped import SteppedRun

ENDLESS = 1_000_000  # calls: `run(steps=...)` is what ends a relaxation
REFINE = Refine.name


class Relax(Optimizer):
    """Relax a structure into the minimum below it, as ASE's BFGS or LBFGS does, with one force call a step.

    The local search of `shapeopt.minimize` alone: a trust region on a quasi-Newton model. It works wherever ASE's
    optimizers do: on atoms with constraints and on filters of the cell.

    Args:
        atoms: the structure, or a filter of it, with a calculator.
        restart: a JSON file in which the state is kept after every step; where it exists, the relaxation continues.
        logfile: a file, its name, or "-" for the terminal.
        trajectory: a trajectory, or the name of its file.
        append_trajectory: add to that file, and do not begin it anew.
        first_step: how far the atom with the largest force goes in the first step, in Angstrom.
        **kwargs: `master`, `comm` and `loginterval`, as ASE's optimizers take them.

    Raises:
        ValueError: if `first_step` is not positive.

    Example:
        from ase.build import molecule
        from ase.calculators.emt import EMT

        atoms = molecule("CH3CH2OH", calculator=EMT())
        with shapeopt.ase.Relax(atoms, trajectory="ethanol.traj") as relax:
            relax.run(fmax=0.01, steps=200)
    """

    _run: SteppedRun
    _origin: np.ndarray
    _lowest: tuple[float, np.ndarray]  # of the descents so far: energy and place
    _descended: float  # the lowest energy before this descent

    def __init__(
        self,
        atoms: Any,
        restart: str | Path | None = None,
        logfile: IO[str] | str | None = "-",
        trajectory: Any = None,
        append_trajectory: bool = False,
        first_step: float = 0.2,
        **kwargs: Any,
    ) -> None:
        if not first_step > 0:
            raise ValueError(f"`first_step` must be positive; got {first_step!r}.")
        self.first_step = first_step
        self._where: np.ndarray | None = None  # at which the stepped run expects its next reading
        super().__init__(atoms, restart, logfile, trajectory, append_trajectory, **kwargs)

    def todict(self) -> dict[str, Any]:
        return super().todict() | {"first_step": self.first_step}

    def read(self) -> None:
        """Continue from the restart file."""
        state = self.load()
        self._begin(np.asarray(state["origin"]), np.ones(len(state["origin"])))
        self._run.load(state["arrays"])
        self._where = np.asarray(state["where"])
        self._lowest = float(state["lowest"]), np.asarray(state["lowest_x"])

    def step(self, forces: Any = None) -> None:
        """Take in energy and forces of the atoms, and move them to where they are to be evaluated next."""
        x, energy = self.optimizable.get_x(), self.optimizable.get_value()
        gradient = self._get_gradient(forces)
        if self._where is None or not np.array_equal(x, self._where):
            self._begin(x, gradient)  # the atoms were moved by somebody else
        if energy < self._lowest[0]:
            self._lowest = energy, x
        self._run.tell(energy, gradient)
        if self._run.ended == REFINE:  # converged by its own measure; the caller's is finer
            self._again(gradient)
        self._go(self._origin + self._run.x)
        state = {"origin": self._origin, "where": self._where, "arrays": self._run.arrays()}
        self.dump(state | {"lowest": self._lowest[0], "lowest_x": self._lowest[1]})

    def run(self, fmax: float = 0.05, steps: int = ENDLESS) -> bool:
        """Relax until the forces are small or so many steps were made.

        Args:
            fmax: the largest force that may be left on an atom, in eV / Angstrom.
            steps: at most so many, each with one force call.

        Returns:
            Whether the forces are converged. If not, the atoms are where their energy was lowest: the steps are made,
            or the energy can't be lowered any more.
        """
        converged = bool(super().run(fmax=fmax, steps=steps))
        if not converged and self._where is not None and self._lowest[0] < self.optimizable.get_value():
            self._go(self._lowest[1])
        return converged

    def _again(self, gradient: np.ndarray) -> None:
        """Descend once more from the lowest point; a descent that did not lower the energy is the last one."""
        energy, x = self._lowest
        if not energy < self._descended:
            self.max_steps = self.nsteps
        self._begin(x, gradient)
        self._lowest = energy, x
        self._descended = energy

    def _begin(self, x: np.ndarray, gradient: np.ndarray) -> None:
        """A descent from x, in displacements from there: atoms have no origin of their own."""
        rows = gradient.reshape(-1, 3 if x.size % 3 == 0 else 1)
        spread = np.linalg.norm(rows) / max(np.linalg.norm(rows, axis=1).max(), 1e-300)  # atoms that share the step
        policy = Policy((Refine(first_radius=float(self.first_step * max(spread, 1.0) / np.sqrt(x.size))),))
        self._origin, self._lowest, self._descended = x.copy(), (np.inf, x.copy()), np.inf
        problem = read_problem(np.zeros(x.size), None, np.random.default_rng(0))
        self._run = SteppedRun(policy, problem, ENDLESS, fits_scales=False)

    def _go(self, x: np.ndarray) -> None:
        self.optimizable.set_x(x)
        self._where = self.optimizable.get_x()


class Search:
    """Search the lowest minimum of a structure; beside ASE's `BasinHopping`, with a budget of force calls.

    Atoms move within a cube around their centre, so that none is lost; those that `FixAtoms` holds stay where they are.

    Args:
        atoms: the structure, with a calculator; where the search starts.
        container: side of the cube, in Angstrom. None: twice that of a cube with room for all atoms that move, by their
            covalent radii; larger where the atoms are spread wider.
        restart: a file that keeps every call, so that the same search continues after a crash.
        logfile: a file, its name, "-" for the terminal, or None: a line for every basin that was left.
        trajectory: name of a file with each new lowest structure.
        local_minima_trajectory: name of a file with all minima that were found, lowest first, written by `run`.
        seed: all randomness follows from it.

    Raises:
        ValueError: for constraints other than `FixAtoms`, or where all atoms are held.

    Example:
        search = shapeopt.ase.Search(atoms, trajectory="lowest.traj", local_minima_trajectory="minima.traj")
        search.run(calls=500)
        energy, best = search.get_minimum()
    """

    def __init__(
        self,
        atoms: Atoms,
        *,
        container: float | None = None,
        restart: str | os.PathLike[str] | None = None,
        logfile: IO[str] | str | None = "-",
        trajectory: str | os.PathLike[str] | None = None,
        local_minima_trajectory: str | os.PathLike[str] | None = None,
        seed: int = 0,
    ) -> None:
        if any(not isinstance(one, FixAtoms) for one in atoms.constraints):
            raise ValueError(f"`atoms` may be held by FixAtoms alone; got {atoms.constraints!r}.")
        held = [index for one in atoms.constraints for index in one.get_indices()]
        self.atoms, self.container, self.restart, self.seed = atoms, container, restart, seed
        self.logfile, self.trajectory, self.local_minima_trajectory = logfile, trajectory, local_minima_trajectory
        self.minima: list[Atoms] = []
        self._free = np.setdiff1d(np.arange(len(atoms)), held)
        if not self._free.size:
            raise ValueError("`atoms` must have at least one that FixAtoms does not hold.")

    def run(self, calls: int = 500) -> Result:
        """Search with a budget of force calls, from where the atoms are; they end at the lowest minimum found.

        Args:
            calls: force calls.

        Returns:
            What `shapeopt.minimize` returns; `minima` of this object has the structures.
        """
        from ..minimizer import minimize

        with self._log() as log:
            watch = _Lowest(self, log)
            result = minimize(
                self._energy,
                self.atoms.positions[self._free].ravel(),
                bounds=self._bounds(),
                budget=calls,
                jac=True,
                seed=self.seed,
                callback=watch,
                journal=self.restart,
            )
        self.minima = [self._structure(one.x, one.fun) for one in result.minima]
        if self.local_minima_trajectory is not None:
            with Trajectory(self.local_minima_trajectory, "w") as file:
                for structure in self.minima:
                    file.write(structure)
        self._place(result.x)
        return result

    def get_minimum(self) -> tuple[float, Atoms]:
        """The lowest energy and its structure, as ASE's BasinHopping gives them.

        Returns:
            The energy in eV, and a copy of the atoms at the minimum.

        Raises:
            ValueError: before `run`.
        """
        if not self.minima:
            raise ValueError("nothing was searched yet; call `run` first.")
        return self.minima[0].get_potential_energy(), self.minima[0].copy()

    def _energy(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        self._place(x)
        with np.errstate(all="ignore"):  # atoms may meet
            energy, forces = self.atoms.get_potential_energy(), self.atoms.get_forces()
        return float(energy), -forces[self._free].ravel()

    def _place(self, x: np.ndarray) -> None:
        positions = self.atoms.get_positions()
        positions[self._free] = x.reshape(-1, 3)
        self.atoms.set_positions(positions)

    def _structure(self, x: np.ndarray, energy: float) -> Atoms:
        """A copy of the atoms at x that knows its energy."""
        atoms = self.atoms.copy()
        atoms.positions[self._free] = x.reshape(-1, 3)
        atoms.calc = SinglePointCalculator(atoms, energy=energy)
        return atoms

    def _bounds(self) -> tuple[np.ndarray, np.ndarray]:
        places = self.atoms.positions[self._free]
        diameter = 2 * covalent_radii[self.atoms.numbers[self._free]].max()
        side = 2 * diameter * len(places) ** (1 / 3) if self.container is None else self.container
        low, high = places.min(axis=0), places.max(axis=0)
        if self.container is None:
            side = max(side, float((high - low).max()) + 2 * diameter)
        elif not side > (high - low).max():
            raise ValueError(f"`container` must be wider than the atoms, {(high - low).max():.4g}; got {side!r}.")
        centre = (low + high) / 2
        return tuple(np.tile(centre + sign * side / 2, len(places)) for sign in (-1, 1))  # type: ignore[return-value]

    @contextmanager
    def _log(self) -> Iterator[IO[str] | None]:
        if self.logfile is None or hasattr(self.logfile, "write"):
            yield self.logfile
        elif self.logfile == "-":
            yield sys.stdout
        else:
            with open(self.logfile, "a") as file:
                yield file


class _Lowest:
    """The callback of a search: a log line for every basin that was left, and each new lowest structure to its file."""

    def __init__(self, search: Search, log: IO[str] | None) -> None:
        self._search, self._log, self._written = search, log, np.inf
        self._mode = "w"

    def __call__(self, progress: Result) -> None:
        for event in progress.events:
            if event.wrote and self._log is not None:
                words = f"call {event.call}, energy {event.value:15.6f}, emin {progress.fun:15.6f}, {event.cause}"
                self._log.write(f"Search: {words}\n")
        done = any(event.wrote for event in progress.events) or progress.nfev == progress.budget
        if done and progress.fun < self._written and self._search.trajectory is not None:
            with Trajectory(self._search.trajectory, self._mode) as file:
                file.write(self._search._structure(progress.x, progress.fun))
            self._written, self._mode = progress.fun, "a"
