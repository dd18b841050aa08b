"""How good are runs by noisy values alone where there are several minima? By the true value of what they give back.

    python benchmarks/noisy_values.py --set confirm --out benchmarks/records/noisy_values.json
    python benchmarks/noisy_values.py --methods shapeopt --old benchmarks/records/noisy_values.json  # peers on record

Fourteen kinds of objective in 1 to 10 dimensions, with 100 to 1,000 calls and normal noise of 1e-3 to 1e-1 of the range
from the minimum to the median over the box. An instance of a kind is its places, depths, turn, start and draws of
noise, all of one seed; coordinates have scales that differ by powers of ten. Half of the kinds are for tuning, half for
confirmation; those of the set `single` have one minimum. The score of a run is its regret

    r = (f(x) - minimum) / (median - minimum),   f the true value, x what the run gives back

Ours is `result.x`; `one candidate` is our policy without spread places and other candidates. A peer gives back its
lowest reading, or, as a method of its own called `... mean`, the mean of its last readings, as many as a population of
CMA-ES has; `random` reads a third of the calls at uniform places, and ours goes on from the lowest. Means
over instances are taken of r and of log r (from 1e-4 on); `basin` is the share of runs from whose x an exact descent
ends at the minimum. Intervals are bootstraps over kinds and instances.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize as scipy_minimize

from shapeopt import minimize
from shapeopt.optimizer import TACTICS, Policy
from shapeopt.oracles import FunctionReader
from shapeopt.peers import PEERS, run_peer
from shapeopt.tactics import Regress

Value = Callable[[np.ndarray], float]
OURS = "shapeopt"
LEAST = 1e-4  # regret below which logarithms make no difference
NEAR = 1e-3  # regret at which a descent ended at the minimum
TAIL = " mean"


# ----------------------------------------------------------------------------------------------------- kinds


def turn(rng: Any, d: int) -> np.ndarray:
    return np.linalg.qr(rng.normal(size=(d, d)))[0]


def wells(rng: Any, d: int) -> Value:
    """Gaussian wells of different width and depth on a shallow bowl."""
    count = 5 + d
    at, width = rng.uniform(-4.0, 4.0, (count, d)), rng.uniform(0.8, 1.6, count) * d**0.5
    depth = np.sort(rng.uniform(0.3, 0.85, count))
    depth[-1] = 1.0
    return lambda y: 0.01 * float(y @ y) / d - float(np.max(depth * np.exp(-0.5 * ((at - y) ** 2).sum(1) / width**2)))


def ripples(rng: Any, d: int) -> Value:
    at, Q = rng.uniform(-3.0, 3.0, d), turn(rng, d)

    def fun(y: np.ndarray) -> float:
        z = Q @ (y - at)
        return float(np.sum(z * z + 4.0 - 4.0 * np.cos(2.0 * z)))

    return fun


def quartics(rng: Any, d: int) -> Value:
    """Two wells a coordinate, one of them deeper."""
    tilt, at = rng.uniform(3.0, 6.0, d) * rng.choice([-1.0, 1.0], d), rng.uniform(-1.0, 1.0, d)
    return lambda y: float(np.sum((y - at) ** 4 - 16.0 * (y - at) ** 2 + tilt * (y - at)) / 2.0)


def bowls(rng: Any, d: int) -> Value:
    """Three bowls of different curvature; the deepest is not the widest."""
    at = rng.uniform(-4.0, 4.0, (3, d))
    stiff = np.geomspace(1.0, 10.0, d)[rng.permuted(np.tile(np.arange(d), (3, 1)), axis=1)]
    floor = np.array([0.0, rng.uniform(0.2, 0.4), rng.uniform(0.3, 0.6)]) * 20.0
    steep = np.array([rng.uniform(1.0, 1.5), 1.0, 0.7])
    return lambda y: float(np.min(floor + steep * np.mean(stiff * (y - at) ** 2, axis=1)))


def tone(rng: Any, d: int) -> Value:
    """Misfit of a damped tone to a signal: frequency, phase, damping."""
    t, truth = (
        np.linspace(0.0, 1.0, 40),
        np.array([rng.uniform(2.0, 6.0), rng.uniform(-2.0, 2.0), rng.uniform(0.0, 2.0)]),
    )

    def signal(p: np.ndarray) -> np.ndarray:
        return np.exp(-p[2] * t) * np.sin(2.0 * np.pi * p[0] * t + p[1])

    data, to = signal(truth), lambda y: np.array([4.0 + 0.7 * y[0], 0.63 * y[1], 1.5 + 0.3 * y[2]])
    return lambda y: float(np.sum((signal(to(y)) - data) ** 2))


def rastrigin(rng: Any, d: int) -> Value:
    at = rng.uniform(-3.0, 3.0, d)
    return lambda y: float(np.sum((y - at) ** 2 + 5.0 - 5.0 * np.cos(np.pi * (y - at))))


def waves(rng: Any, d: int) -> Value:
    """Sines of growing frequency on a slope."""
    a, p = rng.uniform(0.5, 1.0, 3), rng.uniform(0.0, 2.0 * np.pi, 3)
    k, slope = np.array([0.8, 1.7, 2.9]), rng.normal() * 0.1
    return lambda y: float(np.sum(a * np.sin(k * y.sum() + p)) + slope * y.sum() + 0.02 * y @ y)


def camel(rng: Any, d: int) -> Value:
    """Six humps, turned and tilted."""
    Q, tilt, at = turn(rng, 2), rng.normal(size=2) * 0.3, rng.uniform(-1.0, 1.0, 2)

    def fun(y: np.ndarray) -> float:
        u, v = Q @ (y - at) * np.array([0.42, 0.25])
        value = (4.0 - 2.1 * u**2 + u**4 / 3.0) * u**2 + u * v + (4.0 * v**2 - 4.0) * v**2 + tilt @ [u, v]
        return float(np.log1p(max(value + 2.0, 0.0)))

    return fun


def peaks(rng: Any, d: int) -> Value:
    """Long peaks of any direction, as Hartmann's functions have them, added up."""
    count = 4
    at, depth = rng.uniform(-3.5, 3.5, (count, d)), np.array([1.0, 1.2, 2.2, 3.0])
    stiff = np.exp(rng.uniform(np.log(0.05), np.log(0.5), (count, d)))
    return lambda y: -float(np.sum(depth * np.exp(-np.sum(stiff * (y - at) ** 2, axis=1) / 2.0)))


