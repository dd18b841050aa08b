# %% [markdown]
# # An external simulator
#
# The objective is a program: it gets the coordinates as arguments and prints a value. Here a small Python script stands
# for it, which throws a ball through wind and says by how much it misses a target; for some throws it crashes. Programs
# are slow and fail, so each call has a time limit, failures are skipped, and a journal keeps what was paid for.

# %%
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import shapeopt

PROGRAM = """
import math, sys
speed, angle = map(float, sys.argv[1:])
if angle > 1.1:
    sys.exit("the ball hit the ceiling")
x, y, vx, vy = 0.0, 0.0, speed * math.cos(angle), speed * math.sin(angle)
while y >= 0.0:
    x, y = x + 0.01 * vx, y + 0.01 * vy
    wind = 4 * math.sin(3 * y)
    vx, vy = vx + 0.01 * (wind - 0.1 * vx), vy - 0.01 * (9.81 + 0.1 * vy)
print((x - 12.0) ** 2 + 0.01 * speed**2)
"""

folder = Path(tempfile.mkdtemp())
program = folder / "throw.py"
_ = program.write_text(PROGRAM)

# %% [markdown]
# The word `{x}` becomes one argument for each coordinate; no shell is involved. The same from a shell:
#
# ```text
# shapeopt minimize --command "python throw.py {x}" --bounds 5 20 0.1 1.6 --dim 2 --budget 80 --call-timeout 5 \
#     --on-error skip --journal throw.journal
# ```

# %%
throw = shapeopt.Command(f"{sys.executable} {program} {{x}}", time_limit=5)
settings = {"bounds": [(5.0, 20.0), (0.1, 1.6)], "budget": 80, "on_error": "skip"}
result = shapeopt.minimize(throw, journal=folder / "throw.journal", **settings)
speed, angle = result.x
print(f"speed {speed:.3f}, angle {np.degrees(angle):.2f} degrees: value {result.fun:.4f} after {result.nfev} calls")

# %% [markdown]
# Every call is in the journal. The same command, started again after a crash (or here, after the end) makes none anew.

# %%
again = shapeopt.minimize(throw, journal=folder / "throw.journal", **settings)
print("the same:", again.fun == result.fun and np.array_equal(again.x, result.x))
assert again.fun == result.fun < 1.2 and result.nfev == again.nfev == 80

# %%
fig, axes = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
finite = np.isfinite(result.trace.value)
points = result.trace.x
marks = axes[0].scatter(*points[finite].T, c=np.log10(result.trace.value[finite]), s=14, cmap="viridis_r")
axes[0].plot(*points[~finite].T, "x", color="tab:red", label="failed")
axes[0].plot(*result.x, "*", ms=14, color="gold", mec="black", label="best")
axes[0].set(xlabel="speed", ylabel="angle")
axes[0].legend()
fig.colorbar(marks, label="log10 value")
axes[1].semilogy(result.trace.calls, result.trace.best)
axes[1].set(xlabel="calls", title="best so far")
plt.show()
