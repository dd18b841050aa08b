# %% [markdown]
# # Eight calls at once
#
# A simulation of 20 ms, of which eight may run at the same time. `workers=8` has eight trajectories share the budget;
# the result depends on their number and the seed, not on which call ends first.

# %%
import time

import matplotlib.pyplot as plt
import numpy as np

import shapeopt


def simulate(x):
    """Rastrigin's function and its gradient, after a while that differs from call to call."""
    time.sleep(0.01 + 0.02 * (abs(x[0]) % 1.0))
    return np.sum(x**2 - 10 * np.cos(2 * np.pi * x) + 10), 2 * x + 20 * np.pi * np.sin(2 * np.pi * x)


settings = {"bounds": [(-5, 5)] * 3, "jac": True, "budget": 160}

# %%
runs, seconds = {}, {}
for name, workers in (("one", 1), ("eight", 8), ("eight again", 8)):
    began = time.perf_counter()
    runs[name] = shapeopt.minimize(simulate, np.full(3, 3.3), workers=workers, **settings)
    seconds[name] = time.perf_counter() - began
    print(f"{name:12s} {runs[name].nfev} calls in {seconds[name]:.2f} s, best {runs[name].fun:.3g}")
assert np.array_equal(runs["eight"].x, runs["eight again"].x)

# %% [markdown]
# The same calls, over the time that they took:

# %%
fig, axis = plt.subplots(figsize=(6, 3), layout="constrained")
for name in ("one", "eight"):
    trace = runs[name].trace
    axis.semilogy(
        trace.calls * seconds[name] / runs[name].nfev, np.maximum(trace.best, 1e-12), label=f"{name} at a time"
    )
axis.set(xlabel="seconds (calls at their mean rate)", ylabel="best value")
axis.legend()
plt.show()

# %% [markdown]
# Threads suit programs, simulators and compiled code. For plain Python take `shapeopt.Processes(8)`; [several calls at
# once](../parallel.md) has the other ways, and [a Dask cluster](dask_cluster.py) is one of them.
