# %% [markdown]
# # Relax a copper cluster
#
# `shapeopt.ase` has an optimizer in ASE's conventions, `Relax`, and a global search, `Search`. The potential is ASE's
# effective medium theory; any calculator goes.

# %%
import numpy as np
from ase import Atoms
from ase.calculators.emt import EMT
from ase.optimize import BFGS

import shapeopt.ase


class CountedEMT(EMT):
    calls = 0

    def calculate(self, *args, **kwargs):
        self.calls += 1
        super().calculate(*args, **kwargs)


def thrown(seed, n=10):
    """Ten copper atoms thrown into a cube, no two close."""
    rng, places = np.random.default_rng(seed), []
    while len(places) < n:
        place = rng.uniform(0, 2.7 * n ** (1 / 3), 3)
        if all(np.linalg.norm(place - other) > 1.9 for other in places):
            places.append(place)
    return Atoms(f"Cu{n}", places, calculator=CountedEMT())


# %% [markdown]
# The minimum below a start, to 0.01 eV/Å, with ASE's BFGS and with `Relax`:

# %%
spent = {BFGS: [], shapeopt.ase.Relax: []}
for seed in range(4):
    for kind, calls in spent.items():
        atoms = thrown(seed)
        kind(atoms, logfile=None).run(fmax=0.01, steps=400)
        calls.append(atoms.calc.calls)
for kind, calls in spent.items():
    print(f"{kind.__name__:6s} force calls {calls}")
assert sum(spent[shapeopt.ase.Relax]) < sum(spent[BFGS])

# %% [markdown]
# The lowest structure that 400 force calls find, and the others on the way:

# %%
atoms = thrown(0)
search = shapeopt.ase.Search(atoms, logfile=None)
search.run(calls=400)
energy, best = search.get_minimum()
print(f"lowest {energy:.4f} eV of {len(search.minima)} minima")
print([round(one.get_potential_energy(), 3) for one in search.minima[:6]])
relaxed = thrown(0)
shapeopt.ase.Relax(relaxed, logfile=None).run(fmax=0.01)
assert energy <= relaxed.get_potential_energy() + 1e-6
