"""Thirty objectives in, a trained policy out: half the calls or fewer on the next one, with a picture.

The objectives are fits: two peaks on a decaying ground, as a spectrometer measures them, eight parameters each. The
policy learns from its own runs where their fits end and how steep their valleys are. Some half a minute on one core.
"""

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import shapeopt

T = np.linspace(0, 25, 125)
LOWER, UPPER = np.array([0, 0, 0, 0, 0.3, 0, 0, 0.3]), np.array([20, 0.5, 20, 25, 6, 20, 25, 6])
USUAL_LOW, USUAL_HIGH = np.array([8, 0.05, 6, 5, 1, 4, 14, 1]), np.array([12, 0.15, 12, 8, 2.5, 9, 18, 2.5])


def curve(b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """b0 exp(-b1 t) and two peaks (height, place, width), with the derivatives by b."""
    ground = np.exp(-b[1] * T)
    value, slopes = b[0] * ground, [ground, -b[0] * T * ground]
    for height, place, width in (b[2:5], b[5:8]):
        z = (T - place) / width
        bell = np.exp(-0.5 * z * z)
        value = value + height * bell
        slopes += [bell, height * bell * z / width, height * bell * z * z / width]
    return value, np.array(slopes)


def spectrum(seed: int) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    """The misfit to one measurement: (value, gradient)."""
    rng = np.random.default_rng(seed)
    data = curve(rng.uniform(USUAL_LOW, USUAL_HIGH))[0] + 0.25 * rng.normal(size=T.size)

    def misfit(b: np.ndarray) -> tuple[float, np.ndarray]:
        value, slopes = curve(b)
        rest = value - data
        return float(np.mean(rest**2)), 2.0 * slopes @ rest / T.size

    return misfit


def main(count: int = 30, budget: int = 100, picture: str | None = None) -> None:
    bounds, began = (LOWER, UPPER), time.perf_counter()
    trained = shapeopt.train_family([spectrum(i) for i in range(count)], bounds=bounds, jac=True, budget=budget)
    print(trained)
    print(f"trained and tested in {time.perf_counter() - began:.0f} s\n")
    if picture is not None:
        trained.draw(Path(picture))
    for name, policy in (("untrained", "universal"), ("trained", trained.policy)):
        result = shapeopt.minimize(spectrum(1000), bounds=bounds, jac=True, budget=15, policy=policy)
        print(f"another one, 15 calls, {name}: misfit {result.fun:.4f}")


if __name__ == "__main__":
    main()
