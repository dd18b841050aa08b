# %% [markdown]
# # A family, trained and used
#
# Every day brings a spectrum of the same instrument: three lines near known places, with other heights, widths and
# shifts. Each fit is a problem with several minima. Sixteen of them are shown, training takes some seconds, and the
# next day's fit needs a fraction of the calls. Nothing must be known but the objectives: training learns from its
# own runs.

# %%
import numpy as np

import shapeopt

GRID = np.linspace(0.0, 10.0, 80)
LOWER, UPPER = [0.0] * 3 + [0.2] * 3, [10.0] * 3 + [3.0] * 3  # three places, three heights
BOUNDS = list(zip(LOWER, UPPER, strict=True))


def spectrum(places, heights):
    return (heights[:, None] * np.exp(-((GRID - places[:, None]) ** 2) / 0.32)).sum(axis=0)


def fit(day):
    """The objective of a day: half the sum of squares, and its gradient."""
    rng = np.random.default_rng(day)
    truth = np.array([2.0, 5.5, 7.0]) + 0.3 * rng.normal(size=3), rng.uniform(0.5, 2.5, 3)
    data = spectrum(*truth) + 0.02 * rng.normal(size=GRID.size)

    def loss(x):
        places, heights = x[:3], x[3:]
        lines = np.exp(-((GRID - places[:, None]) ** 2) / 0.32)
        rest = heights @ lines - data
        by_place = heights * ((lines * (GRID - places[:, None])) @ rest) / 0.16
        return 0.5 * rest @ rest, np.concatenate([by_place, lines @ rest])

    return loss


# %%
trained = shapeopt.train_family([fit(day) for day in range(16)], bounds=BOUNDS, jac=True, budget=80)
print(trained)

# %% [markdown]
# Days that training has not seen, 25 calls each, from the same starts:

# %%
plain, used = [], []
for day in range(100, 110):
    settings = {"bounds": BOUNDS, "jac": True, "budget": 25, "seed": day}
    plain.append(shapeopt.minimize(fit(day), **settings).fun)
    used.append(shapeopt.minimize(fit(day), policy=trained.policy, **settings).fun)
print(f"median loss after 25 calls: untrained {np.median(plain):.4f}, trained {np.median(used):.4f}")
assert np.median(used) < 0.2 * np.median(plain)

# %% [markdown]
# `trained.save("runs/spectra")` keeps the policy, and `policy="runs/spectra/policy"` uses it: [train for a
# family](../train_family.md).
