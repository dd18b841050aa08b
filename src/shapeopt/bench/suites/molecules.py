"""`molecules`: conformers of small molecules with RDKit's MMFF94 force field, in kcal/mol.

    cartesian    all positions in Angstrom, value and gradient, no bounds; 48 to 117 coordinates
    torsions     the angles of all single bonds that may turn, by values, in [-pi, pi]; 4 to 15 coordinates

The Cartesian start is RDKit's embedding (ETKDGv3) with the seed of the problem, the form in which its users start. The
torsions turn the bonds of one geometry (embedded with seed 0 and relaxed in the field), and start from angles that are
uniform in the box, drawn from (molecule, seed). Three starts a form. A run has 500 calls. For Cartesian problems the
search box of global methods reaches 2 Angstrom from the start.

Sources: Halgren (1996), "Merck molecular force field I"; Tosco, Stiefl and Landrum (2014), "Bringing the MMFF force
field to the RDKit"; Riniker and Landrum (2015) for the embedding.

Halves: molecules alternate in the order of the table, which is by number of atoms; both forms lie in one half.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .base import Objective, Suite, SuiteProblem, alternate, unbounded

BUDGET = 500
SEEDS = (1, 2, 3)
REACH = 2.0  # Angstrom, of the search box around a Cartesian start
TURNING = "[!$(*#*)&!D1]-&!@[!$(*#*)&!D1]"  # RDKit's pattern of a bond that may turn: single, in no ring, not at an end


@dataclass(frozen=True)
class Molecule:
    """A molecule: its formula as SMILES, its numbers of atoms (with hydrogens) and of bonds that may turn."""

    name: str
    smiles: str
    atoms: int
    torsions: int


TABLE = (
    Molecule("butanediol", "OCC(O)CC", 16, 5),
    Molecule("diethylene_glycol", "OCCOCCO", 17, 6),
    Molecule("hexane", "CCCCCC", 20, 5),
    Molecule("aspirin", "CC(=O)Oc1ccccc1C(=O)O", 21, 5),
    Molecule("citric_acid", "OC(=O)CC(O)(C(=O)O)CC(=O)O", 21, 9),
    Molecule("alanine_dipeptide", "CC(=O)N[C@@H](C)C(=O)NC", 22, 7),
    Molecule("dopamine", "NCCc1ccc(O)c(O)c1", 22, 5),
    Molecule("glucose", "OC[C@H]1O[C@@H](O)[C@H](O)[C@@H](O)[C@@H]1O", 24, 6),
    Molecule("triglycine", "NCC(=O)NCC(=O)NCC(=O)O", 24, 9),
    Molecule("serotonin", "NCCc1c[nH]c2ccc(O)cc12", 25, 4),
    Molecule("ephedrine", "C[C@@H]([C@@H](c1ccccc1)O)NC", 27, 6),
    Molecule("cyclodecane", "C1CCCCCCCCC1", 30, 0),
    Molecule("decane", "CCCCCCCCCC", 32, 9),
    Molecule("ibuprofen", "CC(C)Cc1ccc(cc1)[C@@H](C)C(=O)O", 33, 8),
    Molecule("glutathione", "N[C@@H](CCC(=O)N[C@@H](CS)C(=O)NCC(=O)O)C(=O)O", 37, 15),
    Molecule("lidocaine", "CCN(CC)CC(=O)Nc1c(C)cccc1C", 39, 10),
)


def embed(smiles: str, seed: int) -> Any:
    """A molecule of RDKit with hydrogens and one conformer."""
    from rdkit import Chem
    from rdkit.Chem import rdDistGeom

    molecule = Chem.AddHs(Chem.MolFromSmiles(smiles))
    parameters: Any = rdDistGeom.ETKDGv3()
    parameters.randomSeed = seed
    if rdDistGeom.EmbedMolecule(molecule, parameters):
        raise ValueError(f"`smiles` must be a molecule that RDKit can embed; got {smiles!r}.")
    return molecule


def field_of(molecule: Any) -> Any:
    """The MMFF94 force field of a molecule's conformer."""
    from rdkit.Chem import rdForceFieldHelpers as fields

    properties = fields.MMFFGetMoleculeProperties(molecule, mmffVariant="MMFF94")
    return fields.MMFFGetMoleculeForceField(molecule, properties)


