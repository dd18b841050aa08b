"""Draws docs/images/overview.png: one run on its landscape, and many runs beside SciPy's basinhopping.

python docs/make_picture.py
"""

from pathlib import Path

import jax
import jax.numpy as jnp
import matplotlib
import numpy as np
from scipy.optimize import basinhopping

import shapeopt
from shapeopt.tasks import StartLaw, make_family

matplotlib.use("Agg")
import matplotlib.pyplot as plt

COLOURS = {"refine": "#0072B2", "escape": "#D55E00", "settle": "#009E73"}  # Okabe and Ito: safe for the colour-blind
BUDGET, RUNS = 500, 20


def landscape(axes) -> None:
    """A run of 300 calls on the shifted Rastrigin function in two dimensions."""
    shift = np.array([1.3, -2.1])

    def fun(x):
        z = x - shift
        return jnp.sum(z * z - 10.0 * jnp.cos(2.0 * jnp.pi * z) + 10.0)

    points = []
    result = shapeopt.minimize(
        lambda x: (points.append(np.asarray(x)), jax.value_and_grad(fun)(jnp.asarray(np.asarray(x))))[1],
        np.array([-4.0, 4.0]),
        bounds=(-5, 5),
        budget=300,
        jac=True,
        seed=0,
    )
    grid = np.linspace(-5, 5, 300)
    values = jax.vmap(jax.vmap(fun))(jnp.stack(jnp.meshgrid(grid, grid), axis=-1))
    axes.contourf(grid, grid, np.sqrt(values), levels=24, cmap="Greys", alpha=0.7)
    queries = np.array(points[-len(result.trace.mode) :])
    axes.plot(*queries.T, color="black", lw=0.4, alpha=0.5)
    for mode, colour in COLOURS.items():
        chosen = result.trace.mode == mode
        if chosen.any():
            axes.scatter(*queries[chosen].T, s=9, color=colour, label=mode, zorder=3)
    axes.scatter(*shift, marker="*", s=160, color="gold", edgecolor="black", label="global minimum", zorder=4)
    axes.set(title=f"300 calls on Rastrigin, best {result.fun:.1e}", xlabel="$x_1$", ylabel="$x_2$")
    axes.legend(loc="upper right", fontsize=7)


def race(axes) -> None:
    """Best gap against calls on rotated, shifted Ackley in 20 dimensions, from the same starts."""
    family = make_family("ackley", 20, law=StartLaw.BOX, rotated=True)
    curves: dict[str, list[np.ndarray]] = {"shapeopt": [], "SciPy basinhopping": []}
    for seed in range(RUNS):
        with jax.enable_x64(True):
            task_key, start_key = jax.random.split(jax.random.key(seed))
            task = family.sample(task_key)
            start = np.asarray(task.start(start_key))
            both = jax.jit(jax.value_and_grad(task))
            values: list[float] = []

            def counted(x, both=both, values=values):
                if len(values) == BUDGET:
                    raise StopIteration
                value, gradient = both(np.asarray(x))
                values.append(float(value))
                return float(value), np.asarray(gradient)

            for name in curves:
                values.clear()
                if name == "shapeopt":
                    shapeopt.minimize(counted, start, bounds=(-5, 5), budget=BUDGET, jac=True, seed=seed)
                else:
                    try:
                        options = {"method": "L-BFGS-B", "jac": True, "bounds": [(-5, 5)] * 20}
                        basinhopping(counted, start, minimizer_kwargs=options, niter=BUDGET, rng=seed)
                    except StopIteration:
                        pass
                curves[name].append(np.minimum.accumulate(values)[:BUDGET] - float(task.minimum))
    for (name, runs), colour in zip(curves.items(), ("#0072B2", "#D55E00"), strict=True):
        gaps = np.maximum(np.array(runs), 1e-12)
        middle, low, high = np.median(gaps, 0), *np.quantile(gaps, [0.25, 0.75], axis=0)
        axes.semilogy(np.arange(1, BUDGET + 1), middle, color=colour, label=f"{name} (median of {RUNS})")
        axes.fill_between(np.arange(1, BUDGET + 1), low, high, color=colour, alpha=0.2, lw=0)
    axes.set(title="Rotated Ackley, d = 20, uniform starts", xlabel="calls", ylabel="best value less minimum")
    axes.legend(fontsize=8)


if __name__ == "__main__":
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    landscape(left)
    race(right)
    target = Path(__file__).parent / "images" / "overview.png"
    figure.savefig(target, dpi=130)
    print(f"wrote {target.name}")
