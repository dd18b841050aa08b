# %% [markdown]
# # Fit NIST data
#
# *Eckerle4* of NIST's reference sets for nonlinear regression (Eckerle, transmittance of a filter) has 35 points, three
# parameters, and a first start far from the peak. NIST certifies the answer to eleven digits.

# %%
import json
from importlib.resources import files

import numpy as np
from scipy.optimize import least_squares

import shapeopt

data = json.loads((files("shapeopt.bench.suites") / "nist.json").read_text())["eckerle4"]
x, y, certified = np.array(data["x"][0], float), np.array(data["y"]), data["rss"]
start = np.array(data["start1"], float)


def residuals(b):
    """Of the model (b1 / b2) exp(-((x - b3) / b2)^2 / 2)."""
    return b[0] / b[1] * np.exp(-(((x - b[2]) / b[1]) ** 2) / 2) - y


def jacobian(b):
    z = (x - b[2]) / b[1]
    shape = np.exp(-(z**2) / 2) / b[1]
    return np.stack([shape, b[0] * shape * (z**2 - 1) / b[1], b[0] * shape * z / b[1]], axis=1)


# %% [markdown]
# SciPy's `least_squares` from NIST's far start, and `shapeopt.least_squares` from there, both within the same bounds:

# %%
bounds = ([0, 1, 400], [10, 50, 500])
local = least_squares(residuals, start, jacobian, bounds=bounds, x_scale="jac")
result = shapeopt.least_squares(residuals, start, jacobian, bounds=bounds, budget=300)
print(f"SciPy     {2 * local.cost:.10e} after {local.nfev} calls")
print(f"shapeopt  {2 * result.cost:.10e} after {result.nfev} calls")
print(f"certified {certified:.10e}")

# %% [markdown]
# The parameters beside the certified ones, and the other minima that were met on the way:

# %%
print(result.x, data["certified"])
for basin in result.minima[:4]:
    print(f"{2 * basin.cost:.6e}", basin.x.round(3), f"{basin.visits} visits")
assert abs(2 * result.cost / certified - 1) < 1e-9
