# %% [markdown]
# # Fit a nonlinear model
#
# Two damped oscillations are added, and we want amplitudes, decays and frequencies back. The misfit has many minima: a
# frequency that is off by a beat, or two components that share one oscillation. A descent from a guess ends in one of
# them. The loss is JAX code, so it is compiled and differentiated; a call is a value with its gradient. The data are
# float64, so JAX is set to compute so outside of `minimize`, too.

# %%
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import shapeopt

jax.config.update("jax_enable_x64", True)

TIMES = np.linspace(0, 6, 80)
TRUTH = np.array([1.0, 0.3, 4.2, 0.6, 0.1, 6.9])  # amplitude, decay and frequency of each


def model(x):
    amplitude, decay, frequency = x.reshape(-1, 3).T[:, :, None]
    return jnp.sum(amplitude * jnp.exp(-decay * TIMES) * jnp.cos(frequency * TIMES), axis=0)


DATA = np.asarray(model(TRUTH)) + np.random.default_rng(0).normal(0, 0.05, TIMES.size)


def misfit(x):
    return jnp.mean((model(x) - DATA) ** 2)


LOWER, UPPER = np.tile([0.0, 0.0, 1.0], 2), np.tile([2.0, 1.0, 10.0], 2)
result = shapeopt.minimize(misfit, bounds=(LOWER, UPPER), budget=400)
print(f"misfit {result.fun:.5f} after {result.nfev} calls; at the truth {misfit(TRUTH):.5f}")
for row in sorted(result.x.reshape(-1, 3), key=lambda row: row[2]):
    print("amplitude {:.3f}, decay {:.3f}, frequency {:.3f}".format(*row))
assert result.fun <= misfit(TRUTH) and np.allclose(np.sort(result.x[2::3]), TRUTH[2::3], atol=0.05)

# %% [markdown]
# The other minima tell what else could have made the data, and how much worse it fits.

# %%
for basin in result.minima[:5]:
    print(f"{basin.fun:.5f} in {basin.visits} visit(s), frequencies {np.sort(basin.x[2::3]).round(2)}")

fig, axes = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
axes[0].plot(TIMES, DATA, ".", color="0.6", label="data")
axes[0].plot(TIMES, model(result.x), label="best fit")
axes[0].plot(TIMES, model(result.minima[-1].x), "--", lw=1, label="another basin")
axes[0].set(xlabel="time", title="the fit")
axes[0].legend()
axes[1].semilogy(result.trace.calls, result.trace.value, ".", ms=3, color="0.6", label="each call")
axes[1].semilogy(result.trace.calls, result.trace.best, label="best so far")
axes[1].set(xlabel="calls", title="misfit")
axes[1].legend()
plt.show()
