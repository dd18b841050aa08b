"""`shapeopt.ase`: a relaxation with ASE's conventions, and a search within a budget of force calls."""

import io

import numpy as np
import pytest

ase = pytest.importorskip("ase")

from ase import Atoms  # noqa: E402
from ase.build import add_adsorbate, bulk, fcc111, molecule  # noqa: E402
from ase.calculators.emt import EMT  # noqa: E402
from ase.constraints import FixAtoms, FixBondLength  # noqa: E402
from ase.filters import FrechetCellFilter  # noqa: E402
from ase.io import read  # noqa: E402
from ase.optimize import BFGS  # noqa: E402

import shapeopt  # noqa: E402


class CountedEMT(EMT):
    calls = 0

    def calculate(self, *args, **kwargs):
        self.calls += 1
        super().calculate(*args, **kwargs)


def cluster(formula="Cu10", seed=1):
    """Atoms thrown into a cube, no two close."""
    atoms = Atoms(formula)
    rng, side, places = np.random.default_rng(seed), 2.7 * len(atoms) ** (1 / 3), []
    while len(places) < len(atoms):
        place = rng.uniform(0, side, 3)
        if all(np.linalg.norm(place - other) > 1.9 for other in places):
            places.append(place)
    atoms.positions[:] = places
    atoms.calc = CountedEMT()
    return atoms


def slab():
    atoms = fcc111("Cu", (2, 2, 3), vacuum=8)
    add_adsorbate(atoms, "O", 1.5, "ontop")
    atoms.set_constraint(FixAtoms(mask=[atom.tag > 1 for atom in atoms]))
    atoms.calc = CountedEMT()
    return atoms


def largest_force(atoms):
    return np.linalg.norm(atoms.get_forces(), axis=1).max()


def test_relax_converges_in_fewer_force_calls_than_ase_s_bfgs():
    spent = {shapeopt.ase.Relax: 0, BFGS: 0}
    for kind in spent:
        for seed in (1, 2, 3, 4):
            atoms = cluster("Cu8", seed)
            assert kind(atoms, logfile=None).run(fmax=0.01, steps=500)
            assert largest_force(atoms) < 0.01
            spent[kind] += atoms.calc.calls
    assert spent[shapeopt.ase.Relax] < 0.75 * spent[BFGS]


@pytest.mark.parametrize("fmax", [0.05, 1e-6])
def test_fixed_atoms_stay_and_the_minimum_below_is_the_one_that_is_found(fmax):
    atoms, reference = slab(), slab()
    before = atoms.get_positions()
    assert shapeopt.ase.Relax(atoms, logfile=None).run(fmax=fmax, steps=100)
    assert BFGS(reference, logfile=None).run(fmax=fmax, steps=100)
    held = [atom.index for atom in atoms if atom.tag > 1]
    np.testing.assert_array_equal(atoms.positions[held], before[held])
    assert atoms.get_potential_energy() == pytest.approx(reference.get_potential_energy(), abs=1e-3)


def test_a_filter_relaxes_the_cell():
    atoms = bulk("Cu", cubic=True)
    atoms.calc = EMT()
    atoms.set_cell(1.03 * atoms.cell, scale_atoms=True)
    assert shapeopt.ase.Relax(FrechetCellFilter(atoms), logfile=None).run(fmax=1e-3, steps=50)
    assert atoms.cell.lengths() == pytest.approx(np.full(3, 3.59), abs=0.02)


def test_relax_does_not_depend_on_where_the_atoms_are():
    near, far = cluster("Cu5"), cluster("Cu5")
    far.translate([500, -80, 3])
    for atoms in (near, far):
        shapeopt.ase.Relax(atoms, logfile=None).run(fmax=1e-3, steps=200)
    assert near.get_potential_energy() == pytest.approx(far.get_potential_energy(), abs=1e-6)


def test_log_trajectory_and_restart_are_as_in_ase(tmp_path):
    log, file = io.StringIO(), tmp_path / "relax.traj"
    atoms = cluster("Cu6")
    with shapeopt.ase.Relax(atoms, logfile=log, trajectory=str(file)) as relax:
        assert relax.run(fmax=0.02, steps=200)
    frames = read(file, ":")
    assert len(frames) == relax.nsteps + 1 and log.getvalue().count("Relax:") == relax.nsteps + 1
    assert frames[-1].get_potential_energy() == atoms.get_potential_energy()
    part = cluster("Cu6")
    first = shapeopt.ase.Relax(part, logfile=None, restart=tmp_path / "state.json")
    for _ in zip(range(9), first.irun(fmax=0.02), strict=False):
        pass
    second = shapeopt.ase.Relax(part, logfile=None, restart=tmp_path / "state.json")
    assert second.run(fmax=0.02, steps=200)
    assert first.nsteps + second.nsteps == relax.nsteps
    np.testing.assert_array_equal(part.positions, atoms.positions)


