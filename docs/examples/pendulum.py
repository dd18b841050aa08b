# %% [markdown]
# # Pendulum swing-up
#
# A motor that is too weak to lift a pendulum has to swing it up. The unknowns are the torques at 50 moments; the cost
# comes from a simulation, and JAX differentiates through it. Swinging to the left first, or to the right, once or
# twice, are different basins.

# %%
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import shapeopt

jax.config.update("jax_enable_x64", True)  # outside of `minimize`, too

STEPS, DT, STRONGEST = 50, 0.1, 3.0  # gravity's torque is up to 9.81


def simulate(torques):
    """Angle (0: hanging) and speed at each moment."""

    def step(state, torque):
        angle, speed = state
        speed = speed + DT * (torque - 9.81 * jnp.sin(angle) - 0.05 * speed)
        angle = angle + DT * speed
        return (angle, speed), (angle, speed)

    return jax.lax.scan(step, (0.0, 0.0), torques)[1]


def cost(torques):
    angle, speed = simulate(torques)
    height = -jnp.cos(angle)  # 1: upright
    return jnp.mean((1 - height[-5:]) ** 2 + 0.1 * speed[-5:] ** 2) + 5e-4 * jnp.mean(torques**2)


hanging = cost(jnp.zeros(STEPS))
result = shapeopt.minimize(cost, np.zeros(STEPS), bounds=(-STRONGEST, STRONGEST), budget=800)
angle, speed = simulate(result.x)
print(f"cost {result.fun:.4f} (hanging: {hanging:.1f}), last height {-np.cos(angle[-1]):.4f}")
assert -np.cos(angle[-1]) > 0.98 and np.max(np.abs(result.x)) <= STRONGEST

# %%
time = DT * np.arange(1, STEPS + 1)
fig, axes = plt.subplots(1, 3, figsize=(10, 3), layout="constrained", width_ratios=[1, 1, 0.8])
axes[0].plot(time, np.degrees(angle))
for upright in (-180, 180):
    axes[0].axhline(upright, color="0.7", lw=0.8, ls="--")
axes[0].set(xlabel="s", ylabel="degrees", title="angle (dashed: upright)")
axes[1].step(time, result.x, where="pre")
axes[1].axhline(STRONGEST, color="0.7", lw=0.8)
axes[1].axhline(-STRONGEST, color="0.7", lw=0.8)
axes[1].set(xlabel="s", title="torque, within its bounds")
x, y = np.sin(angle), -np.cos(angle)
axes[2].scatter(x, y, c=time, s=18, cmap="viridis")
axes[2].plot([0, x[-1]], [0, y[-1]], color="black")
axes[2].set(title="where the bob is", aspect="equal", xticks=[], yticks=[])
plt.show()
