# %% [markdown]
# # On a Dask cluster
#
# Any `concurrent.futures.Executor` can make the calls, Dask's included. Here the cluster is two workers of this
# machine; with `Client("scheduler:8786")` it is as many machines as there are. It needs the extra `distributed`. A
# worker must be able to import the objective, or get it by value, as here.

# %%
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from dask.distributed import Client, LocalCluster

import shapeopt


def loss(x):
    return float(np.sum(x**2 - 10 * np.cos(2 * np.pi * x) + 10)), 2 * x + 20 * np.pi * np.sin(2 * np.pi * x)


settings = {"bounds": [(-5, 5)] * 3, "jac": True, "budget": 120, "num_starts": 2}

# %%
local = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
with LocalCluster(**local) as cluster, Client(cluster) as client:
    on_cluster = shapeopt.minimize(loss, np.full(3, 3.3), workers=client.get_executor(), **settings)
print(f"on the cluster: {on_cluster.fun:.3g} after {on_cluster.nfev} calls")

# %% [markdown]
# The run is that of as many threads, to the last bit: decisions follow the order in which calls were submitted.

# %%
with ThreadPoolExecutor(2) as threads:
    on_threads = shapeopt.minimize(loss, np.full(3, 3.3), workers=threads, **settings)
print("the same on threads:", np.array_equal(on_cluster.x, on_threads.x))
assert np.array_equal(on_cluster.x, on_threads.x) and on_cluster.nfev == on_threads.nfev == 120
