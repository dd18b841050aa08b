# %% [markdown]
# # Phase retrieval
#
# A detector sees intensities, not signs: b_i = (a_i · x)². The signal must be found from twice as many measurements as
# it has entries, up to its sign. `phase_retrieval` is a built-in family, so its tasks know their true signal.

# %%
import jax
import matplotlib.pyplot as plt
import numpy as np

import shapeopt
from shapeopt.tasks import make_family

task = make_family("phase_retrieval", 8).sample(jax.random.key(3))
start = np.asarray(task.start(jax.random.key(4)))
bounds = (task.box.lower, task.box.upper)

# %% [markdown]
# Once with the 48 calls of the paper, once with 500.

# %%
hurried = shapeopt.minimize(task, start, bounds=bounds, budget=48)
universal = shapeopt.minimize(task, start, bounds=bounds, budget=500)
for result in (hurried, universal):
    print(f"{result.nfev} calls: misfit {result.fun:.1e}, distance up to sign {task.distance(result.x):.1e}")
assert task.distance(universal.x) < 1e-4

# %%
truth = np.asarray(task.minimiser)
fig, axes = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
shown = ((truth, "o", "signal"), (universal.x, "x", "500 calls"), (hurried.x, "+", "48 calls"))
for place, (x, marker, label) in enumerate(shown):
    sign = 1 if x @ truth >= 0 else -1
    axes[0].plot(np.arange(truth.size) + 0.1 * (place - 1), sign * x, marker, ms=8, label=label)
axes[0].axhline(0, color="0.8", lw=0.8, zorder=0)
axes[0].set(title="entries of the signal", xlabel="entry")
axes[0].legend()
for name, result in (("500 calls", universal), ("48 calls", hurried)):
    axes[1].loglog(result.trace.calls, result.trace.best, label=name)
axes[1].set(title="best misfit so far", xlabel="calls")
axes[1].legend()
plt.show()
