"""Draws docs/images/overview.png: the idea at a glance, on one run: descend, notice, move elsewhere.

The run has the tactics that any objective meets; the tests for special structure would spend calls of their own.

python docs/make_picture.py
"""

from pathlib import Path

import matplotlib
import numpy as np

import shapeopt

matplotlib.use("Agg")
import matplotlib.pyplot as plt

COLOURS = {"refine": "#0072B2", "escape": "#D55E00", "settle": "#009E73"}  # Okabe and Ito: safe for the colour-blind
WORDS = {"refine": "descend", "escape": "look elsewhere", "settle": "descend through noise"}
LEFT = {
    "converged": "bottom reached",
    "hopeless": "can't beat the best",
    "revisit": "known basin",
    "stall": "no progress",
}
BUDGET, WELLS, SEED = 80, 14, 3
RNG = np.random.default_rng(SEED)
PLACES, DEPTHS, WIDTHS = RNG.uniform(-4.5, 4.5, (WELLS, 2)), RNG.uniform(0.5, 2.0, WELLS), RNG.uniform(0.5, 1.0, WELLS)


def landscape(x):
    """Gaussian wells in a shallow bowl: (value, gradient)."""
    away = x - PLACES
    wells = DEPTHS * np.exp(-np.sum(away**2, axis=1) / (2 * WIDTHS**2))
    value = 0.02 * np.sum(x**2) - wells.sum()
    return value, 0.04 * x + np.sum((wells / WIDTHS**2)[:, None] * away, axis=0)


def draw_map(axes, result) -> None:
    """Where the readings were made."""
    grid = np.linspace(-5, 5, 160)
    values = np.array([[landscape(np.array([a, b]))[0] for a in grid] for b in grid])
    axes.contourf(grid, grid, values, levels=18, cmap="Greys_r", alpha=0.75)
    places = result.trace.x
    for mode, colour in COLOURS.items():
        chosen = result.trace.mode == mode
        if chosen.any():
            axes.scatter(*places[chosen].T, s=14, color=colour, label=WORDS[mode], zorder=3, lw=0)
    for stretch in np.split(
        np.arange(len(places)), np.flatnonzero(result.trace.mode[1:] != result.trace.mode[:-1]) + 1
    ):
        if result.trace.mode[stretch[0]] == "refine":
            path = places[max(stretch[0] - 1, 0) : stretch[-1] + 1]
            axes.plot(*path.T, color=COLOURS["refine"], lw=0.8)
    axes.scatter(*result.x, marker="*", s=190, color="gold", edgecolor="black", label="best found", zorder=4)
    axes.set(title=f"{BUDGET} calls, {len(result.minima)} minima found", xticks=[], yticks=[])
    axes.legend(loc="lower right", fontsize=8, framealpha=0.9)


def draw_progress(axes, result) -> None:
    """The value of every reading, the best so far, and why basins were left."""
    for mode, colour in COLOURS.items():
        chosen = result.trace.mode == mode
        axes.scatter(result.trace.calls[chosen], result.trace.value[chosen], s=14, color=colour, zorder=3, lw=0)
    axes.step(result.trace.calls, result.trace.best, color="black", lw=1.6, where="post", label="best so far")
    said = [event for event in result.events if event.mode == "refine" and event.cause in LEFT]
    for i, event in enumerate(said[:5]):
        axes.annotate(
            LEFT[event.cause],
            (event.call, event.value),
            xytext=(event.call + 1, 2.6 - 0.4 * i),
            fontsize=8,
            arrowprops={"arrowstyle": "-", "color": "grey", "lw": 0.7},
        )
    axes.set(title="why it left each basin", xlabel="calls", ylabel="value", ylim=(None, 3.1))
    axes.legend(loc="upper right", fontsize=8)


def main() -> None:
    policy = shapeopt.Policy().without("separable sum", "turned axes")
    result = shapeopt.minimize(landscape, np.array([-4.0, 4.0]), bounds=(-5, 5), budget=BUDGET, jac=True, policy=policy)
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained", width_ratios=[1, 1.5])
    draw_map(left, result)
    draw_progress(right, result)
    target = Path(__file__).parent / "images" / "overview.png"
    figure.savefig(target, dpi=140)
    print(f"wrote {target.name}")


if __name__ == "__main__":
    main()
