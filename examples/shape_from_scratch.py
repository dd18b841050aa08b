"""SHAPE for reading: the port-Hamiltonian step, one local search and one hop, in plain NumPy.

The plant (q, p) has the energy H = f(q) + p . M^-1 p / 2 and moves by `Plant.step` alone, one reading (f, g) a step.
Two limits of that step make a basin hopper:

    refine   all momentum is dissipated (zeta = 1) and M = h^2 B, B a secant Hessian: a quasi-Newton step
    escape   an anchor q_bar dominates all other forces: the plant is placed onto it, which relocates the energy

Every step writes a line of the energy ledger, whose terms add up to the change of H. The library's tactics, and its
third mode (settle: momentum that averages noise), are more moves through the same step (src/shapeopt/dynamics/move.py).

    python examples/shape_from_scratch.py
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

H = 0.05  # time step; paper, training details
ARMIJO, SHORTEST = 1e-4, 1e-4  # of a trial: least share of the predicted decrease; least share of the step
HOPE, PATIENCE = 4.0, 3  # a basin is hopeless if HOPE times the predicted decrease would not reach the best value
RADIUS, SPREAD, ANYWHERE = 0.7, 1.6, 0.2  # of hops: median length, spread of its logarithm, share of uniform ones


class Line(NamedTuple):
    """Where a step's change of H came from."""

    dissipation: float  # what the damping took from the momentum
    event_work: float  # momentum under this step's metric less momentum under the last one's
    clipping: float  # what radius and bounds took off the step
    relocation: float  # f(q') - f(q) of a placement
    discretisation: float  # the rest: h is finite, and f is not linear
    delta_H: float


class Plant:
    """A point with momentum, the objective that it reads, and the ledger of its energy."""

    def __init__(self, fun: Callable, q: np.ndarray, lower: float, upper: float, budget: int) -> None:
        self.fun, self.lower, self.upper, self.left = fun, lower, upper, budget
        self.q, self.p, self.kinetic = q, np.zeros_like(q), 0.0
        self.lines: list[Line] = []
        self.f, self.g = self._read(q)
        self.best, self.best_f = self.q, self.f

    def _read(self, q: np.ndarray) -> tuple[float, np.ndarray]:
        self.left -= 1
        return self.fun(q)

    def step(self, inverse_M: Callable, zeta: float = 1.0, radius: float = np.inf) -> None:
        """p' = (1 - zeta) p - h g,  q' = clip(q + h M^-1 p')."""
        q, f, g = self.q, self.f, self.g
        now = 0.5 * self.p @ inverse_M(self.p) if zeta < 1 else self.kinetic  # at 1 all of it goes, whatever M is
        kept = (1 - zeta) ** 2 * now
        p = (1 - zeta) * self.p - H * g  # eq. shape_p_update
        way = H * inverse_M(p)  # eq. shape_q_update
        after = 0.5 * p @ way / H
        short = way * min(1.0, radius / max(np.linalg.norm(way), 1e-300))
        self._arrive(np.clip(q + short, self.lower, self.upper), p)
        clipping = g @ (self.q - q - way)
        rest = (self.f - f) + after - kept - clipping
        delta = (self.f - f) + (after - self.kinetic)
        self.lines.append(Line(kept - now, now - self.kinetic, clipping, 0.0, rest, delta))
        self.kinetic = after

    def place(self, q_bar: np.ndarray) -> None:
        """The limit of U_shp = kappa |q - q_bar|^2 / 2 with M = h^2 kappa: the step ends on the anchor, at rest."""
        f, kinetic = self.f, self.kinetic
        self._arrive(np.clip(q_bar, self.lower, self.upper), np.zeros_like(self.p))
        self.lines.append(Line(-kinetic, 0.0, 0.0, self.f - f, 0.0, (self.f - f) - kinetic))
        self.kinetic = 0.0

    def _arrive(self, q: np.ndarray, p: np.ndarray) -> None:
        self.q, self.p = q, p
        self.f, self.g = self._read(q)
        if self.f < self.best_f:
            self.best, self.best_f = q, self.f


def refine(plant: Plant, bar: float) -> str:
    """Quasi-Newton steps into the basin of the plant; `bar` is the value to beat. Returns why the stage ended."""
    d = plant.q.size
    H_B = np.eye(d) / max(np.linalg.norm(plant.g), 1e-300)  # B^-1; its first step has length 1
    t, radius, age = 1.0, d**0.5, 0
    q, f, g, move = plant.q, plant.f, plant.g, np.zeros(d)  # the incumbent, and the whole step from it
    while plant.left:
        if t == 1.0:
            plant.step(lambda v, H_B=H_B: H_B @ v / H**2, radius=radius)
            move = plant.q - q
        else:
            plant.place(q + t * move)  # a failed trial is taken back towards the incumbent
        age += 1
        s, y = plant.q - q, plant.g - g
        if plant.f > f + ARMIJO * g @ s:
            t *= 0.3
            if t < SHORTEST:
                return "stall"
            continue
        if s @ y > 1e-10 * np.linalg.norm(s) * np.linalg.norm(y):  # BFGS keeps B positive definite
            left = np.eye(d) - np.outer(s, y) / (s @ y)
            H_B = left @ H_B @ left.T + np.outer(s, s) / (s @ y)
        else:
            H_B = 4.0 * H_B
        q, f, g, t, radius = plant.q, plant.f, plant.g, 1.0, 2.5 * radius
        predicted = g @ H_B @ g
        if predicted <= 1e-14 * max(abs(f), 1e-3):
            return "converged"
        if age >= PATIENCE and f - HOPE * predicted > bar:
            return "hopeless"
    return "budget"


def hop(plant: Plant, rng: np.random.Generator) -> str:
    """One placement: around the best point, or anywhere in the box."""
    d = plant.q.size
    radius = RADIUS * np.exp(SPREAD * rng.uniform(-1, 1))
    q_bar = plant.best + radius * rng.normal(size=d)
    plant.place(rng.uniform(plant.lower, plant.upper, d) if rng.uniform() < ANYWHERE else q_bar)
    return "done"


def minimise(fun: Callable, x0: np.ndarray, lower: float, upper: float, budget: int, seed: int = 0, log=print) -> Plant:
    """Descend, leave the basin as soon as it is known or can't pay, hop, descend: until the budget is spent."""
    rng, plant, bar = np.random.default_rng(seed), Plant(fun, x0, lower, upper, budget), np.inf
    while plant.left:
        cause = refine(plant, bar)
        log(f"call {budget - plant.left:4d}  refine ended, {cause:9s}  f = {plant.f:.3e}, best {plant.best_f:.3e}")
        bar = plant.best_f
        if plant.left:
            hop(plant, rng)
    return plant


def rastrigin(x: np.ndarray) -> tuple[float, np.ndarray]:
    value = np.sum(x**2 + 10 * (1 - np.cos(2 * np.pi * x)))
    return float(value), 2 * x + 20 * np.pi * np.sin(2 * np.pi * x)


if __name__ == "__main__":
    run = minimise(rastrigin, np.array([3.3, -2.7]), -5.0, 5.0, budget=300)
    print(f"best {run.best_f:.1e} at {run.best}")
    *sums, total = np.sum(run.lines, axis=0)
    print("energy:", ", ".join(f"{name} {part:+.2f}" for name, part in zip(Line._fields, [*sums, total], strict=True)))
    print(f"the terms add up to delta_H within {abs(sum(sums) - total):.0e}")
