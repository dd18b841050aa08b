# %% [markdown]
# # Fit an ODE
#
# Hares and lynxes: the Lotka-Volterra equations have four rates, and the sum of squares over noisy counts has many
# minima, since a solution of the wrong period matches some peaks and misses others. A local fit from a poor start
# ends in one of them (the longer the record, the more there are). `shapeopt.least_squares` takes residuals and
# searches with a budget of them.

# %%
import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import least_squares

import shapeopt

TRUTH = np.array([0.9, 0.5, 0.35, 0.8])  # growth, predation, gain, death
TIMES = np.linspace(0.0, 15.0, 40)


def populations(rates):
    growth, predation, gain, death = rates

    def change(_, state):
        prey, hunters = state
        return [prey * (growth - predation * hunters), hunters * (gain * prey - death)]

    solved = solve_ivp(change, (0.0, 15.0), [2.0, 1.0], t_eval=TIMES, rtol=1e-6, atol=1e-8)
    return solved.y


counts = populations(TRUTH) * np.exp(0.05 * np.random.default_rng(0).normal(size=(2, TIMES.size)))


def residuals(logarithms):
    """By logarithms of the rates, which stay positive."""
    return (populations(np.exp(logarithms)) - counts).ravel()


# %% [markdown]
# Each call solves the equations once; a Jacobian by differences solves them four times more, and these count too.

# %%
start, bounds = np.log([0.3, 1.5, 1.0, 0.3]), (np.log(0.1), np.log(3.0))
local = least_squares(residuals, start, bounds=bounds)
found = shapeopt.least_squares(residuals, start, bounds=bounds, budget=600)
for name, fit in (("SciPy, one descent", local), ("shapeopt", found)):
    print(f"{name:20s} cost {fit.cost:9.4f}   rates {np.round(np.exp(fit.x), 3)}")
print(f"{'truth':20s} cost {0.5 * np.sum(residuals(np.log(TRUTH)) ** 2):9.4f}   rates {TRUTH}")
assert found.cost < 0.2 * local.cost
assert np.allclose(np.exp(found.x), TRUTH, rtol=0.05)
