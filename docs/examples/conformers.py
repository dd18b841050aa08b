# %% [markdown]
# # Conformers of a molecule
#
# A molecule turns about its single bonds, and each shape is a minimum of the energy. RDKit embeds pentane-1,5-diol
# once and gives energy and gradient of its MMFF94 force field by the positions of all atoms. One descent ends in
# the shape next to the embedding; a search with a budget of energies finds lower ones, and returns the others. It
# needs RDKit, which is in the extra `suites`.

# %%
import matplotlib.pyplot as plt
import numpy as np
from rdkit import Chem
from rdkit.Chem import rdDistGeom, rdMolTransforms
from rdkit.Chem import rdForceFieldHelpers as fields
from scipy.optimize import minimize

import shapeopt

molecule = Chem.AddHs(Chem.MolFromSmiles("OCCCCCO"))
parameters = rdDistGeom.ETKDGv3()
parameters.randomSeed = 7
rdDistGeom.EmbedMolecule(molecule, parameters)
field = fields.MMFFGetMoleculeForceField(molecule, fields.MMFFGetMoleculeProperties(molecule))
start = molecule.GetConformer().GetPositions().ravel()


def energy(x):  # kcal/mol, and its gradient
    point = x.tolist()
    return field.CalcEnergy(point), np.array(field.CalcGrad(point))


# %%
descent = minimize(energy, start, jac=True, method="L-BFGS-B", options={"maxfun": 1500, "maxiter": 1500})
result = shapeopt.minimize(energy, start, jac=True, budget=3000)
print(
    f"one descent {descent.fun:.3f} kcal/mol after {descent.nfev} energies; search {result.fun:.3f} after {result.nfev}"
)
assert result.fun < descent.fun - 0.1

# %% [markdown]
# The distinct minima, by the angles of the carbon chain: about 180 degrees is stretched, about 60 or 300 is bent.

# %%
CHAIN = [(0, 1, 2, 3), (1, 2, 3, 4), (2, 3, 4, 5), (3, 4, 5, 6)]
conformer = molecule.GetConformer()
angles = []
for one in result.minima[:8]:
    conformer.SetPositions(one.x.reshape(-1, 3))
    angles.append([rdMolTransforms.GetDihedralDeg(conformer, *atoms) % 360 for atoms in CHAIN])
    print(f"{one.fun - result.fun:7.3f} above the best, visits {one.visits}: {np.round(angles[-1]).astype(int)}")

# %%
fig, axis = plt.subplots(figsize=(6, 3), layout="constrained")
marks = axis.imshow(angles, cmap="twilight", vmin=0, vmax=360, aspect="auto")
axis.set(xlabel="bond of the chain", ylabel="minimum, best first", xticks=range(4), yticks=range(len(angles)))
fig.colorbar(marks, label="angle in degrees")
plt.show()
