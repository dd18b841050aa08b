"""How good are runs in noise: areas of true values, against other people's optimizers, on problems of two sets.

    python benchmarks/noise.py --set confirm --out benchmarks/records/noise.json       # half an hour on one core
    python benchmarks/noise.py --methods shapeopt --old benchmarks/records/noise.json  # peers from a record

Each problem is put into the box [-5, 5]^d (or, without bounds, into units of its start) and read as (value, gradient)
under three laws of gradient noise of .2, .5 and 1 of a gradient's size, normal in every coordinate:

    relative   standard deviation: level |g(x)| / sqrt(d); values exact
    fixed      the same with the median |g| over the box in place of |g(x)|; values exact
    values     as `fixed`, with values that are noisy, too: level / 100 of the range from the minimum to the median

and, as a law of its own, losses on minibatches of 8, 32 and 128 rows of scikit-learn's data. Noise is drawn by problem,
seed and number of the call, so that all methods meet the same draws. A call is a value with its gradient. The area is
that of the suites (`shapeopt.bench.suite_metrics`): the lowest *true* value of the points that were read, over the
logarithm of calls. Intervals are bootstraps over problems. Optimizers with a rate have it tuned: the best of `RATES` on
all problems of a law and level.

Problems of the set `tune` may be tuned on; `confirm` is for the record. Both come from `dev` halves.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from shapeopt import minimize
from shapeopt.bench.suite_metrics import TAUS
from shapeopt.bench.suites import SUITES
from shapeopt.oracles import FunctionReader
from shapeopt.peers import PEERS, run_peer

LEVELS = (0.2, 0.5, 1.0)
BATCHES = (128, 32, 8)
LAWS = ("relative", "fixed", "values", "minibatch")
RATES = (0.01, 0.03, 0.1, 0.3, 1.0)  # where the box is 10 wide
SIDE = 5.0
Pair = Callable[[np.ndarray], tuple[float, np.ndarray]]


# ------------------------------------------------------------------------------------------------- problems


@dataclass(frozen=True, eq=False)
class Problem:
    """A noiseless problem in the box, or a mean loss over rows of data; `batch` reads some of the rows."""

    name: str
    fun: Pair
    x0: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    budget: int
    minimum: float | None = None
    batch: Callable[[np.ndarray, np.ndarray], tuple[float, np.ndarray]] | None = None
    rows: int = 0


def turned(formula: Callable[[np.ndarray], tuple[float, np.ndarray]], d: int, name: str) -> Problem:
    """A formula with its minimum 0 at the origin, turned, and moved to a uniform place of the box."""
    rng = np.random.default_rng([d, *name.encode()])
    turn, at = np.linalg.qr(rng.normal(size=(d, d)))[0], rng.uniform(-SIDE, SIDE, d)

    def fun(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = formula(turn @ (x - at))
        return float(value), turn.T @ gradient

    side = np.full(d, SIDE)
    return Problem(f"{name}/{d}", fun, rng.uniform(-SIDE, SIDE, d), -side, side, 200 if d <= 5 else 400, 0.0)


def rastrigin(y: np.ndarray, a: float = 10.0) -> tuple[float, np.ndarray]:
    return np.sum(y * y + a - a * np.cos(2 * np.pi * y)), 2 * y + 2 * np.pi * a * np.sin(2 * np.pi * y)


def ripples(y: np.ndarray) -> tuple[float, np.ndarray]:
    return np.sum(y * y + 3 - 3 * np.cos(2 * y)), 2 * y + 6 * np.sin(2 * y)


def ackley(y: np.ndarray) -> tuple[float, np.ndarray]:
    d, r = y.size, np.sqrt(np.mean(y * y)) + 1e-300
    a, b = 20 * np.exp(-0.2 * r), np.exp(np.mean(np.cos(2 * np.pi * y)))
    return 20 + np.e - a - b, 0.2 * a * y / (d * r) + 2 * np.pi / d * b * np.sin(2 * np.pi * y)


def griewank(y: np.ndarray) -> tuple[float, np.ndarray]:
    z, i = 4 * y, np.sqrt(np.arange(1, y.size + 1))
    waves = np.cos(z / i)
    others = np.array([np.prod(np.delete(waves, k)) for k in range(y.size)])
    return np.sum(z * z) / 400 - np.prod(waves) + 1, 4 * (z / 200 + np.sin(z / i) / i * others)


def salomon(y: np.ndarray) -> tuple[float, np.ndarray]:
    r = np.linalg.norm(y) + 1e-300
    return 1 - np.cos(2 * np.pi * r) + 0.1 * r, (2 * np.pi * np.sin(2 * np.pi * r) + 0.1) * y / r


def rosenbrock(y: np.ndarray) -> tuple[float, np.ndarray]:
    z, g = y + 1, np.zeros(y.size)
    bend = z[1:] - z[:-1] ** 2
    g[1:] += 40 * bend
    g[:-1] += -80 * bend * z[:-1] - 2 * (1 - z[:-1])
    return np.sum(20 * bend**2 + (1 - z[:-1]) ** 2), g


def styblinski(y: np.ndarray) -> tuple[float, np.ndarray]:
    z = y - 2.903534027771177
    return np.sum(z**4 - 16 * z**2 + 5 * z + 78.33233140754284) / 2, (4 * z**3 - 32 * z + 5) / 2


def zakharov(y: np.ndarray) -> tuple[float, np.ndarray]:
    i = 0.1 * np.arange(1, y.size + 1)
    s = i @ y
    return y @ y + s**2 + s**4, 2 * y + (2 * s + 4 * s**3) * i


def bowl(y: np.ndarray, condition: float = 100.0) -> tuple[float, np.ndarray]:
    w = np.geomspace(1.0, condition, y.size)
    return np.sum(w * y * y), 2 * w * y


def from_suite(suite: str, name: str) -> Problem:
    """A problem of a `dev` half, in the box or in units of its start."""
    one = SUITES[suite].problem(name)
    if one.half != "dev":
        raise ValueError(f"`name` must be of a `dev` half; got {name!r}.")
    made = one.make()
    boxed = bool(np.all(np.isfinite(made.lower) & np.isfinite(made.upper)))
    middle = (made.lower + made.upper) / 2 if boxed else np.zeros(made.x0.size)
    unit = (made.upper - made.lower) / (2 * SIDE) if boxed else np.where(made.x0 != 0, np.abs(made.x0), 1.0)

    def fun(u: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = made.fun(np.clip(middle + unit * u, made.lower, made.upper))
        return float(value), np.asarray(gradient, float) * unit

    lower, upper = (made.lower - middle) / unit, (made.upper - middle) / unit
    budget = 200 if one.dimension <= 5 else 400
    return Problem(f"{suite}/{name}", fun, (made.x0 - middle) / unit, lower, upper, budget)


def data(name: str) -> tuple[np.ndarray, np.ndarray]:
    from sklearn import datasets

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return (X - X.mean(0)) / np.where(X.std(0) > 0, X.std(0), 1.0), y


def logistic(name: str) -> Problem:
    """Logistic regression of the first class against the others, with a ridge."""
    X, y = data(name)
    X, sign = np.hstack([X, np.ones((len(X), 1))]), np.where(y == 0, 1.0, -1.0)

    def batch(w: np.ndarray, rows: np.ndarray) -> tuple[float, np.ndarray]:
        A, s = X[rows], sign[rows]
        margin = s * (A @ w)
        slope = -s * np.exp(-np.logaddexp(0.0, margin))
        value = np.mean(np.logaddexp(0.0, -margin)) + 5e-3 * w @ w
        return float(value), A.T @ slope / len(rows) + 1e-2 * w

    return _of_rows(f"logistic/{name}", batch, len(X), X.shape[1], 0.0)


def network(name: str, hidden: int) -> Problem:
    """A network of one hidden layer with softmax loss; weights begin at a normal draw."""
    X, y = data(name)
    n, m = X.shape[1], int(y.max()) + 1
    cut = (n * hidden, n * hidden + hidden, n * hidden + hidden + hidden * m)
    size = cut[2] + m

    def batch(w: np.ndarray, rows: np.ndarray) -> tuple[float, np.ndarray]:
        A, a, B = w[: cut[0]].reshape(n, hidden), w[cut[0] : cut[1]], w[cut[1] : cut[2]].reshape(hidden, m)
        Z = np.tanh(X[rows] @ A + a)
        S = Z @ B + w[cut[2] :]
        S = S - S.max(axis=1, keepdims=True)
        logp = S - np.log(np.exp(S).sum(axis=1, keepdims=True))
        value = -np.mean(logp[np.arange(len(rows)), y[rows]]) + 5e-4 * w @ w
        R = np.exp(logp)
        R[np.arange(len(rows)), y[rows]] -= 1.0
        R /= len(rows)
        back = (R @ B.T) * (1.0 - Z * Z)
        g = np.concatenate([(X[rows].T @ back).ravel(), back.sum(0), (Z.T @ R).ravel(), R.sum(0)])
        return float(value), g + 1e-3 * w

    return _of_rows(f"network/{name}/{size}", batch, len(X), size, 0.3)


def _of_rows(name: str, batch: Any, rows: int, d: int, start: float) -> Problem:
    x0 = start * np.random.default_rng([d, rows]).normal(size=d)
    free = np.full(d, np.inf)
    return Problem(name, lambda w: batch(w, np.arange(rows)), x0, -free, free, 400, None, batch, rows)


MAKERS: dict[str, tuple[Callable[[], Problem], ...]] = {
    "tune": (
        partial(turned, rastrigin, 2, "rastrigin"),
        partial(turned, ackley, 10, "ackley"),
        partial(turned, griewank, 5, "griewank"),
        partial(turned, rosenbrock, 5, "rosenbrock"),
        partial(turned, bowl, 10, "bowl"),
        partial(turned, ripples, 5, "ripples"),
        partial(from_suite, "fits", "waves2/seed1"),
        partial(from_suite, "fits", "mixture_iris_2_3/seed1"),
        partial(from_suite, "gp", "iris/rbf/seed1"),
        partial(from_suite, "clusters", "lj6/seed1"),
        partial(from_suite, "nist", "mgh17/start2"),
        partial(logistic, "breast_cancer"),
        partial(network, "wine", 4),
    ),
    "confirm": (
        partial(turned, rastrigin, 5, "rastrigin"),
        partial(turned, salomon, 3, "salomon"),
        partial(turned, styblinski, 10, "styblinski"),
        partial(turned, zakharov, 5, "zakharov"),
        partial(turned, partial(bowl, condition=1e3), 20, "steep bowl"),
        partial(turned, ackley, 3, "ackley"),
        partial(from_suite, "fits", "predators/seed1"),
        partial(from_suite, "fits", "mixture_wine_1_3/seed1"),
        partial(from_suite, "gp", "friedman1/matern/seed1"),
        partial(from_suite, "gp", "s_curve/rbf/seed1"),
        partial(from_suite, "clusters", "cu5/seed1"),
        partial(from_suite, "nist", "thurber/start2"),
        partial(logistic, "digits"),
        partial(network, "iris", 8),
    ),
}


# --------------------------------------------------------------------------------------------------- noise


@dataclass
class Noisy:
    """A problem as it is read: keeps the lowest true value after each call."""

    problem: Problem
    law: str
    level: float
    seed: int
    size: float  # of a gradient, per root coordinate
    height: float  # from the minimum to the median of the box

    def __post_init__(self) -> None:
        self.best: list[float] = []
        self.rng = np.random.default_rng([self.seed, *self.problem.name.encode()])

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        x = np.asarray(x, float)
        value, g = self.problem.fun(x)
        true = value if np.isfinite(value) else np.inf
        self.best.append(min(true, self.best[-1]) if self.best else true)
        if self.law == "minibatch":
            assert self.problem.batch is not None
            return self.problem.batch(x, self.rng.choice(self.problem.rows, int(self.level), replace=False))
        noise, more = self.rng.normal(size=x.size), self.rng.normal()
        size = np.linalg.norm(g) / x.size**0.5 if self.law == "relative" else self.size
        shift = 0.01 * self.level * self.height * more if self.law == "values" else 0.0
        return value + shift, g + self.level * size * noise


def levels(law: str) -> tuple[float, ...]:
    return BATCHES if law == "minibatch" else LEVELS


@cache
def sizes(problem: Problem) -> tuple[float, float, float]:
    """The median gradient and value of the box (or of the start's neighbourhood), and the minimum."""
    rng, d = np.random.default_rng(7), problem.x0.size
    boxed = np.all(np.isfinite(problem.lower))
    near = lambda: np.clip(problem.x0 * rng.uniform(0.5, 1.5, d), problem.lower, problem.upper)  # noqa: E731
    points = [rng.uniform(problem.lower, problem.upper) if boxed else near() for _ in range(60)]
    read = [problem.fun(x) for x in points]
    g = [np.linalg.norm(g) / d**0.5 for f, g in read if np.isfinite(f) and np.all(np.isfinite(g))]
    lowest = problem.minimum
    if lowest is None:
        lowest = min(
            float(minimize(problem.fun, problem.x0, bounds=bounds(problem), jac=True, budget=1500, seed=s).fun)
            for s in range(2)
        )
    return float(np.median(g)), float(np.nanmedian([f for f, _ in read]) - lowest), lowest


def bounds(problem: Problem) -> Any:
    return None if not np.any(np.isfinite(problem.lower)) else list(zip(problem.lower, problem.upper, strict=True))


# -------------------------------------------------------------------------------------------------- methods


def run_shapeopt(read: Noisy, seed: int) -> None:
    one = read.problem
    minimize(read, one.x0, bounds=bounds(one), jac=True, budget=one.budget, seed=seed)


def run_one_of_peers(name: str, read: Noisy, seed: int) -> None:
    one = read.problem
    reader = FunctionReader(read, True, one.lower, one.upper, one.budget)
    reach = np.maximum(10.0, 10.0 * np.abs(one.x0))
    lower = np.where(np.isfinite(one.lower), one.lower, one.x0 - reach)
    upper = np.where(np.isfinite(one.upper), one.upper, one.x0 + reach)
    run_peer(PEERS[name], reader, one.x0, lower, upper, seed)


def run_rate(law: str, rate: float, read: Noisy, seed: int) -> None:
    """Adam, RMSprop or heavy-ball momentum; the last in units of the first gradient."""
    one = read.problem
    x, m, v = one.x0 + 0.0, np.zeros(one.x0.size), np.zeros(one.x0.size)
    first = None
    for n in range(1, one.budget + 1):
        g = np.nan_to_num(np.clip(read(x)[1], -1e100, 1e100))
        if law == "momentum":
            first = first or float(np.linalg.norm(g)) / g.size**0.5 or 1.0
            m = 0.9 * m + g / first
            step = 0.1 * m
        else:
            beta = 0.9 if law == "adam" else 0.0
            m, v = beta * m + (1 - beta) * g, 0.99 * v + 0.01 * g * g
            step = m / (1 - beta**n) / (np.sqrt(v / (1 - 0.99**n)) + 1e-300)
        x = np.clip(x - rate * step, one.lower, one.upper)


RATED = ("adam", "rmsprop", "momentum")
METHODS: dict[str, Callable[[Noisy, int], None]] = {
    "shapeopt": run_shapeopt,
    **{name: partial(run_one_of_peers, name) for name in ("multistart", "bfgs", "basinhopping", "cma")},
    **{f"{law} {rate:g}": partial(run_rate, law, rate) for law in RATED for rate in RATES},
}


# --------------------------------------------------------------------------------------------------- tables


def cases(which: str, laws: tuple[str, ...], seeds: int) -> Iterator[tuple[Problem, str, float, int]]:
    for make in MAKERS[which]:
        problem = make()
        for law in laws:
            if (law == "minibatch") == (problem.batch is not None):
                for level in levels(law):
                    for seed in range(seeds):
                        yield problem, law, level, seed


def area(best: list[float], start: float, lowest: float, budget: int) -> float:
    goals = lowest + np.maximum(TAUS * (start - lowest), 1e-12 * max(abs(lowest), start - lowest))
    reached = np.asarray(best[:budget])[None, :] <= goals[:, None]
    hits = np.where(reached.any(axis=1), reached.argmax(axis=1) + 1.0, np.inf)
    return float(np.mean(np.where(np.isfinite(hits), 1.0 - np.log(np.minimum(hits, budget)) / np.log(budget), 0.0)))


def measure(methods: list[str], which: str, laws: tuple[str, ...], seeds: int) -> list[dict[str, Any]]:
    """A row a run: its area, where the minimum is the lowest value known before."""
    rows = []
    for problem, law, level, seed in cases(which, laws, seeds):
        size, height, lowest = sizes(problem)
        start = problem.fun(problem.x0)[0]
        for method in methods:
            read = Noisy(problem, law, level, seed, size, height)
            began = time.perf_counter()
            METHODS[method](read, seed)
            made = area(read.best, start, lowest, problem.budget)
            row = {"set": which, "problem": problem.name, "law": law, "level": level, "seed": seed, "method": method}
            rows.append(row | {"area": round(made, 4), "seconds": round(time.perf_counter() - began, 3)})
    return rows


def table(rows: list[dict[str, Any]], which: str, law: str, level: float | None) -> tuple[np.ndarray, list[str]]:
    """(methods, problems) mean areas over seeds (and levels, where None is given)."""
    mine = [r for r in rows if r["set"] == which and r["law"] == law and level in (None, r["level"])]
    problems, methods = (list(dict.fromkeys(r[key] for r in mine)) for key in ("problem", "method"))
    sums, counts = np.zeros((len(methods), len(problems))), np.zeros((len(methods), len(problems)))
    for r in mine:
        place = methods.index(r["method"]), problems.index(r["problem"])
        sums[place] += r["area"]
        counts[place] += 1
    return sums / np.maximum(counts, 1), methods


def ratio(ours: np.ndarray, theirs: np.ndarray) -> tuple[float, float, float]:
    """Of mean areas, with a 95 % interval over problems."""
    drawn = np.random.default_rng(0).integers(0, ours.size, (2000, ours.size))
    with np.errstate(divide="ignore", invalid="ignore"):
        values, value = ours[drawn].mean(axis=1) / theirs[drawn].mean(axis=1), ours.mean() / theirs.mean()
    low, high = np.nanquantile(values, [0.025, 0.975], method="inverted_cdf")
    return float(value), float(low), float(high)


def summaries(rows: list[dict[str, Any]], which: str, laws: tuple[str, ...]) -> list[dict[str, Any]]:
    """A row a law and level: our mean area, that of the best single peer, and their ratio with its interval."""
    made = []
    for law in laws:
        for level in levels(law):
            areas, methods = table(rows, which, law, level)
            if "shapeopt" not in methods:
                continue
            means = dict(zip(methods, (float(mean) for mean in areas.mean(axis=1)), strict=True))
            peers = sorted((m for m in methods if m != "shapeopt"), key=lambda m: -means[m])
            one: dict[str, Any] = {"set": which, "law": law, "level": level, "problems": areas.shape[1]}
            one |= {"area": means["shapeopt"], "peers": {name: means[name] for name in peers}}
            if peers:
                one["ratio"] = ratio(areas[methods.index("shapeopt")], areas[methods.index(peers[0])])
            made.append(one)
    return made


def report(rows: list[dict[str, Any]], which: str, laws: tuple[str, ...], each: bool) -> None:
    for one in summaries(rows, which, laws):
        text = f"{which:8} {one['law']:10} {one['level']:<5g} shapeopt {one['area']:.3f}"
        if one["peers"]:
            value, low, high = one["ratio"]
            text += f"  {value:.2f} x {next(iter(one['peers']))} ({low:.2f} to {high:.2f}); "
            text += ", ".join(f"{name} {mean:.3f}" for name, mean in list(one["peers"].items())[:4])
        print(text, flush=True)
    for law in laws if each else ():
        areas, methods = table(rows, which, law, None)
        names = list(dict.fromkeys(r["problem"] for r in rows if r["set"] == which and r["law"] == law))
        best = max((m for m in methods if m != "shapeopt"), key=lambda m: areas[methods.index(m)].mean())
        for i, name in enumerate(names):
            ours, theirs = areas[methods.index("shapeopt"), i], areas[methods.index(best), i]
            top = areas[:, i].argmax()
            print(f"    {name:34} {ours:.3f}  {best} {theirs:.3f}  best: {methods[top]} {areas[top, i]:.3f}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--set", choices=[*MAKERS, "both"], default="tune", help="which problems")
    parser.add_argument("--laws", nargs="+", choices=LAWS, default=LAWS)
    parser.add_argument(
        "--methods", nargs="*", choices=METHODS, default=list(METHODS), help="none: rows of --old alone"
    )
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--old", type=Path, help="a record whose rows of other methods count, too")
    parser.add_argument("--each", action="store_true", help="print every problem, too")
    parser.add_argument("--out", type=Path, help="write all rows there")
    arguments = parser.parse_args()
    sets = tuple(MAKERS) if arguments.set == "both" else (arguments.set,)
    laws = tuple(arguments.laws)
    rows = []
    if arguments.old:
        rows = [r for r in json.loads(arguments.old.read_text())["rows"] if r["method"] not in arguments.methods]
    for which in sets:
        rows += measure(arguments.methods, which, laws, arguments.seeds)
        report(rows, which, laws, arguments.each)
    if arguments.out:
        found = [one for which in sets for one in summaries(rows, which, laws)]
        made = {"seeds": arguments.seeds, "summaries": found, "rows": rows}
        arguments.out.write_text(json.dumps(made) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
