# %% [markdown]
# # Lennard-Jones, 13 atoms
#
# Thirteen atoms that attract each other have more than a thousand stable arrangements, and one of them, the
# icosahedron, lies lowest. The energy is JAX code in 39 coordinates. No budget makes sure that a run finds it, so a few
# seeds are tried; what is compiled for the first serves the others.

# %%
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import shapeopt

ATOMS = 13
LOWEST = -44.326801  # Northby, 1987; the Cambridge Cluster Database
PAIRS = np.triu_indices(ATOMS, 1)


def energy(positions):
    apart = positions[PAIRS[0]] - positions[PAIRS[1]]
    attraction = 1.0 / jnp.maximum(jnp.sum(apart**2, axis=1), 0.4) ** 3  # a core that stays finite
    return 4 * jnp.sum(attraction**2 - attraction)


runs = []
for seed in range(3):
    start = np.random.default_rng(seed).uniform(-2, 2, (ATOMS, 3))
    runs.append(shapeopt.minimize(energy, start, bounds=(-2, 2), budget=1000, seed=seed))
    print(f"seed {seed}: {runs[-1].fun:.6f} after {runs[-1].nfev} calls")

result = min(runs, key=lambda run: run.fun)
print(f"best {result.fun:.6f}; the lowest that is known is {LOWEST}")
assert abs(result.fun - LOWEST) < 1e-5
print("other minima:", np.round([basin.fun for basin in result.minima[1:6]], 3))

# %% [markdown]
# `x0` was a matrix of positions, and so is what comes back. The same arrangement turned, mirrored or with its atoms
# renumbered is another point, so it may be listed again.


# %%
def draw(axes, positions, title):
    centred = positions - positions.mean(axis=0)
    for i, j in zip(*PAIRS, strict=True):
        if np.linalg.norm(centred[i] - centred[j]) < 1.25:
            axes.plot(*centred[[i, j]].T, color="0.6", lw=1)
    axes.scatter(
        *centred.T, s=120, c=np.linalg.norm(centred, axis=1), cmap="viridis", edgecolor="black", depthshade=False
    )
    axes.set(title=title, xlim=(-1.2, 1.2), ylim=(-1.2, 1.2), zlim=(-1.2, 1.2))
    axes.set_axis_off()
    axes.set_box_aspect((1, 1, 1), zoom=1.4)


fig, places = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained", subplot_kw={"projection": "3d"})
for axes, basin in zip(places, result.minima, strict=False):
    draw(axes, basin.x, f"{basin.fun:.3f}")
plt.show()