class _Cartesian:
    """Energy and gradient by positions."""

    def __init__(self, molecule: Any) -> None:
        self.molecule, self.field = molecule, field_of(molecule)

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        point = np.asarray(x, float).tolist()
        return float(self.field.CalcEnergy(point)), np.array(self.field.CalcGrad(point))


class _Torsions:
    """Energy by the angles of the bonds that may turn; lengths and the other angles stay."""

    def __init__(self, molecule: Any) -> None:
        self.field = field_of(molecule)
        self.field.Minimize(maxIts=2000)
        self.molecule, self.bonds = molecule, turning_bonds(molecule)
        self.positions = molecule.GetConformer().GetPositions()

    def __call__(self, x: np.ndarray) -> float:
        from rdkit.Chem import rdMolTransforms

        conformer = self.molecule.GetConformer()
        conformer.SetPositions(self.positions)
        for bond, angle in zip(self.bonds, np.asarray(x, float).tolist(), strict=True):
            rdMolTransforms.SetDihedralRad(conformer, *bond, angle)
        return float(self.field.CalcEnergy(conformer.GetPositions().ravel().tolist()))


def turning_bonds(molecule: Any) -> list[tuple[int, int, int, int]]:
    """Four atoms for each bond that may turn: its ends, and the first other neighbour of each."""
    from rdkit import Chem

    pairs = molecule.GetSubstructMatches(Chem.MolFromSmarts(TURNING))
    return [(_neighbour(molecule, j, k), j, k, _neighbour(molecule, k, j)) for j, k in pairs]


def _neighbour(molecule: Any, atom: int, other: int) -> int:
    around = (each.GetIdx() for each in molecule.GetAtomWithIdx(atom).GetNeighbors())
    return min(index for index in around if index != other)


def make_cartesian(row: Molecule, seed: int) -> Objective:
    """All positions of a molecule, from one embedding."""
    molecule = embed(row.smiles, seed)
    x0 = molecule.GetConformer().GetPositions().ravel()
    ends = {"search_lower": x0 - REACH, "search_upper": x0 + REACH}
    return Objective(_Cartesian(molecule), x0, *unbounded(len(x0)), **ends)


def make_torsions(row: Molecule, seed: int) -> Objective:
    """The torsions of a molecule, from angles drawn in the box."""
    fun = _Torsions(embed(row.smiles, 0))
    box = np.full(len(fun.bonds), np.pi)
    return Objective(fun, np.random.default_rng([*row.name.encode(), seed]).uniform(-box, box), -box, box)


def _cartesian(row: Molecule, half: str, seed: int) -> SuiteProblem:
    name, call = f"{row.name}/cartesian/seed{seed}", partial(make_cartesian, row, seed)
    return SuiteProblem(name, row.name, half, 3 * row.atoms, True, BUDGET, call, ("cartesian", "unbounded"))


def _torsions(row: Molecule, half: str, seed: int) -> SuiteProblem:
    name, call = f"{row.name}/torsions/seed{seed}", partial(make_torsions, row, seed)
    return SuiteProblem(name, row.name, half, row.torsions, False, BUDGET, call, ("torsions", "bounded"))


def _problems() -> tuple[SuiteProblem, ...]:
    halves = alternate(row.name for row in TABLE)
    cartesian = [_cartesian(row, halves[row.name], seed) for row in TABLE for seed in SEEDS]
    return (*cartesian, *(_torsions(row, halves[row.name], seed) for row in TABLE if row.torsions for seed in SEEDS))


MOLECULES = Suite(
    "molecules",
    "conformers with RDKit's MMFF94: positions with gradients, torsions by values",
    "suites",
    _problems(),
    ("rdkit",),
)