def test_without_enough_steps_the_atoms_end_where_the_energy_was_lowest(tmp_path):
    atoms = cluster("Cu8", 2)
    relax = shapeopt.ase.Relax(atoms, logfile=None, trajectory=str(tmp_path / "path.traj"))
    assert not relax.run(fmax=1e-9, steps=13)
    seen = [frame.get_potential_energy() for frame in read(tmp_path / "path.traj", ":")]
    assert atoms.get_potential_energy() <= min(seen) + 1e-12


def test_a_force_that_can_t_be_reached_ends_the_run():
    atoms = molecule("H2O", calculator=CountedEMT())
    assert not shapeopt.ase.Relax(atoms, logfile=None).run(fmax=1e-30)
    assert atoms.calc.calls < 200 and largest_force(atoms) < 1e-4


def test_the_search_spends_its_budget_and_keeps_what_it_found(tmp_path):
    atoms, log = cluster("Cu8"), io.StringIO()
    names = {"trajectory": tmp_path / "lowest.traj", "local_minima_trajectory": tmp_path / "minima.traj"}
    search = shapeopt.ase.Search(atoms, logfile=log, **names)
    with pytest.raises(ValueError, match="run"):
        search.get_minimum()
    result = search.run(calls=300)
    assert atoms.calc.calls <= 300 == result.nfev
    energy, best = search.get_minimum()
    assert energy == result.fun == min(one.get_potential_energy() for one in search.minima)
    np.testing.assert_array_equal(best.positions, atoms.positions)
    lowest = [frame.get_potential_energy() for frame in read(names["trajectory"], ":")]
    assert lowest == sorted(lowest, reverse=True) and lowest[-1] == energy
    assert len(read(names["local_minima_trajectory"], ":")) == len(search.minima) > 2
    assert log.getvalue().count("Search: call") > 2
    alone = cluster("Cu8")
    shapeopt.ase.Relax(alone, logfile=None).run(fmax=0.01, steps=300)
    assert energy < alone.get_potential_energy() - 0.01


def test_the_search_moves_free_atoms_within_its_container_alone():
    atoms = slab()
    held, before = [atom.index for atom in atoms if atom.tag > 1], atoms.get_positions()
    seen = []
    search = shapeopt.ase.Search(atoms, logfile=None, container=7.0)
    energy = search._energy
    search._energy = lambda x: (seen.append(x), energy(x))[1]
    search.run(calls=60)
    np.testing.assert_array_equal(atoms.positions[held], before[held])
    assert np.ptp(np.array(seen).reshape(-1, 3), axis=0).max() <= 7.0 + 1e-9


def test_a_search_continues_from_its_restart_file(tmp_path):
    whole = shapeopt.ase.Search(cluster("Cu6"), logfile=None).run(calls=80)
    again, stopped = cluster("Cu6"), cluster("Cu6")
    plain = stopped.calc.calculate

    def fails(*args, **kwargs):
        if stopped.calc.calls >= 40:
            raise RuntimeError("crash")
        plain(*args, **kwargs)

    stopped.calc.calculate = fails
    with pytest.raises(RuntimeError, match="crash"):
        shapeopt.ase.Search(stopped, logfile=None, restart=tmp_path / "run").run(calls=80)
    result = shapeopt.ase.Search(again, logfile=None, restart=tmp_path / "run").run(calls=80)
    assert result.fun == whole.fun and again.calc.calls < 50


def test_what_can_t_be_searched_is_refused():
    held = cluster("Cu5")
    held.set_constraint(FixBondLength(0, 1))
    with pytest.raises(ValueError, match="FixAtoms"):
        shapeopt.ase.Search(held)
    held.set_constraint(FixAtoms(range(5)))
    with pytest.raises(ValueError, match="at least one"):
        shapeopt.ase.Search(held)
    with pytest.raises(ValueError, match="container"):
        shapeopt.ase.Search(cluster("Cu5"), container=0.1).run(10)
    with pytest.raises(ValueError, match="first_step"):
        shapeopt.ase.Relax(cluster("Cu5"), first_step=0)
