"""`trajectories`: flights between planets and paths among obstacles, by values alone, with plateaus and cliffs.

    mga      departure day and the durations of k legs; Lambert arcs between planets, and impulses at departure, at the
             periapsis of each swing-by and at arrival; d = k + 1
    dsm      departure day, speed and direction; for each leg its duration and when an impulse in deep space is given;
             for each swing-by its periapsis and plane; d = 4 k + 2
    routes   the waypoints of a path in a square with round obstacles; d = 2 m

The value of a flight is the sum of impulses in km/s. A swing-by below the lowest periapsis costs 5 km/s at once (a
cliff); a leg that has no arc, and all flights above 100 km/s, have the value 100 (a plateau). The value of a route is
its length, and each of 200 points of it inside an obstacle adds 0.05 (steps). No trajectory database is used, and
minima are not known.

Three starts a group, uniform in the box, drawn from (group, seed) until the value is below the plateau. A run has 1000
calls and is read at 200, 500 and 1000.

Sources: the two-body equations of `orbits`; the forms of the problems follow Vinko and Izzo (2008), "Global
optimisation heuristics and test problems for preliminary spacecraft trajectory design".

Halves: groups alternate in the order of the table within each kind.
"""

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from .base import Objective, Suite, SuiteProblem, alternate
from .orbits import DAY, PLANETS, lambert, planet_state, propagate, swing_by, swing_by_cost

BUDGETS = (200, 500, 1000)
SEEDS = (1, 2, 3)
WORST = 100.0  # km/s, the plateau
CLIFF = 5.0  # km/s, of a swing-by that is too low
DEPARTURE = (0.0, 3650.0)  # days after J2000
SHORTEST = {"V": 30.0, "E": 50.0, "M": 80.0, "J": 400.0, "S": 800.0}  # days of a leg that ends there
POINTS = 200  # of a route
STEP = 0.05  # the cost of one of them inside an obstacle


def _leg(planets: str) -> tuple[float, float]:
    """The box of a leg's duration, by where it ends; a return to the same planet may take twice as long."""
    low = SHORTEST[planets[1]]
    return low, low * (14 if planets[0] == planets[1] else 7)


@dataclass(frozen=True)
class Impulses:
    """A sequence of planets with impulses at the planets only."""

    planets: str

    @property
    def name(self) -> str:
        return f"mga_{self.planets.lower()}"

    def box(self) -> np.ndarray:
        legs = zip(self.planets, self.planets[1:], strict=False)
        return np.array([DEPARTURE, *(_leg(a + b) for a, b in legs)]).T

    def __call__(self, x: np.ndarray) -> float:
        days = np.cumsum(np.asarray(x, float))
        states = [planet_state(PLANETS[p], float(day)) for p, day in zip(self.planets, days, strict=True)]
        arcs = [lambert(a[0], b[0], float(t) * DAY) for a, b, t in zip(states, states[1:], x[1:], strict=False)]
        if any(arc is None for arc in arcs):
            return WORST
        return min(WORST, self._cost(states, arcs))

    def _cost(self, states: list, arcs: list) -> float:
        total = float(np.linalg.norm(arcs[0][0] - states[0][1]) + np.linalg.norm(arcs[-1][1] - states[-1][1]))
        for index, letter in enumerate(self.planets[1:-1]):
            body, planet = states[index + 1][1], PLANETS[letter]
            impulse, radius = swing_by_cost(arcs[index][1] - body, arcs[index + 1][0] - body, planet)
            total += impulse + (CLIFF if radius < planet.lowest else 0.0)
        return total


