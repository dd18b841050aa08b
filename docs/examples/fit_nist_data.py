# %% [markdown]
# # Fit NIST data
#
# *Eckerle4* of NIST's reference sets for nonlinear regression (Eckerle, transmittance of a filter) has 35 points, three
# parameters, and a first start from which local methods end on a plateau. NIST certifies the answer to eleven digits.

# %%
import json
from importlib.resources import files

import numpy as np
from scipy.optimize import minimize

import shapeopt

data = json.loads((files("shapeopt.bench.suites") / "nist.json").read_text())["eckerle4"]
x, y, certified = np.array(data["x"][0], float), np.array(data["y"]), data["rss"]
start = np.array(data["start1"], float)


def squares(b):
    """The sum of squared residuals of (b1 / b2) exp(-((x - b3) / b2)^2 / 2), and its gradient."""
    z = (x - b[2]) / b[1]
    shape = np.exp(-(z**2) / 2) / b[1]
    model = b[0] * shape
    rows = np.array([shape, model * (z**2 - 1) / b[1], model * z / b[1]])
    residual = model - y
    return residual @ residual, 2 * rows @ residual


# %% [markdown]
# SciPy's L-BFGS-B from NIST's far start, and `shapeopt` from there, both within the same bounds:

# %%
bounds = [(0, 10), (1, 50), (400, 500)]
local = minimize(squares, start, jac=True, bounds=bounds, method="L-BFGS-B")
result = shapeopt.minimize(squares, start, jac=True, bounds=bounds, budget=300)
print(f"L-BFGS-B  {local.fun:.10e} after {local.nfev} calls")
print(f"shapeopt  {result.fun:.10e} after {result.nfev} calls")
print(f"certified {certified:.10e}")

# %% [markdown]
# The parameters beside the certified ones, and the other minima that were met on the way:

# %%
print(result.x, data["certified"])
for basin in result.minima[:4]:
    print(f"{basin.fun:.6e}", basin.x.round(3), f"{basin.visits} visits")
assert abs(result.fun / certified - 1) < 1e-9