def levy(rng: Any, d: int) -> Value:
    at, Q = rng.uniform(-3.0, 3.0, d), turn(rng, d)

    def fun(y: np.ndarray) -> float:
        w = 1.0 + Q @ (y - at) / 2.0
        inner = np.sum((w[:-1] - 1) ** 2 * (1 + 10 * np.sin(np.pi * w[:-1] + 1) ** 2))
        return float(np.sin(np.pi * w[0]) ** 2 + inner + (w[-1] - 1) ** 2 * (1 + np.sin(2 * np.pi * w[-1]) ** 2))

    return fun


def ackley(rng: Any, d: int) -> Value:
    at = rng.uniform(-3.0, 3.0, d)

    def fun(y: np.ndarray) -> float:
        z = y - at
        return float(
            20 - 20 * np.exp(-0.2 * np.sqrt(np.mean(z * z))) + np.e - np.exp(np.mean(np.cos(2 * np.pi * z / 2)))
        )

    return fun


def places(rng: Any, d: int) -> Value:
    """Places of d / 2 senders from ranges to three receivers nearly in a line: mirror images nearly fit."""
    receivers = np.array([[-3.0, 0.0], [0.5, 0.0], [3.5, rng.uniform(0.3, 0.8)]])
    truth = rng.uniform(-4.0, 4.0, (d // 2, 2))
    ranges = lambda z: np.linalg.norm(z[:, None] - receivers[None], axis=2)  # noqa: E731
    data, between = ranges(truth), np.linalg.norm(truth[0] - truth[-1])

    def fun(y: np.ndarray) -> float:
        z = y.reshape(-1, 2)
        return float(np.sum((ranges(z) - data) ** 2) + (np.linalg.norm(z[0] - z[-1]) - between) ** 2)

    return fun


def valleys(rng: Any, d: int) -> Value:
    """Two bent valleys, side by side."""
    at, gap = rng.uniform(-2.0, 2.0, d), rng.uniform(0.15, 0.3)

    def bent(z: np.ndarray) -> float:
        return float(np.mean(z * z) * 0.3 + np.sum((z[1:] - 0.3 * z[:-1] ** 2) ** 2) / d)

    return lambda y: min(bent(y - at), gap * 6.0 + bent(-(y + at)))


def bowl(rng: Any, d: int) -> Value:
    """One minimum: a bowl of condition 100, turned."""
    at, Q, w = rng.uniform(-3.5, 3.5, d), turn(rng, d), np.geomspace(1.0, 100.0, d)
    return lambda y: float(w @ (Q @ (y - at)) ** 2)


def valley(rng: Any, d: int) -> Value:
    """One minimum: Rosenbrock's valley, less steep."""
    at = rng.uniform(-3.5, 3.5, d)

    def fun(y: np.ndarray) -> float:
        z = y - at + 1.0
        return float(np.sum(20.0 * (z[1:] - z[:-1] ** 2) ** 2 + (1.0 - z[:-1]) ** 2))

    return fun


def kinks(rng: Any, d: int) -> Value:
    """One minimum: absolute values."""
    at = rng.uniform(-3.5, 3.5, d)
    return lambda y: float(np.abs(y - at).sum())


@dataclass(frozen=True)
class Kind:
    formula: Callable[[Any, int], Value]
    d: int
    budget: int
    level: float

    @property
    def name(self) -> str:
        return f"{self.formula.__name__}/{self.d}"


KINDS = {
    "tune": (
        Kind(wells, 1, 100, 3e-2),
        Kind(wells, 2, 200, 1e-2),
        Kind(rastrigin, 2, 400, 1e-1),
        Kind(tone, 3, 300, 1e-2),
        Kind(ripples, 4, 400, 3e-2),
        Kind(quartics, 5, 500, 1e-2),
        Kind(bowls, 8, 800, 3e-2),
    ),
    "confirm": (
        Kind(waves, 1, 150, 1e-1),
        Kind(camel, 2, 150, 1e-2),
        Kind(valleys, 3, 500, 1e-1),
        Kind(levy, 4, 400, 1e-2),
        Kind(places, 4, 300, 3e-2),
        Kind(peaks, 6, 600, 3e-2),
        Kind(ackley, 10, 1000, 3e-3),
    ),
    "single": (
        Kind(bowl, 2, 150, 1e-2),
        Kind(bowl, 5, 300, 1e-1),
        Kind(bowl, 10, 600, 1e-3),
        Kind(valley, 3, 300, 1e-2),
        Kind(valley, 8, 800, 3e-2),
        Kind(kinks, 4, 300, 3e-2),
        Kind(kinks, 10, 400, 1e-2),
    ),
}


@dataclass(frozen=True, eq=False)
class Instance:
    """A kind with places, scales and a start, all of one seed."""

    kind: Kind
    seed: int
    fun: Value
    x0: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    minimum: float
    height: float  # from the minimum to the median over the box

    def regret(self, x: np.ndarray) -> float:
        return max((self.fun(x) - self.minimum) / self.height, 0.0)


@cache
def instance(kind: Kind, seed: int) -> Instance:
    rng = np.random.default_rng([seed, kind.d, *kind.name.encode()])
    made, d = kind.formula(rng, kind.d), kind.d
    unit = 10.0 ** rng.integers(-4, 5, d) * rng.uniform(1.0, 9.0, d)
    middle = rng.normal(size=d) * 5.0 * unit
    points = rng.uniform(-5.0, 5.0, (400, d))
    values = np.array([made(y) for y in points])
    ends = [_descended(made, points[i]) for i in np.argsort(values)[:40]]
    lowest = min([*ends, float(values.min())])
    x0 = middle + unit * rng.uniform(-5.0, 5.0, d)
    fun = lambda x: made((np.asarray(x, float) - middle) / unit)  # noqa: E731
    height = float(np.median(values)) - lowest
    return Instance(kind, seed, fun, x0, middle - 5.0 * unit, middle + 5.0 * unit, lowest, height)


def _descended(fun: Value, y: np.ndarray) -> float:
    return float(scipy_minimize(fun, y, method="L-BFGS-B", bounds=[(-5.0, 5.0)] * y.size).fun)


class Noisy:
    """An instance as it is read, and all readings."""

    def __init__(self, one: Instance) -> None:
        self.one = one
        self.rng = np.random.default_rng([one.seed, 1, *one.kind.name.encode()])
        self.points: list[np.ndarray] = []
        self.values: list[float] = []

    def __call__(self, x: np.ndarray) -> float:
        value = self.one.fun(x) + self.one.kind.level * self.one.height * self.rng.normal()
        self.points.append(np.array(x, float))
        self.values.append(value)
        return value


# --------------------------------------------------------------------------------------------------- methods


def run_shapeopt(read: Noisy, **settings: Any) -> np.ndarray:
    one = read.one
    bounds = list(zip(one.lower, one.upper, strict=True))
    return minimize(read, one.x0, bounds=bounds, budget=one.kind.budget, seed=one.seed, **settings).x


def run_random(read: Noisy) -> np.ndarray:
    """A third of the calls at uniform places; the others from the lowest of them, where noise is known."""
    one, rng = read.one, np.random.default_rng([one_seed := read.one.seed, 2])
    first = one.kind.budget // 3
    for _ in range(first):
        read(rng.uniform(one.lower, one.upper))
    start = read.points[int(np.argmin(read.values))]
    bounds = list(zip(one.lower, one.upper, strict=True))
    left, std = one.kind.budget - first, one.kind.level * one.height
    return minimize(read, start, bounds=bounds, budget=left, seed=one_seed, noise=std).x


def run_other(name: str, read: Noisy) -> None:
    one = read.one
    reader = FunctionReader(read, False, one.lower, one.upper, one.kind.budget)
    run_peer(PEERS[name], reader, one.x0, one.lower, one.upper, one.seed)


OTHERS = (
    "cma",
    "bipop_cma",
    "cobyqa_scaled",
    "bobyqa",
    "nelder_mead_scaled",
    "differential_evolution",
    "direct",
    "dual_annealing_scaled",
    "crs2",
)
MEANS = ("cma", "bipop_cma")
ONE = Policy(tuple(replace(one, looks=0.0) if isinstance(one, Regress) else one for one in TACTICS))
SELF = {
    OURS: run_shapeopt,
    "one candidate": lambda read: run_shapeopt(read, policy=ONE),
    "shapeopt, 4 starts": lambda read: run_shapeopt(read, num_starts=4),
    "random": run_random,
}


def answers(method: str, read: Noisy) -> Iterable[tuple[str, np.ndarray]]:
    """What a run of a method gives back, by the name under which it counts."""
    if method in SELF:
        return [(method, SELF[method](read))]
    run_other(method, read)
    found = [(method, read.points[int(np.argmin(read.values))])]
    size = 4 + int(3 * np.log(read.one.kind.d))
    return found + [(method + TAIL, np.mean(read.points[-size:], axis=0))] * (method in MEANS)


def measure(methods: Iterable[str], which: str, seeds: range) -> list[dict]:
    rows = []
    for kind in KINDS[which]:
        for seed in seeds:
            one = instance(kind, seed)
            unit = (one.upper - one.lower) / 10.0
            for method in methods:
                read = Noisy(one)
                found = list(answers(method, read))
                assert len(read.values) <= kind.budget, (method, kind.name)
                for name, x in found:
                    inner = lambda y, one=one, unit=unit: one.fun(one.lower + (y + 5.0) * unit)  # noqa: E731
                    end = (_descended(inner, (x - one.lower) / unit - 5.0) - one.minimum) / one.height
                    row = {"set": which, "kind": kind.name, "seed": seed, "method": name}
                    rows.append(row | {"regret": round(one.regret(x), 8), "basin": bool(end < NEAR)})
    return rows


# -------------------------------------------------------------------------------------------------- summaries


def table(rows: list[dict], which: str) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Methods; (methods, kinds, seeds) regrets and whether in the best basin; those that all methods have."""
    mine = [row for row in rows if row["set"] == which]
    methods = list(dict.fromkeys(row["method"] for row in mine))
    kinds = [kind.name for kind in KINDS[which]]
    seeds = sorted(set.intersection(*({row["seed"] for row in mine if row["method"] == m} for m in methods)))
    made = {(row["method"], row["kind"], row["seed"]): row for row in mine}
    pick = lambda key: np.array([[[made[m, k, s][key] for s in seeds] for k in kinds] for m in methods], float)  # noqa: E731
    return methods, pick("regret"), pick("basin")


def interval(differences: np.ndarray) -> tuple[float, float]:
    """95 % of the mean of a (kinds, seeds) table, over kinds and instances."""
    rng, (kinds, seeds) = np.random.default_rng(0), differences.shape
    drawn = [differences[rng.integers(0, kinds, kinds)][:, rng.integers(0, seeds, seeds)].mean() for _ in range(4000)]
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(low), float(high)


def summaries(rows: list[dict], which: str) -> list[dict[str, Any]]:
    """A row a method: mean regret, geometric mean, share in the best basin, and how far ours is below in log10."""
    methods, regrets, basins = table(rows, which)
    logs = np.log10(np.maximum(regrets, LEAST))
    found = []
    for i, method in enumerate(methods):
        row = {"set": which, "method": method, "mean": round(float(regrets[i].mean()), 5)}
        row |= {"geometric": round(float(10 ** logs[i].mean()), 5), "basin": round(float(basins[i].mean()), 4)}
        if OURS in methods:
            ours = methods.index(OURS)
            row["log_below"] = round(float((logs[i] - logs[ours]).mean()), 4)
            row["log_interval"] = [round(v, 4) for v in interval(logs[i] - logs[ours])]
            row["mean_interval"] = [round(v, 5) for v in interval(regrets[i] - regrets[ours])]
        found.append(row)
    return found


def report(rows: list[dict], which: str, each: bool) -> None:
    print(f"{which}: {'method':26} mean r  geometric  basin  log10 r above ours [95 %]   r above ours")
    for row in sorted(summaries(rows, which), key=lambda row: row["geometric"]):
        line = f"  {row['method']:32} {row['mean']:.4f}  {row['geometric']:.4f}    {row['basin']:.3f}"
        if "log_below" in row:
            low, high = row["log_interval"]
            a, b = row["mean_interval"]
            line += f"  {row['log_below']:+.3f} [{low:+.3f}, {high:+.3f}]   [{a:+.4f}, {b:+.4f}]"
        print(line)
    if each:
        methods, regrets, basins = table(rows, which)
        for i, method in enumerate(methods):
            logs = 10 ** np.log10(np.maximum(regrets[i], LEAST)).mean(axis=1)
            text = "  ".join(f"{g:.4f} {b:.2f}" for g, b in zip(logs, basins[i].mean(axis=1), strict=True))
            print(f"  {method:26} {text}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--set", choices=[*KINDS, "both"], default="tune", help="which kinds; both: of several minima")
    parser.add_argument("--methods", nargs="*", choices=[*SELF, *OTHERS], default=[*SELF, *OTHERS])
    parser.add_argument("--seeds", type=int, default=12, help="instances of a kind")
    parser.add_argument("--old", type=Path, help="a record whose rows of other methods count, too")
    parser.add_argument("--each", action="store_true", help="print every kind, too")
    parser.add_argument("--out", type=Path, help="write all rows there")
    arguments = parser.parse_args()
    rows = []
    sets = ("tune", "confirm") if arguments.set == "both" else (arguments.set,)
    if arguments.old:
        anew = lambda row: row["set"] in sets and row["method"].removesuffix(TAIL) in arguments.methods  # noqa: E731
        rows = [row for row in json.loads(arguments.old.read_text())["rows"] if not anew(row)]
    for which in sets:
        rows += measure(arguments.methods, which, range(arguments.seeds))
        report(rows, which, arguments.each)
    if arguments.out:
        found = [one for which in KINDS if any(row["set"] == which for row in rows) for one in summaries(rows, which)]
        arguments.out.write_text(json.dumps({"summaries": found, "rows": rows}) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
