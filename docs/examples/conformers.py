# %% [markdown]
# # Conformers of a molecule
#
# A molecule turns about its single bonds, and each shape has its own energy. RDKit embeds hexan-1-ol once and gives
# energy and gradient of its MMFF94 force field by the positions of all atoms; the search begins at that embedding and
# visits others. It needs the packages of the extra `suites`.

# %%
import numpy as np
from rdkit import Chem
from rdkit.Chem import rdDistGeom
from rdkit.Chem import rdForceFieldHelpers as fields

import shapeopt

molecule = Chem.AddHs(Chem.MolFromSmiles("OCCCCCO"))
parameters = rdDistGeom.ETKDGv3()
parameters.randomSeed = 7
rdDistGeom.EmbedMolecule(molecule, parameters)
field = fields.MMFFGetMoleculeForceField(molecule, fields.MMFFGetMoleculeProperties(molecule))
start = molecule.GetConformer().GetPositions().ravel()


def energy(x):
    point = x.tolist()
    return field.CalcEnergy(point), np.array(field.CalcGrad(point))