@dataclass(frozen=True)
class DeepSpace:
    """A sequence of planets with one impulse in each leg, and swing-bys without thrust."""

    planets: str

    @property
    def name(self) -> str:
        return f"dsm_{self.planets.lower()}"

    def box(self) -> np.ndarray:
        pairs = list(zip(self.planets, self.planets[1:], strict=False))
        legs = [side for a, b in pairs for side in ((0.05, 0.95), _leg(a + b))]
        turns = [side for _ in pairs[1:] for side in ((1.0, 20.0), (-math.pi, math.pi))]
        return np.array([DEPARTURE, (0.5, 6.0), (0.0, 1.0), (0.0, 1.0), *legs, *turns]).T

    def __call__(self, x: np.ndarray) -> float:
        x = np.asarray(x, float)
        count = len(self.planets) - 1
        legs, turns = x[4 : 4 + 2 * count].reshape(-1, 2), x[4 + 2 * count :].reshape(-1, 2)
        days = float(x[0]) + np.concatenate([[0.0], np.cumsum(legs[:, 1])])
        states = [planet_state(PLANETS[p], float(day)) for p, day in zip(self.planets, days, strict=True)]
        velocity, total = states[0][1] + _departure(x[1:4]), float(x[1])
        for index, (share, duration) in enumerate(legs):
            if index:
                planet = PLANETS[self.planets[index]]
                velocity = swing_by(velocity, states[index][1], planet, *map(float, turns[index - 1]))
            place, before = propagate(states[index][0], velocity, float(share * duration) * DAY)
            arc = lambert(place, states[index + 1][0], float((1 - share) * duration) * DAY)
            if arc is None:
                return WORST
            total, velocity = total + float(np.linalg.norm(arc[0] - before)), arc[1]
            if total >= WORST:
                return WORST
        return min(WORST, total + float(np.linalg.norm(velocity - states[-1][1])))


def _departure(x: np.ndarray) -> np.ndarray:
    """A velocity from its size and two numbers in [0, 1] that are uniform over directions."""
    around, up = 2 * math.pi * float(x[1]), 2 * float(x[2]) - 1
    flat = math.sqrt(max(0.0, 1 - up**2))
    return float(x[0]) * np.array([flat * math.cos(around), flat * math.sin(around), up])


@dataclass(frozen=True)
class Route:
    """A path of straight pieces from (0, 0) to (1, 1) among obstacles that are drawn from the number of waypoints."""

    waypoints: int

    @property
    def name(self) -> str:
        return f"route_{self.waypoints}"

    def box(self) -> np.ndarray:
        return np.array([(0.0, 1.0)] * (2 * self.waypoints)).T

    def obstacles(self) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(self.waypoints)
        return rng.uniform(0.12, 0.88, (12, 2)), rng.uniform(0.06, 0.13, 12)

    def __call__(self, x: np.ndarray) -> float:
        path = np.vstack([[0.0, 0.0], np.asarray(x, float).reshape(-1, 2), [1.0, 1.0]])
        length = float(np.sum(np.linalg.norm(np.diff(path, axis=0), axis=1)))
        along = np.linspace(0, len(path) - 1, POINTS)
        points = np.stack([np.interp(along, np.arange(len(path)), column) for column in path.T], axis=1)
        centres, radii = self.obstacles()
        inside = np.any(np.linalg.norm(points[:, None] - centres, axis=2) < radii, axis=1)
        return length + STEP * int(np.sum(inside))


Trajectory = Impulses | DeepSpace | Route
TABLE: tuple[Trajectory, ...] = (
    *(Impulses(planets) for planets in ("EVVEJ", "EVEEJ", "EVVEJS", "EVEMEJ", "EVEMVEJ", "EVVEMEJS")),
    *(DeepSpace(planets) for planets in ("EM", "EV", "EVM", "EEJ", "EVEJ", "EVME", "EVVEJ", "EVEEJ")),
    *(Route(waypoints) for waypoints in (3, 5, 7, 10)),
)


def make(row: Trajectory, seed: int) -> Objective:
    """One flight or route, from one start."""
    lower, upper = row.box()
    rng = np.random.default_rng([*row.name.encode(), seed])
    x0 = rng.uniform(lower, upper)
    while row(x0) >= WORST:
        x0 = rng.uniform(lower, upper)
    return Objective(row, x0, lower, upper)


def _problems() -> tuple[SuiteProblem, ...]:
    halves = alternate(row.name for row in TABLE)
    rows = [(row, row.box().shape[1], seed) for row in TABLE for seed in SEEDS]
    return tuple(
        SuiteProblem(
            name=f"{row.name}/seed{seed}",
            group=row.name,
            half=halves[row.name],
            dimension=size,
            gradients=False,
            budget=BUDGETS[-1],
            make=partial(make, row, seed),
            tags=("bounded", row.name.partition("_")[0]),
            budgets=BUDGETS,
        )
        for row, size, seed in rows
    )


TRAJECTORIES = Suite("trajectories", "flights between planets and routes among obstacles, values only", "", _problems())
